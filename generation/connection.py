"""The OpenAI client of one vLLM server, and how a stream of it is broken off from another thread."""

import contextlib
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from generation.cancellation import current_cancellation

if TYPE_CHECKING:
    import openai

CONNECT_TIMEOUT_S = 5.0


def chat_client(url: str, api_key: str, idle_timeout_s: float) -> "openai.OpenAI":
    """A client; `idle_timeout_s` is how long the server may be silent.

    The pool retries, and only before the first token: the client's own retries would hide a dead server.
    """
    import openai

    timeout = openai.Timeout(idle_timeout_s, connect=CONNECT_TIMEOUT_S)
    return openai.OpenAI(base_url=f"{url}/v1", api_key=api_key or "none", timeout=timeout, max_retries=0)


@contextmanager
def open_chat(
    client: "openai.OpenAI", body: dict[str, Any], headers: Mapping[str, str]
) -> Iterator[Iterator[dict[str, Any]]]:
    """A streamed completion, as its chunks' JSON. Cancelling the work breaks the connection, on which vLLM drops it.

    The client's typed chunks would cost eight times as much to read, at every token (0.1 ms of a shared core).

    Raises:
        Cancelled: the work was cancelled before the request was sent.
        openai.APIError, httpx2.HTTPError: the server's and the network's errors; also when cancelled in the midst.
    """
    import openai

    current_cancellation().check()
    with client.post(
        "/chat/completions",
        body=body,
        options={"headers": dict(headers)},
        cast_to=object,
        stream=True,
        stream_cls=openai.Stream[object],
    ) as stream:
        connection = stream.response.extensions["network_stream"].get_extra_info("socket")
        with current_cancellation().wakes(lambda: _shut_down(connection)):
            yield cast("Iterator[dict[str, Any]]", iter(stream))


def _shut_down(connection: socket.socket) -> None:
    # Closing would leave a thread that waits in recv() waiting; shutting down wakes it.
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
