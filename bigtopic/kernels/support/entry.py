"""Common steps of kernels between the caller's arrays and the compiled loop."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numba import njit

from bigtopic.errors import SettingError, argument
from bigtopic.types import Docs, Hyper, View

__all__ = [
    "INLINE",
    "INNER",
    "OUTER",
    "UNCOUNTED",
    "begins_at_random",
    "counted",
    "csr",
    "doc_update_cost",
    "frozen",
    "padded_prior",
    "put_shares",
    "sums_of_entries",
    "whole_number",
]

# For functions that Python calls, and for those that only compiled functions call: unused entry points are not
# compiled. A function that does not set `error_model` and `fastmath` has those of whichever caller was compiled first.
OUTER: Any = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": False,
    "nogil": True,
    "no_cfunc_wrapper": True,
}
INNER: Any = {
    "cache": True,
    "error_model": "numpy",
    "fastmath": False,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
}

# For loops of few operations: references to arrays are not counted, which would take longer than the operations. Such
# functions allocate nothing. INLINE is for the functions that they call.
UNCOUNTED: Any = OUTER | {"_nrt": False}
INLINE: Any = INNER | {"forceinline": True, "_nrt": False}


LARGEST = (1 << 31) - 1  # that an option may be, which loops count to


def doc_update_cost(options: Mapping[str, Any]) -> float:
    """The cost of a kernel that passes over each entry up to `max_doc_update_iter` times."""
    return float(whole_number(options, "max_doc_update_iter", 1))


def frozen(array: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
    """A read-only, contiguous, aligned view of `array` (a copy only if it must be).

    numba compiles one signature per dtype, order and writability: this makes them one. A compiled loop that
    writes to such an array does not compile.
    """
    flags = array.flags
    ready = array.dtype == dtype and flags.c_contiguous and flags.aligned and type(array) is np.ndarray
    view = array.view() if ready else np.require(array, dtype, ["C", "A", "E"]).view()
    view.flags.writeable = False
    return view


def csr(docs: Docs, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`indptr`, `words`, `counts` of the documents as a compiled loop takes them."""
    return frozen(docs.indptr, np.int64), frozen(docs.words, np.int32), frozen(docs.counts, dtype)


def counted(view: View, hyper: Hyper, name: str, axis: str = "word", n_components: int | None = None) -> bool:
    """Whether an array, with rows of this axis, has more than its prior."""
    prior = (n_components or hyper.n_components) * hyper.axis_sizes[axis] * hyper.priors[name]
    return not np.isclose(view.totals[name].sum(), prior, rtol=1e-10, atol=0)


def begins_at_random(state: Mapping[str, np.ndarray] | None, view: View, hyper: Hyper) -> bool:
    """Whether documents are new, and nothing is given that their first responsibilities could follow from."""
    return state is None and not (hyper.begun and counted(view, hyper, "topic_words"))


def sums_of_entries(docs: Docs, of_words: np.ndarray) -> np.ndarray:
    """Sum over the tokens of each document of a number of their words (n_words,): float64 (n_docs,)."""
    documents = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    return np.bincount(documents, docs.counts * of_words[docs.words], docs.n_docs)


def padded_prior(prior: np.ndarray, n_columns: int, dtype: np.dtype, fill: float = 0.0) -> np.ndarray:
    """The prior of a document's topics, padded with `fill` to (n_columns,)."""
    row = np.full(n_columns, fill, dtype)
    row[: len(prior)] = prior
    return frozen(row, dtype)


def whole_number(options: Mapping[str, Any], name: str, least: int) -> int:
    """The value of an option that must be a whole number from `least` to `LARGEST`.

    Raises
    ------
    SettingError
        When it is not.
    """
    value = options[name]
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= LARGEST:
        raise SettingError(
            f"{argument(name, value)}: must be a whole number of at least {least} and at most {LARGEST:,}"
        )
    return int(value)


def tolerance(options: Mapping[str, Any]) -> float:
    """The option `mean_change_tol`, a number from 0.

    Raises
    ------
    SettingError
        When it is not.
    """
    value = options["mean_change_tol"]
    if not 0 <= value < np.inf:
        raise SettingError(f"mean_change_tol={value!r}: must be a number, at least 0")
    return float(value)


def step_size(options: Mapping[str, Any], name: str, unit: str) -> tuple[float, float]:
    """Decay and offset of a step size, the options `name`_decay and `name`_offset, the latter in this unit.

    Raises
    ------
    SettingError
        When the decay is not above 0 and at most 1, or the offset not a number from 0.
    """
    decay, offset = options[f"{name}_decay"], options[f"{name}_offset"]
    if not 0 < decay <= 1:
        raise SettingError(f"{name}_decay={decay!r}: must be above 0 and at most 1 (above 0.5 to converge)")
    if not 0 <= offset < np.inf:
        raise SettingError(f"{name}_offset={offset!r}: must be a number of {unit}, at least 0")
    return float(decay), float(offset)


@njit(**INNER)
def put_shares(weights, shares):
    """shares[k] = weights[k] / sum(weights), over the length of `shares`."""
    mass = weights.dtype.type(0)
    for k in range(shares.shape[0]):
        mass += weights[k]
    for k in range(shares.shape[0]):
        shares[k] = weights[k] / mass
