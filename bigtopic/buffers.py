"""Large arrays that reuse memory.

A minibatch needs a few arrays of some megabytes for some milliseconds. Fresh memory from the system costs a page fault
for every four kilobytes, as much as the work done on it; recently used memory is mapped and in the cache. Each thread
keeps the memory it handed out, and reuses it once there are no references to it: an array keeps its memory alive as any
NumPy view does, so nothing has to be given back. Every array begins at a cache line: vectors that lie across two lines
cost twice.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

__all__ = ["KEPT", "SMALL", "clear", "empty", "fits", "room", "zeros"]

SMALL = 1 << 15  # the allocator keeps small memory itself
KEPT = 16
LINE = 64
UNUSED = 3  # references to an array in the list while a loop looks at it

_own = threading.local()


def empty(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """Equivalent to `np.empty(shape, dtype)`, in unused memory of this thread."""
    dtype = np.dtype(dtype)
    size = dtype.itemsize
    for n in (shape,) if isinstance(shape, int) else shape:
        size *= int(n)
    memory = np.empty(size + LINE, np.uint8) if size < SMALL else _memory(size + LINE)
    start = -memory.__array_interface__["data"][0] % LINE
    return memory[start : start + size].view(dtype).reshape(shape)


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
    return size <= held <= 4 * size


def room(size: int) -> int:
    """Bytes taken for an array of `size`: the next minibatch may be a little larger."""
    return size + size // 4


def _memory(size: int) -> np.ndarray:
    """At least `size` unused bytes. NumPy makes every view of an array refer to it."""
    kept: list[np.ndarray] = getattr(_own, "kept", [])
    best = None
    for memory in kept:
        unused = fits(size, memory.nbytes) and sys.getrefcount(memory) == UNUSED
        if unused and (best is None or memory.nbytes < best.nbytes):
            best = memory
    if best is None:
        best = np.empty(room(size), np.uint8)
        _own.kept = [best, *kept[: KEPT - 1]]
    return best
