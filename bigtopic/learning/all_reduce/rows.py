"""The rows of sums, divided among the workers of a stage and put together again.

Sums are `Stats` or `Changes`: dataclasses with `arrays`, and of changes also reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bigtopic import buffers
from bigtopic.learning import _kernels
from bigtopic.state.lazy_array import padded
from bigtopic.types import AxisStats

__all__ = ["Node", "joined_rows", "reports_of", "split_rows"]

Node = tuple[int, Any]  # how many leaves of the tree a sum covers, and the sum
_ALL: Mapping[str, int] = {}


def split_rows(
    nodes: list[Node], places: Sequence[int], divisor: int = 1, columns: Mapping[str, int] = _ALL
) -> Iterator[tuple[int, list[Node]]]:
    """For each worker of a stage, in this order, its rows of the nodes, without reports and padding; `nodes` are let
    go one by one, the last one when all parts of it are made.

    Parameters
    ----------
    places, divisor : see `direct.Stage`
    columns : {name of an array: how many of its columns are not padding}, where some are
    """
    divided: list[Iterable[Node]] = []
    while nodes:
        size, one = nodes.pop(0)
        pieces = ((size, piece) for piece in _pieces(one, places, divisor, columns))
        del one
        divided.append(list(pieces) if nodes else pieces)
    for place, *part in zip(places, *divided, strict=True):
        yield place, part


def _pieces(one: Any, places: Sequence[int], divisor: int, columns: Mapping[str, int]) -> Iterator[Any]:
    rows = {
        name: _every(some, places, divisor, columns.get(name, some.values.shape[1]))
        for name, some in one.arrays.items()
    }
    one = _with({}, one)
    for _ in places:
        yield _with({name: next(some) for name, some in rows.items()}, one)


def _every(rows: AxisStats, places: Sequence[int], divisor: int, n_columns: int) -> Iterator[AxisStats]:
    """The rows that go to each place of a stage: of any ids, about as many. Few have no ids; place 0 has all of
    these."""
    n = len(places)
    if rows.ids is None:
        yield from (AxisStats(None, rows.values if i == 0 else rows.values[:0]) for i in places)
        return
    owner = (rows.ids // divisor % n).astype(np.min_scalar_type(n))  # NumPy sorts short numbers faster
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner, np.arange(n + 1), sorter=order)
    values = buffers.empty((len(rows.ids), n_columns), rows.values.dtype)
    for i in places:
        own = slice(*ends[i : i + 2])
        ids = np.take(rows.ids, order[own])
        _kernels.take_rows(rows.values, order[own], values[own])
        yield AxisStats(ids, values[own])


def joined_rows(sums: Sequence[Any]) -> Any:
    """All rows of a sum, by increasing ids, with padding, from those that each worker has added; and all reports."""
    arrays = {name: _together([one.arrays[name] for one in sums]) for name in sums[0].arrays}
    total, reports = _with(arrays, sums[0]), reports_of(sums)
    return replace(total, reports=reports) if reports else total


def reports_of(sums: Sequence[Any]) -> tuple[Any, ...]:
    """Those of changes; statistics have none."""
    return tuple(report for one in sums for report in getattr(one, "reports", ()))


def _with(arrays: Mapping[str, AxisStats], one: Any) -> Any:
    """A sum with these arrays, without reports."""
    return replace(one, arrays=arrays, **({"reports": ()} if reports_of([one]) else {}))


def _together(some: Sequence[AxisStats]) -> AxisStats:
    if some[0].ids is None:
        return max(some, key=lambda rows: len(rows.values))
    known = [rows.ids for rows in some if rows.ids is not None]
    there = np.zeros(max(int(ids.max(initial=-1)) for ids in known) + 1, bool)
    for ids in known:
        there[ids] = True
    places = np.cumsum(there) - 1
    together = np.flatnonzero(there).astype(some[0].ids.dtype)
    values = buffers.empty((len(together), padded(some[0].values.shape[1])), some[0].values.dtype)
    for ids, rows in zip(known, some, strict=True):
        _kernels.put_rows(rows.values, places[ids], values)
    return AxisStats(together, values)
