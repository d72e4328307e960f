"""Tables and columns in memory that export Arrow streams: those of pyarrow and Polars, relations of DuckDB and others.

A document per row, rows of (document, word, count), or a column of counts for each word. A `RecordBatchReader` is read
once, batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import Chunk, Options
from bigtopic.corpus.readers.formats import matrix
from bigtopic.corpus.readers.support.arrow import ArrowReader, ArrowStream, arrow_layout
from bigtopic.corpus.readers.support.tables import words_of_columns
from bigtopic.errors import require

__all__ = ["TableReader", "accepts", "open_reader"]

_NAME = "the table"


def accepts(source: Any) -> bool:
    """pandas exports Arrow streams too, but has a reader that does without pyarrow."""
    exports = hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")
    return exports and type(source).__module__.partition(".")[0] != "pandas"


def open_reader(source: Any, options: Options) -> TableReader | matrix.MatrixReader:
    table = _table(source)
    batches = _Batches.of(table)
    layout, kind = arrow_layout(table.schema, batches.beginning, options, _NAME)
    if layout.matrix:
        words = words_of_columns(table.schema.names, options, _NAME)
        return matrix.open_reader(_counts(batches, table.schema), words, _NAME)
    size = getattr(table, "num_rows", None)
    return TableReader(
        "arrow", options, kind, size, "docs", taken=layout.taken, layout=layout, batches=batches
    )


def _table(source: Any) -> Any:
    """A table, or a reader of batches; a column becomes a table of texts."""
    pyarrow = require("pyarrow", "parquet")
    if isinstance(source, pyarrow.Table | pyarrow.RecordBatchReader):
        return source
    try:
        return pyarrow.table(source)
    except (pyarrow.ArrowInvalid, TypeError):
        column = pyarrow.chunked_array if hasattr(source, "__arrow_c_stream__") else pyarrow.array
        return pyarrow.table({"text": column(source)})


def _counts(batches: _Batches, schema: Any) -> np.ndarray:
    table = require("pyarrow", "parquet").Table.from_batches(chain(batches.first, batches.rest), schema)
    return np.column_stack([column.to_numpy() for column in table.columns])


@dataclass(frozen=True)
class _Batches:
    """The batches of a table, or, once, those of a stream; the first, up to one with rows, may be looked at before."""

    first: Sequence[Any]
    rest: Iterable[Any]

    @classmethod
    def of(cls, table: Any) -> _Batches:
        batches = table.to_batches() if hasattr(table, "num_rows") else table
        first = []
        for batch in batches:
            first.append(batch)
            if batch.num_rows:
                break
        return cls(first, batches[len(first) :] if isinstance(batches, list) else batches)

    @property
    def repeatable(self) -> bool:
        """Whether a second pass is possible."""
        return isinstance(self.rest, list)

    def __call__(self, n_rows: int, columns: list[str]) -> Iterator[Any]:
        return _runs(chain(self.first, self.rest), n_rows, columns)

    def beginning(self, n_rows: int, columns: list[str]) -> Iterator[Any]:
        """The first of them, any number of times."""
        return _runs(self.first, n_rows, columns)


def _runs(batches: Iterable[Any], n_rows: int, columns: list[str]) -> Iterator[Any]:
    for batch in batches:
        for start in range(0, batch.num_rows, n_rows):
            yield batch.select(columns).slice(start, n_rows)


@dataclass
class TableReader(ArrowReader):
    batches: _Batches | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "batches": None}

    def streams(self) -> list[ArrowStream]:
        assert self.batches is not None
        return [ArrowStream(_NAME, self.layout, self.batches)]

    def first_chunk(self) -> Chunk | None:
        assert self.batches is not None
        return next(ArrowStream(_NAME, self.layout, self.batches.beginning).chunks(), None)
