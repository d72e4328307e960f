"""A Dask array whose blocks are NumPy arrays or SciPy CSR matrices, such as dask-ml's vectorisers make; chunk lengths
may be unknown. A block is a chunk, computed where it is parsed, unless it lives on a cluster already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import Chunk, Options, RawBlock
from bigtopic.corpus.readers.support.matrix import check_width, matrix_block
from bigtopic.corpus.readers.support.partitions import holds_futures
from bigtopic.corpus.sparse import check_columns, check_mask, checked_csr
from bigtopic.errors import InputError

__all__ = ["accepts", "open_reader"]

_NAME = "the Dask array"


def accepts(source: Any) -> bool:
    return type(source).__module__.startswith("dask.array") and hasattr(source, "to_delayed")


def open_reader(source: Any, options: Options) -> DaskArrayReader:
    if source.ndim != 2:
        raise InputError(f"{_NAME} has {source.ndim} dimensions; give two: documents x words")
    n_docs, n_words = source.shape
    if np.isnan(n_words):
        raise InputError(
            f"{_NAME} does not know its number of columns; set it with map_blocks(..., chunks=...)"
        )
    known = not np.isnan(n_docs)
    check_width((n_docs if known else -1, n_words), options.vocabulary, _NAME)
    return DaskArrayReader(
        DaskArrayStream(source, options.whole),
        int(n_words),
        options.vocabulary,
        int(n_docs) if known else None,
        options.weights,
    )


@dataclass(frozen=True)
class DaskArrayStream:
    """Blocks of rows. `whole` computes them here, one by one, to count their documents."""

    array: Any
    whole: bool

    def chunks(self) -> Iterator[Chunk]:
        import dask

        row, held = 0.0, holds_futures(self.array)
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
            yield Chunk(f"{_NAME}, block {i}", n_docs or 0, data=data, first_row=first_row, n_docs=n_docs)
            row += length


@dataclass
class DaskArrayReader:
    stream: DaskArrayStream | None
    n_words: int
    vocabulary: list[str] | None
    size: int | None
    weights: bool = False
    name: str = "dask_array"
    unit: str = "docs"
    taken: Mapping[str, str] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stream": None}

    def streams(self) -> list[DaskArrayStream]:
        assert self.stream is not None
        return [self.stream]

    def parse(self, chunk: Chunk) -> RawBlock:
        import dask

        blocks = list(dask.compute(*chunk.data, scheduler="synchronous"))
        rows = blocks[0] if len(blocks) == 1 else _side_by_side(blocks, chunk.name)
        if rows.shape[1] != self.n_words:
            raise InputError(f"{chunk.name} has {rows.shape[1]} columns, but the array says {self.n_words}")
        return matrix_block(
            rows,
            weights=self.weights,
            name=chunk.name,
            first_row=chunk.first_row or 0,
            known_row=chunk.first_row is not None,
        )


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
