"""Transfer of params to the tasks of a round, and back: files when all workers can use them, else a future.

Every version is a new folder, in memory if there is room for it. Workers map it, and keep the newest two mapped; or one
worker claims it, updates the arrays, and returns them to their files. The driver removes it in the end; the next driver
on this machine removes what a killed one left behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from bigtopic.errors import ClusterError
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Overlay
from bigtopic.storage.private_folders import new_folder, remove_folder
from bigtopic.support import buffers

__all__ = [
    "AlreadyClaimed",
    "MappedArrays",
    "OutOfSight",
    "claim_arrays",
    "give_back",
    "load_arrays",
    "places",
    "publish",
    "read_arrays",
    "return_arrays",
]

# NumPy parses the headers of its files as Python literals, which CPython 3.11 cannot do in two threads at once: now and
# then it fails with "AST constructor recursion depth mismatch".
_one_parser = Lock()

Arrays = Mapping[str, LazyArray | Overlay]

IN_MEMORY = Path("/dev/shm")
PREFIX = "bigtopic-params-"
SMALL_BYTES = 1 << 14

_mapped: OrderedDict[str, Arrays] = OrderedDict()


@dataclass(frozen=True)
class MappedArrays:
    """Arrays whose raw statistics and priors lie in files of a folder; everything else travels with this object."""

    folder: str
    headers: Mapping[str, LazyArray | Overlay]
    n_returned: int = 0

    def remove(self) -> None:
        """Delete the files. Workers that still map them keep their pages."""
        remove_folder(self.folder)


class AlreadyClaimed(ClusterError):
    """Another worker, possibly dead by now, has started to update these arrays."""


class OutOfSight(ClusterError):
    """The files of a version do not exist on this worker, which may have joined after the others were asked."""


def publish(arrays: Arrays) -> MappedArrays | None:
    """Write a version completely or not at all; None if no folder of this machine can hold it."""
    for place in _places(arrays):
        with suppress(OSError):
            return _written(place, arrays)
    return None


def _written(place: Path, arrays: Arrays) -> MappedArrays:
    shared = MappedArrays(new_folder(place, PREFIX), _headers(arrays))
    try:
        for name, array in arrays.items():
            base = _base(array)
            if _in_files(base):
                np.save(Path(shared.folder) / f"{name}.raw.npy", base.raw)
                np.save(Path(shared.folder) / f"{name}.prior.npy", base.prior)
    except BaseException:
        shared.remove()
        raise
    return shared


def _base(array: LazyArray | Overlay) -> LazyArray:
    return array.base if isinstance(array, Overlay) else array


def _in_files(array: LazyArray) -> bool:
    """Whether an array is large enough for files; a small one travels with the headers."""
    return array.raw.nbytes + array.prior.nbytes > SMALL_BYTES or array.n_rows == 0


def _headers(arrays: Arrays) -> dict[str, LazyArray | Overlay]:
    """The arrays without what lies in files, where they have no rows."""
    headers: dict[str, LazyArray | Overlay] = {}
    for name, array in arrays.items():
        base = _base(array)
        if not _in_files(base):
            headers[name] = array if isinstance(array, Overlay) else array.copy()
            continue
        header = replace(base, raw=np.zeros((0, base.n_columns), base.raw.dtype), prior=np.zeros((0, 1)))
        headers[name] = array.on(header) if isinstance(array, Overlay) else header
    return headers


def load_arrays(shared: Any) -> Arrays:
    """The arrays of a version, mapped; or the arrays themselves if they were sent."""
    if not isinstance(shared, MappedArrays):
        sent: Arrays = shared
        return sent
    arrays = _mapped.get(shared.folder)
    if arrays is None:  # two threads may both map it: the same pages
        with _in_sight(shared):
            arrays = {name: _map(shared.folder, name, header) for name, header in shared.headers.items()}
        _mapped[shared.folder] = arrays
        with suppress(KeyError):  # where `give_back` was in between
            while len(_mapped) > 2:
                _mapped.popitem(last=False)
    return arrays


def give_back() -> None:
    """Return mapped versions and unused memory of this process to the system, after a run."""
    _mapped.clear()
    buffers.give_back()


@contextmanager
def _in_sight(shared: MappedArrays) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, PermissionError) as error:
        raise OutOfSight(f"the params in {shared.folder} do not exist on every worker") from error


def places() -> list[Path]:
    """Folders that versions may be in: workers that can use all of them read params from files."""
    return [place for place in (IN_MEMORY, Path(tempfile.gettempdir())) if os.access(place, os.W_OK)]


def _places(arrays: Arrays) -> list[Path]:
    """The folder whose files are memory, if the arrays fit twice; the usual folder of temporary files."""
    bases = [_base(array) for array in arrays.values()]
    size = sum(base.raw.nbytes + base.prior.nbytes for base in bases)
    return [place for place in places() if place != IN_MEMORY or shutil.disk_usage(place).free > 2 * size]


def claim_arrays(shared: MappedArrays) -> dict[str, LazyArray]:
    """The arrays of a version, in memory of this thread, to update and give back with `return_arrays`.

    Not in the files: their small pages are slower for the processor to find.

    Raises
    ------
    AlreadyClaimed
        When they were already claimed since they were published or returned.
    OutOfSight
        When this machine does not have their files.
    """
    try:
        with _in_sight(shared):
            (Path(shared.folder) / f"claimed-{shared.n_returned}").touch(exist_ok=False)
    except FileExistsError as error:
        raise AlreadyClaimed(
            "workers repeatedly die in the middle of rounds; see their logs, they may have too little memory"
        ) from error
    arrays = {}
    for name, header in shared.headers.items():
        assert isinstance(header, LazyArray)
        if not _in_files(header):
            arrays[name] = header.copy()
            continue
        mapped = _map(shared.folder, name, header)
        assert isinstance(mapped, LazyArray)
        raw = buffers.empty(mapped.raw.shape, mapped.raw.dtype)
        _read_into(shared, name, raw)
        arrays[name] = replace(mapped, raw=raw)
    return arrays


def return_arrays(shared: MappedArrays, arrays: Mapping[str, LazyArray]) -> MappedArrays:
    """Write claimed arrays to the files they came from, where they may be claimed again."""
    for name, array in arrays.items():
        if not _in_files(array):
            continue
        with (Path(shared.folder) / f"{name}.raw.npy").open("r+b") as file:
            file.seek(-array.raw.nbytes, os.SEEK_END)
            file.write(array.raw.data)
        if array.prior_version != _base(shared.headers[name]).prior_version:
            np.save(Path(shared.folder) / f"{name}.prior.npy", array.prior)
    return MappedArrays(shared.folder, _headers(arrays), shared.n_returned + 1)


def read_arrays(shared: MappedArrays, memory: Mapping[str, LazyArray]) -> dict[str, LazyArray]:
    """The arrays of a version, read into the memory of the arrays it was made from: fresh memory costs more."""
    arrays = {}
    for name, header in shared.headers.items():
        assert isinstance(header, LazyArray)
        if not _in_files(header):
            arrays[name] = header
            continue
        own = memory[name]
        _read_into(shared, name, own.raw)
        prior = own.prior
        if header.prior_version != own.prior_version:
            prior = np.load(Path(shared.folder) / f"{name}.prior.npy")
        arrays[name] = replace(header, raw=own.raw, prior=prior)
    return arrays


def _read_into(shared: MappedArrays, name: str, raw: np.ndarray) -> None:
    """Read without a mapping, which takes a page fault for each page."""
    with (Path(shared.folder) / f"{name}.raw.npy").open("rb") as file:
        file.seek(-raw.nbytes, os.SEEK_END)
        file.readinto(raw.data)


def _map(folder: str, name: str, header: LazyArray | Overlay) -> LazyArray | Overlay:
    if not _in_files(_base(header)):
        return header
    raw, prior = (_array(Path(folder) / f"{name}.{part}.npy") for part in ("raw", "prior"))
    if isinstance(header, Overlay):
        return header.on(replace(header.base, raw=raw, prior=prior))
    return replace(header, raw=raw, prior=prior)


def _array(path: Path) -> np.ndarray:
    # Copy-on-write pages are as shared as read-only ones, but compile to the same numba signature as arrays in memory.
    with _one_parser:
        mapped = np.load(path, mmap_mode="c")
    return np.ndarray(mapped.shape, mapped.dtype, buffer=mapped)
