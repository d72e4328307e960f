"""Params on their way to the tasks of a round, and back: files when all workers share this machine, else a future.

Every version is a new folder; workers map it, and keep the newest two mapped, or read it when they will change it; the
driver removes a version when its round is over.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.runtime.params import LazyArray, Overlay

__all__ = ["MappedArrays", "load_arrays", "new_folder", "publish", "read_arrays"]

Arrays = Mapping[str, LazyArray | Overlay]

_mapped: OrderedDict[str, Arrays] = OrderedDict()


@dataclass(frozen=True)
class MappedArrays:
    """Arrays whose raw statistics and priors lie in files of a folder; everything else travels with this object."""

    folder: str
    shells: Mapping[str, LazyArray | Overlay]

    def remove(self) -> None:
        """Delete the files. Workers that still map them keep their pages."""
        shutil.rmtree(self.folder, ignore_errors=True)


def new_folder() -> str:
    """A folder for a version; whoever asks for it removes it."""
    return tempfile.mkdtemp(prefix="bigtopic-params-")


def publish(arrays: Arrays, folder: str) -> MappedArrays:
    """Write a version."""
    shells = {}
    for name, array in arrays.items():
        base = array.base if isinstance(array, Overlay) else array
        np.save(Path(folder) / f"{name}.raw.npy", base.raw)
        np.save(Path(folder) / f"{name}.prior.npy", base.prior)
        shell = replace(base, raw=np.zeros((0, base.n_columns), base.raw.dtype), prior=np.zeros((0, 1)))
        shells[name] = array.on(shell) if isinstance(array, Overlay) else shell
    return MappedArrays(folder, shells)


def load_arrays(shared: Any) -> Arrays:
    """The arrays of a version, mapped; or the arrays themselves if they were sent."""
    if not isinstance(shared, MappedArrays):
        return shared
    arrays = _mapped.get(shared.folder)
    if arrays is None:  # two threads may both map it: the same pages
        arrays = {name: _map(shared.folder, name, shell) for name, shell in shared.shells.items()}
        _mapped[shared.folder] = arrays
        while len(_mapped) > 2:
            _mapped.popitem(last=False)
    return arrays


def read_arrays(shared: MappedArrays) -> dict[str, LazyArray]:
    """The arrays of a version, in memory of this process."""
    arrays = {}
    for name, shell in shared.shells.items():
        assert isinstance(shell, LazyArray)
        raw, prior = (np.load(Path(shared.folder) / f"{name}.{part}.npy") for part in ("raw", "prior"))
        arrays[name] = replace(shell, raw=raw, prior=prior)
    return arrays


def _map(folder: str, name: str, shell: LazyArray | Overlay) -> LazyArray | Overlay:
    raw, prior = (_array(Path(folder) / f"{name}.{part}.npy") for part in ("raw", "prior"))
    if isinstance(shell, Overlay):
        return shell.on(replace(shell.base, raw=raw, prior=prior))
    return replace(shell, raw=raw, prior=prior)


def _array(path: Path) -> np.ndarray:
    # Copy-on-write pages are as shared as read-only ones, but compile to the same numba signature as arrays in memory.
    mapped = np.load(path, mmap_mode="c")
    return np.ndarray(mapped.shape, mapped.dtype, buffer=mapped)
