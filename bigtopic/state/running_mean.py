"""The mean of a global array over updates, at the cost of the rows that they move.

The statistics x of the array move by x <- d x + D, with a factor d for each column, and changes D in a few rows. A
companion c of x, with the same rows, is such that

    mean of x over n updates = a x + c

with a factor a for each column. A move leaves the mean as it is; once an update has moved x, x is counted:

    a <- a / d,                    c <- c - a D
    a <- (1 - 1/n) a + 1/n,        c <- (1 - 1/n) c

Like x, c is lazily scaled: only the rows of D move. But a grows where x decays, and so does cancellation in a x + c.
Before a passes `LARGEST`, x is rounded because its own scale is folded, or most rows move, c becomes the mean in every
row, and a becomes 0. Where few rows move and decays are 1 - rho, this is once in about 20 / rho updates, as rarely as
the scale of x is folded.

Weights are averaged, so a topic counts in proportion to its weight at the time; the prior is the latest one.

A mean may begin with an array that is not an update of its own (`begin_mean`), and then rise: this array counts as the
first three updates, and the i-th of all weighs in proportion to i, so that n = (i + 1) / 2. At no time is the mean far
behind, nor is it a single update.

References: Polyak and Juditsky (1992), "Acceleration of stochastic approximation by averaging"; Xu (2011), "Towards
optimal one pass large scale learning with averaged stochastic gradient descent", for a mean that is
read once; Shamir and Zhang (2013), "Stochastic gradient descent for non-smooth optimization", for one that rises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from bigtopic.state.contract.scheme_steps import checked
from bigtopic.state.lazy_array import SMALLEST_SCALE, Forwarding, LazyArray
from bigtopic.types import ArraySpec, AxisStats

__all__ = ["COUNT", "MEAN", "RunningMean", "begin_mean", "mean_of", "specs"]

MEAN, COUNT = "running_mean", "n_averaged"  # of "<array>.<name>": c, whose prior is a; and n
BEFORE = 3  # updates: the weight of what a mean begins with
LARGEST = 1e8  # of a: the mean is exact to this many roundings of double precision
BLOCK_ROWS = 1 << 12


def specs(name: str, spec: ArraySpec) -> dict[str, ArraySpec]:
    """The companion arrays that the mean of this array needs."""
    return {
        f"{name}.{MEAN}": replace(spec, prior=None, normalised_over=None, start=None, dtype="float64"),
        f"{name}.{COUNT}": ArraySpec("none", 1, normalised_over=None, dtype="float64"),
    }


def mean_of(arrays: Mapping[str, LazyArray], name: str) -> LazyArray:
    """A copy of the array that holds its mean; the array itself where there is none, or it is over no update yet."""
    array = arrays[name]
    if f"{name}.{COUNT}" not in arrays or not arrays[f"{name}.{COUNT}"].first_row()[0]:
        return array
    return RunningMean.of(arrays, name).copied()


def begin_mean(arrays: Mapping[str, LazyArray], name: str) -> None:
    """Let the mean of an array, if it has one, be the array as it is now until an update is counted."""
    if f"{name}.{COUNT}" in arrays:
        array, mean, n_averaged = arrays[name], arrays[f"{name}.{MEAN}"], arrays[f"{name}.{COUNT}"]
        np.multiply(array.raw, array.scale, out=mean.raw)
        mean.fold()
        n_averaged.raw[0, 0] = (BEFORE + 1) / 2
        n_averaged.fold()


class RunningMean(Forwarding):
    """An array as a scheme sees it, whose mean follows what the scheme does.

    Parameters
    ----------
    array : in the equations x
    rest : in the equations c; its prior is a
    n_averaged : a single number, in the equations n: how many updates weigh as much as the latest
    """

    def __init__(self, array: LazyArray, rest: LazyArray, n_averaged: LazyArray) -> None:
        super().__init__(array)
        self._rest, self._n_averaged = rest, n_averaged

    @classmethod
    def of(cls, arrays: Mapping[str, LazyArray], name: str) -> RunningMean:
        """The mean of the array of this name, with its companions."""
        return cls(arrays[name], arrays[f"{name}.{MEAN}"], arrays[f"{name}.{COUNT}"])

    def add(self, stats: AxisStats, *factors: Any, **named: Any) -> None:
        """As `LazyArray.add`; costs the rows of `stats`, and now and then the axis."""
        with self.following(stats.ids, checked(self.base, stats, *factors, **named).decay):
            self.base.add(stats, *factors, **named)

    @contextmanager
    def following(self, ids: np.ndarray | None, decay: np.ndarray) -> Iterator[None]:
        """In this context, the array decays, and changes in these rows (all rows for None); the mean stays."""
        ids = self.base.rows_of(ids)
        most = 2 * len(ids) >= self.n_rows  # to follow them would cost more than all rows once
        far = (self._factor > LARGEST * decay).any() or self.base.scale_after(decay).min() < SMALLEST_SCALE
        if most or far:
            self._flush()
        factor = self._factor
        moves = factor.any()
        before = _statistics(self.base, ids) if moves else np.zeros(0)
        yield
        if moves:
            factor = np.divide(factor, decay, out=np.zeros_like(factor), where=factor > 0)
            before *= decay
            self._rest.add(AxisStats(ids, before - _statistics(self.base, ids)), factor)
            self._set_factor(factor)

    def fold(self) -> None:
        """As `LazyArray.fold`."""
        self._flush()
        self.base.fold()

    def count(self, rises: bool = False) -> None:
        """Include the array as it is now in the mean; it `rises` where it was begun."""
        more = np.zeros((1, self._n_averaged.n_columns))
        more[0, 0] = 0.5 if rises else 1.0
        self._n_averaged.add(AxisStats(None, more))
        share = 1.0 / self._n_averaged.first_row()[0]
        self._rest.decay(np.full(self.n_columns, 1.0 - share))
        self._set_factor((1.0 - share) * self._factor + share)

    def copied(self) -> LazyArray:
        """A copy of the array with the mean in place of its statistics."""
        array: LazyArray = self.base
        factor = self._factor
        raw = np.empty(array.raw.shape, np.float64 if array.dtype.kind == "i" else array.dtype)
        for start in range(0, self.n_rows, BLOCK_ROWS):
            ids = np.arange(start, min(start + BLOCK_ROWS, self.n_rows), dtype=np.int32)
            raw[ids] = _statistics(array, ids) * factor + _statistics(self._rest, ids)
        if array.normalised_over is not None:
            np.maximum(raw, 0.0, out=raw)  # what should be 0 may be less by rounding
        return replace(array, raw=raw, scale=np.ones(array.n_columns), sums=np.zeros(0))

    @property
    def _factor(self) -> np.ndarray:
        """In the equations a, (n_columns,)."""
        return self._rest.with_padding(self._rest.prior[0])

    def _set_factor(self, factor: np.ndarray) -> None:
        self._rest.set_prior(factor[None, : self.n_components])

    def _flush(self) -> None:
        """Move the mean into c in every row, so that a is 0."""
        factor = self._factor
        if factor.any():
            self._rest.add(AxisStats(None, self.base.raw), factor * self.base.scale)
            self._set_factor(np.zeros(self.n_columns))


def _statistics(array: LazyArray, ids: np.ndarray) -> np.ndarray:
    """Of these rows, prior excluded: float64 (n_ids, n_columns)."""
    rows: np.ndarray = array.raw[ids].astype(np.float64)
    rows *= array.scale
    return rows
