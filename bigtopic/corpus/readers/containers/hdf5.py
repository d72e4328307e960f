"""HDF5 files, checked before they are read: a file may refer to data in other files, or claim false sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.sparse import check_claim
from bigtopic.errors import InputError, require

__all__ = ["check_hdf5"]

_MOST_NODES = 100_000
_STREAMED = ("X", "X/data", "X/indices")  # read in runs of rows, never whole
_REMEDY = "write it again with anndata.AnnData.write_h5ad"


def check_hdf5(root: Any, file: File, names: Sequence[str] | None = None) -> None:
    """All data must be in this file, as plain arrays of numbers or strings; nothing linked is opened.

    Parameters
    ----------
    names : members of the root to look at; None for all, because a table may refer to any

    Raises
    ------
    InputError
        Naming the file and the dataset.
    """
    h5py = require("h5py", "anndata")
    seen, waiting = 0, [("", root)]
    known: set[Any] = set()  # a group may hold itself
    while waiting:
        path, group = waiting.pop()
        for name in names if names and not path else group:
            seen += 1
            below = f"{path}/{name}".lstrip("/")
            what = f"{file.path}, {ascii(below)[1:-1][:200]}"
            if seen > _MOST_NODES:
                raise InputError(f"{file.path} holds more than {_MOST_NODES} datasets; {_REMEDY}")
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise InputError(f"{what} is a link; links are not followed: {_REMEDY}")
            node = group[name]
            if isinstance(node, h5py.Dataset):
                _check_dataset(h5py, node, below, what)
            elif isinstance(node, h5py.Group) and node.id not in known:
                known.add(node.id)
                waiting.append((below, node))


def _check_dataset(h5py: Any, dataset: Any, path: str, what: str) -> None:
    if dataset.external or dataset.is_virtual:
        raise InputError(f"{what} has its data in other files, which are not read; {_REMEDY}")
    if path.split("/")[0] not in ("X", "obs", "var") or dataset.shape is None:
        return
    kind = dataset.dtype.kind
    if kind not in "iufbSU" and h5py.check_string_dtype(dataset.dtype) is None:
        raise InputError(f"{what} holds {dataset.dtype}, but must hold numbers or strings; {_REMEDY}")
    if path not in _STREAMED:
        claimed = dataset.size * dataset.dtype.itemsize
        check_claim(claimed, dataset.id.get_storage_size(), what, _REMEDY)
