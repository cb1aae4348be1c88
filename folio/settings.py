"""Every setting of Folio, typed, in one place.

Read once, from `FOLIO_*` environment variables, then `folio.toml` in the working directory, then the
defaults below, which work on a laptop without a GPU. No other file reads the environment.
"""

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from folio.errors import ConfigurationError


class Settings(BaseSettings):
    """Typed settings. Each field's description gives its unit and what 0 or empty means."""

    model_config = SettingsConfigDict(
        env_prefix="FOLIO_", toml_file="folio.toml", extra="ignore", frozen=True, populate_by_name=True
    )

    # Where things live
    host: str = Field("127.0.0.1", description="Address the web server listens on.")
    port: int = Field(8000, ge=1, le=65535, description="Port the web server listens on.")
    data_dir: Path = Field(
        Path.home() / ".local/share/folio",
        description="Folder for the catalog, the original files and the indexes.",
    )
    cache_dir: Path = Field(
        Path.home() / ".cache/folio",
        validation_alias=AliasChoices("FOLIO_CACHE", "cache_dir"),
        description="Folder for downloaded and converted models; safe to delete (variable FOLIO_CACHE).",
    )
    database_url: str = Field(
        "", description="SQLAlchemy URL of the catalog; empty means SQLite inside the data folder."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="Least severe log level shown.")
    log_format: Literal["console", "json"] = Field("console", description="Log lines for people or for machines.")
    trace_endpoint: str = Field(
        "", description="OTLP/HTTP address that traces go to, like `http://localhost:4318/v1/traces`; empty: none."
    )

    # Embedding
    embedding_model: str = Field(
        "starter",
        description="`starter` (all-MiniLM-L6-v2), a hub name, or a local path of a sentence-transformers model.",
    )
    embedding_device: str = Field("auto", description="`auto`, `cpu`, `cuda`, or a torch device.")
    embedding_batch_size: int = Field(
        32, ge=1, description="Chunks of usual length embedded at once; short ones go in larger batches."
    )
    embedding_dimension: int = Field(
        0, ge=0, description="Components kept of each vector, for models trained to be cut (Matryoshka); 0 keeps all."
    )
    embedding_query_prompt: str = Field(
        "", description="Text put before each question, such as `query: `; empty: the model's own prompt."
    )
    embedding_document_prompt: str = Field(
        "", description="Text put before each passage, such as `passage: `; empty: the model's own prompt."
    )
    embedding_dtype: Literal["bfloat16", "float32"] = Field(
        "bfloat16", description="Number format of the embedder's weights."
    )

    # Chunking
    chunk_tokens: int = Field(
        200, ge=32, description="Largest chunk, in tokens of the embedder, heading path included; capped by the model."
    )
    chunk_overlap_tokens: int = Field(0, ge=0, description="Tokens shared by neighbouring chunks; 0 means none.")

    # Retrieval
    top_k: int = Field(4, ge=1, le=50, description="Passages given to the language model unless the request says.")
    candidates: int = Field(50, ge=1, le=1000, description="Chunks each search leg returns before fusion.")
    reranker: str = Field(
        "", description="Cross-encoder (hub name or local path) that reorders the best candidates; empty means none."
    )
    rerank_candidates: int = Field(20, ge=1, le=200, description="Candidates that the reranker reads a question.")

    # The engine
    engine_url: str = Field(
        "", description="URLs of running OpenAI-compatible vLLM servers, comma-separated; empty: Folio starts one."
    )
    engine_api_key: SecretStr = Field(SecretStr(""), description="Key sent to the engine; empty means none.")
    engine_port: int = Field(0, ge=0, le=65535, description="Port of the engine Folio starts; 0 picks a free one.")
    model: str = Field("starter", description="`starter`, a hub name, or a local path of a chat model vLLM can serve.")
    max_model_len: int = Field(4096, ge=512, description="Context window in tokens of the engine Folio starts.")
    kv_cache_gib: int = Field(2, ge=1, description="KV cache of the engine on a CPU, in GiB.")
    max_num_seqs: int = Field(8, ge=1, description="Requests the engine decodes at once.")
    engine_args: str = Field("", description="Further vLLM server arguments, split like a shell line.")
    engine_start_timeout_s: int = Field(900, ge=10, description="Seconds the engine may take to become ready.")
    engine_idle_timeout_s: float = Field(
        120, gt=0, description="Seconds without a token after which a running generation counts as wedged."
    )

    # Answers
    answer_tokens: int = Field(320, ge=16, description="Most tokens an answer may have unless the request says.")
    thinking_tokens: int = Field(
        0, ge=0, description="Most tokens a reasoning model may think before the answer; 0 for models that don't."
    )
    prompt_margin_tokens: int = Field(32, ge=0, description="Tokens of the context window kept free.")
    max_waiting: int = Field(32, ge=1, description="Requests waiting in the engine from which new ones get 429.")
    max_answers_per_key: int = Field(16, ge=0, description="Answers one API key may have in the making; 0: no limit.")
    refusal_threshold: float = Field(
        0.55, ge=0, le=1, description="Probability of lacking the answer from which Folio refuses; 1 never refuses."
    )

    # Web
    web_threads: int = Field(160, ge=8, description="Requests served at once; an open answer stream takes one.")
    web_graceful_s: int = Field(60, ge=0, description="Seconds a stopping web server lets open streams finish.")
    max_answers: int = Field(96, ge=1, description="Answers made at once; more get 429. Keep it below `web_threads`.")
    stream_grace_s: float = Field(
        5, ge=0, description="Seconds an answer goes on after its reader's connection broke; 0 stops it at once."
    )
    max_upload_mib: int = Field(1024, ge=1, description="Largest upload request, all its files together, in MiB.")
    allowed_hosts: str = Field(
        "", description="Further host names to answer to, comma-separated; empty: loopback names, or any with keys."
    )
    trusted_proxies: int = Field(0, ge=0, description="Reverse proxies in front whose X-Forwarded headers count.")
    api_key: SecretStr = Field(SecretStr(""), description="Key that `folio mcp` sends; empty means none.")
    rate_limit: str = Field("1200/minute", description="Requests each API key may make; empty means no limit.")
    ask_rate_limit: str = Field("120/minute", description="Answers each API key may ask for; empty means no limit.")
    sign_in_rate_limit: str = Field("10/minute", description="Sign-ins tried from one address; empty means no limit.")
    rate_limit_storage: str = Field(
        "memory://", description="Where rate limits count: `memory://`, or `redis://host:6379` for several servers."
    )

    # Ingestion
    parse_timeout_s: float = Field(120, gt=0, description="Seconds one file may take to parse.")
    parse_memory_mib: int = Field(2048, ge=128, description="Memory one file's parser may use, in MiB.")
    ocr: Literal["auto", "off"] = Field(
        "auto", description="`auto`: pages without usable text are recognised where the extra `ocr` is installed."
    )
    ocr_page_timeout_s: float = Field(120, gt=0, description="Seconds text recognition may take for one page.")
    max_file_mib: int = Field(200, ge=1, description="Largest file accepted, in MiB.")
    item_attempts: int = Field(3, ge=1, description="Times a file is tried before it is given up.")
    queue_url: str = Field(
        "", description="Redis URL of the queue for several workers; empty: a file in the data folder."
    )
    lease_s: float = Field(30, gt=0, description="Seconds without a heartbeat after which a file is taken over.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order of precedence: arguments, environment, `folio.toml`."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @property
    def catalog_url(self) -> str:
        """The database URL in force."""
        return self.database_url or f"sqlite:///{self.data_dir / 'catalog.db'}"

    @property
    def files_dir(self) -> Path:
        """Original bytes of every document, by SHA-256."""
        return self.data_dir / "files"

    @property
    def indexes_dir(self) -> Path:
        """`<collection id>/<generation>/` below it."""
        return self.data_dir / "indexes"

    @property
    def models_dir(self) -> Path:
        """Prepared models, one folder each."""
        return self.cache_dir / "models"

    @property
    def engine_urls(self) -> tuple[str, ...]:
        """The engines to use, without trailing slashes; empty when Folio starts its own."""
        return tuple(url.strip().rstrip("/") for url in self.engine_url.split(",") if url.strip())


def load_settings(**overrides: object) -> Settings:
    """The settings in force.

    Raises:
        ConfigurationError: a value is out of its range or of the wrong type; the message names it.
    """
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as exc:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors())
        raise ConfigurationError(f"Settings are not valid: {problems}.") from exc
