"""Checks of what a kernel returns. Compiled loops do not check bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.errors import ModelError
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, Scratch, StateSpec, View

__all__ = [
    "DTYPES",
    "check_cost",
    "check_doc_topics",
    "check_result",
    "check_scratch",
    "check_state",
    "check_state_names",
    "check_values",
]

DTYPES = ("float32", "float64", "int32", "int64")  # the compiled loops on params and statistics are of these
_DTYPES = tuple(map(np.dtype, DTYPES))
_SLACK = 1e-3  # of a document's sum of topics in float32


def check_result(
    kernel: Kernel,
    result: Any,
    view: View,
    hyper: Hyper,
    axes: Mapping[str, np.ndarray | None],
) -> None:
    """Check that statistics have the rows of the documents' ids and the columns of the view, and figures are numbers.

    Raises
    ------
    ModelError
        Names what was returned and what is required.
    """
    where = f"kernel {kernel.name!r}"
    _check_kind(where, result)
    _check_mapping(where, "stats", result.stats, "{array name: statistics}")
    _check_mapping(where, "info", result.info, "{name: number}")
    if result.state is not None:
        _check_mapping(where, "state", result.state, "{array name: values}, or None")
    for name, figure in result.info.items():
        if isinstance(figure, bool) or not isinstance(figure, int | float | np.integer | np.floating):
            raise ModelError(f"{where}: info[{name!r}] is {figure!r}, but must be a number")
    for name, axis in kernel.statistics.items():
        if name not in result.stats:
            raise ModelError(
                f"{where} declares the statistics {name!r} and did not return them; it returned: "
                + (", ".join(result.stats) or "none")
            )
        ids = axes.get(axis)
        n_rows = hyper.axis_sizes[axis] if ids is None else len(ids)
        viewed = view.arrays.get(name)
        check_values(
            f"{where}: stats[{name!r}]",
            result.stats[name],
            (n_rows, None if viewed is None else viewed.shape[1]),
            f"a row for each local id of axis {axis!r}, and the view's columns",
        )
    if (kernel.state == "none") != (result.state is None):
        wanted = (
            f"return {', '.join(kernel.remembers)} in it"
            if kernel.remembers
            else "return None, or declare it"
        )
        found = "no state" if result.state is None else "state"
        raise ModelError(f"{where} has state={kernel.state!r}, but returned {found}; {wanted}")


def _check_kind(where: str, result: Any) -> None:
    if not isinstance(result, KernelResult):
        raise ModelError(f"{where} returned {type(result).__name__}, but must return a KernelResult")


def _check_mapping(where: str, field: str, value: Any, wanted: str) -> None:
    if type(value) is not dict and not isinstance(value, Mapping):
        raise ModelError(f"{where} returned {field} as {type(value).__name__}, but must return {wanted}")


def check_values(where: str, values: Any, shape: tuple[int, int | None], rows_and_columns: str) -> None:
    """Check that statistics have this shape, None for any number of columns. Raises ModelError like `check_result`."""
    plain = _is_plain(values)
    if plain and values.ndim == 2 and values.shape == (shape[0], shape[1] or values.shape[1]):
        return
    wanted = f"({shape[0]}, {'n_columns' if shape[1] is None else shape[1]})"
    if not plain:
        kind = type(values).__name__
        found = f"{kind} of {values.dtype}" if isinstance(values, np.ndarray) else kind
        raise ModelError(f"{where} is {found}, but must be a NumPy array {wanted} of {', '.join(DTYPES)}")
    raise ModelError(
        f"{where} has shape {values.shape}, but must have {wanted}: {rows_and_columns}, padding included"
    )


def _is_plain(values: Any) -> bool:
    """Whether compiled loops take these values: no masked array, no half precision, no foreign byte order."""
    return type(values) is np.ndarray and values.dtype in _DTYPES


def check_state_names(state: Mapping[str, Any], arrays: Mapping[str, StateSpec]) -> None:
    """Check that document state has the arrays that are declared. Raises ModelError like `check_result`."""
    if set(state) != set(arrays):
        raise ModelError(
            f"the kernel remembers {', '.join(arrays)}, but returned the state "
            f"{', '.join(map(str, state)) or 'of nothing'}; return an array of each, and no other"
        )


def check_state(name: str, values: Any, spec: StateSpec, n_rows: int) -> None:
    """Check that an array of document state is as declared. Raises ModelError like `check_result`."""
    wanted = (n_rows, *spec.shape)
    if type(values) is not np.ndarray or values.shape != wanted or values.dtype != spec.dtype:
        kind = type(values).__name__
        found = f"{kind} of {values.dtype} {values.shape}" if isinstance(values, np.ndarray) else kind
        raise ModelError(
            f"the kernel returned state[{name!r}] as {found}, but declares {np.dtype(spec.dtype)} {wanted}: a row for "
            f"each {spec.rows}"
        )


def check_doc_topics(kernel: Kernel, docs: Docs, hyper: Hyper, result: Any) -> np.ndarray:
    """The topics of each document, if these are distributions. Raises ModelError like `check_result`."""
    where = f"kernel {kernel.name!r}"
    _check_kind(where, result)
    n = hyper.components[kernel.components] if kernel.components else hyper.n_components
    doc_topics = result.doc_topics
    is_array = isinstance(doc_topics, np.ndarray)
    if not _is_plain(doc_topics) or doc_topics.shape != (docs.n_docs, n):
        kind = type(doc_topics).__name__
        found = f"of shape {doc_topics.shape}, {kind} of {doc_topics.dtype}" if is_array else f"as {kind}"
        raise ModelError(
            f"{where} returned doc_topics {found}, but must return a NumPy array ({docs.n_docs}, {n}) where "
            "hyper.doc_topics is true: documents by topics, no padding"
        )
    _check_distributions(where, doc_topics)
    assert isinstance(doc_topics, np.ndarray)
    return doc_topics


def _check_distributions(where: str, doc_topics: np.ndarray) -> None:
    good = (np.abs(doc_topics.sum(axis=1) - 1.0) <= _SLACK) & (doc_topics.min(axis=1) >= -_SLACK)
    if not good.all():
        bad = int(np.argmin(good))
        raise ModelError(
            f"{where} returned the topics {doc_topics[bad]!s:.60} for a document, which are not a distribution: give "
            "each document numbers from 0 that add up to 1. Look for a division by 0, a logarithm of 0 or an overflow "
            "in the kernel"
        )


def check_scratch(kernel: Kernel, scratch: Any) -> Scratch:
    """What a kernel says of its memory. Raises ModelError like `check_result`."""
    if (
        isinstance(scratch, Scratch)
        and all(isinstance(sizes, Sequence) for sizes in (scratch.pooled, scratch.derived))
        and all(_is_size(n) for n in (*scratch.pooled, scratch.transient, *scratch.derived))
    ):
        return scratch
    raise ModelError(
        f"kernel {kernel.name!r}: scratch returned {scratch!r:.60}, but must return a Scratch of bytes, from 0"
    )


def check_cost(kernel: Kernel, cost: Any) -> float:
    """What a kernel says of its time. Raises ModelError like `check_result`."""
    if _is_size(cost):
        return float(cost)
    raise ModelError(f"kernel {kernel.name!r}: cost returned {cost!r:.60}, but must return a number from 0")


def _is_size(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return is_number and 0 <= value < np.inf
