"""Ranges of rows that threads with nothing else to do work on, side by side with the thread that has them to do.

Code that loops over many rows, in whatever layer, calls `over_rows`. The maker of a thread says who helps it: a thread
that runs jobs of a pipeline is `helped` by those that wait. What is computed must not depend on the ranges.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise

__all__ = ["ROWS", "Part", "Share", "helped", "over_rows"]

Part = Callable[[], None]
Share = Callable[[Callable[[int], Sequence[Part]]], None]  # given what makes parts for a number of threads

ROWS = 256  # ranges begin at multiples of it
_BYTES = 1 << 20  # of a range, at least; in less time than it takes, no thread wakes

_own = threading.local()


def over_rows(work: Callable[[int, int], None], n_rows: int, row_bytes: int) -> None:
    """Call `work(start, stop)` for ranges that are together all rows, on this thread and those that help it.

    Parameters
    ----------
    row_bytes : that are read and written for a row
    """
    share: Share | None = getattr(_own, "share", None)
    most = min(n_rows * row_bytes // _BYTES, n_rows // ROWS)
    if share is None or most < 2:
        work(0, n_rows)
    else:
        share(lambda n_threads: _ranges(work, n_rows, min(n_threads, most)))


def _ranges(work: Callable[[int, int], None], n_rows: int, n_ranges: int) -> list[Part]:
    """One for each thread: a thread that only now wakes finds no gap between short ones to begin in."""
    bounds = [n_rows * i // n_ranges // ROWS * ROWS for i in range(n_ranges)]
    return [partial(work, start, stop) for start, stop in pairwise([*bounds, n_rows])]


@contextmanager
def helped(share: Share) -> Iterator[None]:
    """In this context, `share` does the parts of this thread's work: all of them, when it returns."""
    before, _own.share = getattr(_own, "share", None), share
    try:
        yield
    finally:
        _own.share = before
