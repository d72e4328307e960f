"""`bigtopic report`: write one HTML page about a model."""

from __future__ import annotations

import click

from bigtopic.cli._options import PATH, STANDARD, WithMeasures, as_json, connected, named, parallel


@click.command("report", cls=WithMeasures, short_help="Write one HTML page about a model.")
@click.argument("model", type=PATH)
@click.argument("page", type=PATH)
@click.option("--corpus", help="Corpus for shares, coherence, leading authors and documents.")
@click.option("--test", help="Corpus that the model was not trained on, for the held-out score.")
@click.option("--title", help="Title of the page; default the name of the model.")
@click.option(
    "--n-top",
    "--words",
    "n_words",
    type=click.IntRange(1),
    default=12,
    show_default=True,
    help="Words per topic.",
)
@as_json
@parallel
def command(
    model: str,
    page: str,
    corpus: str | None,
    test: str | None,
    title: str | None,
    n_words: int,
    measures: tuple[str, ...],
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Write one self-contained HTML page about MODEL to PAGE, a path or a URL; - writes to standard output.

    \b
    Example:
        bigtopic report topics.zarr topics.html --corpus articles.zarr
    """
    from bigtopic.cli import _show
    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.persistence import load_model
    from bigtopic.report import html_page, summarise, write_html
    from bigtopic.report.html import check_page

    if page != STANDARD:
        check_page(page)  # before the passes over the corpus
    estimator = load_model(model)
    documents, held_out = (None if url is None else open_corpus(url) for url in (corpus, test))
    with connected(scheduler) as client:
        summary = summarise(
            estimator,
            documents,
            test=held_out,
            measures=named(measures),
            n_words=n_words,
            client=client,
            n_threads=n_threads,
        )
    name = model.rstrip("/").rpartition("/")[2].removesuffix(".zarr")
    title = title or f"Topics: {name}"
    if page == STANDARD:
        click.echo(html_page(summary, title=title))
        return
    _show.wrote(write_html(summary, page, title=title), as_json)
