"""Replays of delayed rounds on one thread hold as many statistics as the pipeline does."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from bigtopic.learning.executors.pipeline import Pipeline
from bigtopic.learning.memory.replay import Ledger, Rounds, SliceSizes
from bigtopic.types import AxisStats, Scratch, Stats

N_ROUNDS = 40


class Counting:
    """Jobs that count the rounds whose statistics are held; `settle` lets them go."""

    def __init__(self) -> None:
        self.held, self.left, self.most = 0, 0, 0

    def prefetch(self, task: int) -> None:
        pass

    def gather(self, number: int, task: int) -> None:
        pass

    def evaluate(self, number: int, task: int, gathered: Any) -> Stats:
        self.held += 1
        self.most = max(self.most, self.held)
        return Stats({"a": AxisStats(None, np.ones((1, 16)))}, 1, 1.0)

    def step(self, number: int, stats: Stats) -> None:
        self.left += 1

    def settle(self) -> None:
        self.held, self.left = self.held - self.left, 0


@pytest.mark.parametrize("delay", [1, 2, 3, 12, 31])
def test_statistics_that_wait(delay):
    jobs, ledger = Counting(), Ledger()
    Pipeline([[n] for n in range(N_ROUNDS)], jobs, delay).run(None, 1)
    slices = SliceSizes([], 0.0, Scratch())
    rounds = Rounds(ledger, 1, lambda n_docs: slices, lambda n_docs: [1.0], [1.0], random.Random(0))
    for _ in range(N_ROUNDS):
        rounds.delayed(1, delay)
    assert ledger.peak == jobs.most
