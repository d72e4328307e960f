"""Large arrays that reuse memory.

A minibatch needs a few arrays of some megabytes for some milliseconds. Fresh memory from the system costs a page fault
for every four kilobytes, as much as the work done on it; recently used memory is mapped and in the cache. Each thread
keeps the memory it handed out, and reuses it once there are no references to it: an array keeps its memory alive as any
NumPy view does, so nothing has to be given back. A thread without unused memory of its own takes that of another
thread, so that not every thread comes to hold what any of them needs. Between two runs, some memory rests: in a virtual
machine, fresh memory costs even more, because the host has to find it. Every array begins at a cache line: vectors that
lie across two lines cost twice.
"""

from __future__ import annotations

import math
import mmap
import os
import sys
import threading
from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

__all__ = ["KEPT", "RESTING", "SMALL", "empty", "fits", "rest", "room", "zeros"]

SMALL = 1 << 15  # the allocator keeps small memory itself
KEPT = 16  # pieces of memory of a thread
LARGER = 4  # memory of up to so many times a request serves it
LINE = 64
RESTING = 256 << 20  # bytes that rest between two runs, at most
UNUSED = 2  # references to unused memory: that of its piece, and the argument of `getrefcount`

# Not shared with processes that are forked, where the system has such.
_OWN: Any = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}


class _Piece(NamedTuple):
    """`held` bytes of memory, and the index of the first one that begins a cache line."""

    memory: np.ndarray
    held: int
    start: int


class _Pool(list[_Piece]):
    """The memory of a thread, in use or not; what was handed out last is at the end."""


_own = threading.local()
_pools: WeakValueDictionary[int, _Pool] = WeakValueDictionary()  # of threads that live
_resting: list[_Piece] = []  # of no thread, the largest last
_looking = threading.Lock()  # for unused memory


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
    if size < SMALL:
        memory = np.empty(size + LINE, np.uint8)
        return np.ndarray(shape, dtype, memory, _start(memory))
    memory, start = _memory(size + LINE)
    return np.ndarray(shape, dtype, memory, start)


def _mapped(size: int) -> mmap.mmap:
    """Fresh memory, of zeros; it lives as long as an array in it."""
    memory = mmap.mmap(-1, size, **_OWN)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def _start(memory: np.ndarray) -> int:
    """Where the first cache line begins."""
    return int(-memory.__array_interface__["data"][0] % LINE)


def zeros(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """Equivalent to `np.zeros(shape, dtype)`, from the same memory."""
    out = empty(shape, dtype)
    out.fill(0)
    return out


def rest() -> None:
    """At the end of a run: let the largest pieces of the unused memory of all threads rest, up to `RESTING` bytes, and
    give the others back to the system. What rests goes back as soon as fresh memory is needed, so it does not raise the
    peak."""
    with _looking:
        unused = [*_resting]
        for pool in _pools.values():
            unused += _taken_unused(pool)
        _resting[:] = _largest(unused, RESTING)


def fits(size: int, held: int) -> bool:
    """Whether unused memory of `held` bytes is handed out for a request of `size`."""
    return size <= held <= LARGER * size


def room(size: int) -> int:
    """Bytes taken for an array of `size`: the next minibatch may be a little larger."""
    return size + size // 4


def _memory(size: int) -> tuple[np.ndarray, int]:
    """Memory of at least `size` bytes for a new array, and the index of the first one that begins a cache line."""
    own = _own_pool()
    with _looking:
        found = _taken([own], size) or _taken(_pools.values(), size) or _taken([_resting], size)
        if found is None:
            _give_back(room(size))
            fresh = np.empty(room(size), np.uint8)
            found = _Piece(fresh, fresh.nbytes, _start(fresh))
        memory = found.memory  # from here on in use
        own.append(found)
        del own[:-KEPT]
    return memory, found.start


def _own_pool() -> _Pool:
    pool: _Pool | None = getattr(_own, "pool", None)
    if pool is None:
        pool = _own.pool = _Pool()
        with _looking:
            _pools[id(pool)] = pool
    return pool


def _taken_unused(pool: _Pool) -> list[_Piece]:
    """Take the unused pieces out of the pool."""
    return [pool.pop(i) for i in reversed(range(len(pool))) if _is_unused(pool[i])]


def _is_unused(piece: _Piece) -> bool:
    """Whether no array has this memory: NumPy makes every view refer to the array that owns the memory."""
    return sys.getrefcount(piece.memory) == UNUSED


def _largest(pieces: list[_Piece], size: int) -> list[_Piece]:
    """The largest pieces that are together at most `size` bytes, the largest last."""
    found: list[_Piece] = []
    for piece in sorted(pieces, key=lambda piece: -piece.held):
        if piece.held <= size:
            found.insert(0, piece)
            size -= piece.held
    return found


def _give_back(size: int) -> None:
    """Give at least `size` bytes of what rests back to the system, the smallest pieces first; all if it is less."""
    while size > 0 and _resting:
        size -= _resting.pop(0).held


def _taken(pools: Iterable[list[_Piece]], size: int) -> _Piece | None:
    """Take the smallest unused piece that fits out of its pool."""
    best, least = None, LARGER * size + 1
    for pool in pools:
        for i, piece in enumerate(pool):
            if size <= piece.held < least and _is_unused(piece):  # as `fits`, without a call
                best, least = (pool, i), piece.held
    if best is None:
        return None
    pool, i = best
    return pool.pop(i)
