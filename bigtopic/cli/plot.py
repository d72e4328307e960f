"""`bigtopic plot`: draw a picture of a model."""

from __future__ import annotations

import sys
from functools import cached_property
from importlib import import_module
from typing import Any

import click

from bigtopic.cli._options import (
    PATH,
    STANDARD,
    as_json,
    completed,
    connected,
    given,
    joined,
    options_of,
    parallel,
)

_USUAL = "svg"  # on standard output


class _WithPlots(click.Command):
    """The verb, with the settings of all plots as options; its help lists the plots."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return joined(super().get_params(ctx), self._found, ctx.command_path)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from bigtopic import plots

        with formatter.section("Plots"):
            formatter.write_dl([(plot.name, _described(plot)) for plot in map(plots.load, plots.names())])

    @cached_property
    def _found(self) -> list[click.Parameter]:
        from bigtopic import plots

        return options_of(map(plots.load, plots.names()))


@click.command("plot", cls=_WithPlots, short_help="Draw a picture of a model.")
@click.argument("name", shell_complete=completed(lambda: import_module("bigtopic.plots").names()))
@click.argument("model", type=PATH)
@click.argument("corpus", required=False, type=PATH)
@click.option(
    "--out",
    type=PATH,
    required=True,
    help="Picture to write: a path or URL that ends in .pdf, .png or .svg, or - for standard output.",
)
@click.option("--to", "format", help="Format on standard output: pdf, png or svg; default svg.")
@as_json
@parallel
def command(
    name: str,
    model: str,
    corpus: str | None,
    out: str,
    format: str | None,
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
    **settings: Any,
) -> None:
    """Draw plot NAME of MODEL and, for some plots, of CORPUS.

    \b
    Examples:
        bigtopic plot prevalence topics.zarr articles.zarr --out shares.svg
        bigtopic plot topics topics.zarr --out - --to png | display
    """
    from bigtopic import plots
    from bigtopic.cli import _show
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.persistence import load_model

    piped = out == STANDARD
    _check(piped, format, as_json)
    if not piped:
        plots.check_path(out)
    plot = plots.load(name)
    estimator = load_model(model)
    documents = None if corpus is None else open_corpus(corpus)
    with connected(scheduler) as client:
        figure = plots.draw(plot, estimator, documents, client=client, n_threads=n_threads, **given(settings))
    if piped:
        sys.stdout.buffer.write(plots.encode(figure, format or _USUAL))
    else:
        _show.wrote(plots.save(figure, out), as_json)


def _check(piped: bool, format: str | None, as_json: bool) -> None:
    """Refuse options that do not go together, and bytes on a terminal."""
    from bigtopic.plots import FORMATS

    if format is not None and not piped:
        raise click.UsageError("--to needs --out -: the format of a file is its ending")
    if format is not None and format not in FORMATS:
        raise click.UsageError(f"--to {format!r}: must be one of {', '.join(FORMATS)}")
    if piped and as_json:
        raise click.UsageError("--json has no effect if --out is -: leave it out")
    if piped and format not in (None, _USUAL) and _to_terminal():
        raise click.UsageError(f"standard output is a terminal: redirect it, as in > topics.{format}")


def _to_terminal() -> bool:
    return sys.stdout.isatty()


def _described(plot: Any) -> str:
    needs = "; needs CORPUS" if "corpus" in plot.needs else ""
    own = ", ".join(f"--{name.replace('_', '-')}" for name in plot.settings)
    return f"{plot.summary}{needs}{f' ({own})' if own else ''}"
