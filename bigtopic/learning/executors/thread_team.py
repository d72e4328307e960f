"""Threads of this process that work together: the caller's own, and helpers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from bigtopic.learning.stopping import uninterrupted
from bigtopic.support.side_by_side import Part

__all__ = ["ThreadTeam"]


class ThreadTeam:
    """This thread and `n_threads - 1` others. Only one thread uses a team."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        helpers = n_threads - 1
        self._pool = ThreadPoolExecutor(helpers, thread_name_prefix="bigtopic") if helpers else None

    def each(self, work: Callable[[int], None], n: int) -> None:
        """Call `work(0)`, ..., `work(n - 1)`; calls begin in this order. Raises what the first that fails raises, when
        all that have begun are over."""
        numbers, lock, failures = iter(range(n)), threading.Lock(), list[BaseException]()

        def do() -> None:
            try:
                while not failures:
                    with lock:
                        number = next(numbers, None)
                    if number is None:
                        return
                    work(number)
            except BaseException as failure:
                failures.append(failure)

        helpers: list[Future[None]] = []
        try:
            with uninterrupted():
                for _ in range(min(self.n_threads, n) - 1):
                    assert self._pool is not None
                    helpers.append(self._pool.submit(do))
            do()
        except BaseException as failure:  # a second Ctrl-C
            failures.append(failure)
        with uninterrupted():
            for helper in helpers:
                helper.result()
        if failures:
            raise failures[0]

    def share(self, cut: Callable[[int], Sequence[Part]]) -> None:
        """Do the parts that `cut` makes for the threads, see `side_by_side.helped`."""
        parts = cut(self.n_threads)
        self.each(lambda number: parts[number](), len(parts))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
