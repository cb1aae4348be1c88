"""Runs the application under gunicorn: one process, many threads.

One process, because the embedder and the indexes are in its memory and the work of a request is waiting for the engine.
An open answer takes a thread for as long as it streams; idle kept-alive connections take none. On SIGTERM the server
stops accepting, lets open answers finish for up to `web_graceful_s`, and ends.
"""

import socket
import struct
import sys
from collections.abc import Callable
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication

from folio.settings import Settings

KEEP_ALIVE_S = 75  # longer than the minute for which the usual proxies keep an idle connection to us
IDLE_CONNECTIONS = 2000
BACKLOG = 1024
# A thread that has a token to pass on waits at most so long for one that computes. With Python's own 5 ms
# `benchmarks/web_streams.py --engine-url` adds 5.1 ms to a token at p95, with this 2.7 ms.
SWITCH_INTERVAL_S = 0.0005
SILENT_PEER_S = 60  # a peer that neither sends what it began nor takes what it asked for holds a thread no longer


def serve(build: Callable[[], Flask], settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        build: makes the application, inside the serving process: connections and threads don't survive a fork.
        settings: address, threads and grace.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    _Server(build, settings).run()


class _Server(BaseApplication):  # type: ignore[misc]
    def __init__(self, build: Callable[[], Flask], settings: Settings) -> None:
        self._build = build
        self._settings = settings
        super().__init__()

    def load_config(self) -> None:
        for name, value in _config(self._settings).items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        return self._build()


def _limit_silence(server: Any) -> None:
    """Let the kernel end a read or write that waits too long; accepted sockets inherit this from the listening one."""
    patience = struct.pack("ll", SILENT_PEER_S, 0)
    for listener in server.LISTENERS:
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            listener.sock.setsockopt(socket.SOL_SOCKET, option, patience)


def _config(settings: Settings) -> dict[str, Any]:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return {
        "bind": f"{host}:{settings.port}",
        "workers": 1,
        "worker_class": "gthread",
        "threads": settings.web_threads,
        "worker_connections": settings.web_threads + IDLE_CONNECTIONS,
        "backlog": BACKLOG,
        "when_ready": _limit_silence,
        "keepalive": KEEP_ALIVE_S,
        "timeout": 0,  # a thread waits for the engine as long as the engine's own watch allows
        "graceful_timeout": settings.web_graceful_s,
        "accesslog": None,  # web/observe.py writes the request log
        "errorlog": "-",
        "loglevel": "warning",
        "limit_request_line": 8190,
        "control_socket_disable": True,
    }
