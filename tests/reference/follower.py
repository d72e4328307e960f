"""Follows an executor from yield to yield, and compares each with what the plain loop computes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from hashlib import sha256

import numpy as np

from bigtopic.learning.executors.base import Executor, Until, Updates
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.state.params import Params

__all__ = ["Follower", "Truth", "bits"]


def bits(params: Params) -> str:
    """A digest of everything that is in the arrays."""
    digest = sha256()
    for name in sorted(params.arrays):
        array = params[name]
        for part in fields(array):
            value = getattr(array, part.name)
            digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return digest.hexdigest()


@dataclass
class Truth:
    """What the plain loop computes.

    bits : of the params before the first round, and after each
    reports : of each round
    """

    bits: list[str]
    reports: list[RoundReport]

    @classmethod
    def of(cls, params: Params, rounds: Iterable[tuple[Params, RoundReport]]) -> Truth:
        """Of the params at the start, and after each round."""
        found = cls([bits(params)], [])
        for moved, report in rounds:
            found.bits.append(bits(moved))
            found.reports.append(report)
        return found


@dataclass
class Follower:
    """Where a run stands; `n_rounds` of each of its `n_passes`."""

    truth: Truth
    params: Params
    n_rounds: int
    n_passes: int
    cursor: Cursor = field(default_factory=Cursor)
    done: int = 0

    def follow(self, progress: Updates, most: int | None = None) -> int:
        """Take all that is yielded, or so many yields; the rounds that were done."""
        before = self.done
        for number, (params, reports) in enumerate(progress, 1):
            last = self.done + len(reports)
            assert reports == self.truth.reports[self.done : last] and len(reports) > 0
            assert bits(params) == self.truth.bits[last]
            self.params, self.done = params, last
            self.cursor = self.cursor.after(reports)
            if number == most:
                break
        if self.cursor.round == self.n_rounds:
            self.cursor = self.cursor.next_pass()
        return self.done - before

    @property
    def passes_left(self) -> int:
        return self.n_passes - self.cursor.pass_number

    def advance(self, executor: Executor, max_rounds: int | None = None, most: int | None = None) -> int:
        progress = executor.advance(self.params, self.cursor, Until(max_rounds, n_passes=self.passes_left))
        return self.follow(progress, most)
