"""How a kernel reads the params: rows of weights as means, as exp of expected logs, or as counts.

None costs more than the rows asked for.

* mean: weights / totals, the posterior mean of a topic's word probabilities, at least 1e-12.
* sparse_mean: the same, of an array of sparse rows as `types.Lists`, read in place.
* expected_log: exp(psi(w_k) - psi(total_k)) times a factor per row that makes the row's largest entry 1.
  Responsibilities do not depend on the factor; its logarithm is "<name>:shift", for kernels that compute a bound.
* counts: the weights themselves.
* stored: the weights, read in place where that is possible. The array then holds all rows of the statistics, and the
  weights of row i are `array["<name>:ids"[i]] * "<name>:scale" + "<name>:prior"`. Otherwise a copy, as for
  counts: where the array may change meanwhile, where each row has its own prior, and of an array of integers.

For an array whose rows sum to one over the components (an author's topics) the total is the row's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bigtopic.state import _kernels
from bigtopic.state.contract.scheme_steps import check_rows
from bigtopic.state.lazy_array import LazyArray, Linear
from bigtopic.state.params import Overlay
from bigtopic.state.sparse.array import SparseArray
from bigtopic.types import Lists, View

__all__ = ["can_be_in_place", "linear_mean", "mean_lists", "mean_rows", "take_view"]


def take_view(
    arrays: Mapping[str, LazyArray | Overlay],
    kinds: Mapping[str, str],
    ids: Mapping[str, np.ndarray | None],
) -> View:
    """The rows `ids[axis]` of every array that a kernel reads, in the form it declared.

    "Stored" rows may be memory of the arrays themselves, so nothing moves these while the view is used.

    Parameters
    ----------
    arrays : params by name
    kinds : {array name: "mean", "sparse_mean", "expected_log", "counts" or "stored"}
    ids : {axis: int32 ids}; all rows of the other axes
    """
    rows: dict[str, np.ndarray] = {}
    totals: dict[str, np.ndarray] = {}
    for name, kind in kinds.items():
        array, wanted = arrays[name], ids.get(arrays[name].axis)
        if isinstance(array, Overlay):
            array, wanted = array.local(wanted), None
        totals[name] = array.with_padding(array.weight_totals())
        copied = kind == "stored" and not can_be_in_place(array)
        rows.update(READERS["counts" if copied else kind](name, array, array.rows_of(wanted)))
    return View(rows, totals)


def can_be_in_place(array: LazyArray) -> bool:
    """Whether the form of this array allows a kernel to read "stored" rows in place."""
    return array.prior.shape[0] == 1 and array.raw.dtype.kind == "f" and not array.is_sparse


def mean_rows(array: LazyArray, ids: np.ndarray | None) -> np.ndarray:
    """Probabilities of these rows, (n_ids, n_columns), zero in the padding."""
    return _mean("rows", array, array.rows_of(ids))["rows"]


def _mean(name: str, array: LazyArray, ids: np.ndarray) -> dict[str, np.ndarray]:
    if array.normalised_over == "components":
        weights = array.gather(ids)
        return {name: weights / weights.sum(axis=1, keepdims=True)}
    return {name: array.gather_scaled(ids, _inverse_totals(array), _kernels.FLOOR, np.float32)}


def _sparse_mean(name: str, array: LazyArray, ids: np.ndarray) -> dict[str, Any]:
    if not isinstance(array, SparseArray):
        return _mean(name, array, ids)
    return {name: mean_lists(array, ids)}


def mean_lists(array: SparseArray, ids: np.ndarray) -> Lists:
    """Probabilities of these rows, in place."""
    check_rows(ids, array.n_rows)
    return array.mean_lists(ids, _kernels.FLOOR)


def linear_mean(array: LazyArray) -> Linear | None:
    """How "mean" rows follow linearly from the array's rows; None if rows are sparse or normalised, or each has its own
    prior."""
    if array.normalised_over == "components" or array.prior.shape[0] != 1 or array.is_sparse:
        return None
    return array.linear(_inverse_totals(array), _kernels.FLOOR, np.float32)


def _inverse_totals(array: LazyArray) -> np.ndarray:
    return array.with_padding(1.0 / np.maximum(array.weight_totals(), 1e-30))


def _expected_log(name: str, array: LazyArray, ids: np.ndarray) -> dict[str, np.ndarray]:
    from scipy.special import psi

    n = array.n_components
    out = array.gather_scaled(ids, np.ones(array.n_columns), 0.0, np.float32)
    shift = np.empty(len(ids))
    if array.normalised_over == "components":
        expected = out[:, :n].astype(np.float64)  # only one large array besides `out`
        log_total = psi(expected.sum(axis=1, keepdims=True))
        psi(expected, out=expected)
        expected -= log_total
        shift[:] = expected.max(axis=1, initial=-np.inf)
        expected -= shift[:, None]
        out[:, :n] = np.exp(expected, out=expected)
    else:
        log_total = psi(array.weight_totals())
        inverse = array.with_padding(np.exp(log_total.min() - log_total), np.float32)
        _kernels.expected_log_rows(out, log_total, inverse, n, shift)
    return {name: out, f"{name}:shift": shift}


def _counts(name: str, array: LazyArray, ids: np.ndarray) -> dict[str, np.ndarray]:
    return {name: array.gather(ids)}


def _stored(name: str, array: LazyArray, ids: np.ndarray) -> dict[str, np.ndarray]:
    check_rows(ids, array.n_rows)
    assert array.deferred is None, "rows in place lack deferred additions"
    prior = array.with_padding(array.prior[0])
    return {name: array.raw, f"{name}:ids": ids, f"{name}:scale": array.scale, f"{name}:prior": prior}


READERS: Mapping[str, Callable[[str, LazyArray, np.ndarray], dict[str, np.ndarray]]] = {
    "mean": _mean,
    "sparse_mean": _sparse_mean,
    "expected_log": _expected_log,
    "counts": _counts,
    "stored": _stored,
}
