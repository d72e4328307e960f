"""The in-process executor: threads call the task functions; numba releases the interpreter lock."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from bigtopic.runtime.estep import Turn, Work, estep
from bigtopic.runtime.params import LazyArray, Overlay, Params
from bigtopic.runtime.reading import UnitReader
from bigtopic.runtime.reduce import Tree
from bigtopic.runtime.rounds import Cursor, RoundReport, Settings, run_round
from bigtopic.runtime.slices import Plan, Round, SliceRef
from bigtopic.types import Stats

__all__ = ["Run", "ThreadExecutor"]

LOOK_AHEAD = 8


@dataclass(frozen=True)
class Run:
    """Everything that stays the same during a run; picklable."""

    parts: Sequence[Any]
    plan: Plan
    work: Work
    settings: Settings


class ThreadExecutor:
    """Runs rounds on threads of this process.

    Parameters
    ----------
    run : corpus parts, plan, kernel and schemes
    n_threads : at least 1; does not change the result
    """

    def __init__(self, run: Run, n_threads: int = 1) -> None:
        self._run = run
        self._n_threads = n_threads
        self._reader = UnitReader(run.parts)
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="bigtopic") if n_threads > 1 else None

    def advance(
        self, params: Params, cursor: Cursor, max_rounds: int | None = None, max_seconds: float | None = None
    ) -> Iterator[tuple[Params, list[RoundReport]]]:
        """Rounds from the cursor to the end of its pass, at most `max_rounds`, none begun after `max_seconds`.

        Yields the params after some rounds, at least one, and the reports of these rounds: here after each, `params`
        itself, moved in place.
        """
        begun = time.perf_counter()
        rounds = islice(self._run.plan.rounds(cursor.epoch, cursor.round), max_rounds)
        for rnd in self._prefetching(rounds):
            if max_seconds is not None and time.perf_counter() - begun >= max_seconds:
                return
            here = replace(cursor, round=rnd.number)
            yield params, [run_round(params, rnd, here, self._run.settings, self.map_reduce)]
            cursor = replace(cursor, step=cursor.step + 1)

    def map_reduce(self, rnd: Round, arrays: Mapping[str, LazyArray | Overlay], turn: Turn) -> Stats:
        """The statistics of a round at these arrays."""
        tree = Tree()
        if self._pool is None or len(rnd.slices) == 1:
            for ref in rnd.slices:
                tree.push(self._estep(ref, arrays, turn))
        else:
            for stats in self._in_order(rnd.slices, arrays, turn):
                tree.push(stats)
        result = tree.result()
        assert result is not None
        return result

    def close(self) -> None:
        # Slices first: one may be waiting for a unit that only the reader can still deliver.
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._reader.close()

    def __enter__(self) -> ThreadExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _estep(self, ref: SliceRef, arrays: Mapping[str, LazyArray | Overlay], turn: Turn) -> Stats:
        return estep(ref, self._reader.block(ref), arrays, self._run.work, turn)

    def _in_order(
        self, slices: Sequence[SliceRef], arrays: Mapping[str, LazyArray | Overlay], turn: Turn
    ) -> Iterator[Stats]:
        """Results in slice order, with a bounded number of slices in flight."""
        assert self._pool is not None
        waiting: deque[Future[Stats]] = deque()
        window = self._n_threads + 2
        for number, ref in enumerate(slices):
            if number + window < len(slices):
                self._reader.prefetch(slices[number + window].unit)
            waiting.append(self._pool.submit(self._estep, ref, arrays, turn))
            if len(waiting) >= window:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _prefetching(self, rounds: Iterator[Round]) -> Iterator[Round]:
        """The same rounds; the units of those a little ahead are being read meanwhile."""
        queue: deque[Round] = deque()
        for rnd in rounds:
            queue.append(rnd)
            self._reader.prefetch(rnd.slices[0].unit)
            if len(queue) > LOOK_AHEAD:
                yield queue.popleft()
        yield from queue
