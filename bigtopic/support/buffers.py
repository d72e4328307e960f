"""Large arrays that reuse memory.

A minibatch needs a few arrays of some megabytes for some milliseconds. Fresh memory from the system costs a page fault
for every four kilobytes, as much as the work done on it; recently used memory is mapped and in the cache. So memory
that no array refers to any more serves the next one that fits, whichever thread needs it: an array keeps its memory
alive as any NumPy view does, and nothing has to be given back. So there are about as many pieces of a size as were in
use at once. Between two runs, some memory rests: in a virtual machine, fresh memory costs even more, because the host
has to find it. On a Dask worker, less rests, and nothing after a run: Dask pauses a worker whose process is large,
and no task comes to a paused worker. Every array begins at a cache line: vectors that lie across two lines cost twice.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import threading
from bisect import bisect_left, insort_left
from collections import deque
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

__all__ = ["RESTING", "SMALL", "empty", "fits", "give_back", "rest", "room", "zeros"]

SMALL = 1 << 15  # the allocator keeps small memory itself
LARGER = 4  # memory of up to so many times a request serves it
LINE = 64
RESTING = 256 << 20  # bytes that rest between two runs, at most

# Not shared with processes that are forked, where the system has such.
_OWN: Any = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


class _Piece(np.ndarray):
    """Bytes from a cache line on. Not a plain array: an array made in a view of one would refer to the array itself,
    and the view, `_InUse`, would end at once."""


_ended: deque[Any] = deque()  # pieces that are no longer in use, from any thread
_given_back: list[bool] = []  # not empty from `give_back` to the next request: pieces are not kept


class _InUse(np.ndarray):
    """A view of a piece that is in use. Arrays in the piece refer to this view, which ends with the last of them."""

    def __del__(
        self,
        end: Callable[[Any], None] = _ended.append,
        kind: type = _Piece,
        given_back: list[bool] = _given_back,
    ) -> None:
        # Arguments, since at the end of the interpreter this module may be gone. A view of this view does not count
        if type(self.base) is kind and not given_back:
            end(self.base)


_unused: list[Any] = []  # pieces, by size
_resting: list[Any] = []  # the same, since an earlier run
_looking = threading.Lock()  # for unused pieces
_held = attrgetter("nbytes")


def _in_child() -> None:
    """A thread that was looking is not in a process that was forked."""
    global _looking
    _looking = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def empty(shape: int | tuple[int, ...], dtype: Any, *, kept: bool = True) -> np.ndarray:
    """Equivalent to `np.empty(shape, dtype)`, in unused memory of this process.

    Parameters
    ----------
    kept : whether the memory is reused when the array is gone. If not, it then goes back to the system, which the
        allocator does only with 32 MiB or more.
    """
    dtype = np.dtype(dtype)
    size = dtype.itemsize * (shape if isinstance(shape, int) else math.prod(map(int, shape)))
    if not kept:
        return np.ndarray(shape, dtype, _mapped(max(size, 1)))
    memory = _aligned(size) if size < SMALL else _piece(size).view(_InUse)
    return np.ndarray(shape, dtype, memory)


def _mapped(size: int) -> mmap.mmap:
    """Fresh memory, of zeros; it lives as long as an array in it."""
    memory = mmap.mmap(-1, size, **_OWN)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _aligned(size: int) -> np.ndarray:
    """Fresh memory that begins at a cache line."""
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.__array_interface__["data"][0] % LINE
    return memory[start : start + size]


def zeros(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """Equivalent to `np.zeros(shape, dtype)`, from the same memory."""
    out = empty(shape, dtype)
    out.fill(0)
    return out


def rest(n_bytes: int | None = None) -> None:
    """At the end of a run, or of other parallel work: let the largest pieces of the unused memory rest, and give the
    others back to the system. What rests goes back when fresh memory is needed, so it does not raise the peak.

    Parameters
    ----------
    n_bytes : that rest, at most; None for `RESTING`. If it is less, the allocator gives back what it keeps, too
    """
    most = RESTING if n_bytes is None else min(n_bytes, RESTING)
    with _looking:
        _collect()
        _resting[:] = _largest([*_resting, *_unused], most)
        _unused.clear()
    if most < RESTING:
        _trim()


def give_back() -> None:
    """Give all unused memory back to the system, with what the allocator keeps; and memory in use as soon as it is
    unused, unless a request for memory comes first.

    Finalizers call this, perhaps in the middle of a request for memory, so it does not wait for the lock: the thread
    that has it is at work, and gives the memory back afterwards.
    """
    _given_back[:] = [True]
    if _looking.acquire(blocking=False):
        try:
            _collect()
            _unused.clear()
            _resting.clear()
        finally:
            _looking.release()
    _trim()


def _trim() -> None:
    """Have the allocator give back what it keeps, where it can: glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)


def fits(size: int, held: int) -> bool:
    """Whether unused memory of `held` bytes is handed out for a request of `size`."""
    return size <= held <= LARGER * size


def room(size: int) -> int:
    """Bytes taken for an array of `size`: the next minibatch may be a little larger."""
    return size + size // 4


def _piece(size: int) -> np.ndarray:
    """The smallest unused piece that fits, or a new one."""
    _given_back.clear()
    with _looking:
        _collect()
        found = _taken(_unused, size)
        if found is None:
            found = _taken(_resting, size)
        if found is None:
            _give_back(room(size))
            found = _fresh(room(size)).view(_Piece)
        return found


def _fresh(size: int) -> np.ndarray:
    """Fresh memory; if there is none, unused memory is given back first."""
    try:
        return _aligned(size)
    except MemoryError:
        _unused.clear()
        _resting.clear()
        return _aligned(size)


def _collect() -> None:
    """Sort pieces that are no longer in use in among the unused ones; of one size, the last is the first to be used."""
    while _ended:
        insort_left(_unused, _ended.popleft(), key=_held)


def _taken(pieces: list[Any], size: int) -> Any:
    """Take the smallest piece that fits; None if there is none."""
    place = bisect_left(pieces, size, key=_held)
    return pieces.pop(place) if place < len(pieces) and fits(size, pieces[place].nbytes) else None


def _largest(pieces: list[Any], size: int) -> list[Any]:
    """The largest pieces that are together at most `size` bytes, by size."""
    found: list[Any] = []
    for piece in sorted(pieces, key=_held, reverse=True):
        if piece.nbytes <= size:
            found.insert(0, piece)
            size -= piece.nbytes
    return found


def _give_back(size: int) -> None:
    """Give at least `size` bytes of what rests back to the system, the smallest pieces first; all if it is less."""
    while size > 0 and _resting:
        size -= _resting.pop(0).nbytes
