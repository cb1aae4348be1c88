"""`folio models`: prepare the models of the settings, and show where they are."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from tqdm import tqdm

from folio.errors import ModelMissing

if TYPE_CHECKING:
    from folio.settings import Settings


@click.group("models")
def models() -> None:
    """Prepare models and show where they are."""


@models.command()
@click.argument("model", default="")
@click.option("--embedder-only", is_flag=True, help="Leave the language model out.")
@click.option("--quantize", type=click.Choice(["w8a8"]), help="Make MODEL (a folder or hub name) 8 bits wide.")
@click.option(
    "--calibration",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Text that smoothing is measured on; the sample documents by default.",
)
@click.option("--no-smooth", is_flag=True, help="Quantize without SmoothQuant.")
def prepare(model: str, embedder_only: bool, quantize: str | None, calibration: Path | None, no_smooth: bool) -> None:
    """Fetch, check, convert and quantize the starter models, once; does nothing where they are ready.

    With --quantize, make the INT8 version of MODEL instead (`starter` for the starter model), and say where it lies.
    """
    from folio.cli.context import settings as load

    settings = load()
    if quantize:
        _quantize(settings, model or settings.model, calibration, smooth=not no_smooth)
    elif model or calibration or no_smooth:
        raise click.UsageError("MODEL, --calibration and --no-smooth belong to --quantize.")
    else:
        _prepare(settings, embedder_only=embedder_only)


def _prepare(settings: "Settings", *, embedder_only: bool) -> None:
    from folio.models.resolve import STARTER, resolve_embedder, resolve_llm
    from folio.models.starter import prepare_embedder, prepare_llm
    from generation.vllm_server import has_gpu

    with _ProgressBars() as bars:
        if settings.embedding_model == STARTER:
            click.echo(f"Embedding model: {prepare_embedder(settings, bars.show)}")
        else:
            click.echo(f"Embedding model: {resolve_embedder(settings)}")
        if embedder_only or settings.engine_urls:
            return
        if settings.model == STARTER:
            click.echo(f"Language model: {prepare_llm(settings, bars.show, int8=not has_gpu())}")
        else:
            click.echo(f"Language model: {resolve_llm(settings)}")


def _quantize(settings: "Settings", model: str, calibration: Path | None, *, smooth: bool) -> None:
    from folio.models.prepare_w8a8 import calibration_text, prepare_w8a8
    from folio.models.resolve import STARTER
    from folio.models.starter import prepare_llm

    text = calibration_text(calibration) if smooth else None
    with _ProgressBars() as bars:
        source = str(prepare_llm(settings, bars.show, int8=False)) if model == STARTER else model
        target = prepare_w8a8(source, settings.models_dir, text, bars.show)
    click.echo(f"Ready: {target}\nServe it with FOLIO_MODEL={target}")


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_models(as_json: bool) -> None:
    """Show the models of the settings and where each is loaded from."""
    from folio.cli.context import echo_json
    from folio.cli.context import settings as load
    from folio.models.resolve import resolve_embedder, resolve_llm
    from generation.vllm_server import has_gpu

    settings = load()
    rows = []
    roles: list[tuple[str, str, Callable[[], object]]] = [
        ("embedding", settings.embedding_model, lambda: resolve_embedder(settings)),
        ("language", settings.model, lambda: resolve_llm(settings, int8=not has_gpu())),
    ]
    for role, name, locate in roles:
        try:
            rows.append({"role": role, "name": name, "location": str(locate()), "ready": True})
        except ModelMissing as exc:
            rows.append({"role": role, "name": name, "location": exc.message, "ready": False})
    if as_json:
        echo_json(rows)
        return
    for row in rows:
        click.echo(f"{row['role']:<10} {row['name']:<20} {'ready  ' if row['ready'] else 'missing'} {row['location']}")


class _ProgressBars:
    """One bar a step, on stderr; the next step closes the bar before it."""

    def __enter__(self) -> "_ProgressBars":
        self._bar: Any = None
        self._step = ""
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, step: str, done: int, total: int) -> None:
        """Bring the bar of `step` to `done` of `total`."""
        if self._bar is None or self._step != step:
            self.__exit__()
            self._step = step
            self._bar = tqdm(total=total, desc=step, file=sys.stderr, mininterval=1)
        self._bar.update(done - self._bar.n)
