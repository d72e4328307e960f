"""Tables: a document per row with its text in a column, or document-word-count triples in three columns.

Tables of cells are CSV and sheets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.columns import is_missing
from bigtopic.corpus.readers.base import Chunk, Options, Place
from bigtopic.corpus.readers.support.columns import id_texts
from bigtopic.corpus.readers.support.counts import check_counts, count_remedy, counts_block, restrict
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.corpus.readers.support.roles import Sample, TableLayout, refuse_matrix, table_layout
from bigtopic.corpus.readers.support.vocabulary import unique_words
from bigtopic.errors import InputError

__all__ = [
    "CellsReader",
    "TableReader",
    "Together",
    "Triples",
    "cells_fields",
    "empty_cell",
    "joined",
    "table_documents",
    "words_of_columns",
]

Triples = tuple[np.ndarray, np.ndarray, list[str], np.ndarray, Place]
_LONGEST_NUMBER = 400  # characters, more than any has that is written out


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


def table_documents(columns: Sequence[Sequence[Any]], layout: TableLayout, place: Place) -> Documents:
    """Documents of a table with a row for each."""
    ids = None if layout.id is None else id_texts(columns[layout.id])
    authors = None if layout.authors is None else list(columns[layout.authors])
    kept = {layout.names[i]: columns[i] for i in layout.kept or ()}
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
    return parts[0] if len(parts) == 1 else parts  # not a document: the reader says where


class Together:
    """Watches that the rows of each document are together, over the chunks of a table."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def check(self, documents: Sequence[Any] | np.ndarray, place: Place) -> int:
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


@dataclass
class TableReader(DocumentReader):
    """Base of the readers of tables, which may have rows of (document, word, count)."""

    def triples(self, chunk: Chunk) -> Triples:
        """Documents, ids into a vocabulary, that, and counts of such rows, (n,) each; and what names each row."""
        raise NotImplementedError

    def parse(self, chunk: Chunk) -> RawBlock:
        if self.layout.triple is None:
            return super().parse(chunk)
        block = _triples_block(*self.triples(chunk), self.options.weights)
        return block if self.vocabulary is None else restrict(block, self._index)


def _triples_block(
    documents: np.ndarray,
    words: np.ndarray,
    vocabulary: list[str],
    counts: np.ndarray,
    place: Place,
    weights: bool,
) -> RawBlock:
    """Rows of (document, word, count), the rows of a document one after the other, to a block."""
    if "" in vocabulary and (empty := words == vocabulary.index("")).any():
        raise empty_cell(place(int(np.argmax(empty))))
    if found := check_counts(counts, weights):
        at, kind = found
        raise InputError(f"{place(at)}: count {counts[at]:g} is {kind}; {count_remedy(kind)}")
    new = np.ones(len(documents), bool)
    new[1:] = documents[1:] != documents[:-1]
    starts = np.flatnonzero(new)
    ids = [str(documents[i]) for i in starts]
    return counts_block(np.append(starts, len(documents)), words, counts, vocabulary=vocabulary, ids=ids)


@dataclass
class CellsReader(TableReader):
    """Base of the readers of tables of cells; a subclass cuts a chunk into columns.

    untyped : cells are texts, whose type is still to be found
    """

    untyped: bool = False

    def cells(self, chunk: Chunk) -> tuple[list[list[Any]], Place]:
        """The columns of a chunk, in the order of the layout, and what names each row."""
        raise NotImplementedError

    def documents(self, chunk: Chunk) -> Documents:
        columns, place = self.cells(chunk)
        return replace(table_documents(columns, self.layout, place), untyped=self.untyped)

    def triples(self, chunk: Chunk) -> Triples:
        columns, place = self.cells(chunk)
        documents, words, counts = (columns[i] for i in self.layout.triple or ())
        index: dict[Any, int] = {}
        ids = np.array([index.setdefault(word, len(index)) for word in words], np.int64)
        values = np.array([_count(value, i, place) for i, value in enumerate(counts)], np.float64)
        vocabulary = ["" if is_missing(word) else str(word) for word in index]
        return np.array(documents, object), ids, vocabulary, values, place


def _count(value: Any, i: int, place: Place) -> float:
    if value is None or value == "":
        raise empty_cell(place(i))
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{place(i)}: count {str(value)[:60]!r} is not a number; correct it") from None


def cells_fields(
    names: Sequence[str],
    header: bool,
    columns: Sequence[Sequence[Any]],
    options: Options,
    where: str,
    how: str,
) -> dict[str, Any]:
    """The fields layout, kind and taken of a `CellsReader`.

    Parameters
    ----------
    names, columns : of the columns, and the first cells of each
    header : whether the first row holds the names
    where, how : the table, and what reads it as a matrix, for messages

    Raises
    ------
    InputError
        As `table_layout`, and for a table of numbers only.
    """
    table = Sample(tuple(names), lambda i: columns[i], tuple(map(_numeric, columns)), where, named=header)
    layout = table_layout(table, options)
    refuse_matrix(layout, where, how)
    kind = "text" if layout.triple is None else "triples"
    return {
        "layout": layout,
        "kind": kind,
        "taken": {"header": "the first row" if header else "none", **layout.taken},
    }


def _numeric(cells: Sequence[Any]) -> bool:
    """Whether a column holds numbers, or texts that are all numbers, and not only missing cells."""
    present = [cell for cell in cells if cell is not None and cell != ""]
    if any(isinstance(cell, str) and len(cell) > _LONGEST_NUMBER for cell in present):
        return False  # NumPy makes all cells as long as the longest
    try:
        np.array(present, str).astype(float)
    except ValueError:
        return False
    return bool(present)
