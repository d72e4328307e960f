"""Dask bags of whatever an iterable may hold: a chunk per partition, computed by the task that parses it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bigtopic.corpus.readers.base import Chunk, Options
from bigtopic.corpus.readers.support.documents import Documents
from bigtopic.corpus.readers.support.partitions import PartitionReader, PartitionStream, computed
from bigtopic.corpus.readers.support.records import Layout, record_documents, record_layout

__all__ = ["accepts", "open_reader"]

_NAME = "the Dask bag"
_PEEK = 1000


def accepts(source: Any) -> bool:
    return type(source).__module__.startswith("dask.bag") and hasattr(source, "to_delayed")


def open_reader(source: Any, options: Options) -> BagReader:
    stream = PartitionStream.of(source.map_partitions(list), _NAME, options.whole)
    layout, kind = record_layout(stream.first[:_PEEK], options, _NAME)
    return BagReader(
        "dask_bag", options, kind, None, "docs", stream=stream, taken=layout.taken, layout=layout
    )


@dataclass
class BagReader(PartitionReader):
    layout: Layout = field(default_factory=Layout)

    def documents(self, chunk: Chunk) -> Documents:
        return record_documents(computed(chunk.data), self.layout, lambda i: f"{chunk.name}, document {i}")
