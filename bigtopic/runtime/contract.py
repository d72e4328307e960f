"""Checks of what a kernel returns and of the rows that a scheme asks for. Compiled loops do not check bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.errors import ModelError
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["check_added", "check_doc_topics", "check_result", "check_rows", "check_state"]


def check_result(
    kernel: Kernel, result: Any, view: View, hyper: Hyper, axes: Mapping[str, np.ndarray | None]
) -> None:
    """Check that statistics have the rows of the documents' ids and the columns of the view, and figures are numbers.

    Raises
    ------
    ModelError
        Names what was returned and what is required.
    """
    where = f"kernel {kernel.name!r}"
    if not isinstance(result, KernelResult):
        raise ModelError(f"{where} returned {type(result).__name__}, but must return a KernelResult")
    _check_mapping(where, "stats", result.stats, "{array name: statistics}")
    _check_mapping(where, "info", result.info, "{name: number}")
    if result.state is not None:
        _check_mapping(where, "state", result.state, "{array name: values}, or None")
    for name, figure in result.info.items():
        if isinstance(figure, bool) or not isinstance(figure, int | float | np.number):
            raise ModelError(f"{where}: info[{name!r}] is {figure!r}, but must be a number")
    for name, axis in kernel.statistics.items():
        if name not in result.stats:
            raise ModelError(
                f"{where} declares the statistics {name!r} and did not return them; it returned: "
                + (", ".join(result.stats) or "none")
            )
        ids = axes.get(axis)
        n_rows = hyper.axis_sizes[axis] if ids is None else len(ids)
        _check_stats(f"{where}: stats[{name!r}]", result.stats[name], n_rows, axis, view.arrays.get(name))
    if kernel.state == "run" and result.state is None:
        raise ModelError(
            f"{where} has state='run', but returned no state; return {', '.join(kernel.remembers)} in it"
        )


def _check_mapping(where: str, field: str, value: Any, wanted: str) -> None:
    if not isinstance(value, Mapping):
        raise ModelError(f"{where} returned {field} as {type(value).__name__}, but must return {wanted}")


def _check_stats(where: str, values: Any, n_rows: int, axis: str, viewed: np.ndarray | None) -> None:
    """Check statistics on an axis of so many rows; `viewed` are the rows of the view, which has as many columns."""
    wanted = f"({n_rows}, {'n_columns' if viewed is None else viewed.shape[1]})"
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        found = f"of {values.dtype}" if isinstance(values, np.ndarray) else type(values).__name__
        raise ModelError(f"{where} is {found}, but must be a float array {wanted}")
    shape = (n_rows, values.shape[-1:] if viewed is None else viewed.shape[1:])
    if values.ndim != 2 or (values.shape[0], values.shape[1:]) != shape:
        raise ModelError(
            f"{where} has shape {values.shape}, but must have {wanted}: a row for each local id of axis "
            f"{axis!r}, and the view's columns, padding included"
        )


def check_state(name: str, values: Any, spec: StateSpec, n_rows: int) -> None:
    """Check that an array of document state is as declared. Raises ModelError like `check_result`."""
    wanted = (n_rows, *spec.shape)
    if getattr(values, "shape", None) != wanted or values.dtype != spec.dtype:
        found = f"{values.dtype} {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
        raise ModelError(
            f"the kernel returned state[{name!r}] as {found}, but declares {np.dtype(spec.dtype)} {wanted}: a row for "
            f"each {spec.rows}"
        )


def check_doc_topics(kernel: Kernel, docs: Docs, hyper: Hyper, doc_topics: Any) -> np.ndarray:
    """Check the topics of each document, if there are any. Raises ModelError like `check_result`."""
    n = hyper.components[kernel.components] if kernel.components else hyper.n_components
    if isinstance(doc_topics, np.ndarray) and doc_topics.shape == (docs.n_docs, n):
        return doc_topics
    found = (
        f"of shape {doc_topics.shape}"
        if isinstance(doc_topics, np.ndarray)
        else f"as {type(doc_topics).__name__}"
    )
    raise ModelError(
        f"kernel {kernel.name!r} returned doc_topics {found}, but must return an array ({docs.n_docs}, {n}) where "
        "hyper.doc_topics is true: documents by topics, no padding"
    )


def check_rows(ids: np.ndarray | None, n_rows: int) -> None:
    """Check that an array has the rows that a scheme asks for. Raises ModelError like `check_result`."""
    if ids is None or len(ids) == 0:
        return
    if ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= n_rows:
        raise ModelError(
            f"a scheme asks for rows {ids.min()} to {ids.max()} ({ids.dtype}), but the array has rows 0 to {n_rows - 1}"
        )


def check_added(values: np.ndarray, row_weight: np.ndarray | None, n_rows: int, n_columns: int) -> None:
    """Check the shapes of what a scheme adds. Raises ModelError like `check_result`."""
    if values.shape != (n_rows, n_columns):
        raise ModelError(
            f"a scheme adds values of shape {values.shape}, but must add ({n_rows}, {n_columns}): a row for each id, "
            "and the array's columns, padding included"
        )
    if row_weight is not None and row_weight.shape != (n_rows,):
        raise ModelError(f"a scheme gives row_weight of shape {row_weight.shape}, but must give ({n_rows},)")
