"""`bigtopic report`: write one HTML page about a model."""

from __future__ import annotations

from typing import Any

import click
from click import UsageError, option
from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import PATH, STANDARD, as_json, connected, n_words, parallel, paths
from bigtopic.cli.support.settings import WithMeasures, named
from bigtopic.cli.support.stores import corpus_at, model_at


@verb("report", cls=WithMeasures, short_help="Write one HTML page about a model.")
@paths("model", "page")
@option("--corpus", help="Corpus for shares, coherence, leading authors and documents.")
@option("--test", help="Corpus that the model was not trained on, for the held-out score.")
@option("--time", help="Column of dates, for shares of topics over time.")
@option("--freq", help="Periods of --time: decade, year, quarter, month, week or day; default year.")
@option("--date-format", help="How dates of --time are written, such as %d.%m.%Y; %s for seconds since 1970.")
@option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Column for shares of topics in groups of documents. May be repeated.",
)
@option(
    "--theta",
    type=PATH,
    help="Topics of the documents for --time and --by, as `bigtopic infer` wrote them; else they are inferred. "
    "Needs --time or --by.",
)
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
    freq: str | None,
    date_format: str | None,
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

    if (freq or date_format) and time is None:
        raise UsageError("--freq and --date-format are about dates: name their column with --time")
    if theta and time is None and not by:
        raise UsageError("--theta has the topics of documents: name a column with --time or --by")
    if page != STANDARD:
        check_page(page)  # before the passes over the corpus
    estimator, documents, held_out = model_at(model), corpus_at(corpus), corpus_at(test)
    chosen = named(measures)
    with connected(scheduler, n_threads) as work:
        estimator.set_params(**work)
        dates = {"time": time, "freq": freq or "year", "date_format": date_format}
        shares: dict[str, Any] = {**dates, "by": by, "theta": theta}
        summary = summarise(
            estimator, documents, test=held_out, measures=chosen, n_words=n_words, **shares, **work
        )
    title = title or f"Topics: {model.rstrip('/').rpartition('/')[2].removesuffix('.zarr')}"
    if page == STANDARD:
        click.echo(html_page(summary, title=title).encode())  # as the page says, whatever the locale
    else:
        terminal.wrote(write_html(summary, page, title=title), as_json)
