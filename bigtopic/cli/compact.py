"""`bigtopic compact`: rewrite a corpus that grew by appends."""

from __future__ import annotations

import click

from bigtopic.cli._options import PATH, as_json, connected, parallel


@click.command("compact", short_help="Rewrite a corpus that grew by appends.")
@click.argument("corpus", type=PATH)
@as_json
@parallel
def command(corpus: str, as_json: bool, scheduler: str | None, n_threads: int | None) -> None:
    """Rewrite CORPUS in place: in parts of full size, with the documents of all appends mixed, and with the most
    frequent words first.

    Appends leave small parts, and each keeps its documents together; training reads large parts faster, and minibatches
    are random again. The documents, their rows, ids and columns stay as they are. The old parts are removed when the
    new ones are complete; until then, the corpus takes twice its space. A model goes on with a compacted corpus.

    \b
    Example:
        bigtopic compact articles.zarr
    """
    from bigtopic.cli import _show
    from bigtopic.cli._facts import corpus_lines, facts_of_corpus
    from bigtopic.ingestion.ingest import compact

    with connected(scheduler) as client:
        facts = facts_of_corpus(compact(corpus, client=client, n_threads=n_threads))
    if as_json:
        _show.to_json(facts)
    else:
        _show.figures(corpus_lines(facts))
