"""One vLLM server over HTTP: what it serves, how it is, its tokenizer, and its stream of tokens.

Every error of the network or of the server is translated here; nothing above knows `openai` or `httpx`.
"""

import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import httpx
import httpx2
from prometheus_client.parser import text_string_to_metric_families

from folio.errors import ConfigurationError, EngineFailed, EngineNotReady, InvalidRequest, TooManyRequests
from folio.tracing import span, trace_headers
from generation.cancellation import Cancelled, current_cancellation
from generation.chunks import tokens_of
from generation.connection import chat_client, open_chat
from generation.engine import EngineHealth, EngineToken, GenerationRequest, Message

if TYPE_CHECKING:
    import openai

SMALL_CALL_TIMEOUT_S = 10.0
HEALTH_TIMEOUT_S = 2.0
# A healthy server under load may miss one look; it is called down when it has not answered for so long.
SILENT_AFTER_S = 6.0
RETRY_AFTER_S = 5
RUNNING, WAITING, KV_CACHE = "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"
REFUSED_KEY = (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN)


@dataclass(frozen=True)
class ServedModel:
    """A model that the server offers, with its context window in tokens."""

    name: str
    max_model_len: int


class Endpoint:
    """A vLLM server at `url`; cheap to build."""

    def __init__(self, url: str, model: str, api_key: str, idle_timeout_s: float) -> None:
        self.url = url.rstrip("/").removesuffix("/v1")
        self._in_flight = 0
        self._wanted_model = model
        self._api_key = api_key
        self._idle_timeout_s = idle_timeout_s
        self._served: ServedModel | None = None
        self._seen: EngineHealth | None = None
        self._seen_at = 0.0
        self._lock = threading.Lock()
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=SMALL_CALL_TIMEOUT_S)
        self._chat: openai.OpenAI | None = None

    @property
    def known(self) -> bool:
        """Whether it has said what it serves."""
        return self._served is not None

    @property
    def load(self) -> int:
        """Requests there, by its own last figures and by ours, whichever is more."""
        seen = self._seen
        return max(self._in_flight, (seen.running or 0) + (seen.waiting or 0) if seen else 0)

    def health(self) -> EngineHealth:
        """How the server is now; never raises."""
        try:
            self._call(lambda: self._http.get("/health", timeout=HEALTH_TIMEOUT_S))
            served, figures = self.served(), self.figures()
        except ConfigurationError as exc:
            return EngineHealth(False, "failed", exc.message)
        except EngineNotReady as exc:
            return self._unseen(timed_out=isinstance(exc.__cause__, httpx.ReadTimeout))
        self._seen = EngineHealth(
            True,
            "ready",
            "",
            served.name,
            served.max_model_len,
            int(figures.get(RUNNING, 0)),
            int(figures.get(WAITING, 0)),
            figures.get(KV_CACHE, 0.0),
        )
        self._seen_at = time.monotonic()
        return self._seen

    def _unseen(self, *, timed_out: bool) -> EngineHealth:
        if self._seen is None:
            return EngineHealth(False, "starting", f"The engine at {self.url} does not answer yet.")
        if timed_out and time.monotonic() - self._seen_at < SILENT_AFTER_S:
            return self._seen
        return EngineHealth(False, "failed", f"The engine at {self.url} stopped answering.")

    def figures(self) -> dict[str, float]:
        """The server's own Prometheus figures that tell its load.

        Raises:
            EngineNotReady: it does not answer.
        """
        page = self._call(lambda: self._http.get("/metrics", timeout=HEALTH_TIMEOUT_S)).text
        return {
            sample.name: sample.value
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.name in (RUNNING, WAITING, KV_CACHE)
        }

    def served(self) -> ServedModel:
        """The model in use.

        Raises:
            EngineNotReady: the server does not answer.
            ConfigurationError: it does not serve the wanted model.
        """
        if self._served is None:
            models = self._call(lambda: self._http.get("/v1/models")).json()["data"]
            named = {m["id"]: m for m in models}
            name = self._wanted_model or next(iter(named), "")
            if name not in named:
                raise ConfigurationError(
                    f"The engine at {self.url} serves {', '.join(named) or 'no model'}, not {name!r}."
                )
            self._served = ServedModel(name, int(named[name].get("max_model_len") or 4096))
        return self._served

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Tokens of a chat, the opening of the reply included."""
        return self._tokenize({"messages": [asdict(m) for m in messages], "add_generation_prompt": True})

    def count_text(self, text: str) -> int:
        """Tokens of a text."""
        return self._tokenize({"prompt": text, "add_special_tokens": False})

    def stream(self, request: GenerationRequest) -> Generator[EngineToken, None, None]:
        """Generate; closing the iterator closes the connection, on which vLLM aborts the request.

        Raises:
            EngineNotReady: the server did not take the request.
            TooManyRequests: its queue is full.
            EngineFailed: it stopped, or wrote nothing for `idle_timeout_s`.
            Cancelled: the reader has left.
        """
        import openai

        started = finished = False
        with self._lock:
            self._in_flight += 1
        try:
            with (
                span("engine", url=self.url) as traced,
                open_chat(self._client(), self._body(request), trace_headers()) as stream,
            ):
                for token in tokens_of(stream):
                    if not started and traced is not None:
                        traced.add_event("first token")  # what comes before is queue and prefill, then decode
                    started, finished = True, finished or token.finish_reason is not None
                    yield token
            if not finished:  # the connection ended early without any error
                raise self._broken(started=started)
        except (openai.OpenAIError, httpx2.HTTPError) as exc:
            raise self._translated(exc, started=started) from exc
        finally:
            with self._lock:
                self._in_flight -= 1

    def _translated(self, exc: Exception, *, started: bool) -> Exception:
        import openai

        match exc:
            case openai.BadRequestError():
                return InvalidRequest(f"The engine refused the request: {_reason(exc)}")
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                return self._key_refused()
            case openai.RateLimitError():
                return TooManyRequests("The engine's queue is full; ask again shortly.", retry_after_s=RETRY_AFTER_S)
            case openai.APITimeoutError() | httpx2.TimeoutException():
                return EngineFailed(
                    f"The engine wrote nothing for {self._idle_timeout_s:.0f} s. Ask again.",
                    retry_after_s=RETRY_AFTER_S,
                )
        return self._broken(started=started)

    def _broken(self, *, started: bool) -> EngineNotReady | EngineFailed | Cancelled:
        if current_cancellation().is_cancelled:
            return Cancelled()
        self._served = None
        if not started:
            return self._not_ready()
        return EngineFailed("The engine stopped while it was answering. Ask again.", retry_after_s=RETRY_AFTER_S)

    def _body(self, request: GenerationRequest) -> dict[str, Any]:
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self.served().name,
            "messages": [asdict(m) for m in request.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "min_p": sampling.min_p,
            "max_tokens": request.max_tokens,
        }
        if request.thinking_tokens:
            body["thinking_token_budget"] = request.thinking_tokens
        if request.cache_salt:
            body["cache_salt"] = request.cache_salt
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if request.top_logprobs:
            body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        if request.json_schema is not None:
            schema = {"name": "reply", "schema": dict(request.json_schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _client(self) -> "openai.OpenAI":
        with self._lock:
            if self._chat is None:
                self._chat = chat_client(self.url, self._api_key, self._idle_timeout_s)
            return self._chat

    def _tokenize(self, body: dict[str, Any]) -> int:
        reply = self._call(lambda: self._http.post("/tokenize", json={"model": self.served().name, **body}))
        return int(reply.json()["count"])

    def close(self) -> None:
        """Close the connections."""
        self._http.close()
        if self._chat is not None:
            self._chat.close()

    def _call(self, call: Callable[[], httpx.Response]) -> httpx.Response:
        try:
            reply = call()
            if reply.status_code in REFUSED_KEY:
                raise self._key_refused()
            reply.raise_for_status()
        except httpx.HTTPError as exc:
            raise self._not_ready() from exc
        return reply

    def _key_refused(self) -> ConfigurationError:
        return ConfigurationError(f"The engine at {self.url} refuses the key of FOLIO_ENGINE_API_KEY.")

    def _not_ready(self) -> EngineNotReady:
        return EngineNotReady(
            f"The engine at {self.url} does not answer. A model takes about a minute to load: ask again when "
            "`folio serve` prints Ready (/readyz answers 200). Search works meanwhile.",
            retry_after_s=RETRY_AFTER_S,
        )


def _reason(exc: "openai.BadRequestError") -> str:
    body = exc.body if isinstance(exc.body, dict) else {}
    return str(body.get("message", "it gave no reason"))
