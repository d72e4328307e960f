"""Replays of delayed rounds on one thread hold as many statistics as the pipeline does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bigtopic.learning.executors.pipeline import Pipeline, most_together
from bigtopic.learning.memory.replay import Ledger, Rounds, SliceSizes
from bigtopic.types import AxisStats, Scratch, Stats

N_ROUNDS = 48  # whole groups: at the end of a segment, two of them wait


class Counting:
    """Jobs that count the rounds whose statistics are held; `settle` lets them go."""

    def __init__(self, together: bool) -> None:
        self.held, self.most = 0, 0
        self._together, self._stepped, self._sealed = together, 0, list[int]()

    def prefetch(self, task: int) -> None:
        pass

    def together(self, task: int, following: int) -> bool:
        return self._together

    def gather(self, number: int, tasks: Sequence[int]) -> None:
        pass

    def evaluate(self, number: int, tasks: Sequence[int], gathered: Any) -> list[Stats]:
        self.held += len(tasks)
        self.most = max(self.most, self.held)
        return [Stats({"a": AxisStats(None, np.ones((1, 16)))}, 1, 1.0) for _ in tasks]

    def step(self, number: int, stats: Stats) -> None:
        self._stepped += 1

    def seal(self) -> None:
        self._sealed.append(self._stepped)
        self._stepped = 0

    def settle(self) -> None:
        self.held -= self._sealed.pop(0)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("delay", [1, 2, 3, 12, 31])
def test_statistics_that_wait(delay, together):
    jobs, ledger = Counting(together), Ledger()
    Pipeline([[n] for n in range(N_ROUNDS)], jobs, delay, puts_off=True, together=4).run(None, 1)
    slices, number = SliceSizes([], 0.0, Scratch()), most_together(4 if together else 1, delay, 1)
    rounds = Rounds(
        ledger,
        1,
        lambda n_docs: slices,
        lambda n_docs: [1.0],
        [1.0],
        random.Random(0),
        None,
        lambda *_: slices,
    )
    for _ in range(N_ROUNDS // number):
        rounds.delayed(1, delay, number)
    assert ledger.peak == jobs.most
