"""Common steps of kernels between the caller's arrays and the compiled loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numba import njit

from bigtopic.errors import SettingError, argument
from bigtopic.kernels.support.vector import LANES
from bigtopic.support import buffers
from bigtopic.support.numbers import is_whole
from bigtopic.types import Docs, Hyper, KernelResult, View

__all__ = [
    "INLINE",
    "INNER",
    "OUTER",
    "UNCOUNTED",
    "Call",
    "State",
    "begins_at_random",
    "counted",
    "csr",
    "doc_update_cost",
    "frozen",
    "inline",
    "inner",
    "learns",
    "means",
    "one_of",
    "outer",
    "padded_prior",
    "put_shares",
    "step_size",
    "sums_of_entries",
    "tolerance",
    "uncounted",
    "whole_number",
]

# For functions that Python calls, and for functions that only compiled ones call: unused entry points are not compiled.
# Without `error_model` and `fastmath`, a function would get them from whichever caller was compiled first. Without
# `forceinline`, a call would reach the copy of whichever module was loaded first, whose multiply-adds may be fused
# otherwise: the last bits would depend on what the process had compiled itself.
_COMPILED: Any = {"cache": True, "error_model": "numpy", "fastmath": False, "no_cfunc_wrapper": True}
OUTER: Any = _COMPILED | {"nogil": True}
INNER: Any = _COMPILED | {"no_cpython_wrapper": True, "forceinline": True}

# For loops of few operations: references to arrays are not counted, which would take longer than the operations. Such
# functions allocate nothing. INLINE is for the functions that they call.
UNCOUNTED: Any = OUTER | {"_nrt": False}
INLINE: Any = INNER | {"_nrt": False}

outer, inner, uncounted, inline = (njit(**options) for options in (OUTER, INNER, UNCOUNTED, INLINE))


State = Mapping[str, np.ndarray] | None
LARGEST = (1 << 31) - 1  # that an option may be, which loops count to


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


def begins_at_random(state: State, view: View, hyper: Hyper) -> bool:
    """Whether documents are new, and nothing is given that their first responsibilities could follow from."""
    return state is None and not (hyper.begun and counted(view, hyper, "topic_words"))


class Call:
    """What the compiled loop of a kernel takes of a call, and the arrays that it fills.

    Attributes
    ----------
    documents : indptr, words and counts, and `rows`, the documents' keys, int64 (n_docs,)
    topic_words : (n_words, n_columns), of the view; `inputs` are the documents and these
    dtype, n_columns : of `topic_words`
    stats : statistics by name; of "topic_words" zeros, or, if they are `filled` by the loop, any numbers
    doc_topics : (n_docs, n_components), or no rows where the caller needs none; `outputs` are the statistics and these
    learns : whether the statistics of the prior of documents' topics are wanted

    Parameters
    ----------
    dtype : of the view, or another one to compute in
    keeps : whether the kernel itself needs `doc_topics`
    """

    def __init__(
        self,
        docs: Docs,
        view: View,
        hyper: Hyper,
        dtype: Any = None,
        *,
        keeps: bool = False,
        filled: bool = False,
    ) -> None:
        rows, n = view.arrays["topic_words"], docs.n_docs if hyper.doc_topics or keeps else 0
        self.dtype, self.n_columns = np.dtype(dtype or rows.dtype), rows.shape[1]
        assert self.n_columns % LANES == 0, "rows come in whole vectors"
        self.docs, self.hyper, self.learns = docs, hyper, learns(hyper)
        self.topic_words, self.documents = frozen(rows, self.dtype), csr(docs, self.dtype)
        self.inputs, self.rows = (*self.documents, self.topic_words), frozen(docs.rows, np.int64)
        self.stats = {"topic_words": (buffers.empty if filled else buffers.zeros)(rows.shape, self.dtype)}
        self.doc_topics = buffers.empty((n, hyper.n_components), self.dtype)
        self.outputs = self.stats["topic_words"], self.doc_topics

    def prior(self, values: Any = None, fill: float = 0.0) -> np.ndarray:
        """The prior of a document's topics, or other values for them, padded: (n_columns,).

        Parameters
        ----------
        values : (n_components,), or one number for all
        fill : the value of the padding
        """
        own = (
            self.hyper.doc_topic_prior if values is None else np.broadcast_to(values, self.hyper.n_components)
        )
        return padded_prior(own, self.n_columns, self.dtype, fill)

    def vectors(self, n: int) -> np.ndarray:
        """Room for numbers of each topic, (n, n_columns)."""
        return buffers.empty((n, self.n_columns), self.dtype)

    def block(self, n: int, more: int = 0) -> list[np.ndarray]:
        """Room for the words of the longest document: a row of (n_columns,) for each, and `n` arrays of numbers.

        Parameters
        ----------
        more : words beyond the longest document's, because loops work on whole groups
        """
        longest = int(np.diff(self.docs.indptr).max(initial=0)) + more
        return [buffers.empty((longest, self.n_columns), self.dtype), *np.empty((n, longest), self.dtype)]

    def expected_logs(self) -> np.ndarray:
        """Room for the sum of E[log theta], which is among the statistics, where it is wanted; or of no length."""
        if not self.learns:
            return np.zeros(0)
        self.stats["doc_topic_prior"] = np.zeros((1, self.n_columns))
        return self.stats["doc_topic_prior"][0]

    def result(
        self, info: Mapping[str, Any], state: State = None, doc_topics: np.ndarray | None = None
    ) -> KernelResult:
        """With `doc_topics`, by default the call's, where the caller needs them."""
        topics = self.doc_topics if doc_topics is None else doc_topics
        figures = {name: float(value) for name, value in info.items()}
        return KernelResult(self.stats, topics if self.hyper.doc_topics else None, state, figures)


def learns(hyper: Hyper) -> bool:
    """Whether the statistics of the prior of documents' topics are wanted."""
    return "doc_topic_prior" in hyper.statistics


def means(gammas: np.ndarray) -> np.ndarray:
    """Of Dirichlet distributions with these parameters, (n_docs, n_components)."""
    shares: np.ndarray = gammas / gammas.sum(axis=1, keepdims=True)
    return shares


def sums_of_entries(docs: Docs, of_words: np.ndarray) -> np.ndarray:
    """Sum over the tokens of each document of a number of their words (n_words,): float64 (n_docs,)."""
    documents = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    return np.bincount(documents, docs.counts * of_words[docs.words], docs.n_docs)


def padded_prior(prior: np.ndarray, n_columns: int, dtype: np.dtype, fill: float = 0.0) -> np.ndarray:
    """The prior of a document's topics, padded with `fill` to (n_columns,)."""
    row = np.full(n_columns, fill, dtype)
    row[: len(prior)] = prior
    return frozen(row, dtype)


def whole_number(options: Mapping[str, Any], name: str, least: int, most: int = LARGEST) -> int:
    """The value of an option that must be a whole number from `least` to `most`.

    Raises
    ------
    SettingError
        When it is not.
    """
    value = options[name]
    if not is_whole(value) or not least <= int(value) <= most:
        raise SettingError(
            f"{argument(name, value)}: must be a whole number of at least {least} and at most {most:,}"
        )
    return int(value)


def one_of(options: Mapping[str, Any], name: str, allowed: Sequence[str]) -> str:
    """The value of an option that must be one of these.

    Raises
    ------
    SettingError
        When it is not.
    """
    value: str = options[name]
    if value not in allowed:
        raise SettingError(f"{argument(name, value)}: must be one of {', '.join(allowed)}")
    return value


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


# the cost of a kernel that passes over each entry up to `max_doc_update_iter` times
doc_update_cost = partial(whole_number, name="max_doc_update_iter", least=1)


@inner
def put_shares(weights, shares):
    """shares[k] = weights[k] / sum(weights), over the length of `shares`."""
    mass = weights.dtype.type(0)
    for k in range(shares.shape[0]):
        mass += weights[k]
    for k in range(shares.shape[0]):
        shares[k] = weights[k] / mass
