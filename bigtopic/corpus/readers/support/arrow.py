"""Batches of Arrow, from a file or in memory, to documents: a row each, or rows of (document, word, count)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import CHUNK_DOCS, Chunk, Options, Place
from bigtopic.corpus.readers.support.documents import Documents, kind_of_all
from bigtopic.corpus.readers.support.header import SAMPLE_ROWS
from bigtopic.corpus.readers.support.roles import Sample, TableLayout, table_layout
from bigtopic.corpus.readers.support.tables import (
    TableReader,
    Together,
    Triples,
    empty_cell,
    joined,
    table_documents,
)
from bigtopic.errors import InputError, argument, require

__all__ = ["ArrowReader", "ArrowStream", "arrow_layout", "check_unique"]

_TRIPLES = 1 << 19

Batches = Callable[[int, list[str]], Iterator[Any]]
"""Record batches of at most so many rows, with these columns."""


def check_unique(layout: TableLayout, where: str) -> None:
    """Columns are read by their names.

    Raises
    ------
    InputError
        When several of those that are read have one name.
    """
    for name in layout.used:
        if layout.names.count(name) > 1:
            raise InputError(
                f"{where} has several columns {name!r}; rename them, or leave them out by naming the columns to keep "
                f"with {argument('columns', ...)}"
            )


def arrow_layout(schema: Any, batches: Batches, options: Options, where: str) -> tuple[TableLayout, str]:
    """Which column is what, and the kind of the documents, from a table's schema and its first thousand rows."""
    types = require("pyarrow.types", "parquet")

    def first(i: int) -> list[Any]:
        if schema.names.count(schema.names[i]) > 1:  # columns are read by their names
            return []
        batch = next(batches(SAMPLE_ROWS, [schema.names[i]]), None)
        with _whole(where, 0, SAMPLE_ROWS):
            return batch.column(0).to_pylist() if batch is not None else []

    numeric = tuple(types.is_integer(kind) or types.is_floating(kind) for kind in schema.types)
    layout = table_layout(Sample(tuple(schema.names), first, numeric, where), options)
    if layout.matrix:
        return layout, "matrix"
    check_unique(layout, where)
    if layout.triple is not None:
        for i in layout.triple:
            if types.is_nested(schema.types[i]):
                raise InputError(
                    f"{where}: column {schema.names[i]!r} holds {schema.types[i]}, but a row is one document, one word "
                    "and a count; unnest it, or rename the column"
                )
        return layout, "triples"
    parts = [first(i) for i in layout.bodies]
    if any(isinstance(value, bytes) for values in parts for value in values):
        raise InputError(f"{where}: column {layout.body_name!r} holds bytes; cast it to string")
    return layout, kind_of_all(joined(parts), layout.body_name)


@contextmanager
def _whole(name: str, start: int, stop: int) -> Iterator[None]:
    """Arrow does not look at text when it reads: say which rows are damaged."""
    try:
        yield
    except (UnicodeDecodeError, require("pyarrow", "parquet").ArrowException) as error:
        raise InputError(
            f"{name}, rows {start} to {stop}: a column is damaged ({error}); get it again"
        ) from error


@dataclass(frozen=True)
class ArrowStream:
    """Chunks of whole documents from the batches of the table with this name."""

    name: str
    layout: TableLayout
    batches: Batches

    @property
    def repeatable(self) -> bool:
        """Whether a second pass is possible."""
        return getattr(self.batches, "repeatable", True)

    def chunks(self) -> Iterator[Chunk]:
        columns, row = list(self.layout.used), 0
        if self.layout.triple is not None:
            yield from self._documents(self.batches(_TRIPLES, columns))
            return
        for batch in self.batches(CHUNK_DOCS, columns):
            n = batch.num_rows
            yield Chunk(self.name, n, row, row + n, batch, n_docs=n)
            row += n

    def _documents(self, batches: Iterator[Any]) -> Iterator[Chunk]:
        """Batches of rows, each cut where its last document begins; the rest waits for the next."""
        pyarrow = require("pyarrow", "parquet")
        assert self.layout.triple is not None
        name, row, left, together = self.layout.names[self.layout.triple[0]], 0, None, Together()
        for batch in batches:
            table = pyarrow.Table.from_batches([batch])
            table = table if left is None else pyarrow.concat_tables([left, table])
            documents = _plain(table[name])
            same = np.flatnonzero(documents != documents[-1])
            cut = int(same[-1]) + 1 if len(same) else 0
            left = table.slice(cut)
            if cut:
                yield self._chunk(table.slice(0, cut), row, documents[:cut], together)
                row += cut
        if left is not None and left.num_rows:
            yield self._chunk(left, row, _plain(left[name]), together)

    def _chunk(self, table: Any, row: int, documents: np.ndarray, together: Together) -> Chunk:
        starts = np.flatnonzero(np.append(True, documents[1:] != documents[:-1]))
        names = documents[starts].tolist()
        n_docs = together.check(names, lambda i: f"{self.name}, row {row + starts[i]}")
        return Chunk(
            self.name, table.num_rows, row, row + table.num_rows, table.combine_chunks(), n_docs=n_docs
        )


def _plain(values: Any) -> np.ndarray:
    values = values if values.num_chunks == 1 else values.combine_chunks()
    return values.to_numpy(zero_copy_only=False)


def _listed(chunk: Chunk, name: str) -> list[Any]:
    try:
        return chunk.data.column(name).to_pylist()
    except (ValueError, OverflowError) as error:  # a date of the year 20000, nanoseconds without pandas
        raise InputError(
            f"{chunk.name}, rows from {chunk.start}: column {name!r} holds values that Python cannot represent "
            f"({error}); convert it, or leave it out by naming the columns to keep with {argument('columns', ...)}"
        ) from None


def _place(chunk: Chunk) -> Place:
    return lambda i: f"{chunk.name}, row {chunk.start + i}"


class ArrowReader(TableReader):
    def documents(self, chunk: Chunk) -> Documents:
        with _whole(chunk.name, chunk.start, chunk.stop):
            found = {name: _listed(chunk, name) for name in chunk.data.schema.names}
        columns: list[Any] = [found.get(name, ()) for name in self.layout.names]
        return table_documents(columns, self.layout, _place(chunk))

    def parse(self, chunk: Chunk) -> RawBlock:
        with _whole(chunk.name, chunk.start, chunk.stop):
            return super().parse(chunk)

    def triples(self, chunk: Chunk) -> Triples:
        assert self.layout.triple is not None
        document, word, count = (chunk.data.column(self.layout.names[i]) for i in self.layout.triple)
        place = _place(chunk)
        for cells in (document, word, count):
            if cells.null_count:
                at = cells.is_null().to_pylist().index(True)
                raise empty_cell(place(at))
        encoded = word.combine_chunks().dictionary_encode()
        encoded = encoded.combine_chunks() if hasattr(encoded, "combine_chunks") else encoded
        vocabulary = [str(value) for value in encoded.dictionary.to_pylist()]
        values = _plain(count)
        if values.dtype.kind not in "iuf":
            raise InputError(
                f"{place(0)}: column {self.layout.names[self.layout.triple[2]]} does not hold numbers"
            )
        return _plain(document), encoded.indices.to_numpy(), vocabulary, values, place
