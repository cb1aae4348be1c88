"""Rate limits: so many requests, and so many answers, for each API key; so many sign-ins for each address.

Who needs no key (an open Folio on loopback) has no limit: it is the reader's own machine.
"""

import math
import time

from flask import Flask, request
from limits import RateLimitItem, parse
from limits.errors import ConfigurationError as LimitsConfigurationError
from limits.errors import StorageError
from limits.storage import storage_from_string
from limits.strategies import MovingWindowRateLimiter

from folio.errors import ConfigurationError, TooManyRequests, Unavailable
from folio.log import get_logger
from folio.settings import Settings
from web.context import caller

ANSWERING = ("ask.ask", "openai.chat_completions")
SIGNING_IN = ("session.sign_in",)
RETRY_AFTER_S = 5

log = get_logger(__name__)


def register_limits(app: Flask, settings: Settings) -> None:
    """Count requests before handlers run. Call after `register_access`.

    Raises:
        ConfigurationError: a limit or the storage address is not valid.
    """
    limits = Limits(settings)

    def count() -> None:
        if request.endpoint in SIGNING_IN:
            limits.hit(limits.sign_in, "address", request.remote_addr or "")
        elif caller().key_id:
            limits.hit(limits.requests, "requests", caller().key_id)
            if request.endpoint in ANSWERING:
                limits.hit(limits.answers, "answers", caller().key_id)

    app.before_request(count)


class Limits:
    """The limits in force."""

    def __init__(self, settings: Settings) -> None:
        try:
            self._limiter = MovingWindowRateLimiter(
                storage_from_string(settings.rate_limit_storage, wrap_exceptions=True)
            )
            self.requests = _parse(settings.rate_limit)
            self.answers = _parse(settings.ask_rate_limit)
            self.sign_in = _parse(settings.sign_in_rate_limit)
        except (ValueError, LimitsConfigurationError) as exc:
            raise ConfigurationError(
                "A rate limit can't be understood: write `120/minute` or the like, and FOLIO_RATE_LIMIT_STORAGE as "
                "`memory://` or `redis://host:6379`."
            ) from exc

    def hit(self, limit: RateLimitItem | None, *who: str) -> None:
        """Count one.

        Raises:
            TooManyRequests: the limit is reached.
            Unavailable: the storage can't be reached; nobody gets through uncounted.
        """
        try:
            if limit is None or self._limiter.hit(limit, *who):
                return
            wait_s = max(1, math.ceil(self._limiter.get_window_stats(limit, *who).reset_time - time.time()))
        except StorageError as exc:
            log.error("the storage of the rate limits can't be reached", error=str(exc.storage_error))
            raise Unavailable(
                "Requests can't be counted right now. Try again shortly.", retry_after_s=RETRY_AFTER_S
            ) from exc
        raise TooManyRequests(f"The limit is {limit}. Try again in {wait_s} s.", retry_after_s=wait_s)


def _parse(text: str) -> RateLimitItem | None:
    return parse(text) if text.strip() else None
