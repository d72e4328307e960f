"""A run: what stays the same from its first round to its last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import finalize

from bigtopic.learning import sharing
from bigtopic.learning.rounds import Settings
from bigtopic.learning.work import Work
from bigtopic.plan.slices import Plan

__all__ = ["Run"]


@dataclass(frozen=True)
class Run:
    """Everything that stays the same during a run; picklable.

    On a Dask worker, a copy lives as long as the run: until the driver, or Dask for a driver that is gone, releases it,
    and no task is left at work. Then the worker gives back the memory that rests there. A task could not do this, since
    no task comes to a worker that Dask has paused because of that memory. So tasks that use `buffers` take the run.

    Attributes
    ----------
    parts : of the corpus, in order
    plan : which documents make up each round
    work : what every task needs
    settings : what a step needs
    """

    parts: Sequence[Any]
    plan: Plan
    work: Work
    settings: Settings

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        finalize(self, sharing.give_back).atexit = False
