"""`bigtopic select`: some documents of a corpus, as another corpus."""

from __future__ import annotations

import click

from bigtopic.cli._options import PATH, as_json, conditions, parallel, where_option
from bigtopic.cli._stores import store


@click.command("select", short_help="Store some documents of a corpus as another one.")
@click.argument("corpus", type=PATH)
@click.argument("selection", type=PATH)
@where_option(required=True)
@click.option("--overwrite", is_flag=True, help="Replace SELECTION if it exists.")
@as_json
@parallel
def command(
    corpus: str,
    selection: str,
    where: tuple[str, ...],
    overwrite: bool,
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Write the documents of CORPUS that meet every condition to SELECTION, another corpus.

    They keep their rows, ids, columns, authors and text, and the corpus its words, although none may have some of them.

    \b
    Examples:
        bigtopic select articles.zarr recent.zarr --where year=2020..
        bigtopic select articles.zarr news.zarr --where kind=news --where year=2000..2005
    """
    from bigtopic.corpus.store import open_corpus

    documents = open_corpus(corpus)
    chosen = documents.select(**conditions(where, documents))
    store([selection], [chosen], overwrite, as_json, scheduler, n_threads)
