"""Loops of one thread that threads which would wait for it take a part of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise

__all__ = ["Divide", "Loop", "in_ranges", "ranges", "with_help"]

Loop = Callable[[int, int], None]
"""Does `first` to `last` of something, independently of the rest of it."""

Divide = Callable[[Loop, int, int], None]
"""(loop, stop, unit) -> does the loop from 0 to `stop` in ranges that begin at multiples of `unit`."""

_own = threading.local()


def in_ranges(loop: Loop, stop: int, unit: int = 1) -> None:
    """Equivalent to `loop(0, stop)`, by any threads that help this one; see `Divide`."""
    divide: Divide | None = getattr(_own, "divide", None)
    if divide is None:
        loop(0, stop)
    else:
        divide(loop, stop, unit)


@contextmanager
def with_help(divide: Divide) -> Iterator[None]:
    """While this is entered, `divide` does what this thread calls `in_ranges` for."""
    _own.divide = divide
    try:
        yield
    finally:
        _own.divide = None


def ranges(stop: int, n: int, unit: int) -> list[tuple[int, int]]:
    """At most `n` ranges of even size from 0 to `stop`, which begin at multiples of `unit`."""
    units = -(-stop // unit)
    n = max(1, min(n, units))
    cuts = [min(stop, i * units // n * unit) for i in range(n + 1)]
    return list(pairwise(cuts))
