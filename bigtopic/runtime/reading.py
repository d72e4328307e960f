"""Reading units of the corpus, each once, a little ahead of the work."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from bigtopic.runtime.slices import SliceRef
from bigtopic.types import Block

__all__ = ["UnitReader"]

KEPT = 3


class UnitReader:
    """Blocks of slices. A unit is decoded once for the slices that need it one after the other.

    With `keep_all`, units stay for the next pass; otherwise a used unit is dropped when there are three newer ones, and
    its memory is reused.
    Thread-safe. `prefetch` reads in the background; an error of a background read is raised where the unit is needed.
    """

    def __init__(self, parts: Sequence[Any], *, keep_all: bool = False, ahead: int = 1) -> None:
        self._parts = parts
        self._keep_all = keep_all
        self._units: OrderedDict[tuple[int, int, int], Future[Block]] = OrderedDict()
        self._used: set[tuple[int, int, int]] = set()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(max(1, ahead), thread_name_prefix="bigtopic-read") if ahead else None

    def block(self, ref: SliceRef) -> Block:
        """The documents of a slice."""
        future, mine = self._claim(ref.unit)
        if mine:
            self._fill(future, ref.unit)
        block = future.result()
        with self._lock:
            if ref.unit in self._units:
                self._used.add(ref.unit)
        return block[ref.start - ref.unit_start : ref.stop - ref.unit_start]

    def prefetch(self, unit: tuple[int, int, int]) -> None:
        """Start reading a unit unless it is loaded or being read."""
        if self._pool is None:
            return
        future, mine = self._claim(unit)
        if mine:
            self._pool.submit(self._fill, future, unit)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._units.clear()

    def _claim(self, unit: tuple[int, int, int]) -> tuple[Future[Block], bool]:
        with self._lock:
            future = self._units.get(unit)
            if future is not None:
                self._units.move_to_end(unit)
                return future, False
            future = Future()
            self._units[unit] = future
            self._evict()
            return future, True

    def _fill(self, future: Future[Block], unit: tuple[int, int, int]) -> None:
        part, start, stop = unit
        try:
            future.set_result(self._parts[part].read(start, stop))
        except BaseException as error:  # raised where the unit is requested
            future.set_exception(error)

    def _evict(self) -> None:
        if self._keep_all:
            return
        for unit in list(self._units)[:-KEPT]:
            if unit in self._used:
                self._used.remove(unit)
                del self._units[unit]
