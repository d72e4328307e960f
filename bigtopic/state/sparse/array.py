"""A global array of sparse rows: of many topics, most words have few.

`weights = prior + scale[k] * raw[row, k]`, as of any `LazyArray`. Interpolation makes what is not seen again ever
smaller, and would never forget it: in rows that get statistics, those that then are below both the prior and `LEAST`
are dropped, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from bigtopic.errors import ModelError
from bigtopic.methods import Method
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.schemes.schedule import PlainStep
from bigtopic.state.contract.scheme_steps import checked
from bigtopic.state.lazy_array import LazyArray, padded
from bigtopic.state.sparse.rows import SparseRows
from bigtopic.support import buffers
from bigtopic.types import AxisStats, Lists

__all__ = ["LEAST", "SparseArray", "why_dense"]

LEAST = 5e-4  # tokens; larger statistics are kept even where they are below the prior


@dataclass
class SparseArray(LazyArray):
    """A `LazyArray` whose `raw` is `SparseRows`, of float32; all rows have the same prior.

    Attributes
    ----------
    dropped : what was dropped, decayed like the statistics: without it, these would add up to so much more
    """

    raw: Any
    dropped: float = field(default=0.0, kw_only=True)
    _means: Any = field(default=None, init=False, repr=False, compare=False)

    is_sparse: ClassVar[bool] = True

    @classmethod
    def zeros(
        cls,
        n_rows: int,
        n_components: int,
        *,
        axis: str,
        prior: float | np.ndarray = 0.0,
        dtype: str = "float32",
        normalised_over: str | None = "axis",
    ) -> SparseArray:
        """An array without statistics; see `LazyArray.zeros`."""
        assert dtype == SparseRows.dtype and np.ndim(prior) == 0
        n_columns = padded(n_components)
        table, scale, sums = np.full((1, 1), prior, np.float64), np.ones(n_columns), np.zeros(n_columns)
        rows = SparseRows.zeros(n_rows, n_columns)
        return cls(rows, scale, table, n_components, axis, normalised_over, sums)

    @property
    def dropped_share(self) -> float:
        """Of the statistics, the share that was dropped."""
        whole = float(self.sums.sum()) + self.dropped
        return self.dropped / whole if whole > 0 else 0.0

    def set_prior(self, prior: np.ndarray) -> None:
        """As `LazyArray.set_prior`, of a prior that all rows share. Raises ModelError otherwise."""
        if len(prior) > 1:
            raise ModelError(
                f"it gives a prior for each of {len(prior)} rows, which arrays of so many topics cannot have; give one "
                "for all rows"
            )
        super().set_prior(prior)

    def gather_scaled(
        self, ids: np.ndarray | None, factor: np.ndarray, floor: float, dtype: np.dtype | type
    ) -> np.ndarray:
        """Dense rows, as `LazyArray.gather_scaled`."""
        ids = self.rows_of(ids)
        out = buffers.empty((len(ids), self.n_columns), dtype)
        self.raw.fill(ids, *self.linear(factor, floor, dtype)[1:], out)
        return out

    def mean_lists(self, ids: np.ndarray, floor: float) -> Lists:
        """Weights of these rows divided by the totals, in place; weights of other topics are at least `floor`.

        What has a number for each topic is kept until the array changes: making it costs more than a document.
        """
        state, means = (self.scale, self.sums, self.prior_totals, floor), self._means
        if means is None or any(a is not b for a, b in zip(means[0], state, strict=True)):
            factor = self.with_padding(1.0 / np.maximum(self.weight_totals(), 1e-30))
            _, by_column, offset, floors = self.linear(factor, floor, np.float32)
            offset = np.maximum(offset, floors)
            means = self._means = state, (by_column, offset, np.cumsum(offset, dtype=np.float64))
        rows: SparseRows = self.raw
        return Lists(*rows.places(ids), *means[1])

    def add(
        self,
        stats: AxisStats,
        weight: float | np.ndarray = 1.0,
        decay: float | np.ndarray = 1.0,
        row_weight: np.ndarray | None = None,
        row_decay: np.ndarray | None = None,
    ) -> None:
        """As `LazyArray.add`, at once and without factors of rows; costs the lists of the rows given."""
        values, weight, decay, *of_rows = checked(self, stats, weight, decay, row_weight, row_decay)
        if any(factors is not None for factors in of_rows):
            raise ModelError("it gives factors of rows, which arrays of so many topics cannot have")
        self.decay(decay)
        scale = self.scale.astype(np.float32)
        least = self.with_padding(np.minimum(self.prior[0], LEAST), np.float32) / scale
        try:
            lost = self.scale * self.raw.add(self.rows_of(stats.ids), values, self._factor(weight), least)
        except BaseException:  # of memory, or a signal: some rows were added
            self._sum_rows()
            raise
        added = np.bincount(values.indices, values.data, self.n_columns)
        whole = self.sums + weight * added
        self.sums = np.maximum(whole - lost, 0.0)  # where all was dropped, rounding
        self.dropped += float((whole - self.sums).sum())

    def begin(self, rows: Any, statistics: np.ndarray) -> None:
        """As `LazyArray.begin`, without what a topic gives to every word: that is the prior's."""
        from scipy.sparse import csr_array

        known = np.arange(self.n_rows)[rows]
        few = csr_array(statistics - statistics.min(axis=0, initial=np.inf))
        lengths = np.zeros(self.n_rows, np.int64)
        lengths[known] = np.diff(few.indptr)
        self.raw = SparseRows(
            lengths, few.indices.astype(np.int32), few.data.astype(np.float32), self.n_columns
        )
        self.scale, self.dropped = np.ones(self.n_columns), 0.0
        self.fold()

    def begin_with(self, statistics: Any) -> None:
        """Replace the statistics: a `scipy.sparse` array (n_rows, n_columns)."""
        self.raw = SparseRows.of(statistics, self.n_columns)
        self.scale, self.dropped = np.ones(self.n_columns), 0.0
        self.fold()

    def multiply(self, factor: float) -> None:
        """As `LazyArray.multiply`."""
        self.scale, self.dropped = self.scale * factor, self.dropped * factor
        self.fold()

    def decay(self, decay: np.ndarray) -> None:
        """As `LazyArray.decay`."""
        whole = float(self.sums.sum())
        self.dropped *= float(self.sums @ decay) / whole if whole > 0 else float(decay.mean())
        super().decay(decay)

    def _clear(self, cleared: np.ndarray) -> None:
        self.raw.fold(np.where(cleared, np.float32(0.0), np.float32(1.0)))

    def fold(self) -> None:
        """As `LazyArray.fold`."""
        self._refuse_if_deferred()
        self.sums, self.scale = self.raw.fold(self.scale), np.ones(self.n_columns)

    def _sum_rows(self) -> None:
        self.sums = self.raw.column_sums() * self.scale

    def _taken(self, ids: np.ndarray) -> Any:
        return self.raw.taken(ids)

    def _grown(self, n_rows: int) -> Any:
        return self.raw.grown(self.n_rows + n_rows)


def why_dense(
    method: Method, name: str, n_components: int, options: Mapping[str, Any], n_priors: int = 1
) -> str:
    """What keeps a method from learning an array with sparse rows: "" if nothing does.

    It can if its kernel reads lists and, with these options, draws candidates; it moves no other array, by steps that
    lists can take; and all rows have the same prior.
    """
    candidates: int = options.get("candidates", n_components)
    if method.load_kernel().views.get(name) != "sparse_mean":
        return f"method {method.name!r}"
    if method.prior_schemes or DOC_TOPIC_PRIOR in method.schemes:
        return "learned priors"
    if [*method.schemes] != [name] or not isinstance(method.schemes[name], PlainStep) or method.inner != 1:
        return f"the schemes of method {method.name!r}"
    if method.average:
        return "averaging over updates"
    if candidates >= n_components:
        return "the option candidates, which allows all topics"
    return "a topic-word prior that differs between words" if n_priors > 1 else ""
