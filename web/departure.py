"""Notices that the client of a plain request has hung up, so that nobody makes an answer that nobody waits for.

A stream finds out by writing. A plain reply writes nothing until the end, so its connection has to be looked at.
"""

import select
import socket
from collections.abc import Callable

from flask import request

CONNECTIONS = ("gunicorn.socket", "werkzeug.socket")


def departure() -> Callable[[], bool]:
    """A function that says whether the client of this request has hung up; always False where that can't be seen."""
    connection = next((request.environ[name] for name in CONNECTIONS if name in request.environ), None)
    return lambda: connection is not None and _is_closed(connection)


def _is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed; what it may have sent meanwhile stays to be read."""
    poller = select.poll()
    try:
        poller.register(connection, select.POLLIN)
        return bool(poller.poll(0)) and connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except (OSError, ValueError):
        return True
