"""`bigtopic select`: some documents of a corpus, as another corpus."""

from __future__ import annotations

from typing import Any

from click import command as verb

from bigtopic.cli.support import parameters
from bigtopic.cli.support.parameters import as_json, conditions, parallel, paths
from bigtopic.cli.support.stores import corpus_at, store


@verb("select", short_help="Store some documents of a corpus as another one.")
@paths("corpus", "selection")
@parameters.where(required=True)
@parameters.overwrite("SELECTION")
@as_json
@parallel
def command(
    corpus: str, selection: str, where: tuple[str, ...], overwrite: bool, as_json: bool, **workers: Any
) -> None:
    """Write the documents of CORPUS that meet every condition to SELECTION, another corpus.

    They keep their rows, ids, columns, authors and text, and the corpus its words, although none may have some of them.

    \b
    Examples:
        bigtopic select articles.zarr recent.zarr --where year=2020..
        bigtopic select articles.zarr news.zarr --where kind=news --where year=2000..2005
    """
    documents = corpus_at(corpus)
    chosen = documents.select(**conditions(where, documents))
    store([selection], [chosen], overwrite, as_json, **workers)
