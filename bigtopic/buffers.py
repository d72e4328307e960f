"""Large arrays that reuse memory.

A minibatch needs a few arrays of some megabytes for some milliseconds. Fresh memory from the system costs a page fault
for every four kilobytes, as much as the work done on it; recently used memory is mapped and in the cache. Each thread
keeps the memory it handed out, and reuses it once there are no references to it: an array keeps its memory alive as any
NumPy view does, so nothing has to be given back. Every array begins at a cache line: vectors that lie across two lines
cost twice.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import numpy as np

__all__ = ["KEPT", "SMALL", "clear", "empty", "fits", "room", "zeros"]

SMALL = 1 << 15  # the allocator keeps small memory itself
KEPT = 32
LARGER = 4  # times a request, unused memory may be
LINE = 64
UNUSED = 3  # references to an array in the list while a loop looks at it

_own = threading.local()


def empty(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """Equivalent to `np.empty(shape, dtype)`, in unused memory of this thread."""
    dtype = np.dtype(dtype)
    size = dtype.itemsize * (shape if isinstance(shape, int) else math.prod(map(int, shape)))
    if size < SMALL:
        memory = np.empty(size + LINE, np.uint8)
        return np.ndarray(shape, dtype, memory, _start(memory))
    memory, start = _memory(size + LINE)
    return np.ndarray(shape, dtype, memory, start)


def _start(memory: np.ndarray) -> int:
    """Where the first cache line begins."""
    return int(-memory.__array_interface__["data"][0] % LINE)


def zeros(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """Equivalent to `np.zeros(shape, dtype)`, from the same memory."""
    out = empty(shape, dtype)
    out.fill(0)
    return out


def clear() -> None:
    """Forget this thread's unused memory."""
    _own.kept = []


def fits(size: int, held: int) -> bool:
    """Whether unused memory of `held` bytes is handed out for a request of `size`."""
    return size <= held <= LARGER * size


def room(size: int) -> int:
    """Bytes taken for an array of `size`: the next minibatch may be a little larger."""
    return size + size // 4


def _memory(size: int) -> tuple[np.ndarray, int]:
    """At least `size` unused bytes, and where their first cache line begins.

    NumPy makes every view of an array refer to it.
    """
    kept: list[tuple[np.ndarray, int, int]] = getattr(_own, "kept", [])
    best = None
    for memory, held, start in kept:
        better = size <= held <= LARGER * size and (best is None or held < best[1])  # `fits`, without a call
        if better and sys.getrefcount(memory) == UNUSED:
            best = memory, held, start
    if best is None:
        memory = np.empty(room(size), np.uint8)
        best = memory, memory.nbytes, _start(memory)
        _own.kept = [best, *kept[: KEPT - 1]]
    return best[0], best[2]
