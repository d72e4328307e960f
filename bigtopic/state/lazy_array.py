"""A global array, lazily scaled, that a scheme updates and a task reads by rows.

`weights = prior + scale[k] * raw[row, k]`. `raw` holds only statistics, `scale` and the column totals are float64, and
the prior is added when rows are read. So an update that decays everything and adds a few rows costs only those rows,
and a new word is a row of zeros. Interpolating statistics equals interpolating the variational parameters as long as
the prior is constant (Hoffman et al. 2010, eq. 3 with lambda = eta + statistics).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bigtopic.errors import ModelError
from bigtopic.kernels.support.entry import frozen
from bigtopic.kernels.support.slice_loop import add_up
from bigtopic.state import _kernels
from bigtopic.state.contract.scheme_steps import check_rows, checked, checked_prior
from bigtopic.support import buffers
from bigtopic.support.side_by_side import in_parts, over_rows
from bigtopic.types import AxisStats

__all__ = [
    "FOLD_ROWS",
    "SMALLEST_SCALE",
    "USUAL_WEIGHT",
    "Additions",
    "Forwarding",
    "LazyArray",
    "Linear",
    "padded",
]

MOST_PARTS = 8  # of deferred additions; more cost more than they gain: each looks through all ids
FOLD_ROWS = 1 << 16
_SUMMED = 16  # rows that `_kernels.scatter_add` sums up at once
# Rows that are added at once, multiples of `_SUMMED`: fewer where they are weighted first, which takes memory.
_STEP, _WEIGHTED = 1 << 14, 1 << 12
SMALLEST_SCALE = 1e-18
# Of a scale that is kept: n steps that add up to at most 1 leave (1 - 1 / n)^n of it, a quarter or more.
_SMALLEST_KEPT = 0.2 * SMALLEST_SCALE
USUAL_WEIGHT = 1e30  # of statistics; NaN is not below


def padded(n_components: int) -> int:
    """Columns of an array: a multiple of 16, one cache line of float32, so that inner loops have no tail."""
    return -(-n_components // 16) * 16


class Additions:
    """Deferred additions, in a fixed order for each row, so that its bits do not depend on the threads.

    raw[ids[i], k] += values[i, k] * factor[k] for each of them.
    """

    def __init__(self) -> None:
        self._additions: list[tuple[np.ndarray, ...]] = []

    def append(self, raw: np.ndarray, ids: np.ndarray, values: np.ndarray, factor: np.ndarray) -> None:
        """Defer an addition."""
        self._additions.append((raw, frozen(ids, np.int32), frozen(values, values.dtype), factor))

    def do(self, n_threads: int = 1) -> None:
        """Carry out the additions, in parts that share no row: a power of two, two for each thread, since some threads
        come late. The caller defers Ctrl-C."""
        if not self._additions:
            return
        most = min(len(self._additions), MOST_PARTS, 2 * n_threads)
        n_parts = 1 << (most.bit_length() - 1) if n_threads > 1 else 1
        places = np.empty((n_parts, _kernels.PLACES), np.int64)
        additions, self._additions = self._additions, []

        def add(part: int) -> None:
            for raw, ids, values, factor in additions:
                _kernels.scatter_part(raw, ids, values, factor, part, n_parts, places[part])

        in_parts([partial(add, part) for part in range(n_parts)])


class Linear(NamedTuple):
    """Rows max(raw[i, k] * factor[k] + offset[k], floor[k]); the last three are (n_columns,), of the rows' dtype."""

    raw: np.ndarray
    factor: np.ndarray
    offset: np.ndarray
    floor: np.ndarray


@dataclass
class LazyArray:
    """One array of the params (a `types.MutableArray`).

    Attributes
    ----------
    raw : (n_rows, n_columns) float32 or float64, statistics before scaling; padding columns stay zero
    scale : float64 (n_columns,)
    prior : float64 (1 or n_rows, 1 or n_components), read-only: only `set_prior` changes it
    n_components : K without padding
    axis : of the rows, see `models.base.ArraySpec`
    normalised_over : "axis", "components" or None
    sums : float64 (n_columns,), column sums of the scaled statistics
    prior_totals : float64 (n_components,), column sums of the prior over the whole axis, also in rows cut from it
    prior_mean : of the prior, over rows and columns
    prior_version : how often the prior was replaced
    deferred : collects the additions of `add`; rows can then neither be read nor scaled. None where `add` adds at once
    keeps_scale : whether the scale is never folded; a scale that becomes too small is refused
    is_sparse : whether statistics are added as `scipy.sparse.csr_array`, see `state.sparse`
    """

    raw: np.ndarray
    scale: np.ndarray
    prior: np.ndarray
    n_components: int
    axis: str
    normalised_over: str | None = "axis"
    sums: np.ndarray = field(default_factory=lambda: np.zeros(0))
    prior_totals: np.ndarray = field(default_factory=lambda: np.zeros(0))
    prior_mean: float = 0.0
    prior_version: int = 0
    deferred: Additions | None = None
    keeps_scale: bool = False

    is_sparse: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.prior = _read_only(self.prior)
        if len(self.prior_totals) == 0:
            self._sum_prior()
        if len(self.sums) == 0:
            self._sum_rows()

    def _sum_rows(self) -> None:
        self.sums = np.zeros(self.raw.shape[1])
        _kernels.column_sums(self.raw, self.sums)
        self.sums *= self.scale

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.prior = _read_only(self.prior)  # copies and pickles of arrays are not

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
    ) -> LazyArray:
        """An array without statistics. The prior is a number, (n_rows,), or scikit-learn's (n_components, n_rows)."""
        n_columns = padded(n_components)
        return cls(
            np.zeros((n_rows, n_columns), dtype),
            np.ones(n_columns),
            np.ascontiguousarray(np.array(prior, np.float64, ndmin=2).T),
            n_components,
            axis,
            normalised_over,
            np.zeros(n_columns),
        )

    @property
    def n_rows(self) -> int:
        return int(self.raw.shape[0])

    @property
    def n_columns(self) -> int:
        return int(self.raw.shape[1])

    @property
    def nbytes(self) -> int:
        return self.raw.nbytes

    @property
    def dtype(self) -> np.dtype:
        return self.raw.dtype

    def copy(self) -> LazyArray:
        return replace(self, raw=self.raw.copy(), scale=self.scale.copy(), sums=self.sums.copy())

    def totals(self) -> np.ndarray:
        """Column sums of the statistics, prior excluded: float64 (n_columns,)."""
        return self.sums.copy()

    def weight_totals(self) -> np.ndarray:
        """Column sums of the weights, prior included: float64 (n_components,)."""
        totals: np.ndarray = self.sums[: self.n_components] + self.prior_totals
        return totals

    def set_prior(self, prior: np.ndarray) -> None:
        """Replace the prior; float64 (1 or n_rows, 1 or n_components)."""
        self.prior = _read_only(checked_prior(prior, self.n_rows, self.n_components))
        self._sum_prior()
        self.prior_version += 1

    def _sum_prior(self) -> None:
        repeats = self.n_rows if self.prior.shape[0] == 1 else 1
        self.prior_totals = np.broadcast_to(self.prior.sum(axis=0) * repeats, (self.n_components,)).copy()
        self.prior_mean = float(self.prior_totals.mean() / max(self.n_rows, 1))

    def gather(self, ids: np.ndarray | None) -> np.ndarray:
        """Weights of these rows (all rows for None), of integers in float64, zero in the padding."""
        check_rows(ids, self.n_rows)
        self._refuse_if_deferred()
        dtype = np.dtype(np.float64) if self._counts else self.raw.dtype
        return self.gather_scaled(ids, np.ones(self.n_columns), float(np.finfo(dtype).min), dtype)

    @property
    def _counts(self) -> bool:
        """Whether the statistics are integers."""
        return self.raw.dtype.kind == "i"

    def first_row(self) -> np.ndarray:
        """Weights of the first row, without padding: float64 (n_components,)."""
        n = self.n_components
        weights: np.ndarray = self.prior[0] + self.raw[0, :n] * self.scale[:n]
        return weights

    def gather_scaled(
        self, ids: np.ndarray | None, factor: np.ndarray, floor: float, dtype: np.dtype | type
    ) -> np.ndarray:
        """Weights of these rows times `factor` (n_columns,), at least `floor`; zero in the padding."""
        ids = self.rows_of(ids)
        out = buffers.empty((len(ids), self.n_columns), dtype)
        if self.prior.shape[0] == 1:
            _kernels.gather_linear(*self.linear(factor, floor, dtype), ids, out)
            return out
        # 0 of rows without any, see `Overlay.local`
        n, floors = self.n_components, self.with_padding(floor, dtype)
        by_column = (self.scale * factor).astype(dtype)
        _kernels.gather_with_priors(self.raw, by_column, self.prior, factor, floors, n, ids, out)
        return out

    def linear(self, factor: np.ndarray, floor: float, dtype: np.dtype | type) -> Linear:
        """How weights times `factor`, at least `floor`, follow from the rows, where these have the same prior."""
        assert self.prior.shape[0] == 1
        offset = self.with_padding(self.prior[0] * factor[: self.n_components], dtype)
        by_column = (self.scale * factor).astype(dtype)
        return Linear(self.raw, by_column, offset, self.with_padding(floor, dtype))

    def with_padding(self, values: Any, dtype: np.dtype | type = np.float64) -> np.ndarray:
        """A number, or one for each component, as (n_columns,), zero in the padding."""
        padded_values = np.zeros(self.n_columns, dtype)
        padded_values[: self.n_components] = values
        return padded_values

    def add(
        self,
        stats: AxisStats,
        weight: float | np.ndarray = 1.0,
        decay: float | np.ndarray = 1.0,
        row_weight: np.ndarray | None = None,
        row_decay: np.ndarray | None = None,
    ) -> None:
        """statistics <- decay * statistics + weight * stats, with factors for its rows (see `types.MutableArray`)."""
        values, weight, decay, row_weight, row_decay = checked(
            self, stats, weight, decay, row_weight, row_decay
        )
        ids = self.rows_of(stats.ids)
        self.decay(decay)
        known = stats.sums if row_weight is None and not self._counts else None
        if self.deferred is not None:
            if row_weight is not None or row_decay is not None:
                self._refuse_if_deferred()
            self.deferred.append(self.raw, ids, values, self._factor(weight))
            if known is None:
                known = np.zeros(self.n_columns)
                add_up(np.ascontiguousarray(values), known)
            self.sums = self.sums + weight * known
            return
        if row_decay is not None:
            lost = np.zeros(self.n_columns)
            _kernels.decay_rows(self.raw, ids, row_decay, lost)
            self.sums = self.sums - self.scale * lost
        added = np.zeros(self.n_columns)
        step = _STEP if row_weight is None and not self._counts else _WEIGHTED
        for start in range(0, len(ids), step):
            rows = slice(start, start + step)
            some = values[rows] if row_weight is None else values[rows] * row_weight[rows, None]
            sums = self._scatter(ids[rows], some, weight)
            if known is None:
                _kernels.column_sums(sums, added)
        added = added if known is None else known
        self.sums = self.sums + (added if self._counts else weight * added)

    def _scatter(self, ids: np.ndarray, values: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Add weighted statistics to rows; returns sums of sixteen rows that were added, of floats before weights."""
        if self._counts:
            product = values * weight
            values, weight = np.rint(product, out=product).astype(self.raw.dtype), np.ones(self.n_columns)
        values = np.ascontiguousarray(values)
        factor = self._factor(weight)
        sums = np.empty((-(-len(ids) // _SUMMED), self.n_columns), values.dtype)

        def add(start: int, stop: int) -> None:
            sixteens = sums[start // _SUMMED : -(-stop // _SUMMED)]
            _kernels.scatter_add(self.raw, ids[start:stop], values[start:stop], factor, sixteens)

        over_rows(add, len(ids), self.n_columns * (2 * self.raw.itemsize + values.itemsize))
        return sums

    def _factor(self, weight: np.ndarray) -> np.ndarray:
        """The factor of statistics that are added to `raw`."""
        factor: np.ndarray = (weight / self.scale).astype(self.raw.dtype)
        return factor

    def decay(self, decay: np.ndarray) -> None:
        """statistics <- decay * statistics; float64 (n_columns,), none below 0, and 0 or 1 for integers."""
        least = decay.min()
        if least == 1.0 and decay.max() == 1.0:
            return
        if least <= 0.0 and (cleared := decay == 0.0).any():
            self._refuse_if_deferred()
            self._clear(cleared)
        scale = self.scale_after(decay)
        if self.keeps_scale and scale.min() < _SMALLEST_KEPT:
            raise ModelError(
                "it declares `is_linear`, but decays more than `info.largest_step` allows; keep to it, or remove the "
                "declaration"
            )
        self.sums, self.scale = self.sums * decay, scale
        if not self.keeps_scale:
            self.fold_if_small()

    def _clear(self, cleared: np.ndarray) -> None:
        """Set columns to 0."""
        if cleared.all():
            self.raw[:] = 0.0
        else:
            _kernels.clear_columns(self.raw, cleared)

    def scale_after(self, decay: np.ndarray) -> np.ndarray:
        """The scale that a decay leads to, before it is folded."""
        scale: np.ndarray = self.scale * decay
        scale[decay == 0.0] = 1.0
        return scale

    def fold_if_small(self) -> None:
        """Fold the scale before it is too small."""
        if self.scale.min() < SMALLEST_SCALE:
            self.fold()

    def fold(self) -> None:
        """Apply the scale to every row, in blocks, and add the totals up anew (which also ends their drift)."""
        self._refuse_if_deferred()
        sums = np.zeros(self.n_columns)
        for start, stop in self.blocks():
            _kernels.fold_scale(self.raw, self.scale, start, stop, sums)
        self.sums = sums
        self.scale = np.ones(self.n_columns)

    def _refuse_if_deferred(self) -> None:
        """Refuse to read or to scale rows whose additions are deferred."""
        if self.deferred is not None:
            raise ModelError(
                "it declares `is_linear`, but does more than `add` with a weight and a decay for all rows alike; "
                "remove the declaration"
            )

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Row ranges of at most `FOLD_ROWS`."""
        for start in range(0, self.n_rows, FOLD_ROWS):
            yield start, min(start + FOLD_ROWS, self.n_rows)

    def begin(self, rows: Any, statistics: np.ndarray) -> None:
        """Replace the statistics: (n, n_components) of these rows, and none of others."""
        self.raw[:] = 0
        self.raw[rows, : self.n_components] = statistics
        self.scale[:] = 1.0
        self.fold()

    def multiply(self, factor: float) -> None:
        """Multiply the statistics; costs the whole axis."""
        self.raw *= self.raw.dtype.type(factor)
        self.fold()

    def grow(self, n_rows: int) -> None:
        """Append rows without statistics; a prior per row is continued with its mean."""
        extra = n_rows - self.n_rows
        if extra <= 0:
            return
        self.raw = self._grown(extra)
        if self.prior.shape[0] > 1:
            mean = self.prior.mean(axis=0, keepdims=True)
            self.prior = _read_only(np.concatenate([self.prior, np.repeat(mean, extra, axis=0)]))
        self._sum_prior()

    def keep(self, ids: np.ndarray) -> None:
        """Drop all rows but these, (n,) in increasing order, with their statistics and priors."""
        self._refuse_if_deferred()
        self.raw = self._taken(ids)
        if self.prior.shape[0] > 1:
            self.prior = _read_only(self.prior[ids])
        self._sum_prior()
        self.prior_version += 1
        self._sum_rows()

    def local(self, ids: np.ndarray) -> LazyArray:
        """These rows as a separate array, which keeps the totals of the whole axis."""
        prior = self.prior if self.prior.shape[0] == 1 else self.prior[ids]
        return replace(
            self, raw=self._taken(ids), prior=prior, scale=self.scale.copy(), sums=self.sums.copy()
        )

    def _taken(self, ids: np.ndarray) -> np.ndarray:
        """A copy of these rows."""
        rows: np.ndarray = self.raw[ids]
        return rows

    def _grown(self, n_rows: int) -> np.ndarray:
        """The rows, and others without statistics."""
        return np.concatenate([self.raw, np.zeros((n_rows, self.n_columns), self.raw.dtype)])

    def rows_of(self, ids: np.ndarray | None) -> np.ndarray:
        """The ids, or all of them for None."""
        return np.arange(self.n_rows, dtype=np.int32) if ids is None else ids


def _read_only(values: np.ndarray) -> np.ndarray:
    view = values.view()
    view.flags.writeable = False
    return view


def _forwarded(name: str) -> Any:
    return property(attrgetter(f"base.{name}"))


class Forwarding:
    """A `types.MutableArray` that forwards to another one, `base`; subclasses override some methods."""

    n_components = _forwarded("n_components")
    n_columns = _forwarded("n_columns")
    n_rows = _forwarded("n_rows")
    axis = _forwarded("axis")
    dtype = _forwarded("dtype")
    normalised_over = _forwarded("normalised_over")
    is_sparse = _forwarded("is_sparse")
    prior = _forwarded("prior")
    prior_mean = _forwarded("prior_mean")
    gather = _forwarded("gather")
    add = _forwarded("add")
    set_prior = _forwarded("set_prior")
    totals = _forwarded("totals")
    fold = _forwarded("fold")

    def __init__(self, base: Any) -> None:
        self.base = base
