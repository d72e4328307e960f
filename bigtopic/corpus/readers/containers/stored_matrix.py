"""Groups of arrays in HDF5 files and Zarr folders, and the matrices in them, read in runs of rows.

Everything is checked before it is read: an HDF5 file may refer to data in other files, or claim false sizes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import CHUNK_BYTES
from bigtopic.corpus.readers.containers.files import File, intact
from bigtopic.corpus.readers.containers.zarr import METADATA, open_checked
from bigtopic.corpus.sparse import check_claim, check_columns, check_offsets
from bigtopic.corpus.stored.schema import MOST_WORDS
from bigtopic.errors import InputError, require
from bigtopic.storage.place import Place

__all__ = [
    "StoredMatrix",
    "columns_in_memory",
    "first_values",
    "is_hdf5",
    "is_zarr",
    "members",
    "open_group",
    "stored_rows",
]

_MOST_NODES = 100_000
_REMEDY = "write it again with anndata.AnnData.write_h5ad"
_SAMPLED = 1 << 16


def is_hdf5(file: File) -> bool:
    local_folder = not file.remote and Path(file.path).is_dir()
    return not local_folder and file.sample.startswith(b"\x89HDF\r\n\x1a\n")


def is_zarr(file: File) -> bool:
    if file.remote:
        return file.path.rstrip("/").endswith(".zarr")
    return any((Path(file.path) / name).exists() for name in ("zarr.json", ".zgroup"))


@contextlib.contextmanager
def open_group(file: File, matrix: str, tables: Sequence[str] = (), *, whole: bool = True) -> Iterator[Any]:
    """The root of a store; what a library raises about its contents is their fault.

    Parameters
    ----------
    matrix : path of the array or sparse matrix that may be read, in runs of rows
    tables : paths of what else may be read
    whole : look for links in all of an HDF5 file, because a table may refer to any of it

    Raises
    ------
    InputError
        When one of these is not allowed, or is damaged.
    """
    with intact(file.path):
        if is_zarr(file):
            yield open_checked(Place.of(file.path, file.options), (matrix, *tables), streamed=matrix)
            return
        h5py = require("h5py", "anndata")
        with file.open_raw() as raw, h5py.File(raw if file.remote else file.path, "r") as opened:
            _check_hdf5(opened, file, (matrix, *tables), whole=whole)
            yield opened


def members(file: File, root: Any, path: str) -> list[str]:
    """Names of the members below a path of an opened store, sorted; none if the path does not exist."""
    if is_zarr(file):
        return sorted(set((Place.of(file.path, file.options) / path).names()) - {*METADATA})
    return sorted(root[path]) if path in root else []


def _check_hdf5(root: Any, file: File, read: Sequence[str], whole: bool = True) -> None:
    """All data must be in this file, and the arrays to read plain ones of numbers or strings; nothing linked is opened.
    `read[0]` is read in runs of rows, never at once.
    """
    h5py = require("h5py", "anndata")
    seen, waiting = 0, [("", root)]
    known: set[Any] = set()  # a group may hold itself
    while waiting:
        path, group = waiting.pop()
        for name in group if whole or path else {name.partition("/")[0] for name in read}:
            seen += 1
            below = f"{path}/{name}".lstrip("/")
            what = f"{file.path}, {ascii(below)[1:-1][:200]}"
            if seen > _MOST_NODES:
                raise InputError(f"{file.path} holds more than {_MOST_NODES} datasets; {_REMEDY}")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise InputError(f"{what} is a link; links are not followed: {_REMEDY}")
            node = group[name]
            if isinstance(node, h5py.Dataset):
                _check_dataset(h5py, node, below, what, read)
            elif isinstance(node, h5py.Group) and node.id not in known:
                known.add(node.id)
                waiting.append((below, node))


def _check_dataset(h5py: Any, dataset: Any, path: str, what: str, read: Sequence[str]) -> None:
    if dataset.external or dataset.is_virtual:
        raise InputError(f"{what} has its data in other files, which are not read; {_REMEDY}")
    is_read = any(f"{path}/".startswith(f"{name}/") for name in read)
    if not is_read or dataset.shape is None:
        return
    kind = dataset.dtype.kind
    if kind not in "iufbSU" and h5py.check_string_dtype(dataset.dtype) is None:
        raise InputError(f"{what} holds {dataset.dtype}, but must hold numbers or strings; {_REMEDY}")
    if path not in (read[0], f"{read[0]}/data", f"{read[0]}/indices"):
        claimed = dataset.size * dataset.dtype.itemsize
        check_claim(claimed, dataset.id.get_storage_size(), what, _REMEDY)


@dataclass(frozen=True)
class StoredMatrix:
    """A matrix in a store, or a run of its rows, which is read where it is parsed.

    path : in the store; indptr : of CSR, int64 (n_rows + 1,), None where dense; start : the first row
    """

    file: File
    path: str
    shape: tuple[int, int]
    indptr: np.ndarray | None = None
    start: int = 0

    def __getitem__(self, rows: slice) -> StoredMatrix:
        ends = None if self.indptr is None else self.indptr[rows.start : rows.stop + 1]
        shape = rows.stop - rows.start, self.shape[1]
        return StoredMatrix(self.file, self.path, shape, ends, self.start + rows.start)

    def load(self) -> Any:
        from scipy.sparse import csr_array

        with open_group(self.file, self.path, whole=False) as group:
            stored = group[self.path]
            if self.indptr is None:
                return np.asarray(stored[self.start : self.start + self.shape[0]])
            first, last = int(self.indptr[0]), int(self.indptr[-1])
            data, indices = stored["data"][first:last], stored["indices"][first:last]
        check_columns(indices, self.shape[1], f"{self.path} of {self.file.path}")
        return csr_array((data, indices, self.indptr - first), shape=self.shape, copy=False)


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
        array = stored[part]
        there = (
            array.id.get_storage_size() if hasattr(array, "id") else array.nbytes_stored()
        )  # of HDF5, of Zarr
        claimed = array.shape[0] * array.dtype.itemsize
        check_claim(claimed, there, f"{name}, {part}", "write it as csr_matrix")
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
        raise InputError(f"{name} has shape {shape}, which is impossible; write it again")


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
