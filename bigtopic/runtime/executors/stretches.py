"""The loop over stretches, for executors that have the params after each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from bigtopic.runtime.cursor import Cursor, RoundReport
from bigtopic.runtime.executors.pipeline import Pipeline
from bigtopic.runtime.executors.protocol import Run, Updates
from bigtopic.runtime.params import Params
from bigtopic.runtime.rounds import MapReduce, Settings, round_stats, step
from bigtopic.runtime.slices import Round
from bigtopic.types import Stats

__all__ = ["Stretch", "by_stretches", "do_rounds"]

Prefetching = Callable[[Iterator[list[Round]], int], Iterator[list[Round]]]


@dataclass(frozen=True)
class Stretch:
    """Rounds to do before the caller sees the params.

    Attributes
    ----------
    params : updated by one step for each report
    rounds, cursors : one cursor for each round
    reports : those before a failure are there
    """

    params: Params
    rounds: Sequence[Round]
    cursors: Sequence[Cursor]
    settings: Settings
    reports: list[RoundReport] = field(default_factory=list)

    def step(self, number: int, stats: Stats) -> None:
        """Update the params by the statistics of the `number`-th round of the stretch."""
        self.reports.append(step(self.params, self.cursors[number], stats, self.settings))


def by_stretches(
    run: Run,
    params: Params,
    cursor: Cursor,
    max_rounds: int | None,
    max_seconds: float | None,
    do: Callable[[Stretch], None],
    prefetching: Prefetching | None = None,
) -> Updates:
    """What `Executor.advance` yields: `params` itself after each stretch, updated in place by `do`.

    `prefetching` is given the stretches and their pass, and yields the same stretches.
    """
    begun = time.perf_counter()
    n_rounds = 0
    stretches = run.plan.stretches(cursor.epoch, cursor.round, cursor.ahead)
    for rounds in prefetching(stretches, cursor.epoch) if prefetching else stretches:
        late = max_seconds is not None and time.perf_counter() - begun >= max_seconds
        if late or (max_rounds is not None and n_rounds >= max_rounds):
            return
        cursors = [
            Cursor(cursor.epoch, rnd.number, cursor.step + number)
            for number, rnd in enumerate(rounds, n_rounds)
        ]
        stretch = Stretch(params, rounds, cursors, run.settings)
        try:
            do(stretch)
        except BaseException:
            if stretch.reports:
                yield params, stretch.reports
            raise
        yield params, stretch.reports
        n_rounds += len(rounds)


def do_rounds(stretch: Stretch, delay: int, map_reduce: MapReduce) -> None:
    """Do the rounds of a stretch one after the other, each mapped and reduced by `map_reduce`."""
    Pipeline([[rnd] for rnd in stretch.rounds], _RoundJobs(stretch, map_reduce), delay).run(None, 1)


@dataclass(frozen=True)
class _RoundJobs:
    """The jobs of a pipeline whose tasks are whole rounds: `map_reduce` reads the params, so all of it is gathering."""

    stretch: Stretch
    map_reduce: MapReduce

    def prefetch(self, rnd: Round) -> None:
        """Nothing to do: `map_reduce` reads the documents."""

    def gather(self, number: int, rnd: Round) -> Stats:
        stretch = self.stretch
        return round_stats(stretch.params, rnd, stretch.cursors[number], stretch.settings, self.map_reduce)

    def evaluate(self, number: int, rnd: Round, stats: Stats) -> Stats:
        return stats

    def step(self, number: int, stats: Stats) -> None:
        self.stretch.step(number, stats)
