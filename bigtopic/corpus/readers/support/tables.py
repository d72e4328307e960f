"""Tables: a document per row with its text in a column, or document-word-count triples in three columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.columns import is_missing
from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.support.assemble import canonical, check_counts, count_remedy, restrict
from bigtopic.corpus.readers.support.columns import id_texts
from bigtopic.corpus.readers.support.documents import Documents
from bigtopic.corpus.readers.support.vocabulary import unique_words
from bigtopic.corpus.readers.tables.sample import TableLayout
from bigtopic.errors import InputError

__all__ = [
    "Together",
    "empty_cell",
    "joined",
    "table_documents",
    "triples_block",
    "words_of_columns",
]


def words_of_columns(names: Sequence[str], options: Options, where: str) -> Options:
    """The options for the counts of a table: its columns are the words, unless a vocabulary is given.

    Raises
    ------
    InputError
        When two columns have one name.
    """
    if options.vocabulary:
        return options
    return replace(options, vocabulary=unique_words(list(map(str, names)), f"the columns of {where}"))


def table_documents(
    columns: Sequence[Sequence[Any]], layout: TableLayout, place: Callable[[int], str]
) -> Documents:
    """Documents of a table with a row for each."""
    ids = None if layout.id is None else id_texts(columns[layout.id])
    authors = None if layout.authors is None else list(columns[layout.authors])
    kept = {layout.names[i]: columns[i] for i in layout.kept}
    return Documents(joined([columns[i] for i in layout.bodies]), place, ids, authors, kept)


def joined(parts: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Documents of which each column holds a part: texts with a blank line between them, or lists of tokens.

    Missing and empty parts are passed over.
    """
    if len(parts) == 1:
        return parts[0]
    rows = zip(*parts, strict=True)
    return [_joined([part for part in row if not is_missing(part) and np.size(part)]) for row in rows]


def _joined(parts: list[Any]) -> Any:
    if all(isinstance(part, str) for part in parts):
        return "\n\n".join(filter(None, parts)) or None
    if all(isinstance(part, (list, tuple, np.ndarray)) for part in parts):
        return [item for part in parts for item in part]
    return parts[0] if len(parts) == 1 else parts  # which is no document: the reader says where


class Together:
    """Watches that the rows of each document are together, over the chunks of a table."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def check(self, documents: Sequence[Any] | np.ndarray, place: Callable[[int], str]) -> int:
        """Number of documents among these rows, which begin with a new one. Keeps 64 bits of each.

        Raises
        ------
        InputError
            Naming the row that goes back to a document, or has none.
        """
        n_docs, last = 0, self
        for i, document in enumerate(documents):
            if document == last:
                continue
            if document is None or document == "":
                raise empty_cell(place(i))
            last, key = document, document if isinstance(document, int) else hash(document)
            if key in self._seen:
                raise InputError(
                    f"{place(i)} goes back to document {str(document)!r}; the rows of a document must be together: "
                    "sort the table by document"
                )
            self._seen.add(key)
            n_docs += 1
        return n_docs


def empty_cell(where: str) -> InputError:
    """The error about a row, at `where`, that lacks its document, word or count."""
    return InputError(
        f"{where} has an empty cell; every row needs document, word and count: fill it in, or leave the row out"
    )


def triples_block(
    documents: np.ndarray,
    words: np.ndarray,
    vocabulary: list[str],
    counts: np.ndarray,
    place: Callable[[int], str],
    weights: bool,
    index: dict[str, int] | None,
) -> RawBlock:
    """Rows of (document, word, count), the rows of a document one after the other, to a block.

    Parameters
    ----------
    documents : (n,) names or numbers; words : (n,) ids into `vocabulary`; counts : (n,)
    place : says where row i is
    index : word -> id of a given vocabulary, or None

    Raises
    ------
    InputError
        When a count is not allowed, or a word is empty.
    """
    if "" in vocabulary and (empty := words == vocabulary.index("")).any():
        raise empty_cell(place(int(np.argmax(empty))))
    if found := check_counts(counts, weights):
        at, kind = found
        raise InputError(f"{place(at)}: count {counts[at]:g} is {kind}; {count_remedy(kind)}")
    new = np.ones(len(documents), bool)
    new[1:] = documents[1:] != documents[:-1]
    starts = np.flatnonzero(new)
    ids = [str(documents[i]) for i in starts]
    counts = counts.astype(np.float32)
    present = counts != 0
    indptr = np.concatenate([[0], np.cumsum(present)])[np.append(starts, len(documents))]
    arrays = canonical(indptr, words[present].astype(np.int32), counts[present])
    block = RawBlock(*arrays, vocabulary, ids, n_zeros=int(len(counts) - present.sum()))
    return block if index is None else restrict(block, index)
