"""What `folio ingest` says: of a look at the sources, of what would be done, and of what was done."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from folio.addresses import on_a_line
from folio.cli.context import as_kept, echo_json

if TYPE_CHECKING:
    from ingest.comparison import Compared, Comparison
    from ingest.documents import DeletionReceipt
    from ingest.sources import LeftOut
    from ingest.views import JobView


@dataclass(frozen=True)
class Deletion:
    """A document that was deleted because its file is gone."""

    document: "Compared"
    receipt: "DeletionReceipt"


class Notices:
    """Says on stderr what is the matter, each thing once for as long as it lasts."""

    def __init__(self) -> None:
        self._standing: set[str] = set()
        self._last = ""

    def show(self, *notices: Iterable[str]) -> None:
        """Say those that are new, and forget those that are over."""
        now = [notice for each in notices for notice in each]
        for notice in now:
            if notice not in self._standing:
                click.echo(notice, err=True)
        self._standing = set(now)

    def show_last(self, notice: str) -> None:
        """Say what stands at the end of a round, unless the round before ended with it."""
        if notice and notice != self._last:
            click.echo(notice, err=True)
        self._last = notice


def gone(sources: Iterable[str]) -> list[str]:
    """Of sources that vanished while they are watched."""
    return [f"{source} is not there any more; watching goes on, and takes it when it is back." for source in sources]


def closed(paths: Iterable[Path]) -> list[str]:
    """Of paths that may not be read."""
    return [f"{on_a_line(str(path))} can't be read and was left out. Check its permissions." for path in paths]


def withheld(documents: dict[str, int]) -> list[str]:
    """Of sources that seem to be away as a whole, with how many documents each has."""
    return [
        f"{source} is gone or empty as a whole, as on a disk that is not mounted. Its {count} documents are kept; "
        "if it is meant to be gone, delete them with `folio documents delete`."
        for source, count in documents.items()
    ]


def left_out(found: Sequence["LeftOut"]) -> str:
    """How many were left out, by kind; empty when none was."""
    from ingest.sources import LEFT_OUT_KINDS

    counts = _left_out_counts(found)
    said = [f"{count} {kind if count == 1 else LEFT_OUT_KINDS[kind]}" for kind, count in counts.items()]
    return f"Left out: {', '.join(said)}." if said else ""


def say_plan(plan: "Comparison", found: Sequence["LeftOut"], *, delete_missing: bool, as_json: bool) -> None:
    """What would be done, a line for each file that is not left as it is, then the counts."""
    if as_json:
        counts = {**plan.counts, "left_out": len(found)}
        lists = {name: [asdict(entry) for entry in entries] for name, entries in plan.lists.items()}
        paths = [{"path": str(each.path), "kind": each.kind} for each in found]
        echo_json({"counts": counts, "delete_missing": delete_missing, **lists, "left_out": paths})
        return
    said = {"new": "add", "changed": "replace", "missing": "delete" if delete_missing else "file is gone, kept"}
    for name, deed in said.items():
        for entry in plan.lists[name]:
            click.echo(f"{deed}: {on_a_line(entry.address)}")
    for entry in plan.failed_before:
        click.echo(f"try again, failed before ({entry.reason_code}): {on_a_line(entry.address)}")
    for each in found:
        click.echo(f"leave out ({each.kind}): {on_a_line(str(each.path))}")
    click.echo(", ".join(f"{count} {name.replace('_', ' ')}" for name, count in plan.counts.items()))


def say_done(
    job: "JobView | None", deletions: Sequence[Deletion], found: Sequence["LeftOut"], *, as_json: bool
) -> None:
    """What was done: failures on stderr, each deleted document, the counts. Says nothing when nothing was done."""
    if as_json:
        if job is not None or deletions:
            done: dict[str, Any] = as_kept(job) if job is not None else {}
            gone = [{**asdict(each.document), "receipt": each.receipt.model_dump(mode="json")} for each in deletions]
            echo_json({**done, "deleted": gone, "left_out": _left_out_counts(found)})
        return
    for item in job.items if job is not None else []:
        if item.state == "failed":
            click.echo(f"failed ({item.reason_code}) {on_a_line(item.catalog_uri)}: {item.reason}", err=True)
    for each in deletions:
        click.echo(f"deleted: {on_a_line(each.document.address)} (document {each.receipt.document_id})")
        if not each.receipt.verified:
            places = [place for place, is_gone in each.receipt.checked.items() if not is_gone]
            click.echo(f"Something of it is still found in: {', '.join(places)}. Run `folio doctor`.", err=True)
    said = [f"{len(deletions)} deleted"] if deletions else []
    if job is not None:
        files = job.files
        said = [f"{files.done - files.opened} added", f"{files.unchanged} unchanged", f"{files.failed} failed", *said]
        said += [f"{files.opened} opened for the files in them"] if files.opened else []
    if said:
        click.echo(f"{', '.join(said)}; {_outcome(job)}")


def _outcome(job: "JobView | None") -> str:
    if job is None:
        return "gone from search."
    said = "searchable now." if job.files.done or job.files.unchanged else "nothing went in."
    return f"{said} Job {job.id}"


def _left_out_counts(found: Sequence["LeftOut"]) -> dict[str, int]:
    return dict(Counter(each.kind for each in found).most_common())
