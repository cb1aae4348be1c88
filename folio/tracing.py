"""OpenTelemetry traces of answers, sent when `FOLIO_TRACE_ENDPOINT` says where to (extra `folio[otel]`).

Without it everything here does nothing and imports nothing. Spans follow `contextvars`, as OpenTelemetry's do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from folio.errors import ConfigurationError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Span, Tracer

SERVICE = "folio"
_tracers: "list[Tracer]" = []  # empty while tracing is off


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
    """A span around a block; what the block starts becomes its children."""
    if not _tracers:
        yield None
        return
    with _tracers[0].start_as_current_span(name, attributes=attributes) as started:
        yield started


def trace_headers() -> dict[str, str]:
    """The W3C `traceparent` header of the current span, for a request to another service; empty while off."""
    headers: dict[str, str] = {}
    if _tracers:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
    return headers
