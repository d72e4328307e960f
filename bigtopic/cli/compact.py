"""`bigtopic compact`: rewrite a corpus that grew by appends."""

from __future__ import annotations

from typing import Any

from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import as_json, connected, parallel, paths


@verb("compact", short_help="Rewrite a corpus that grew by appends.")
@paths("corpus")
@as_json
@parallel
def command(corpus: str, as_json: bool, **workers: Any) -> None:
    """Rewrite CORPUS in place: in parts of full size, with the documents of all appends mixed, and with the most
    frequent words first.

    Appends leave small parts, and each keeps its documents together; training reads large parts faster, and minibatches
    are random again. The documents, their rows, ids and columns stay as they are. The old parts are removed when the
    new ones are complete; until then, the corpus takes twice its space. A model goes on with a compacted corpus.

    \b
    Example:
        bigtopic compact articles.zarr
    """
    from bigtopic.cli.support.facts import corpus_lines, facts_of_corpus
    from bigtopic.ingestion.ingest import compact

    with connected(**workers) as work:
        facts = facts_of_corpus(compact(corpus, **work))
    terminal.result(facts, corpus_lines(facts), as_json)
