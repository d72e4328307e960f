"""`bigtopic plot`: draw a picture of a model."""

from __future__ import annotations

import sys
from functools import cached_property
from importlib import import_module
from typing import Any

from click import Context, HelpFormatter, Parameter, UsageError, argument, option
from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import (
    PATH,
    STANDARD,
    as_json,
    completed,
    connected,
    parallel,
    paths,
    theta,
)
from bigtopic.cli.support.settings import WithFound, given, options_of
from bigtopic.cli.support.stores import corpus_at, model_at

_NEEDS = {
    "corpus": "CORPUS",
    "shares": "CORPUS or --theta",
    "texts": "CORPUS with texts",
    "authors": "an author-topic model",
}
_USUAL = "svg"  # on standard output


class _WithPlots(WithFound):
    """The verb, with the settings of all plots as options; its help lists the plots."""

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        from bigtopic import plots

        rows = []
        for plot in map(plots.load, plots.names()):
            needs = next((f"; needs {_NEEDS[need]}" for need in plot.needs if need in _NEEDS), "")
            own = ", ".join(f"--{name.replace('_', '-')}" for name in plot.settings)
            rows.append((plot.name, f"{plot.summary}{needs}{f' ({own})' if own else ''}"))
        with formatter.section("Plots"):
            formatter.write_dl(rows)

    @cached_property
    def _found(self) -> list[Parameter]:
        from bigtopic import plots

        return options_of(map(plots.load, plots.names()))


@verb("plot", cls=_WithPlots, short_help="Draw a picture of a model.")
@argument("name", shell_complete=completed(lambda: import_module("bigtopic.plots").names()))
@paths("model")
@argument("corpus", required=False, type=PATH)
@option(
    "--out",
    type=PATH,
    required=True,
    help="Picture to write: a path or URL that ends in .pdf, .png or .svg, or - for standard output.",
)
@theta
@option("--to", "format", help="Format on standard output: pdf, png or svg; default svg.")
@as_json
@parallel
def command(
    name: str,
    model: str,
    corpus: str | None,
    out: str,
    theta: str | None,
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
        bigtopic plot over-time topics.zarr --theta theta.zarr --column date --out years.svg
        bigtopic plot topics topics.zarr --out - --to png | display
    """
    from bigtopic import plots

    piped = out == STANDARD
    _check(piped, format, as_json)
    if not piped:
        plots.check_path(out)
    plot, estimator, documents = plots.load(name), model_at(model), corpus_at(corpus)
    with connected(scheduler, n_threads) as work:
        estimator.set_params(**work)
        figure = plots.draw(plot, estimator, documents, theta=theta, **work, **given(settings))
    if piped:
        sys.stdout.buffer.write(plots.encode(figure, format or _USUAL))
    else:
        terminal.wrote(plots.save(figure, out), as_json)


def _check(piped: bool, format: str | None, as_json: bool) -> None:
    """Refuse options that do not go together, and bytes on a terminal."""
    from bigtopic.plots import FORMATS

    if format is not None and not piped:
        raise UsageError("--to needs --out -: the format of a file is its ending")
    if format is not None and format not in FORMATS:
        raise UsageError(f"--to {format!r}: must be one of {', '.join(FORMATS)}")
    if piped and as_json:
        raise UsageError("--json has no effect if --out is -: leave it out")
    if piped and format not in (None, _USUAL) and terminal.is_terminal():
        raise UsageError(f"standard output is a terminal: redirect it, as in > topics.{format}")
