"""Dask collections: a chunk per partition or block, computed where it is parsed; the driver sees the first documents.

`dask_bag` holds whatever an iterable may hold, `dask_frame` is read as pandas is. Its rows of (document, word, count)
are not read: a document may lie in two partitions. `dask_array` has blocks that are NumPy arrays or sparse matrices of
SciPy or pydata/sparse, such as dask-ml's vectorisers make; chunk lengths may be unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import Chunk, Format, Options, Partition, unreadable
from bigtopic.corpus.readers.formats.frames import FrameReader, as_frame, frame_kind, frame_layout, is_frame
from bigtopic.corpus.readers.formats.iterable import refuse_named_texts
from bigtopic.corpus.readers.formats.matrix import MatrixReader, matrix_block
from bigtopic.corpus.readers.support.counts import check_width
from bigtopic.corpus.readers.support.documents import Documents
from bigtopic.corpus.readers.support.records import RecordReader, record_layout
from bigtopic.corpus.readers.support.tables import words_of_columns
from bigtopic.corpus.sparse import as_scipy, check_columns, check_mask, checked_csr
from bigtopic.errors import InputError

__all__ = ["FORMATS", "PartitionStream"]

_PEEK = 1000


def _holder(collection: Any) -> Any:
    """The client of results that are part of the graph, as it is before it is optimised; what runs graphs at present
    for a graph with other tasks of clusters, such as shuffles; None without any."""
    from dask.base import get_scheduler

    tasks = dict(collection.__dask_graph__()).values()
    there = [task for task in tasks if type(task).__module__.startswith("distributed")]
    return next((task.client for task in there if hasattr(task, "client")), None) or (
        get_scheduler() if there else None
    )


def _length(data: Any) -> int:
    return int(data.shape[0]) if hasattr(data, "shape") else len(data)


def _head(data: Any, n: int) -> Any:
    return data.iloc[:n] if hasattr(data, "iloc") else data[:n]


@dataclass(frozen=True)
class PartitionStream:
    """Chunks of a collection: partitions that are still to be computed.

    name : of the partitions, before their numbers
    lengths : documents of each partition; None where not known
    client : see `Partition`
    """

    name: str
    delayed: Sequence[Any]
    lengths: Sequence[int | None]
    client: Any

    @classmethod
    def of(cls, collection: Any, name: str, whole: bool) -> PartitionStream:
        """The partitions of a bag or a frame; `whole` counts their documents, each where it is computed."""
        client = _holder(collection)
        delayed = collection.to_delayed(optimize_graph=client is None)
        return cls(f"{name}, partition", delayed, [None] * len(delayed), client).counted(whole)

    def counted(self, whole: bool) -> PartitionStream:
        """With the lengths of all partitions if `whole`."""
        if not whole or None not in self.lengths:
            return self
        return replace(self, lengths=self._computed(_length, range(len(self.delayed))))

    def _computed(self, function: Callable[..., Any], numbers: Sequence[int], *arguments: Any) -> list[Any]:
        """What a function makes of partitions with these numbers, on the workers of the current client, if any."""
        import dask

        call = dask.delayed(function)
        values = [call(self.delayed[i], *arguments) for i in numbers]
        try:
            return list(dask.compute(*values, scheduler=self.client))
        except Exception as error:
            if len(numbers) == 1:
                raise unreadable(f"{self.name} {numbers[0]}", error) from error
        return [value for i in numbers for value in self._computed(function, [i], *arguments)]

    @cached_property
    def first(self) -> list[Any]:
        """The first documents, a piece for each partition that they are from. `_PEEK` if there are as many: which they
        are does not depend on the partitions."""
        pieces: list[Any] = []
        while (missing := _PEEK - sum(map(len, pieces))) > 0 and len(pieces) < len(self.delayed):
            following = range(len(pieces), min(2 * len(pieces) + 1, len(self.delayed)))
            for piece in self._computed(_head, following, missing):
                pieces.append(piece[: max(0, _PEEK - sum(map(len, pieces)))])
        return pieces

    def chunks(self) -> Iterator[Chunk]:
        from dask.delayed import Delayed
        from dask.optimization import cull
        from dask.utils import ensure_dict

        row: int | None = 0
        graph, all_tasks = None, {}
        for i, (delayed, length) in enumerate(zip(self.delayed, self.lengths, strict=True)):
            if delayed.dask is not graph:
                graph, all_tasks = delayed.dask, ensure_dict(delayed.dask)
            own = Delayed(delayed.key, cull(all_tasks, [delayed.key])[0])
            yield Chunk(f"{self.name} {i}", 1, data=Partition(own, self.client), first_row=row, n_docs=length)
            row = None if row is None or length is None else row + length


def _computed(chunk: Chunk) -> Any:
    """The data of a chunk, computed in this thread if they are not yet, unless a client has to."""
    delayed, client = chunk.data if isinstance(chunk.data, Partition) else (None, None)
    return chunk.data if delayed is None else delayed.compute(scheduler=client or "synchronous")


def _accepts(source: Any, collection: str) -> bool:
    return type(source).__module__.startswith(f"dask.{collection}") and hasattr(source, "to_delayed")


def _open_bag(source: Any, options: Options) -> BagReader:
    name = "the Dask bag"
    stream = PartitionStream.of(source.map_partitions(list), name, options.whole)
    first = [*chain.from_iterable(stream.first)]
    refuse_named_texts(first, name)
    layout, kind = record_layout(first, options, name)
    size = len(stream.delayed)
    return BagReader("dask_bag", options, kind, size=size, unit=" partitions", layout=layout, stream=stream)


class BagReader(RecordReader):
    def first_chunk(self) -> Chunk:
        return Chunk("the Dask bag", 0, data=[*chain.from_iterable(self.stream.first)], first_row=0)

    def records(self, chunk: Chunk) -> Any:
        return _computed(chunk), lambda i: f"{chunk.name}, document {i}"


def _open_frame(source: Any, options: Options) -> DaskFrameReader | DaskArrayReader:
    import pandas

    frame, name = as_frame(source), "the Dask DataFrame"
    stream = PartitionStream.of(frame, name, options.whole)
    first = pandas.concat(stream.first)
    layout = frame_layout(frame, options, name, first)
    if layout.matrix:
        return _open_array(frame.to_dask_array(), words_of_columns(layout.names, options, name))
    if layout.triple is not None:
        raise InputError(
            f"{name} has rows of document, word and count; write it with to_parquet and give its files"
        )
    kind, size = frame_kind(first, layout), len(stream.delayed)
    return DaskFrameReader(
        "dask_frame", options, kind, size=size, unit=" partitions", layout=layout, stream=stream
    )


class DaskFrameReader(FrameReader):
    def first_chunk(self) -> Chunk:
        import pandas

        return Chunk("the Dask DataFrame", 0, data=pandas.concat(self.stream.first))

    def documents(self, chunk: Chunk) -> Documents:
        return super().documents(replace(chunk, data=_computed(chunk)))


_ARRAY = "the Dask array"


def _open_array(source: Any, options: Options) -> DaskArrayReader:
    if source.ndim != 2:
        raise InputError(f"{_ARRAY} has {source.ndim} dimensions; give two: documents x words")
    n_docs, n_words = source.shape
    if np.isnan(n_words):
        raise InputError(
            f"{_ARRAY} does not know its number of columns; set it with map_blocks(..., chunks=...)"
        )
    check_width((-1 if np.isnan(n_docs) else int(n_docs), n_words), options.vocabulary, _ARRAY)
    client = _holder(source)
    blocks = source.to_delayed(optimize_graph=client is None)
    lengths = [None if np.isnan(length) else int(length) for length in source.chunks[0]]
    stream = PartitionStream(f"{_ARRAY}, block", _rows(blocks), lengths, client).counted(options.whole)
    return DaskArrayReader(
        "dask_array", options, size=len(lengths), unit=" blocks", stream=stream, width=int(n_words)
    )


def _rows(blocks: np.ndarray) -> list[Any]:
    """Rows of blocks, (n_rows, n_columns) of them, side by side; each still to be computed."""
    from dask import delayed

    if blocks.shape[1] == 1:
        return list(blocks[:, 0])
    join = delayed(_side_by_side, pure=False)
    return [join(row.tolist(), f"{_ARRAY}, block {i}") for i, row in enumerate(blocks)]


class DaskArrayReader(MatrixReader):
    def first_chunk(self) -> Chunk:
        return Chunk(_ARRAY, 0, data=np.zeros((0, self.width or 0), np.int32))

    def parse(self, chunk: Chunk) -> RawBlock:
        rows = as_scipy(_computed(chunk))
        if rows.shape[1] != self.n_words:
            raise InputError(f"{chunk.name} has {rows.shape[1]} columns, but the array says {self.n_words}")
        return matrix_block(rows, self.options.weights, chunk)


def _side_by_side(blocks: list[Any], name: str) -> Any:
    if all(isinstance(block, np.ndarray) for block in blocks):
        for block in blocks:
            check_mask(block, name)
        return np.hstack(blocks)
    from scipy.sparse import hstack

    rows = [checked_csr(block, name) if hasattr(block, "tocsr") else block for block in map(as_scipy, blocks)]
    for block in rows:
        if hasattr(block, "tocsr"):
            check_columns(block.indices, block.shape[1], name)
    return hstack(rows, format="csr")


FORMATS = {
    "dask_array": Format(_open_array, accepts=lambda source: _accepts(source, "array")),
    "dask_bag": Format(_open_bag, accepts=lambda source: _accepts(source, "bag")),
    "dask_frame": Format(_open_frame, accepts=lambda source: is_frame(source, "dask")),
}
