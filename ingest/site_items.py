"""Walks the site of an item and adds each page that it finds to the item's job, at once, as an item of its own."""

from collections.abc import Callable

from sqlalchemy import func, select

from folio.catalog import Catalog
from folio.catalog.models import IngestItem
from folio.settings import Settings
from ingest.commit import finish_item, held_item
from ingest.crawl import SiteWalk
from ingest.fetch import Web, keep
from ingest.lease import Lease
from ingest.site import Site
from ingest.storage import FileStorage
from ingest.views import IncomingFile

SAID = {
    "refused": "closed to robots",
    "fetch_failed": "not to be had",
    "unsupported": "of other kinds",
    "too_large": "too large",
    "elsewhere": "on other hosts",
}


def walk_site(
    catalog: Catalog, lease: Lease, site: Site, storage: FileStorage, settings: Settings, on_page: Callable[[], None]
) -> None:
    """Add the pages of `site` to the job of `lease` as they are found, and close the item with what was left out.

    Args:
        on_page: called before each page; what it raises ends the walk.

    Raises:
        IngestError: the first page, or the map, could not be had.
        LostLease: the item was cancelled or taken over; pages added before stay.
    """
    taken = 0
    on_page()
    with Web() as web:
        walk = SiteWalk(web, site, max_bytes=settings.max_file_mib * 2**20)
        for page in walk.pages():
            fetched = keep(page, storage)
            file = IncomingFile(page.url, fetched.filename, fetched.media_type, fetched.sha256, fetched.size_bytes)
            taken += _add(catalog, lease, file)
            on_page()
    said = ", ".join(f"{count} {SAID[reason]}" for reason, count in walk.left_out.items() if reason in SAID)
    ended = f" The walk ended at its limit of {site.max_pages} pages." if walk.left_out["limit"] else ""
    with catalog.write() as session:
        item = held_item(session, lease)
        finish_item(session, item, "done", "", f"{taken} pages found; left out: {said or 'none'}.{ended}")


def _add(catalog: Catalog, lease: Lease, file: IncomingFile) -> bool:
    """Add a page as an item, unless the job has it: the walk may have been begun by a worker that died."""
    with catalog.write() as session:
        held_item(session, lease)
        of_job = select(IngestItem).where(IngestItem.job_id == lease.job_id)
        if session.scalar(of_job.where(IngestItem.uri == file.uri[:2000]).limit(1)) is not None:
            return False
        last = session.scalar(select(func.max(IngestItem.ordinal)).where(IngestItem.job_id == lease.job_id)) or 0
        session.add(
            IngestItem(
                job_id=lease.job_id, ordinal=last + 1, uri=file.uri[:2000], title=file.title[:1000],
                media_type=file.media_type[:200], sha256=file.sha256, size_bytes=file.size_bytes,
                options={"tags": list(lease.tags), "meta": lease.meta},
            )
        )  # fmt: skip
        return True
