"""Dask DataFrames and their columns: as of pandas, a chunk per partition, computed by the task that parses it.

Rows of (document, word, count) are not read: a document may lie in two partitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bigtopic.corpus.readers.base import Chunk, Options
from bigtopic.corpus.readers.formats import dask_array
from bigtopic.corpus.readers.support.documents import Documents
from bigtopic.corpus.readers.support.frames import (
    as_frame,
    frame_documents,
    frame_kind,
    frame_layout,
    is_frame,
)
from bigtopic.corpus.readers.support.partitions import PartitionReader, PartitionStream, computed
from bigtopic.corpus.readers.support.tables import words_of_columns
from bigtopic.corpus.readers.tables.sample import TableLayout
from bigtopic.errors import InputError

__all__ = ["accepts", "open_reader"]

_NAME = "the Dask DataFrame"


def accepts(source: Any) -> bool:
    return is_frame(source, "dask")


def open_reader(source: Any, options: Options) -> DaskFrameReader | dask_array.DaskArrayReader:
    frame = as_frame(source)
    stream = PartitionStream.of(frame, _NAME, options.whole)
    layout = frame_layout(frame, options, _NAME, stream.first)
    if layout.matrix:
        words = words_of_columns(layout.names, options, _NAME)
        return dask_array.open_reader(frame.to_dask_array(), words)
    if layout.triple is not None:
        raise InputError(
            f"{_NAME} has rows of document, word and count; write it with to_parquet and give its files"
        )
    kind = frame_kind(stream.first, layout)
    return DaskFrameReader(
        "dask_frame", options, kind, None, "docs", stream=stream, taken=layout.taken, layout=layout
    )


@dataclass
class DaskFrameReader(PartitionReader):
    layout: TableLayout = field(default_factory=lambda: TableLayout(()))

    def documents(self, chunk: Chunk) -> Documents:
        return frame_documents(computed(chunk.data), self.layout, lambda i: f"{chunk.name}, row {i}")
