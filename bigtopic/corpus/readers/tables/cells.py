"""Tables of cells (CSV, sheets): the columns of a chunk to documents, or rows of (document, word, count) to a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.columns import is_missing
from bigtopic.corpus.readers.base import Chunk
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.corpus.readers.support.tables import empty_cell, table_documents, triples_block
from bigtopic.corpus.readers.tables.sample import TableLayout
from bigtopic.errors import InputError

__all__ = ["CellsReader", "numeric_columns"]


@dataclass
class CellsReader(DocumentReader):
    """Base of the readers of tables of cells; a subclass cuts a chunk into columns.

    untyped : cells are texts, whose type is still to be found
    """

    layout: TableLayout = field(default_factory=lambda: TableLayout(()))
    untyped: bool = False

    def cells(self, chunk: Chunk) -> tuple[list[list[Any]], Callable[[int], str]]:
        """The columns of a chunk, in the order of the layout, and what names each row."""
        raise NotImplementedError

    def documents(self, chunk: Chunk) -> Documents:
        columns, place = self.cells(chunk)
        return replace(table_documents(columns, self.layout, place), untyped=self.untyped)

    def parse(self, chunk: Chunk) -> RawBlock:
        if self.layout.triple is None:
            return super().parse(chunk)
        columns, place = self.cells(chunk)
        documents, words, counts = (columns[i] for i in self.layout.triple)
        index: dict[Any, int] = {}
        ids = np.array([index.setdefault(word, len(index)) for word in words], np.int64)
        values = np.array([_count(value, i, place) for i, value in enumerate(counts)], np.float64)
        vocabulary = ["" if is_missing(word) else str(word) for word in index]
        given = None if self.vocabulary is None else self._index
        names = np.array(documents, object)
        return triples_block(names, ids, vocabulary, values, place, self.options.weights, given)


def _count(value: Any, i: int, place: Callable[[int], str]) -> float:
    if value is None or value == "":
        raise empty_cell(place(i))
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{place(i)}: count {str(value)[:60]!r} is not a number; correct it") from None


_LONGEST_NUMBER = 400  # characters, more than any has that is written out


def numeric_columns(columns: Sequence[Sequence[Any]]) -> tuple[bool, ...]:
    """Whether each column holds numbers, or texts that are all numbers, and not only missing cells."""
    return tuple(map(_numeric, columns))


def _numeric(cells: Sequence[Any]) -> bool:
    present = [cell for cell in cells if cell is not None and cell != ""]
    if any(isinstance(cell, str) and len(cell) > _LONGEST_NUMBER for cell in present):
        return False  # NumPy makes all cells as long as the longest
    try:
        np.array(present, str).astype(float)
    except ValueError:
        return False
    return bool(present)
