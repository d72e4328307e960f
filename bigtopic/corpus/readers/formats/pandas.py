"""pandas: a `Series` of documents, or a `DataFrame` with a document per row, rows of (document, word, count), or a
column of counts for each word. An index that is not of integers names the documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bigtopic.corpus.readers.base import CHUNK_DOCS, Chunk, Options
from bigtopic.corpus.readers.formats import arrow, matrix
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.corpus.readers.support.frames import (
    as_frame,
    frame_documents,
    frame_kind,
    frame_layout,
    is_frame,
)
from bigtopic.corpus.readers.support.tables import words_of_columns
from bigtopic.corpus.readers.tables.sample import TableLayout
from bigtopic.errors import require

__all__ = ["accepts", "open_reader"]

_NAME = "the table"


def accepts(source: Any) -> bool:
    return is_frame(source, "pandas")


def open_reader(source: Any, options: Options) -> PandasReader | arrow.TableReader | matrix.MatrixReader:
    frame = as_frame(source)
    layout = frame_layout(frame, options, _NAME)
    if layout.matrix:
        words = words_of_columns(layout.names, options, _NAME)
        return matrix.open_reader(_counts(frame), words, _NAME)
    if layout.triple is not None:
        table = require("pyarrow", "parquet").Table
        return arrow.open_reader(table.from_pandas(frame, preserve_index=False), options)
    kind = frame_kind(frame, layout)
    return PandasReader(
        "pandas", options, kind, len(frame), "docs", frame=frame, taken=layout.taken, layout=layout
    )


def _counts(frame: Any) -> Any:
    if len(frame.columns) and all(hasattr(dtype, "fill_value") for dtype in frame.dtypes):
        return frame.sparse.to_coo().tocsr()
    counts = frame.to_numpy()
    return counts if counts.dtype.kind in "biuf" else frame.to_numpy(float)


@dataclass(frozen=True)
class FrameStream:
    frame: Any

    def chunks(self) -> Iterator[Chunk]:
        for start in range(0, len(self.frame), CHUNK_DOCS):
            rows = self.frame.iloc[start : start + CHUNK_DOCS]
            stop = start + len(rows)
            yield Chunk(_NAME, len(rows), start, stop, rows, first_row=start, n_docs=len(rows))


@dataclass
class PandasReader(DocumentReader):
    frame: Any = None
    layout: TableLayout = field(default_factory=lambda: TableLayout(()))

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "frame": None}

    def streams(self) -> list[FrameStream]:
        return [FrameStream(self.frame)]

    def documents(self, chunk: Chunk) -> Documents:
        return frame_documents(chunk.data, self.layout, lambda i: f"{_NAME}, row {chunk.start + i}")
