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

# Answers
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120)
ANSWERS = Counter("folio_answers_total", "Answers by outcome: answered, refused, failed, abandoned.", ["outcome"])
ANSWER_TTFT_SECONDS = Histogram(
    "folio_answer_ttft_seconds", "Arrival of a question to the first token handed to the client.", buckets=_SECONDS
)
ANSWER_TPOT_SECONDS = Histogram(
    "folio_answer_tpot_seconds",
    "Decode time per output token after the first.",
    buckets=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1),
)
RETRIEVAL_SECONDS = Histogram("folio_answer_retrieval_seconds", "Search for an answer's passages.", buckets=_SECONDS)
QUEUE_SECONDS = Histogram(
    "folio_answer_queue_seconds",
    "Admission, and waiting in the engine's queue where the engine tells.",
    buckets=_SECONDS,
)
PROMPT_TOKENS = Counter("folio_prompt_tokens_total", "Prompt tokens of answers.")
CACHED_TOKENS = Counter("folio_cached_prompt_tokens_total", "Prompt tokens that came from the engine's prefix cache.")
COMPLETION_TOKENS = Counter("folio_completion_tokens_total", "Tokens written by the engine, thinking included.")
THINKING_TOKENS = Counter("folio_thinking_tokens_total", "Pieces of reasoning written by the engine.")
SENTENCES = Counter("folio_answer_sentences_total", "Sentences of answers by verdict.", ["supported"])
ENGINE_READY = Gauge("folio_engine_ready", "1 while the engine answers.")
ENGINE_RUNNING = Gauge("folio_engine_requests_running", "Requests that the engine is decoding.")
ENGINE_WAITING = Gauge("folio_engine_requests_waiting", "Requests in the engine's queue.")
ENGINE_KV_CACHE_USAGE = Gauge("folio_engine_kv_cache_usage_ratio", "Share of the engine's KV cache in use.")
