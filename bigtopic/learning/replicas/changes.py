"""Parameter deltas of replicas, and their sum."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from sys import getsizeof

import numpy as np

from bigtopic.errors import ModelError
from bigtopic.kernels.support.entry import frozen
from bigtopic.learning.reduce import add_axis
from bigtopic.learning.replicas import _kernels
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.plan.cursor import RoundReport
from bigtopic.state.contract.scheme_steps import check_moved
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
from bigtopic.state.running_mean import RunningMean
from bigtopic.support.side_by_side import over_rows
from bigtopic.types import AxisStats

__all__ = ["Changes", "add_changes", "joined"]

ROUNDING = 1e-6  # by which the shares that replicas forget may add up to more than 1


@dataclass(frozen=True)
class Changes:
    """Changes of some replicas.

    arrays : {name: the sum of their a_r}
    sums : {name: column sums of the a_r, float64 (n_columns,)}
    lost : {name: the sum of their 1 - d_r, float64 (n_columns,)}
    reports : of their rounds, in order
    """

    arrays: Mapping[str, AxisStats]
    sums: Mapping[str, np.ndarray]
    lost: Mapping[str, np.ndarray]
    reports: tuple[RoundReport, ...]

    def __sizeof__(self) -> int:
        return sum(map(getsizeof, self.arrays.values()))


def joined(a: Changes, b: Changes) -> Changes:
    """The sum; neither argument is changed."""
    return Changes(
        {name: add_axis(a.arrays[name], b.arrays[name]) for name in a.arrays},
        {name: a.sums[name] + b.sums[name] for name in a.sums},
        {name: a.lost[name] + b.lost[name] for name in a.lost},
        a.reports + b.reports,
    )


def add_changes(
    params: Params, changes: Changes, averaged: Collection[str] = (), rises: bool = False
) -> None:
    """Add the changes of all replicas to the params that they began with.

    Parameters
    ----------
    averaged, rises : arrays whose running means count this as one update, see `RunningMean.count`

    Raises
    ------
    ModelError
        When the replicas together forget more than there is; nothing has moved then. Or when sums are not finite, or
        below 0; then the params have moved.
    """
    decays = {name: _decay(name, lost) for name, lost in changes.lost.items()}
    means = {name: RunningMean.of(params.arrays, name) for name in averaged}
    with ExitStack() as stack:
        for name, mean in means.items():
            stack.enter_context(mean.following(changes.arrays[name].ids, decays[name]))
        for name, decay in decays.items():
            params[name].decay(decay)
            params[name].sums = params[name].sums + changes.sums[name]
            _add_rows(params[name], changes.arrays[name])
    check_moved({name: params[name] for name in decays}, params.arrays.get(DOC_TOPIC_PRIOR))
    for mean in means.values():
        mean.count(rises)


def _decay(name: str, lost: np.ndarray) -> np.ndarray:
    if (lost > 1.0 + ROUNDING).any():
        raise ModelError(
            f"the scheme of array {name!r} declares `is_linear`, but decays more than `info.largest_step` allows"
        )
    return np.maximum(1.0 - lost, 0.0)


def _add_rows(array: LazyArray, rows: AxisStats) -> None:
    ids, values = frozen(array.rows_of(rows.ids), np.int32), frozen(rows.values, array.dtype)
    factor = (1.0 / array.scale).astype(array.dtype)

    def add(start: int, stop: int) -> None:
        _kernels.scatter_rows(array.raw, ids[start:stop], values[start:stop], factor)

    over_rows(add, len(ids), 3 * array.n_columns * values.itemsize)
