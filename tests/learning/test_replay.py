"""Replays of delayed rounds on one thread hold as many statistics as the pipeline does."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from bigtopic.learning.executors.pipeline import Pipeline
from bigtopic.learning.memory.replay import Ledger, Rounds, SliceSizes
from bigtopic.plan.delays import groups_of

from bigtopic.types import AxisStats, Scratch, Stats

N_ROUNDS = 48  # whole groups: at the end of a segment, all that were at work wait


class Counting:
    """Jobs that count the rounds whose statistics are held; `settle` lets them go."""

    def __init__(self) -> None:
        self.held, self.most = 0, 0
        self._stepped, self._sealed = 0, list[int]()

    def prefetch(self, task: int) -> None:
        pass

    def gather(self, number: int, task: int) -> None:
        pass

    def evaluate(self, number: int, task: int, gathered: Any) -> Stats:
        self.held += 1
        self.most = max(self.most, self.held)
        return Stats({"a": AxisStats(None, np.ones((1, 16)))}, 1, 1.0)

    def step(self, number: int, stats: Stats) -> None:
        self._stepped += 1

    def seal(self) -> None:
        self._sealed.append(self._stepped)
        self._stepped = 0

    def settle(self) -> None:
        self.held -= self._sealed.pop(0)


@pytest.mark.parametrize("delay", [1, 3, 11, 15, 31])
def test_statistics_that_wait(delay):
    jobs, ledger, groups = Counting(), Ledger(), groups_of(N_ROUNDS, 1000, delay)
    Pipeline([[n] for n in range(N_ROUNDS)], jobs, groups.seen(), puts_off=True).run(None, 1)
    slices = SliceSizes([], 0.0, Scratch())
    rounds = Rounds(ledger, 1, lambda n_docs: slices, lambda n_docs: [1.0], [1.0], random.Random(0))
    for _ in range(N_ROUNDS):
        rounds.delayed(1, groups.sizes[0], groups.at_work)
    assert ledger.peak == jobs.most
