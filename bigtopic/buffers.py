"""Large arrays that reuse memory.

A minibatch needs a few arrays of some megabytes for some milliseconds. Fresh memory from the system costs a page fault
for every four kilobytes, as much as the work done on it; recently used memory is mapped and in the cache. Each thread
keeps the memory it handed out, and reuses it once there are no references to it: an array keeps its memory alive as any
NumPy view does, so nothing has to be given back. A thread that has none of its own takes what another does not use, so
memory does not grow with the chance of which thread needed most. Between two runs some of it rests: fresh memory costs
most where the system has to ask another for it, as in a virtual machine. Every array begins at a cache line: vectors
that lie across two lines cost twice.
"""

from __future__ import annotations

import math
import mmap
import os
import sys
import threading
from collections.abc import Iterable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

__all__ = ["KEPT", "RESTING", "SMALL", "clear", "empty", "fits", "rest", "room", "zeros"]

SMALL = 1 << 15  # the allocator keeps small memory itself
KEPT = 16
LARGER = 4  # times a request, unused memory may be
LINE = 64
RESTING = 256 << 20  # bytes that rest between two runs
UNUSED = 2  # references to an array in a pool, with that of the question

# Not shared with processes that are forked, where the system has such.
_OWN: Any = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}

_Memory = tuple[np.ndarray, int, int]  # bytes, their number, and where their first cache line begins


class _Pool(list[_Memory]):
    """The memory of a thread, in use or not; what was handed out last is at the end."""


_own = threading.local()
_pools: WeakValueDictionary[int, _Pool] = WeakValueDictionary()  # of threads that live
_resting: list[_Memory] = []  # of no thread, the largest last
_looking = threading.Lock()  # for unused memory


def _in_child() -> None:
    """A thread that was looking is not in a process that was forked."""
    global _looking
    _looking = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


def empty(shape: int | tuple[int, ...], dtype: Any, *, kept: bool = True) -> np.ndarray:
    """Equivalent to `np.empty(shape, dtype)`, in unused memory of this process; if it shall not be `kept`, in memory
    that goes back to the system at once, which that of the allocator does not do below 32 MiB."""
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


def clear() -> None:
    """Forget this thread's unused memory, and what rests."""
    own = _own_pool()
    with _looking:
        own.clear()
        _resting.clear()


def rest() -> None:
    """A run has ended: of the unused memory of all threads, let that rest which is largest, up to `RESTING` bytes, and
    give the other back to the system. Fresh memory takes the place of what rests, so it adds nothing to the most that
    is in use."""
    with _looking:
        unused = [*_resting]
        for pool in _pools.values():
            unused += _unused(pool)
        _resting[:] = _largest(unused, RESTING)


def fits(size: int, held: int) -> bool:
    """Whether unused memory of `held` bytes is handed out for a request of `size`."""
    return size <= held <= LARGER * size


def room(size: int) -> int:
    """Bytes taken for an array of `size`: the next minibatch may be a little larger."""
    return size + size // 4


def _memory(size: int) -> tuple[np.ndarray, int]:
    """At least `size` unused bytes, and where their first cache line begins."""
    own = _own_pool()
    with _looking:
        found = _taken([own], size) or _taken(_pools.values(), size) or _taken([_resting], size)
        if found is None:
            _give_back(room(size))
            fresh = np.empty(room(size), np.uint8)
            found = fresh, fresh.nbytes, _start(fresh)
        memory, _, start = found  # from here on in use
        own.append(found)
        del own[:-KEPT]
    return memory, start


def _own_pool() -> _Pool:
    pool: _Pool | None = getattr(_own, "pool", None)
    if pool is None:
        pool = _own.pool = _Pool()
        with _looking:
            _pools[id(pool)] = pool
    return pool


def _unused(pool: _Pool) -> list[_Memory]:
    """Its unused memory, out of it; no variable refers to it here."""
    return [pool.pop(i) for i in reversed(range(len(pool))) if sys.getrefcount(pool[i][0]) == UNUSED]


def _largest(memory: list[_Memory], size: int) -> list[_Memory]:
    """As much of it as there may be, the largest last."""
    found: list[_Memory] = []
    for piece in sorted(memory, key=lambda piece: -piece[1]):
        if piece[1] <= size:
            found.insert(0, piece)
            size -= piece[1]
    return found


def _give_back(size: int) -> None:
    """So much of what rests, at least, if there is as much."""
    while size > 0 and _resting:
        size -= _resting.pop(0)[1]


def _taken(pools: Iterable[list[_Memory]], size: int) -> _Memory | None:
    """Of the unused memory, that which fits best, out of its pool; NumPy makes every view of an array refer to it."""
    best, least = None, LARGER * size + 1
    for pool in pools:
        for i, piece in enumerate(pool):
            held = piece[1]
            if size <= held < least and sys.getrefcount(piece[0]) == UNUSED:  # and `fits`, without a call
                best, least = (pool, i), held
    if best is None:
        return None
    pool, i = best
    return pool.pop(i)
