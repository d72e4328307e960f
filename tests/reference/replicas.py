"""Replicas as plainly as can be: each learns on a copy of all params, and what all changed is added in plain loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from bigtopic.learning.rounds import MapReduce, moved_arrays, round_stats, step
from bigtopic.learning.run import Settings
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.plan.slices import Plan, Round
from bigtopic.state.params import Params
from bigtopic.state.running_mean import RunningMean
from bigtopic.types import AxisStats, Stats

__all__ = ["exchange"]

# {array: ({row: what was added}, its column sums, the share that all rows lost)}
Changes = dict[str, tuple[dict[int, np.ndarray], np.ndarray, np.ndarray]]


def exchange(
    params: Params,
    rounds: Sequence[Round],
    cursors: Sequence[Cursor],
    plan: Plan,
    settings: Settings,
    map_reduce: MapReduce,
    tree: Callable[[Sequence[Changes], Callable[[Changes, Changes], Changes]], Changes],
) -> tuple[Params, list[RoundReport]]:
    """The params after an exchange, and the reports of its rounds; `params` itself does not move.

    `tree` adds up some values in the order of the merge tree.
    """
    n_replicas = min(plan.replicas, len(rounds))
    own = replace(settings, average=0.0, largest_step=1 / len(rounds))
    reports: list[RoundReport] = []
    changes = []
    for r in range(n_replicas):
        share = range(r * len(rounds) // n_replicas, (r + 1) * len(rounds) // n_replicas)
        start = _folded(params.without_means())
        learnt, seen = start.copy(), _Seen(map_reduce)
        for i in share:
            stats = round_stats(learnt, rounds[i], cursors[i], own, seen)
            late = settings.n_steps is not None and cursors[share[0]].step >= settings.n_steps / 2
            missed = 0 if late else (len(rounds) - len(share)) // 2
            reports.append(step(learnt, cursors[i], stats, own, missed=missed))
        changes.append({name: _changed(name, start, learnt, seen) for name in moved_arrays(settings.schemes)})
    after = params.copy()
    _add(after, tree(changes, _plus), settings, cursors[-1].step + 1)
    return after, reports


class _Seen:
    """Notes which rows of each array the statistics had."""

    def __init__(self, map_reduce: MapReduce) -> None:
        self._map_reduce = map_reduce
        self.rows: dict[str, set[int]] = {}

    def __call__(self, rnd: Round, arrays: Mapping[str, Any], iteration: Any) -> Stats:
        stats = self._map_reduce(rnd, arrays, iteration)
        for name, of_array in stats.arrays.items():
            ids = range(arrays[name].n_rows) if of_array.ids is None else of_array.ids.tolist()
            self.rows.setdefault(name, set()).update(ids)
        return stats


def _folded(params: Params) -> Params:
    copy = params.copy()
    for array in copy.arrays.values():
        array.raw = array.raw * array.scale.astype(array.dtype)
        array.scale = np.ones(array.n_columns)
    return copy


def _changed(
    name: str, start: Params, learnt: Params, seen: _Seen
) -> tuple[dict[int, np.ndarray], np.ndarray, np.ndarray]:
    now, before = learnt[name], start[name]
    moved = (now.raw - before.raw) * now.scale.astype(now.dtype)
    rows = {row: moved[row] for row in sorted(seen.rows[name])}
    return rows, now.sums - now.scale * before.sums, 1.0 - now.scale


def _plus(a: Changes, b: Changes) -> Changes:
    total = {}
    for name, (rows, sums, lost) in a.items():
        more, sums_too, lost_too = b[name]
        both = dict(rows)
        for row, values in more.items():
            both[row] = both[row] + values if row in both else values
        total[name] = both, sums + sums_too, lost + lost_too
    return total


def _add(params: Params, changes: Changes, settings: Settings, number: int) -> None:
    for name, (rows, sums, lost) in changes.items():
        array, ids, decay = params[name], np.array(list(rows), np.int32), np.maximum(1.0 - lost, 0.0)
        mean = RunningMean.of(params.arrays, name) if settings.averages(number) else None
        with mean.following(ids, decay) if mean else nullcontext():
            array.add(AxisStats(ids[:0], np.zeros((0, array.n_columns), array.dtype)), decay=decay)
            array.sums = array.sums + sums
            array.raw[ids] += np.array(list(rows.values())) * (1.0 / array.scale).astype(array.dtype)
        if mean:
            mean.count()
