"""`folio jobs`: show, cancel and retry ingestion jobs."""

import click

from folio.addresses import on_a_line

STATES = ("queued", "running", "done", "unchanged", "failed", "cancelled")


@click.group("jobs", invoke_without_command=True)
@click.option("--collection", help="Only jobs of this collection.")
@click.option("--limit", default=20, show_default=True, help="How many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.pass_context
def jobs(context: click.Context, collection: str | None, limit: int, as_json: bool) -> None:
    """List jobs, newest first; subcommands show, cancel and retry one."""
    if context.invoked_subcommand:
        return
    from folio.cli.context import as_kept, echo_json, services

    found = services().ingestion.jobs(collection, limit=limit)
    if as_json:
        echo_json([as_kept(job) for job in found])
        return
    for job in found:
        counts = job.files
        cancelled = f"{counts.cancelled} cancelled, " if counts.cancelled else ""
        click.echo(
            f"{job.id}  {job.state:<9} {job.collection:<12} {counts.finished}/{counts.total} files, "
            f"{counts.failed} failed, {cancelled}{job.chunks_done} chunks  {on_a_line(job.catalog_source)[:60]}"
        )
    if not all(job.is_finished for job in found):
        _say_that_nobody_works()


@jobs.command()
@click.argument("job_id")
@click.option("--state", type=click.Choice(STATES), default=None, help="List only files in this state.")
@click.option("--limit", default=200, show_default=True, help="Most files listed; failed and running ones come first.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def show(job_id: str, state: str | None, limit: int, as_json: bool) -> None:
    """Show a job with its files."""
    from folio.cli.context import echo_json, services

    ingestion = services().ingestion
    job = ingestion.job(job_id, items=limit)
    if state:
        chosen = ingestion.items(job_id, state=state, limit=limit)
        left_out = getattr(job.files, state, 0) - len(chosen.items)
        job = job.model_copy(update={"items": chosen.items, "items_left_out": left_out})
    if as_json:
        echo_json(job)
        return
    click.echo(f"{job.state}: {job.files.finished} of {job.files.total} files, {job.chunks_done} chunks")
    for item in job.items:
        code = f"({item.reason_code}) " if item.reason_code else ""
        click.echo(f"  {item.state:<9} {item.stage:<10} {on_a_line(item.catalog_uri)} {code}{item.reason}".rstrip())
    if job.items_left_out:
        click.echo(f"  and {job.items_left_out} more; --limit shows more of them.")
    if not job.is_finished:
        _say_that_nobody_works()


@jobs.command()
@click.argument("job_id")
def cancel(job_id: str) -> None:
    """Cancel what is not done yet."""
    from folio.cli.context import services

    click.echo(f"{services().ingestion.cancel(job_id).files.cancelled} files cancelled.")


@jobs.command()
@click.argument("job_id")
def retry(job_id: str) -> None:
    """Try the failed and cancelled files again."""
    from folio.cli.context import services

    job = services().ingestion.retry(job_id)
    click.echo(f"{job.files.queued} files wait. `folio jobs show {job_id}` follows them.")


def _say_that_nobody_works() -> None:
    """Say that what is not finished waits, unless a worker runs on this machine."""
    from folio.cli.context import settings
    from ingest.worker import worker_runs

    if not worker_runs(settings()):
        click.echo("No worker runs on this machine. `folio worker` or `folio serve` goes on with what waits.", err=True)
