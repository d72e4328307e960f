"""HDF5 files, checked before they are read: a file may refer to data in other files, or claim false sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.sparse import check_claim
from bigtopic.errors import InputError, require

__all__ = ["check_hdf5"]

_MOST_NODES = 100_000
_REMEDY = "write it again with anndata.AnnData.write_h5ad"


def check_hdf5(root: Any, file: File, read: Sequence[str], whole: bool = True) -> None:
    """All data must be in this file, and what is read must be plain arrays of numbers or strings; nothing linked is
    opened.

    Parameters
    ----------
    read : paths of what is read; the first is read in runs of rows, never at once
    whole : look for links in all of the file, because a table may refer to any of it

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
