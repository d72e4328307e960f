"""Groups of arrays, HDF5 files or Zarr folders, opened after what is to be read of them was checked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bigtopic.corpus.readers.containers.files import File, intact
from bigtopic.corpus.readers.containers.hdf5 import check_hdf5
from bigtopic.corpus.readers.containers.zarr import METADATA, open_checked
from bigtopic.errors import require
from bigtopic.storage.place import Place

__all__ = ["is_hdf5", "is_zarr", "members", "open_group"]


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
        When one of these is not allowed, or what is read is damaged.
    """
    with intact(file.path):
        if is_zarr(file):
            yield open_checked(Place.of(file.path, file.options), (matrix, *tables), streamed=matrix)
            return
        h5py = require("h5py", "anndata")
        with file.open_raw() as raw, h5py.File(raw if file.remote else file.path, "r") as opened:
            check_hdf5(opened, file, (matrix, *tables), whole=whole)
            yield opened


def members(file: File, root: Any, path: str) -> list[str]:
    """Names of what is below a path of an opened store, sorted; none where nothing is there."""
    if is_zarr(file):
        return sorted(set((Place.of(file.path, file.options) / path).names()) - {*METADATA})
    return sorted(root[path]) if path in root else []
