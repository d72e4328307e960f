"""Checks of a scheme's step on an array: the rows that it asks for, its additions, and the result.

They cost the rows' ids and the columns, never the axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bigtopic.errors import ModelError
from bigtopic.state.contract.kernels import check_values
from bigtopic.types import AxisStats

__all__ = [
    "LARGEST_PRIOR",
    "SMALLEST_PRIOR",
    "Change",
    "check_moved",
    "check_rows",
    "checked",
    "checked_prior",
]

# Kernels compute in float32: a smaller prior is 0 there, and sums of larger ones over words or topics are infinite.
SMALLEST_PRIOR, LARGEST_PRIOR = 1e-30, 1e24
_ROUNDING = 1e-3  # of sums in float32, as a share
_LARGEST = float(np.finfo(np.float32).max)


class Change(NamedTuple):
    """The arguments of `types.MutableArray.add`, checked: weight and decay are float64 (n_columns,)."""

    values: Any
    weight: np.ndarray
    decay: np.ndarray
    row_weight: np.ndarray | None
    row_decay: np.ndarray | None


def check_rows(ids: Any, n_rows: int) -> None:
    """Check that an array has the rows that a scheme asks for.

    Raises
    ------
    ModelError
        Like all checks of this module: names the value found and the requirement.
    """
    if ids is None:
        return
    if not isinstance(ids, np.ndarray) or ids.ndim != 1:
        raise ModelError(
            f"it asks for rows {ids!r:.60}, but must give an array (n_ids,), or None for all rows"
        )
    # as unsigned numbers, those below 0 are larger than any row
    if len(ids) and (ids.dtype.kind not in "iu" or not ids.view(f"u{ids.itemsize}").max() < n_rows):
        raise ModelError(
            f"it asks for rows {ids.min()} to {ids.max()} ({ids.dtype}), but the array has rows 0 to {n_rows - 1}"
        )


def checked(
    array: Any, stats: Any, weight: Any = 1.0, decay: Any = 1.0, row_weight: Any = None, row_decay: Any = None
) -> Change:
    """The arguments of `types.MutableArray.add`. Raises ModelError like `check_rows`."""
    if not isinstance(stats, AxisStats):
        raise ModelError(f"it adds {type(stats).__name__}, but must add an AxisStats of ids and values")
    if stats.sums is None:  # statistics of a kernel have the rows of its documents
        check_rows(stats.ids, array.n_rows)
    n_ids = array.n_rows if stats.ids is None else len(stats.ids)
    check_values(
        "it adds values",
        stats.values,
        (n_ids, array.n_columns),
        "a row for each id, and the array's columns",
        sparse=array.is_sparse,
    )
    change = Change(
        stats.values,
        _factors("weight", weight, array.n_columns),
        _factors("decay", decay, array.n_columns),
        _row_factors("row_weight", row_weight, n_ids),
        _row_factors("row_decay", row_decay, n_ids),
    )
    for name, factors in (("decay", change.decay), ("row_decay", change.row_decay)):
        if factors is None or len(factors) == 0:
            continue
        if array.normalised_over is not None and (least := float(factors.min())) < 0:
            raise ModelError(
                f"it gives {name} {least:g} to an array of distributions, but must give numbers from 0"
            )
        if array.dtype.kind == "i" and len(between := factors[(factors != 0) & (factors != 1)]):
            raise ModelError(
                f"it gives {name} {between[0]:g} to an array of integers, which are kept (1) or cleared (0); "
                "give a float dtype to the array"
            )
    return change


def _factors(name: str, given: Any, n_columns: int) -> np.ndarray:
    """A number, or one for each column, float64 (n_columns,)."""
    if type(given) is float and abs(given) <= _LARGEST:  # nearly always, and quickly checked
        return np.full(n_columns, given)
    try:
        factors = np.broadcast_to(np.asarray(given, np.float64), (n_columns,))
    except (TypeError, ValueError):
        shape = f"of shape {given.shape}" if isinstance(given, np.ndarray) else f"{given!r:.60}"
        raise ModelError(
            f"it gives {name} {shape}, but must give a number, or an array ({n_columns},): the array's columns, "
            "padding included"
        ) from None
    _check_finite(name, factors)
    return factors


def _row_factors(name: str, given: Any, n_ids: int) -> np.ndarray | None:
    if given is None:
        return None
    if not isinstance(given, np.ndarray) or given.shape != (n_ids,) or given.dtype.kind not in "fiub":
        shape = f"of shape {given.shape}" if isinstance(given, np.ndarray) else f"as {type(given).__name__}"
        raise ModelError(
            f"it gives {name} {shape}, but must give an array of numbers ({n_ids},): one for each id"
        )
    _check_finite(name, given)
    return given


def _check_finite(name: str, factors: np.ndarray) -> None:
    if not (np.abs(factors) <= _LARGEST).all():
        raise ModelError(
            f"it gives {name} with numbers that are not finite, or too large for float32; the array has not moved. "
            "Look for a division by 0 or an overflow in its step"
        )


def checked_prior(prior: Any, n_rows: int, n_components: int) -> np.ndarray:
    """A prior, float64 (1 or n_rows, 1 or n_components). Raises ModelError like `check_rows`."""
    try:
        table = np.array(prior, np.float64)
    except (TypeError, ValueError):
        table = np.zeros(0)
    if table.ndim != 2 or table.shape[0] not in (1, n_rows) or table.shape[1] not in (1, n_components):
        found = prior.shape if isinstance(prior, np.ndarray) else f"{prior!r:.60}"
        raise ModelError(
            f"it gives the prior {found}, but must give an array (1 or {n_rows}, 1 or {n_components}): rows by "
            "components, no padding"
        )
    if not (table.min() >= 0 and table.max() <= LARGEST_PRIOR):
        raise ModelError(
            f"it gives a prior from {table.min():g} to {table.max():g}, but must give one from 0 to {LARGEST_PRIOR:g}"
        )
    return table


def check_moved(arrays: Mapping[str, Any], doc_topic_prior: Any = None) -> None:
    """Check arrays after a step: their sums, and the prior of documents' topics. Raises ModelError like `check_rows`.

    Parameters
    ----------
    arrays : the arrays that the scheme moves
    doc_topic_prior : the array of that name, which any scheme may reach
    """
    for name, array in arrays.items():
        sums = array.totals()
        least, most = float(sums.min()), float(sums.max())  # NaN if any is
        limit = _LARGEST if array.dtype == np.float32 else float(np.finfo(np.float64).max)
        if not (-limit <= least and most <= limit):
            raise ModelError(
                f"after it, {name!r} has numbers that are not finite; fit the model again. Look for a division by 0, a "
                "logarithm of 0 or an overflow in what it adds"
            )
        if least < 0 and array.normalised_over is not None and least < -_ROUNDING * np.abs(sums).sum():
            raise ModelError(
                f"after it, {name!r} has sums below 0 ({least:g}), which distributions cannot have; fit the model "
                "again, and take away no more than was added"
            )
    if doc_topic_prior is not None:
        prior = doc_topic_prior.first_row()
        if not (prior.min() >= SMALLEST_PRIOR and prior.max() <= LARGEST_PRIOR):
            raise ModelError(
                f"after it, the prior of documents' topics is {prior}, but must be from {SMALLEST_PRIOR:g} to "
                f"{LARGEST_PRIOR:g}; fit the model again, with smaller steps or a bound on them"
            )
