"""The params: all global arrays of a model, and the views of an array for inner iterations and schemes of priors."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from bigtopic.errors import ModelError
from bigtopic.state.contract.scheme_steps import check_rows, checked
from bigtopic.state.lazy_array import Forwarding, LazyArray
from bigtopic.state.running_mean import COUNT, MEAN
from bigtopic.types import AxisStats

__all__ = ["Overlay", "Params", "PriorAccess"]


class Overlay(Forwarding):
    """Provisional params: a base array as it would be after one `scheme.step`, the base left untouched.

    Holds only the rows that were added, so an inner iteration costs its own words.
    """

    def __init__(self, base: LazyArray) -> None:
        super().__init__(base)
        self._decay = np.ones(base.n_columns)
        self._sums = base.totals()
        self._ids = np.zeros(0, np.int32)
        self._added = np.zeros((0, base.n_columns), np.float64)

    def on(self, base: LazyArray) -> Overlay:
        """The same changes over another copy of the base."""
        other = copy(self)
        other.base = base
        return other

    def set_prior(self, prior: np.ndarray) -> None:
        """Replace the prior of the copy."""
        self.base = replace(self.base)
        self.base.set_prior(prior)

    def totals(self) -> np.ndarray:
        return self._sums.copy()

    def fold(self) -> None:
        """Does nothing: an overlay has no scale."""

    def gather(self, ids: np.ndarray | None) -> np.ndarray:
        check_rows(ids, self.n_rows)
        return self.local(ids).gather(None)

    def first_row(self) -> np.ndarray:
        """As `LazyArray.first_row`, of the copy."""
        return self.local(np.zeros(1, np.int32)).first_row()

    def add(self, stats: AxisStats, *factors: Any, **named: Any) -> None:
        """As `LazyArray.add`, on the copy."""
        values, weight, decay, row_weight, row_decay = checked(self, stats, *factors, **named)
        ids = self.base.rows_of(stats.ids)
        weighted = np.asarray(values, np.float64) * weight
        if row_weight is not None:
            weighted *= row_weight[:, None]
        if self.dtype.kind == "i":
            weighted = np.rint(weighted)
        if row_decay is not None:
            weighted -= (1.0 - row_decay[:, None]) * decay * self._statistics(ids)
        self._decay = self._decay * decay
        self._sums = decay * self._sums + weighted.sum(axis=0)
        union = np.union1d(self._ids, ids).astype(np.int32)
        added = np.zeros((len(union), self.n_columns))
        added[np.searchsorted(union, self._ids)] = self._added * decay
        added[np.searchsorted(union, ids)] += weighted
        self._ids, self._added = union, added

    def local(self, ids: np.ndarray | None) -> LazyArray:
        """Rows as they would be, for the views."""
        base: LazyArray = self.base
        ids = base.rows_of(ids)
        prior = base.prior if base.prior.shape[0] == 1 else base.prior[ids]
        return replace(
            base,
            raw=self._statistics(ids).astype(base.raw.dtype),
            prior=prior,
            scale=np.ones(self.n_columns),
            sums=self._sums.copy(),
        )

    def _statistics(self, ids: np.ndarray) -> np.ndarray:
        """Of these rows, float64 (n_ids, n_columns)."""
        rows: np.ndarray = self.base.raw[ids].astype(np.float64) * (self.base.scale * self._decay)
        if len(self._ids):
            place = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
            known = self._ids[place] == ids
            rows[known] += self._added[place[known]]
        return rows


class PriorAccess(Forwarding):
    """A `types.MutableArray` whose statistics stay as they are."""

    def add(self, *values: Any, **factors: Any) -> NoReturn:
        """Raises ModelError."""
        raise ModelError(f"it calls add, {_PRIOR_ONLY}")

    def fold(self) -> NoReturn:
        """Raises ModelError."""
        raise ModelError(f"it calls fold, {_PRIOR_ONLY}")


_PRIOR_ONLY = (
    "but a scheme of prior_schemes may change an array only with set_prior; give it to schemes instead"
)


@dataclass
class Params:
    """All global arrays of a model by name."""

    arrays: dict[str, LazyArray]

    def __getitem__(self, name: str) -> LazyArray:
        return self.arrays[name]

    def copy(self) -> Params:
        return Params({name: array.copy() for name, array in self.arrays.items()})

    def axis_sizes(self) -> dict[str, int]:
        return {array.axis: array.n_rows for array in self.arrays.values()}

    def without_means(self) -> Params:
        """The arrays that tasks read: all but the companions of running means."""
        beside = {path for name in self.arrays for path in (f"{name}.{MEAN}", f"{name}.{COUNT}")}
        return Params({name: array for name, array in self.arrays.items() if name not in beside})

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def overlay(self, names: Iterable[str]) -> dict[str, LazyArray | Overlay]:
        """The arrays, those named behind an overlay that a provisional step may change."""
        changed = set(names)
        return {n: Overlay(a) if n in changed else a for n, a in self.arrays.items()}
