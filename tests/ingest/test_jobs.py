"""What a job promises: turns, truth about its end, bounded tries, one result for one request."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from folio.catalog.models import IngestItem, IngestJob, now
from folio.errors import Conflict
from ingest import reasons
from ingest.commit import OVERTAKEN
from ingest.lease import LostLease


def waiting(folio, job):
    return [item.id for item in folio.ingestion.items(job.id, state="queued").items]


def submit(folio, *names, text="{name}"):
    return folio.ingestion.submit("default", [folio.file(name, text.format(name=name)) for name in names])


def test_a_small_job_does_not_wait_behind_a_large_one(folio):
    large = submit(folio, *(f"large{number}.txt" for number in range(30)))
    leases = folio.leases()
    woken = waiting(folio, large)
    leases.take(woken[0])
    small = submit(folio, "small.txt")
    served = [leases.take(item_id) for item_id in woken[1:4]]
    assert [lease.job_id for lease in served] == [small.id, large.id, large.id]


def test_two_large_jobs_take_turns(folio):
    first = submit(folio, *(f"a{number}.txt" for number in range(6)))
    second = submit(folio, *(f"b{number}.txt" for number in range(6)))
    leases = folio.leases()
    served = [leases.take(item_id).job_id for item_id in waiting(folio, first)[:4]]
    assert sorted(served) == sorted([first.id, second.id] * 2)


def test_files_with_the_same_bytes_are_not_worked_on_at_once(folio):
    job = submit(folio, "one.txt", "twin.txt", text="the same bytes")
    leases = folio.leases()
    first = leases.take(waiting(folio, job)[0])
    assert leases.take(waiting(folio, job)[0]) is None
    folio.commit(first, "the same bytes")
    assert leases.take(waiting(folio, job)[0]).title == "twin.txt"


def test_a_cancelled_file_is_never_committed(folio):
    job = submit(folio, "a.txt", "b.txt")
    leases = folio.leases()
    done, late = (leases.take(item_id) for item_id in waiting(folio, job))
    folio.commit(done, "a")
    cancelled = folio.ingestion.cancel(job.id)
    with pytest.raises(LostLease):
        folio.commit(late, "b")
    after = folio.ingestion.job(job.id)
    assert (cancelled.state, cancelled.files.done, cancelled.files.cancelled) == ("cancelled", 1, 1)
    assert after.files == cancelled.files
    assert [item.title for item in folio.documents.list("default").items] == ["a.txt"]
    with pytest.raises(Conflict, match="nothing to cancel"):
        folio.ingestion.cancel(job.id)


def test_a_try_that_was_cancelled_does_not_write_into_the_retry(folio):
    job = submit(folio, "a.txt")
    leases = folio.leases()
    old = leases.take(waiting(folio, job)[0])
    folio.ingestion.cancel(job.id)
    folio.ingestion.retry(job.id)
    new = leases.take(waiting(folio, job)[0])
    assert not leases.note(old, stage="parsing")
    with pytest.raises(LostLease):
        folio.commit(old, "a")
    folio.commit(new, "a")
    assert folio.ingestion.job(job.id).state == "done"


def test_another_worker_takes_over_when_heartbeats_stop(folio):
    job = submit(folio, "a.txt")
    dead, other = folio.leases("dead", lease_s=0.01), folio.leases("other", lease_s=0.01)
    lost = dead.take(waiting(folio, job)[0])
    age(folio)
    assert other.reclaim() == [lost.item_id]
    taken = other.take(lost.item_id)
    with pytest.raises(LostLease):
        folio.commit(lost, "a")
    folio.commit(taken, "a")
    job = folio.ingestion.job(job.id)
    assert (job.state, job.items[0].attempts) == ("done", 2)


def test_a_file_that_kills_each_worker_is_given_up_with_its_reason(folio):
    job = submit(folio, "a.txt", "b.txt")
    leases = folio.leases(lease_s=0.01, attempts=2)
    folio.commit(leases.take(waiting(folio, job)[1]), "b")
    for _ in range(2):
        assert leases.take(waiting(folio, job)[0])
        age(folio)
        leases.reclaim()
    job = folio.ingestion.job(job.id)
    failed = job.items[0]
    assert (job.state, failed.state, failed.reason_code) == ("done", "failed", reasons.WORKER_LOST)
    again = folio.ingestion.retry(job.id)
    assert (again.state, again.files.queued, again.files.done, again.items[0].reason_code) == ("queued", 1, 1, "")


def age(folio):
    with folio.catalog.write() as session:
        session.execute(update(IngestItem).values(heartbeat_at=now() - timedelta(minutes=1)))


def test_an_older_version_never_replaces_a_newer_one(folio):
    first = folio.ingestion.submit("default", [folio.file("a.txt", "old")])
    second = folio.ingestion.submit("default", [folio.file("a.txt", "new")])
    leases = folio.leases()
    old_id, new_id = waiting(folio, first)[0], waiting(folio, second)[0]
    with folio.catalog.write() as session:  # as if its worker had died: the newer one is served first
        session.execute(update(IngestItem).where(IngestItem.id == old_id).values(state="running", worker="gone"))
        session.execute(update(IngestItem).where(IngestItem.id == old_id).values(uri="upload:elsewhere"))
    document_id = folio.commit(leases.take(new_id), "new")
    with folio.catalog.write() as session:
        session.execute(update(IngestItem).where(IngestItem.id == old_id).values(state="queued", uri="upload:a.txt"))
    folio.commit(leases.take(old_id), "old")
    assert folio.documents.text(document_id).text == "new"
    assert len(list(folio.storage.everything())) == 1, "the older bytes are not kept"
    item = folio.ingestion.job(first.id).items[0]
    assert (item.state, item.reason) == ("unchanged", OVERTAKEN)


def test_a_second_upload_of_the_same_name_says_that_it_replaced_the_first(folio):
    leases = folio.leases()
    for text in ("first", "second"):
        job = folio.ingestion.submit("default", [folio.file("notes.txt", text)])
        document_id = folio.commit(leases.take(job.items[0].id), text)
    item = folio.ingestion.job(job.id).items[0]
    assert item.reason == "Replaced version 1 of this document."
    assert folio.documents.get(document_id).version == 2


def test_the_bytes_of_a_replaced_version_go(folio):
    leases = folio.leases()
    first = folio.file("notes.txt", "first")
    for file, text in ((first, "first"), (folio.file("notes.txt", "second"), "second")):
        job = folio.ingestion.submit("default", [file])
        folio.commit(leases.take(job.items[0].id), text)
    assert not folio.storage.path(first.sha256).exists()


def test_the_same_idempotency_key_gives_the_same_job_and_refuses_other_files(folio):
    file = folio.file("a.txt", "a")
    first = folio.ingestion.submit("default", [file], idempotency_key="k")
    again = folio.ingestion.submit("default", [file], idempotency_key="k")
    assert again.id == first.id
    with folio.catalog.read() as session:
        assert len(session.scalars(select(IngestJob.id)).all()) == 1
    with pytest.raises(Conflict, match="Idempotency-Key"):
        folio.ingestion.submit("default", [folio.file("a.txt", "b")], idempotency_key="k")


def test_a_large_job_shows_what_matters_first_and_pages_the_rest(folio):
    job = submit(folio, *(f"{number}.txt" for number in range(9)))
    ids = waiting(folio, job)
    folio.leases().fail(folio.leases().take(ids[7]), reasons.CORRUPT, "bad")
    shown = folio.ingestion.job(job.id, items=3)
    assert [item.title for item in shown.items] == ["7.txt", "0.txt", "1.txt"]
    assert (shown.files.total, shown.items_left_out) == (9, 6)
    titles, after = [], -1
    while after is not None:
        page = folio.ingestion.items(job.id, limit=4, after=after)
        titles += [item.title for item in page.items]
        after = page.next_after
    assert titles == [f"{number}.txt" for number in range(9)]


def test_the_time_left_is_that_of_the_chunks_left_not_of_the_files(folio):
    job = folio.ingestion.submit(
        "default", [folio.file("s.txt", "s" * 100), folio.file("l.txt", "l" * 9900), folio.file("m.txt", "m" * 100)]
    )
    folio.commit(folio.leases().take(waiting(folio, job)[0]), "s" * 100)
    with folio.catalog.write() as session:  # it began ten seconds ago: a chunk in ten seconds
        session.execute(update(IngestJob).values(started_at=now() - timedelta(seconds=10)))
    eta_s = folio.ingestion.job(job.id).eta_s
    assert eta_s == pytest.approx(1000, rel=0.02)
