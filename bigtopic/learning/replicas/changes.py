"""What replicas change, and its sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from sys import getsizeof

import numpy as np

from bigtopic.learning.reduce import add_axis, in_order
from bigtopic.learning.rounds import Settings
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.plan.cursor import RoundReport
from bigtopic.state.contract.scheme_steps import check_moved, decays_too_much
from bigtopic.state.params import Params
from bigtopic.state.running_mean import RunningMean
from bigtopic.types import AxisStats

__all__ = ["Changes", "add_changes", "joined"]

ROUNDING = 1e-6  # by which the shares that replicas forget may add up to more than 1


@dataclass(frozen=True)
class Changes:
    """What some replicas change, in the order of their rounds.

    arrays : {name: the sum of their a_r}; lost : {name: the sum of their 1 - d_r, float64 (n_columns,)}
    """

    arrays: Mapping[str, AxisStats]
    lost: Mapping[str, np.ndarray]
    reports: tuple[RoundReport, ...]

    def __sizeof__(self) -> int:
        return sum(map(getsizeof, self.arrays.values()))


def joined(a: Changes, b: Changes) -> Changes:
    """The sum; neither argument is changed."""
    return Changes(
        {name: add_axis(a.arrays[name], b.arrays[name]) for name in a.arrays},
        {name: a.lost[name] + b.lost[name] for name in a.lost},
        a.reports + b.reports,
    )


def add_changes(params: Params, changes: Changes, settings: Settings) -> None:
    """Add what all replicas changed to the params that they began with. Means count an exchange as one update.

    Raises
    ------
    ModelError
        When the replicas together forget more than there is. Nothing has moved then.
    """
    for name, lost in changes.lost.items():
        if (lost > 1.0 + ROUNDING).any():
            raise decays_too_much(name)
    means = {}
    if settings.average and settings.averages(changes.reports[-1].cursor.step + 1):
        means = {name: RunningMean.of(params.arrays, name) for name in settings.schemes}
    for name, rows in changes.arrays.items():
        means.get(name, params[name]).add(in_order(rows), decay=np.maximum(1.0 - changes.lost[name], 0.0))
        check_moved({name: params[name]}, params.arrays.get(DOC_TOPIC_PRIOR))
    for mean in means.values():
        mean.count()
