"""OpenTelemetry traces of answers, sent when `FOLIO_TRACE_ENDPOINT` says where to (extra `folio[otel]`).

Without it everything here does nothing and imports nothing. Spans follow `contextvars`, as OpenTelemetry's do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from folio.errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Span, Tracer

SERVICE = "folio"
_tracers: "list[Tracer]" = []  # empty while tracing is off
_caller: "ContextVar[Context | None]" = ContextVar("folio_trace_of_caller", default=None)


def send_traces(endpoint: str) -> None:
    """Send traces to an OTLP/HTTP address from now on; once is enough for a process.

    Raises:
        ConfigurationError: OpenTelemetry is not installed.
    """
    if _tracers:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as exc:
        raise ConfigurationError(
            "FOLIO_TRACE_ENDPOINT needs OpenTelemetry: install the extra `otel` (`pip install -e '.[otel]'`)."
        ) from exc
    trace_with(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))


def trace_with(processor: "SpanProcessor") -> None:
    """Hand spans to `processor` from now on."""
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    provider.add_span_processor(processor)
    _tracers[:] = [provider.get_tracer(SERVICE)]


def trace_no_more() -> None:
    """Turn tracing off."""
    _tracers.clear()


@contextmanager
def span(name: str, **attributes: str | int | float | bool) -> "Iterator[Span | None]":
    """A span around a block; what the block starts becomes its children. An outermost one belongs to the caller's."""
    if not _tracers:
        yield None
        return
    from opentelemetry.trace import get_current_span

    outer = None if get_current_span().get_span_context().is_valid else _caller.get()
    with _tracers[0].start_as_current_span(name, outer, attributes=attributes) as started:
        yield started


def called_with(traceparent: str, tracestate: str) -> None:
    """Take up a request's W3C headers of these names, for the spans that follow; an empty `traceparent` is none."""
    if _tracers:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        headers = {"traceparent": traceparent, "tracestate": tracestate}
        _caller.set(TraceContextTextMapPropagator().extract(headers) if traceparent else None)


def trace_headers() -> dict[str, str]:
    """The W3C `traceparent` header of the current span, for a request to another service; empty while off."""
    headers: dict[str, str] = {}
    if _tracers:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
    return headers
