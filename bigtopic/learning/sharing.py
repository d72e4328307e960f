"""Transfer of params to the tasks of a round, and back: files when all workers can use them, else a future.

Every version is a new folder, in memory if there is room for it, with a file for each large part of an array: its dense
rows, or what `SparseRows` consist of, and vectors of many topics. Workers map it, and keep the newest two mapped; or
one worker claims it, updates the arrays, and returns them to their files. The driver removes it in the end; the next
driver on this machine removes what a killed one left behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
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
SMALL_BYTES = 1 << 14  # a part of up to this size travels with the headers
PRIOR = "prior"
VECTORS = (PRIOR, "scale", "sums", "prior_totals")  # parts of an array besides its rows

_mapped: OrderedDict[str, Arrays] = OrderedDict()


@dataclass(frozen=True)
class MappedArrays:
    """Arrays whose large parts lie in files of a folder; everything else travels with this object.

    headers : the arrays, with empty parts where these are in files
    in_files : {name: names of the parts that are in files}
    n_returned : how often they were claimed and returned
    """

    folder: str
    headers: Mapping[str, LazyArray | Overlay]
    in_files: Mapping[str, Collection[str]]
    n_returned: int = 0

    def read(self, name: str, read: Callable[[str, Path], np.ndarray]) -> LazyArray:
        """An array, or the base of an overlay; `read` gets the name of a part and its file."""
        header, in_files = _base(self.headers[name]), self.in_files[name]
        parts = {
            part: read(part, self.file(name, part)) if part in in_files else small.copy()
            for part, small in _parts(header).items()
        }
        return replace(_with_parts(header, parts))  # whose prior is read-only

    def file(self, name: str, part: str) -> Path:
        """Where a part of an array is."""
        return Path(self.folder) / f"{name}.{part}.npy"

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
    headers, large = _divided(arrays)
    shared = MappedArrays(new_folder(place, PREFIX), headers, _names(large))
    try:
        for name, parts in large.items():
            for part, values in parts.items():
                np.save(shared.file(name, part), values)
    except BaseException:
        shared.remove()
        raise
    return shared


def _divided(arrays: Arrays) -> tuple[Arrays, dict[str, dict[str, np.ndarray]]]:
    """The arrays without their large parts, and these, contiguous; what is small is copied."""
    headers: dict[str, LazyArray | Overlay] = {}
    large: dict[str, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        parts = _parts(_base(array))
        large[name] = {
            part: np.ascontiguousarray(values)
            for part, values in parts.items()
            if values.nbytes > SMALL_BYTES
        }
        small = {
            part: (values[:0] if part in large[name] else values).copy() for part, values in parts.items()
        }
        header = _with_parts(_base(array), small)
        headers[name] = array.on(header) if isinstance(array, Overlay) else header
    return headers, large


def _names(large: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(parts) for name, parts in large.items()}


def _base(array: LazyArray | Overlay) -> LazyArray:
    return array.base if isinstance(array, Overlay) else array


def _parts(array: LazyArray) -> dict[str, np.ndarray]:
    """The NumPy arrays that an array of the params consists of, by name."""
    raw: Any = array.raw
    rows = {"raw": raw} if isinstance(raw, np.ndarray) else raw.parts
    return {**rows, **{name: getattr(array, name) for name in VECTORS}}


def _with_parts(array: LazyArray, parts: Mapping[str, np.ndarray]) -> LazyArray:
    """The array with these parts, which need not fit together, in place of its own."""
    own, raw, other = {**_parts(array), **parts}, array.raw, copy(array)
    other.raw = own["raw"] if isinstance(raw, np.ndarray) else raw.of_parts(own, raw.n_columns)
    for name in VECTORS:
        setattr(other, name, own[name])
    return other


def load_arrays(shared: Any) -> Arrays:
    """The arrays of a version, mapped; or the arrays themselves if they were sent."""
    if not isinstance(shared, MappedArrays):
        sent: Arrays = shared
        return sent
    arrays = _mapped.get(shared.folder)
    if arrays is None:  # two threads may both map it: the same pages
        with _in_sight(shared):
            arrays = {name: _map(shared, name) for name in shared.headers}
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

    def read(part: str, path: Path) -> np.ndarray:
        return _mapped_file(path) if part == PRIOR else _read(path)

    return {name: shared.read(name, read) for name in shared.headers}


def return_arrays(
    shared: MappedArrays, arrays: Mapping[str, LazyArray]
) -> MappedArrays | Mapping[str, LazyArray]:
    """Write claimed arrays to the files they came from, where they may be claimed again; the arrays themselves, if the
    files cannot hold what has become larger."""
    headers, large = _divided(arrays)
    for name, parts in large.items():
        same = arrays[name].prior_version == _base(shared.headers[name]).prior_version
        for part, values in parts.items():
            if part == PRIOR and same and part in shared.in_files[name]:
                continue
            try:
                _write(shared.file(name, part), values)
            except OSError:
                return arrays
    return MappedArrays(shared.folder, headers, _names(large), shared.n_returned + 1)


def read_arrays(shared: MappedArrays, memory: Mapping[str, LazyArray]) -> dict[str, LazyArray]:
    """The arrays of a version, read into the memory of the arrays it was made from: fresh memory costs more."""
    arrays = {}
    for name, header in shared.headers.items():
        own, same = memory[name], _base(header).prior_version == memory[name].prior_version

        def read(part: str, path: Path, own: LazyArray = own, same: bool = same) -> np.ndarray:
            return own.prior if part == PRIOR and same else _read(path, own.raw if part == "raw" else None)

        arrays[name] = shared.read(name, read)
    return arrays


def _write(path: Path, values: np.ndarray) -> None:
    """Write a file, into the pages that it has."""
    with path.open("r+b" if path.exists() else "wb", buffering=0) as file:
        np.save(file, values)
        file.truncate()


def _read(path: Path, memory: np.ndarray | None = None) -> np.ndarray:
    """Read without a mapping, which takes a page fault for each page; into this memory, if there is some."""
    with path.open("rb") as file:
        with _one_parser:
            np.lib.format.read_magic(file)
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        values = buffers.empty(shape, dtype) if memory is None else memory
        file.readinto(values.data)
    return values


def _map(shared: MappedArrays, name: str) -> LazyArray | Overlay:
    base, header = shared.read(name, lambda _, path: _mapped_file(path)), shared.headers[name]
    return header.on(base) if isinstance(header, Overlay) else base


def _mapped_file(path: Path) -> np.ndarray:
    # Copy-on-write pages are as shared as read-only ones, but compile to the same numba signature as arrays in memory.
    with _one_parser:
        mapped = np.load(path, mmap_mode="c")
    return np.ndarray(mapped.shape, mapped.dtype, buffer=mapped)
