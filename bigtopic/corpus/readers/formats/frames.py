"""Tables: those that export Arrow streams (pyarrow, Polars, relations of DuckDB and others), pandas, and Parquet files.

A document per row, rows of (document, word, count), or, in memory, a column of counts for each word. A column is a
table of texts. A `RecordBatchReader` is read once, batch by batch; Parquet is read batch by batch, the rows of a
document together. An index of pandas that is not of integers names the documents.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import PurePath
from typing import Any
from urllib.parse import unquote

import numpy as np

from bigtopic.corpus.readers.base import CHUNK_DOCS, Chunk, Format, Options
from bigtopic.corpus.readers.containers.files import File, intact
from bigtopic.corpus.readers.formats import matrix
from bigtopic.corpus.readers.support.arrow import ArrowReader, ArrowStream, arrow_layout, check_unique
from bigtopic.corpus.readers.support.columns import id_texts, series_values
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents, kind_of_all
from bigtopic.corpus.readers.support.header import SAMPLE_ROWS
from bigtopic.corpus.readers.support.roles import Sample, TableLayout, refuse_matrix, table_layout
from bigtopic.corpus.readers.support.tables import joined, table_documents, words_of_columns
from bigtopic.errors import InputError, require

__all__ = ["FORMATS", "FrameReader", "as_frame", "frame_kind", "frame_layout", "is_frame"]

_NAME = "the table"


def _accepts_arrow(source: Any) -> bool:
    """pandas exports Arrow streams too, but has a reader that does without pyarrow."""
    exports = hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")
    return exports and type(source).__module__.partition(".")[0] != "pandas"


def _open_arrow(source: Any, options: Options) -> ArrowTableReader | matrix.MatrixReader:
    table = _table(source)
    batches = _TableBatches.of(table)
    layout, kind = arrow_layout(table.schema, batches.beginning, options, _NAME)
    if layout.matrix:
        words = words_of_columns(table.schema.names, options, _NAME)
        whole = require("pyarrow", "parquet").Table.from_batches(
            chain(batches.first, batches.rest), table.schema
        )
        return matrix.open_reader(np.column_stack([c.to_numpy() for c in whole.columns]), words, _NAME)
    size, stream = getattr(table, "num_rows", None), ArrowStream(_NAME, layout, batches)
    return ArrowTableReader("arrow", options, kind, size=size, unit="docs", layout=layout, stream=stream)


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


@dataclass(frozen=True)
class _TableBatches:
    """The batches of a table or stream; a stream is read once. `first` ends with the first batch that has rows."""

    first: Sequence[Any]
    rest: Iterable[Any]

    @classmethod
    def of(cls, table: Any) -> _TableBatches:
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


class ArrowTableReader(ArrowReader):
    def first_chunk(self) -> Chunk | None:
        return next(ArrowStream(_NAME, self.layout, self.stream.batches.beginning).chunks(), None)


def is_frame(source: Any, package: str) -> bool:
    """Whether this is a Series or a DataFrame of the package."""
    kind = type(source)
    return kind.__name__ in ("Series", "DataFrame") and kind.__module__.startswith(f"{package}.")


def as_frame(source: Any) -> Any:
    """A column becomes a table of texts."""
    return source.to_frame("text") if type(source).__name__ == "Series" else source


def frame_layout(frame: Any, options: Options, where: str, first: Any = None) -> TableLayout:
    """Which column is what; `first` holds rows of a frame that has none itself."""
    begin = (frame if first is None else first).iloc[:SAMPLE_ROWS]
    table = Sample(
        tuple(map(str, frame.columns)),
        lambda i: list(series_values(begin.iloc[:, i])),
        tuple(dtype.kind in "biuf" for dtype in frame.dtypes),
        where,
        names_rows=begin.index.inferred_type == "string",
    )
    layout = table_layout(table, options)
    if not layout.matrix:
        check_unique(layout, where)
    return layout


def frame_kind(frame: Any, layout: TableLayout) -> str:
    """The kind of the documents, from the first rows."""
    parts = [series_values(frame.iloc[:SAMPLE_ROWS, i]) for i in layout.bodies]
    return kind_of_all(joined(parts), layout.body_name)


class FrameReader(DocumentReader):
    """Reads pandas' tables."""

    def documents(self, chunk: Chunk) -> Documents:
        """A document per row; an index that is not of integers names them, unless a column does."""
        frame, layout = chunk.data, self.layout
        used = layout.positions
        columns = [series_values(frame.iloc[:, i]) if i in used else () for i in range(len(layout.names))]
        documents = table_documents(columns, layout, lambda i: f"{chunk.name}, row {chunk.start + i}")
        if layout.id is None and frame.index.inferred_type != "integer":
            return replace(documents, ids=id_texts(frame.index))
        return documents


def _open_pandas(source: Any, options: Options) -> DocumentReader | matrix.MatrixReader:
    frame = as_frame(source)
    layout = frame_layout(frame, options, _NAME)
    if layout.matrix:
        return matrix.open_reader(_counts(frame), words_of_columns(layout.names, options, _NAME), _NAME)
    if layout.triple is not None:
        table = require("pyarrow", "parquet").Table
        return _open_arrow(table.from_pandas(frame, preserve_index=False), options)
    kind, stream = frame_kind(frame, layout), _FrameStream(frame)
    return FrameReader("pandas", options, kind, size=len(frame), unit="docs", layout=layout, stream=stream)


def _counts(frame: Any) -> Any:
    if len(frame.columns) and all(hasattr(dtype, "fill_value") for dtype in frame.dtypes):
        return frame.sparse.to_coo().tocsr()
    counts = frame.to_numpy()
    return counts if counts.dtype.kind in "biuf" else frame.to_numpy(float)


@dataclass(frozen=True)
class _FrameStream:
    frame: Any

    def chunks(self) -> Iterator[Chunk]:
        for start in range(0, len(self.frame), CHUNK_DOCS):
            rows = self.frame.iloc[start : start + CHUNK_DOCS]
            yield Chunk.of_rows(_NAME, start, start + len(rows), rows)


def _open_parquet(files: Sequence[File], options: Options) -> ParquetReader:
    schemas, sizes = [], []
    for file in files:
        with _opened(file) as parquet:
            schemas.append(_schema(parquet.schema_arrow, file))
            sizes.append(parquet.metadata.num_rows)
        if sorted(schemas[-1].names) != sorted(schemas[0].names):
            raise InputError(
                f"{file.path} has different columns from {files[0].path}; give files of one schema"
            )
    first = files[next((i for i, size in enumerate(sizes) if size), 0)]
    layout, kind = arrow_layout(schemas[0], partial(_batches, first), options, first.path)
    refuse_matrix(layout, first.path, "pyarrow.parquet.read_table")
    return ParquetReader(
        "parquet", options, kind, size=sum(sizes), unit="docs", files=tuple(files), layout=layout
    )


@contextlib.contextmanager
def _opened(file: File) -> Iterator[Any]:
    """The open file; whatever Arrow raises about its contents is the file's fault."""
    parquet = require("pyarrow.parquet", "parquet")
    with intact(file.path), parquet.ParquetFile(file.path if not file.remote else file.open_raw()) as opened:
        yield opened


_INDEX = "__null_dask_index__"


def _schema(schema: Any, file: File) -> Any:
    """The columns of a file: its own, without the index that Dask writes, and what its folders name."""
    pyarrow = require("pyarrow", "parquet")
    own = [field for field in schema if field.name != _INDEX]
    given = _of_folders(file, schema).items()
    return pyarrow.schema([*own, *(pyarrow.field(name, pyarrow.scalar(value).type) for name, value in given)])


def _of_folders(file: File, schema: Any) -> dict[str, int | str]:
    """{"year": 1999} of "year=1999/part.0.parquet": columns by which Hive, Spark and Dask divide tables."""
    pairs = [part.split("=", 1) for part in PurePath(file.path).parts[:-1] if "=" in part]
    found = {name: int(value) if value.isdecimal() else unquote(value) for name, value in pairs}
    return {name: value for name, value in found.items() if name not in schema.names}


def _batches(file: File, n_rows: int, columns: list[str]) -> Iterator[Any]:
    with _opened(file) as parquet:
        given = _of_folders(file, parquet.schema_arrow)
        for batch in parquet.iter_batches(n_rows, columns=[name for name in columns if name not in given]):
            for name in given.keys() & columns:
                batch = batch.append_column(name, [given[name]] * batch.num_rows)
            yield batch


class ParquetReader(ArrowReader):
    def streams(self) -> list[ArrowStream]:
        return [ArrowStream(file.path, self.layout, partial(_batches, file)) for file in self.files]


FORMATS = {
    "arrow": Format(_open_arrow, accepts=_accepts_arrow),
    "pandas": Format(_open_pandas, accepts=lambda source: is_frame(source, "pandas")),
    "parquet": Format(_open_parquet, match=lambda file: 1.0 if file.sample[:4] == b"PAR1" else 0.0),
}
