"""Dask collections: a chunk per partition or block, computed by the task that parses it unless a cluster has it.

`dask_bag` holds whatever an iterable may hold, `dask_frame` is read as pandas is. Its rows of (document, word, count)
are not read: a document may lie in two partitions. `dask_array` has blocks that are NumPy arrays or SciPy CSR matrices,
such as dask-ml's vectorisers make; chunk lengths may be unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import Chunk, Format, Options
from bigtopic.corpus.readers.formats.frames import (
    FrameReader,
    as_frame,
    computed,
    frame_kind,
    frame_layout,
    is_frame,
)
from bigtopic.corpus.readers.formats.matrix import MatrixReader, matrix_block
from bigtopic.corpus.readers.support.counts import check_width
from bigtopic.corpus.readers.support.records import RecordReader, record_layout
from bigtopic.corpus.readers.support.tables import words_of_columns
from bigtopic.corpus.sparse import check_columns, check_mask, checked_csr
from bigtopic.errors import InputError

__all__ = ["FORMATS"]

_PEEK = 1000


def _holds_futures(collection: Any) -> bool:
    """Whether results on a cluster are part of the graph, as it is before it is optimised: only a client has them."""
    return any(
        type(task).__module__.startswith("distributed") for task in dict(collection.__dask_graph__()).values()
    )


@dataclass(frozen=True)
class PartitionStream:
    """Chunks of a collection.

    n_empty : partitions before `first`, none of which holds a document
    first : the first partition with documents, computed, because it shows what the others hold
    rest : those after it, delayed
    here : whether these are computed here, one by one: to count their documents, or because a client has to
    """

    name: str
    n_empty: int
    first: Any
    rest: Sequence[Any]
    here: bool

    @classmethod
    def of(cls, collection: Any, name: str, whole: bool) -> PartitionStream:
        """The partitions of a collection; `whole` counts their documents."""
        held = _holds_futures(collection)
        partitions = list(collection.to_delayed(optimize_graph=not held))
        n_empty, first = 0, partitions[0].compute()
        while not len(first) and n_empty + 1 < len(partitions):
            n_empty += 1
            first = partitions[n_empty].compute()
        return cls(name, n_empty, first, partitions[n_empty + 1 :], whole or held)

    def chunks(self) -> Iterator[Chunk]:
        import dask

        yield self._chunk(self.n_empty, self.first)
        for i, partition in enumerate(self.rest, self.n_empty + 1):
            # Optimised alone, a partition takes only its own tasks along.
            yield self._chunk(i, partition.compute() if self.here else dask.optimize(partition)[0])

    def _chunk(self, i: int, data: Any) -> Chunk:
        n_docs = None if hasattr(data, "__dask_graph__") else len(data)
        return Chunk(f"{self.name}, partition {i}", n_docs or 0, data=data, n_docs=n_docs)


def _accepts(source: Any, collection: str) -> bool:
    return type(source).__module__.startswith(f"dask.{collection}") and hasattr(source, "to_delayed")


def _open_bag(source: Any, options: Options) -> BagReader:
    name = "the Dask bag"
    stream = PartitionStream.of(source.map_partitions(list), name, options.whole)
    layout, kind = record_layout(stream.first[:_PEEK], options, name)
    return BagReader("dask_bag", options, kind, unit="docs", layout=layout, stream=stream)


class BagReader(RecordReader):
    def records(self, chunk: Chunk) -> Any:
        return computed(chunk.data), lambda i: f"{chunk.name}, document {i}"


def _open_frame(source: Any, options: Options) -> FrameReader | MatrixReader:
    frame, name = as_frame(source), "the Dask DataFrame"
    stream = PartitionStream.of(frame, name, options.whole)
    layout = frame_layout(frame, options, name, stream.first)
    if layout.matrix:
        return _open_array(frame.to_dask_array(), words_of_columns(layout.names, options, name))
    if layout.triple is not None:
        raise InputError(
            f"{name} has rows of document, word and count; write it with to_parquet and give its files"
        )
    kind = frame_kind(stream.first, layout)
    return FrameReader("dask_frame", options, kind, unit="docs", layout=layout, stream=stream)


_ARRAY = "the Dask array"


def _open_array(source: Any, options: Options) -> DaskArrayReader:
    if source.ndim != 2:
        raise InputError(f"{_ARRAY} has {source.ndim} dimensions; give two: documents x words")
    n_docs, n_words = source.shape
    if np.isnan(n_words):
        raise InputError(
            f"{_ARRAY} does not know its number of columns; set it with map_blocks(..., chunks=...)"
        )
    size = None if np.isnan(n_docs) else int(n_docs)
    check_width((-1 if size is None else size, n_words), options.vocabulary, _ARRAY)
    stream = DaskArrayStream(source, options.whole)
    return DaskArrayReader("dask_array", options, size=size, stream=stream, width=int(n_words))


@dataclass(frozen=True)
class DaskArrayStream:
    """Blocks of rows. `whole` computes them here, one by one, to count their documents."""

    array: Any
    whole: bool

    def chunks(self) -> Iterator[Chunk]:
        import dask

        row, held = 0.0, _holds_futures(self.array)
        for i, length in enumerate(self.array.chunks[0]):
            block = self.array.blocks[i]
            if held or (self.whole and np.isnan(length)):
                data = list(dask.compute(*block.to_delayed(optimize_graph=not held).ravel()))
                length = data[0].shape[0]
            else:
                # Optimised alone, a block takes only its own tasks along.
                data = dask.optimize(block)[0].to_delayed().ravel().tolist()
            first_row = None if np.isnan(row) else int(row)
            n_docs = None if np.isnan(length) else int(length)
            yield Chunk(f"{_ARRAY}, block {i}", n_docs or 0, data=data, first_row=first_row, n_docs=n_docs)
            row += length


class DaskArrayReader(MatrixReader):
    def parse(self, chunk: Chunk) -> RawBlock:
        import dask

        blocks = list(dask.compute(*chunk.data, scheduler="synchronous"))
        rows = blocks[0] if len(blocks) == 1 else _side_by_side(blocks, chunk.name)
        if rows.shape[1] != self.n_words:
            raise InputError(f"{chunk.name} has {rows.shape[1]} columns, but the array says {self.n_words}")
        return matrix_block(rows, self.options.weights, chunk)


def _side_by_side(blocks: list[Any], name: str) -> Any:
    if all(isinstance(block, np.ndarray) for block in blocks):
        for block in blocks:
            check_mask(block, name)
        return np.hstack(blocks)
    from scipy.sparse import hstack

    rows = [checked_csr(block, name) if hasattr(block, "tocsr") else block for block in blocks]
    for block in rows:
        if hasattr(block, "tocsr"):
            check_columns(block.indices, block.shape[1], name)
    return hstack(rows, format="csr")


FORMATS = {
    "dask_array": Format(_open_array, accepts=lambda source: _accepts(source, "array")),
    "dask_bag": Format(_open_bag, accepts=lambda source: _accepts(source, "bag")),
    "dask_frame": Format(_open_frame, accepts=lambda source: is_frame(source, "dask")),
}
