"""Work shared by the thread that has it to do and by threads with nothing else to do.

Code that loops over many rows, in any layer, calls `over_rows`; code that makes the parts itself, `in_parts`. Code that
runs threads says which of them help: the thread of a pipeline that merges and steps is `helped` by those that wait.
Results must not depend on who does a part, nor on how rows are divided.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise

__all__ = ["ROWS", "Part", "Share", "helped", "in_parts", "over_rows"]

Part = Callable[[], None]
Share = Callable[[Callable[[int], Sequence[Part]]], None]  # given what makes parts for a number of threads

ROWS = 256  # ranges begin at multiples of it
_BYTES = 1 << 20  # of a range, at least: a shorter one would be done before another thread wakes

_own = threading.local()


def over_rows(work: Callable[[int, int], None], n_rows: int, row_bytes: int) -> None:
    """Call `work(start, stop)` for ranges that together cover all rows, on this thread and those that help it.

    `work` must not call `over_rows` itself.

    Parameters
    ----------
    row_bytes : bytes that are read and written per row
    """
    share: Share | None = getattr(_own, "share", None)
    most = min(n_rows * row_bytes // _BYTES, n_rows // ROWS)
    if share is None or most < 2:
        work(0, n_rows)
    else:
        share(lambda n_threads: _ranges(work, n_rows, min(n_threads, most)))


def in_parts(parts: Sequence[Part]) -> None:
    """Do the parts, on this thread and those that help it."""
    share: Share | None = getattr(_own, "share", None)
    if share is not None and len(parts) > 1:
        share(lambda n_threads: parts)
        return
    for part in parts:
        part()


def _ranges(work: Callable[[int, int], None], n_rows: int, n_ranges: int) -> list[Part]:
    """One for each thread: of many short ones, a thread that has just been woken would rarely get any."""
    bounds = [n_rows * i // n_ranges // ROWS * ROWS for i in range(n_ranges)]
    return [partial(work, start, stop) for start, stop in pairwise([*bounds, n_rows])]


@contextmanager
def helped(share: Share) -> Iterator[None]:
    """In this context, `share` does the parts of this thread's loops; when it returns, all of them are done."""
    before, _own.share = getattr(_own, "share", None), share
    try:
        yield
    finally:
        _own.share = before
