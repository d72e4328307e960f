"""`bigtopic authors`: attach authors to a corpus."""

from __future__ import annotations

import click

from bigtopic.cli._options import PATH, as_json, source_file
from bigtopic.wording import counted


@click.command("authors", short_help="Attach authors, tags or labels to a corpus.")
@click.argument("corpus", type=PATH)
@click.argument("file", type=PATH)
@as_json
def command(corpus: str, file: str, as_json: bool) -> None:
    """Attach the authors, tags or other labels in FILE to the documents of CORPUS, instead of those they have.

    FILE is CSV or TSV with two columns, document id and author, and a row for each pair; or a JSON object, {document
    id: [names]} or {name: [document ids]}. It may be compressed; - reads standard input.

    \b
    Example:
        bigtopic authors articles.zarr authors.csv
    """
    from bigtopic.cli import _show
    from bigtopic.corpus.readers.beside.author_file import authors_of_file
    from bigtopic.corpus.store import open_corpus

    with source_file(file) as path:
        made = open_corpus(corpus).with_authors(authors_of_file(path))
    if as_json:
        _show.to_json({"corpus": made.url, "authors": made.n_authors})
    else:
        _show.line(f"{made.url} has {counted(made.n_authors, 'author')} now")
