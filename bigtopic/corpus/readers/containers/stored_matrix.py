"""A matrix that stays in a store, HDF5 or Zarr, and is read in runs of rows; and what its first values are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import CHUNK_BYTES
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.groups import open_group
from bigtopic.corpus.sparse import check_claim, check_columns, check_offsets
from bigtopic.corpus.stored.schema import MOST_WORDS
from bigtopic.errors import InputError

__all__ = ["StoredMatrix", "StoredRows", "columns_in_memory", "first_values", "loaded", "stored_rows"]

_SAMPLED = 1 << 16


@dataclass(frozen=True)
class StoredMatrix:
    """What a stream needs to know of it. path : in the store; indptr : of CSR, int64 (n_rows + 1,), None where dense"""

    file: File
    path: str
    shape: tuple[int, int]
    indptr: np.ndarray | None = None

    def __getitem__(self, rows: slice) -> StoredRows:
        ends = None if self.indptr is None else self.indptr[rows.start : rows.stop + 1]
        return StoredRows(self.file, self.path, rows.start, rows.stop, self.shape[1], ends)


@dataclass(frozen=True)
class StoredRows:
    """A run of rows, read where it is parsed."""

    file: File
    path: str
    start: int
    stop: int
    n_columns: int
    indptr: np.ndarray | None

    def load(self) -> Any:
        from scipy.sparse import csr_array

        with open_group(self.file, self.path, whole=False) as group:
            stored = group[self.path]
            if self.indptr is None:
                return np.asarray(stored[self.start : self.stop])
            first, last = int(self.indptr[0]), int(self.indptr[-1])
            data, indices = stored["data"][first:last], stored["indices"][first:last]
        check_columns(indices, self.n_columns, f"{self.path} of {self.file.path}")
        shape = self.stop - self.start, self.n_columns
        return csr_array((data, indices, self.indptr - first), shape=shape, copy=False)


def loaded(rows: Any) -> Any:
    """Rows of a matrix in memory as they are, of a stored one read."""
    return rows.load() if isinstance(rows, StoredRows) else rows


def stored_rows(file: File, path: str, stored: Any, shape: tuple[int, int]) -> StoredMatrix:
    """A stored matrix whose entries come row by row.

    Raises
    ------
    InputError
        When its offsets, or its shape, cannot be.
    """
    name = f"{path} of {file.path}"
    _check_shape(shape, name)
    matrix = StoredMatrix(file, path, shape, _offsets(stored, shape[0], name))
    assert matrix.indptr is not None
    longest = int(np.diff(matrix.indptr).max(initial=0))
    if longest > max(shape[1], CHUNK_BYTES // 8):  # a run of rows is read at once
        raise InputError(f"{name} has a row with {longest} entries in {shape[1]} columns; write it again")
    return matrix


def columns_in_memory(path: str, stored: Any, shape: tuple[int, int], name: str) -> Any:
    """A stored matrix whose entries come column by column, in memory."""
    from scipy.sparse import csc_matrix

    name = f"{path} of {name}"
    _check_shape(shape, name)
    indptr = _offsets(stored, shape[1], name)
    for part in ("data", "indices"):
        claimed = stored[part].shape[0] * stored[part].dtype.itemsize
        check_claim(claimed, _stored_bytes(stored[part]), f"{name}, {part}", "write it as csr_matrix")
    indices = stored["indices"][:]
    check_columns(indices, shape[0], name)
    return csc_matrix((stored["data"][:], indices, indptr), shape=shape, copy=False)


def first_values(matrix: Any) -> np.ndarray:
    """Some values of a matrix, dense or sparse, in memory or in an opened store."""
    if hasattr(matrix, "tocsr"):
        return np.asarray(matrix.data[:_SAMPLED])
    if "data" in (matrix if hasattr(matrix, "keys") else ()):
        return np.asarray(matrix["data"][:_SAMPLED])
    n_rows = max(1, _SAMPLED // max(1, matrix.shape[1]))
    return np.asarray(matrix[:n_rows, :_SAMPLED])


def _check_shape(shape: tuple[int, int], name: str) -> None:
    if min(shape) < 0 or shape[1] > MOST_WORDS:
        raise InputError(f"{name} has shape {shape}, which cannot be; write it again")


def _offsets(stored: Any, n: int, name: str) -> np.ndarray:
    """The offsets of a stored sparse matrix, int64 (n + 1,); they take all entries in turn."""
    n_entries = stored["indices"].shape[0]
    if stored["indices"].shape != stored["data"].shape or len(stored["indices"].shape) != 1:
        raise InputError(
            f"{name} has indices of shape {stored['indices'].shape} and data of shape {stored['data'].shape}; write it "
            "again"
        )
    indptr = stored["indptr"][:]
    check_offsets(indptr, n, n_entries, name)
    if indptr[-1] != n_entries:
        raise InputError(
            f"{name}: indptr ends at {indptr[-1]}, but there are {n_entries} entries; the matrix is damaged: "
            "write it again"
        )
    return indptr.astype(np.int64)


def _stored_bytes(array: Any) -> int:
    """Bytes in the file, of an array of HDF5 or Zarr."""
    return array.id.get_storage_size() if hasattr(array, "id") else array.nbytes_stored()
