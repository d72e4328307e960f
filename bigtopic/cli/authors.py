"""`bigtopic authors`: attach authors to a corpus."""

from __future__ import annotations

from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import as_json, paths, source_file
from bigtopic.cli.support.stores import corpus_at
from bigtopic.wording import counted


@verb("authors", short_help="Attach authors, tags or labels to a corpus.")
@paths("corpus", "file")
@as_json
def command(corpus: str, file: str, as_json: bool) -> None:
    """Attach the authors, tags or other labels in FILE to the documents of CORPUS, instead of those they have.

    FILE is CSV or TSV with two columns, document id and author, and a row for each pair; or a JSON object, {document
    id: [names]} or {name: [document ids]}. It may be compressed; - reads standard input.

    \b
    Example:
        bigtopic authors articles.zarr authors.csv
    """
    from bigtopic.corpus.readers.author_names import authors_of_file

    with source_file(file) as path:
        made = corpus_at(corpus).with_authors(authors_of_file(path))
    n_authors = made.n_authors
    terminal.result(
        {"corpus": made.url, "authors": n_authors},
        f"{made.url} has {counted(n_authors, 'author')} now",
        as_json,
    )
