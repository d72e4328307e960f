"""`bigtopic report`: write one HTML page about a model."""

from __future__ import annotations

from typing import Any

import click
from click import command as verb
from click import option

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import STANDARD, as_json, connected, n_words, parallel, paths, theta
from bigtopic.cli.support.settings import WithMeasures, named
from bigtopic.cli.support.stores import corpus_at, model_at


@verb("report", cls=WithMeasures, short_help="Write one HTML page about a model.")
@paths("model", "page")
@option("--corpus", help="Corpus for shares, coherence, leading authors and documents.")
@option("--test", help="Corpus that the model was not trained on, for the held-out score.")
@option("--time", help="Column of dates, for shares of topics over time.")
@option("--freq", default="year", help="Periods: decade, year, quarter, month, week or day.")
@option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Column for shares of topics in groups of documents. May be repeated.",
)
@theta
@option("--title", help="Title of the page; default the name of the model.")
@n_words(12)
@as_json
@parallel
def command(
    model: str,
    page: str,
    corpus: str | None,
    test: str | None,
    time: str | None,
    freq: str,
    by: tuple[str, ...],
    theta: str | None,
    title: str | None,
    n_words: int,
    measures: tuple[str, ...],
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Write one self-contained HTML page about MODEL to PAGE, a path or a URL; - writes to standard output.

    \b
    Examples:
        bigtopic report topics.zarr topics.html --corpus articles.zarr
        bigtopic report topics.zarr topics.html --corpus articles.zarr --time date --by section
    """
    from bigtopic.report import html_page, summarise, write_html
    from bigtopic.report.html import check_page

    if page != STANDARD:
        check_page(page)  # before the passes over the corpus
    estimator, documents, held_out = model_at(model), corpus_at(corpus), corpus_at(test)
    chosen = named(measures)
    with connected(scheduler, n_threads) as work:
        estimator.set_params(**work)
        shares: dict[str, Any] = {"time": time, "freq": freq, "by": by, "theta": theta}
        summary = summarise(
            estimator, documents, test=held_out, measures=chosen, n_words=n_words, **shares, **work
        )
    title = title or f"Topics: {model.rstrip('/').rpartition('/')[2].removesuffix('.zarr')}"
    if page == STANDARD:
        click.echo(html_page(summary, title=title).encode())  # as the page says, whatever the locale
    else:
        terminal.wrote(write_html(summary, page, title=title), as_json)
