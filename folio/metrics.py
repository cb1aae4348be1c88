"""Every Prometheus figure of Folio, by part. `/metrics` shows those of the web process."""

from prometheus_client import Counter, Gauge, Histogram

# Web
HTTP_REQUESTS = Counter("folio_http_requests_total", "Requests answered.", ["method", "endpoint", "status"])
HTTP_SECONDS = Histogram(
    "folio_http_request_seconds",
    "Time to the reply's first byte.",
    ["method", "endpoint"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120),
)
HTTP_IN_PROGRESS = Gauge("folio_http_requests_in_progress", "Requests being handled, streams excluded.")
ANSWER_STREAMS = Gauge("folio_answer_streams", "Answers being made.")
