"""A site to be walked, written as the uri of an item: `crawl:2:200:https://example.org/` or `sitemap:200:https://...`.

Such an item holds no text: the worker that takes it adds every page it finds to the job, as an archive adds its
members.
"""

from dataclasses import dataclass
from typing import Self

from folio.errors import InvalidRequest

MAX_PAGES = 200
MAX_DEPTH = 10
LARGEST_SITE = 10_000  # pages


@dataclass(frozen=True)
class Site:
    """Which pages of a site to take.

    `depth` counts links from `url`, and is None where the pages are those of the site's map; at most `max_pages` are
    taken.
    """

    url: str
    depth: int | None = None
    max_pages: int = MAX_PAGES

    def __post_init__(self) -> None:
        if self.depth is not None and not 0 <= self.depth <= MAX_DEPTH:
            raise InvalidRequest(f"A crawl follows links 0 to {MAX_DEPTH} deep.")
        if not 1 <= self.max_pages <= LARGEST_SITE:
            raise InvalidRequest(f"A site may give 1 to {LARGEST_SITE:,} pages.")

    @property
    def uri(self) -> str:
        """What stands for it in a job."""
        kind = "sitemap" if self.depth is None else f"crawl:{self.depth}"
        return f"{kind}:{self.max_pages}:{self.url}"

    @classmethod
    def of(cls, uri: str) -> Self | None:
        """The site that a uri stands for; None for every other uri.

        Raises:
            InvalidRequest: its numbers are none, or are out of bounds.
        """
        kind, _, rest = uri.partition(":")
        if kind not in ("crawl", "sitemap"):
            return None
        try:
            if kind == "sitemap":
                pages, url = rest.split(":", 1)
                return cls(url, None, int(pages))
            depth, pages, url = rest.split(":", 2)
            return cls(url, int(depth), int(pages))
        except ValueError as exc:
            raise InvalidRequest(f"{uri!r} is not a site: write crawl:DEPTH:PAGES:URL or sitemap:PAGES:URL.") from exc
