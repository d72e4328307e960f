"""`scipy.sparse` matrices and arrays, 2-d NumPy arrays and what NumPy converts to them: a document per row."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import Chunk, Options, RawBlock
from bigtopic.corpus.readers.containers.stored_matrix import loaded
from bigtopic.corpus.readers.support.columns import id_texts
from bigtopic.corpus.readers.support.matrix import check_width, matrix_block, row_ranges
from bigtopic.corpus.sparse import checked_csr, checked_dense, is_array_like
from bigtopic.errors import InputError

__all__ = ["MatrixReader", "MatrixStream", "accepts", "open_reader"]


def accepts(source: Any) -> bool:
    if isinstance(source, np.ndarray):
        return source.dtype.kind in "iufbc" or source.ndim in (0, 2)
    sparse = sys.modules.get("scipy.sparse")
    return is_array_like(source) or (sparse is not None and bool(sparse.issparse(source)))


def open_reader(source: Any, options: Options, name: str = "") -> MatrixReader:
    name = name or ("the matrix" if hasattr(source, "tocsr") else "the array")
    if is_array_like(source) or (isinstance(source, np.ndarray) and source.dtype == object):
        source = checked_dense(source, name)
    if source.ndim != 2:
        raise InputError(f"{name} has {source.ndim} dimensions; give two: documents x words")
    check_width(source.shape, options.vocabulary, name)
    # Rows can only be sliced quickly from CSR.
    source = checked_csr(source, name) if hasattr(source, "tocsr") else source
    return MatrixReader(
        MatrixStream(source, name), source.shape[1], options.vocabulary, source.shape[0], options.weights
    )


@dataclass(frozen=True)
class MatrixStream:
    """matrix : in memory, or a `StoredMatrix`; ids : of its rows, or None"""

    matrix: Any
    name: str
    ids: Sequence[str] | None = None

    def chunks(self) -> Iterator[Chunk]:
        shape = self.matrix.shape
        for start, stop in row_ranges(getattr(self.matrix, "indptr", None), *shape):
            ids = None if self.ids is None else self.ids[start:stop]
            data = (self.matrix[start:stop], ids)
            yield Chunk(self.name, stop - start, start, stop, data, first_row=start, n_docs=stop - start)


@dataclass
class MatrixReader:
    """Rows travel in the chunks, so that a worker needs nothing of the matrix itself."""

    stream: MatrixStream | None
    n_words: int | None
    vocabulary: list[str] | None
    size: int | None
    weights: bool = False
    name: str = "matrix"
    unit: str = "docs"
    taken: Mapping[str, str] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stream": None}

    def streams(self) -> list[MatrixStream]:
        assert self.stream is not None
        return [self.stream]

    def parse(self, chunk: Chunk) -> RawBlock:
        assert chunk.first_row is not None
        rows, ids = chunk.data
        block = matrix_block(loaded(rows), weights=self.weights, name=chunk.name, first_row=chunk.first_row)
        return block if ids is None else replace(block, ids=id_texts(ids))
