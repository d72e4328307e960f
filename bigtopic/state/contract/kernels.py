"""Checks of a kernel's declarations and results. Compiled loops do not check bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np

from bigtopic.errors import ModelError, argument
from bigtopic.models.base import ArraySpec
from bigtopic.state.contract.rules import (
    DTYPES,
    METHOD_NAME,
    NAME,
    SETTINGS,
    check_arguments,
    check_dtype,
    check_kinds,
    check_storable,
    choose,
    require,
)
from bigtopic.storage import row_arrays
from bigtopic.support.numbers import is_number, is_whole
from bigtopic.types import Bound, Docs, Hyper, Kernel, KernelResult, Scratch, SliceLoop, StateSpec, View

__all__ = [
    "check_cost",
    "check_doc_topics",
    "check_kernel",
    "check_lengths",
    "check_result",
    "check_scratch",
    "check_slice_size",
    "check_state",
    "check_state_names",
    "check_values",
    "statistics_dtype",
]

_FORMS = ("mean", "sparse_mean", "expected_log", "counts", "stored")
_LIVES = ("none", "round", "run")
_ROWS = ("entry", "token", "document")
_OF_KERNEL = {
    "run": (Callable, "a function (docs, view, hyper, seed, state) -> KernelResult"),
    "views": (Mapping, "{array name: form}"),
    "statistics": (Mapping, "{array name: axis}"),
    "offers": (Mapping, "{array name: axis}"),
    "posteriors": (tuple, "a tuple of names of arrays"),
    "changes": (tuple, "a tuple of names of arrays"),
    "options": (Mapping, "{name: default}"),
    "meanings": (Mapping, "{name of an option: what it sets}"),
    "of_statistics": (tuple, "a tuple of names of options"),
    "cost": (Callable, "a function of the options"),
    "burn_in": (Callable, "a function of the options"),
    "scratch": (Callable, "a function of a CallSize and the options"),
    "derives": ((Callable, NoneType), "a function of the documents, or None"),
    "loop": ((SliceLoop, NoneType), "a SliceLoop, or None"),
    "components": ((str, NoneType), "the name of a component count, or None"),
    "interacts": (bool, "True or False"),
    "whole_minibatches": (bool, "True or False"),
    "state": (str, choose(_LIVES)),
    "remembers": (Mapping, "{array name: StateSpec}"),
    "bound": ((bool, Bound), "True, False or a Bound"),
    "paper": (str, "text"),
}
_ARGUMENTS = {
    "run": ("docs", "view", "hyper", "seed", "state"),
    "cost": ("options",),
    "burn_in": ("options",),
    "scratch": ("size", "options"),
}
_DTYPES = tuple(map(np.dtype, DTYPES))
_SLACK = 1e-3  # of a document's sum of topics in float32


def check_kernel(kernel: Kernel, arrays: Mapping[str, ArraySpec], counts: Iterable[str]) -> None:
    """Check what a kernel declares.

    Parameters
    ----------
    arrays : arrays of the model and companions of the schemes, as they will be made
    counts : names of the component counts

    Raises
    ------
    SettingError
        Like `declarations.check_method`.
    """
    where = f"kernel {kernel.name!r}"
    check_storable("a kernel's name", kernel.name, METHOD_NAME)
    check_kinds(where, kernel, _OF_KERNEL)
    for name, arguments in _ARGUMENTS.items():
        check_arguments(f"{where}: {name}", getattr(kernel, name), *arguments)
    for what, names in (("views", kernel.views), ("statistics", kernel.statistics)):
        for name in names:
            require(name in arrays, f"{where}: {what} names the array {name!r}; {choose(arrays)}")
    for name, form in kernel.views.items():
        require(form in _FORMS, f"{where}: views[{name!r}]={form!r}; {choose(_FORMS)}")
    for name, axis in kernel.statistics.items():
        require(
            axis == arrays[name].rows,
            f"{where}: statistics[{name!r}]={axis!r}, but the model's ArraySpec of this array has "
            f"rows={arrays[name].rows!r}; if one of them is misspelt, correct it: both must name the same axis",
        )
    known = (*counts, None)
    require(kernel.components in known, f"{where}: components={kernel.components!r}; {choose(known)}")
    check_storable(f"{where}: options", kernel.options, SETTINGS)
    for name, text in kernel.meanings.items():
        require(
            name in kernel.options and isinstance(text, str),
            f"{where}: meanings[{name!r}]={text!r:.60} must be text about one of its options",
        )
    statistics_dtype(kernel, kernel.options)
    require(kernel.state in _LIVES, f"{where}: state={kernel.state!r}; {choose(_LIVES)}")
    require(
        not kernel.whole_minibatches or kernel.state != "run",
        f"{where}: whole_minibatches=True and state='run': documents that are remembered keep topics aligned; give "
        "whole_minibatches=False, or another state",
    )
    require(
        (kernel.state == "none") != bool(kernel.remembers),
        f"{where}: state={kernel.state!r} and remembers={dict(kernel.remembers)!r}; give both, or neither",
    )
    for name, spec in kernel.remembers.items():
        check_storable(f"{where}: a name in remembers", name, NAME)
        _check_state_spec(f"{where}: remembers[{name!r}]", spec, ("n_components", *counts, *kernel.options))


def _check_state_spec(where: str, spec: Any, sizes: Sequence[str]) -> None:
    require(isinstance(spec, StateSpec), f"{where} is {spec!r}, but must be a StateSpec")
    require(spec.rows in _ROWS, f"{where} has rows={spec.rows!r}; {choose(_ROWS)}")
    require(
        isinstance(spec.shape, tuple),
        f"{where} has shape={spec.shape!r}, but must have a tuple, such as ('n_components',)",
    )
    for size in spec.shape:
        require(
            size in sizes or (is_whole(size) and size >= 1),
            f"{where} has {size!r} in its shape; {choose((*sizes, 'a number from 1'))}",
        )
    dtypes = row_arrays.DTYPES
    require(spec.dtype in dtypes, f"{where} has dtype={spec.dtype!r}; {choose(dtypes)}")
    require(
        _holds(np.dtype(spec.dtype), spec.missing),
        f"{where} has missing={spec.missing!r}, which {spec.dtype} cannot hold",
    )


def _holds(dtype: np.dtype, value: Any) -> bool:
    """Whether a number is finite and one of the dtype, to within rounding."""
    if not (is_number(value) or isinstance(value, bool)) or not np.isfinite(value):
        return False
    if dtype.kind == "b":
        return value in (0, 1)
    limits: Any = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return bool((dtype.kind == "f" or value == int(value)) and limits.min <= value <= limits.max)


def statistics_dtype(kernel: Kernel, options: Mapping[str, Any]) -> np.dtype:
    """The dtype of the statistics with these options. Raises SettingError like `check_kernel`."""
    dtype = kernel.dtype
    if callable(dtype):
        check_arguments(f"kernel {kernel.name!r}: dtype", dtype, "options")
        dtype = dtype(options)
    check_dtype(f"kernel {kernel.name!r}, of its statistics,", dtype)
    return np.dtype(dtype)


def check_lengths(kernel: Kernel, options: Mapping[str, Any], counts: Iterable[str]) -> None:
    """Check the options that are lengths of document state. Raises SettingError like `check_kernel`."""
    lengths = {str(size) for spec in kernel.remembers.values() for size in spec.shape}
    for name in lengths & {*options} - {*counts}:
        require(
            is_whole(options[name]) and options[name] >= 1,
            f"option {name} is {options[name]!r}, but kernel {kernel.name!r} remembers as many numbers: "
            "give a whole number from 1",
        )


def check_slice_size(kernel: Kernel, slice_size: int | None, batch_size: int | None) -> None:
    """Check that the slice size is given if the result depends on it, and that it is not less than the batch size, None
    for the whole corpus, where the kernel needs whole minibatches. Raises SettingError like `check_kernel`."""
    if kernel.whole_minibatches:
        require(
            slice_size is None or (batch_size is not None and slice_size >= batch_size),
            f"{argument('slice_size', slice_size)}: kernel {kernel.name!r} needs a whole minibatch in each call, "
            "because the topics of two calls begin unaligned and cannot be added; leave "
            f"{argument('slice_size')} out, or give {argument('batch_size', slice_size)} for smaller minibatches",
        )
    else:
        require(
            not kernel.interacts or slice_size is not None,
            f"kernel {kernel.name!r} has interacts=True: the documents of a call influence each other, so their number "
            "is a setting of the method; give it a slice_size",
        )


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
        Names the value returned and the requirement.
    """
    where = f"kernel {kernel.name!r}"
    _check_kind(where, result)
    for field, wanted in _MAPPINGS.items():
        value = getattr(result, field)
        if (
            type(value) is not dict
            and not isinstance(value, Mapping)
            and not (value is None and field == "state")
        ):
            raise ModelError(f"{where} returned {field} as {type(value).__name__}, but must return {wanted}")
    for name, figure in result.info.items():
        if not is_number(figure):
            raise ModelError(f"{where}: info[{name!r}] is {figure!r}, but must be a number")
    for name, axis in kernel.statistics.items():
        if name not in result.stats:
            raise ModelError(
                f"{where} declares the statistics {name!r} and did not return them; it returned: "
                + (", ".join(result.stats) or "none")
            )
        ids, viewed = axes.get(axis), view.arrays.get(name)
        n_rows = hyper.axis_sizes[axis] if ids is None else len(ids)
        check_values(
            f"{where}: stats[{name!r}]",
            result.stats[name],
            (n_rows, None if viewed is None else viewed.shape[1]),
            f"a row for each local id of axis {axis!r}, and the view's columns",
            sparse=viewed is not None and not isinstance(viewed, np.ndarray),
        )
    if (kernel.state == "none") != (result.state is None):
        names = ", ".join(kernel.remembers)
        wanted = f"return {names} in it" if names else "return None, or declare it"
        found = "no state" if result.state is None else "state"
        raise ModelError(f"{where} has state={kernel.state!r}, but returned {found}; {wanted}")


_MAPPINGS = {
    "stats": "{array name: statistics}",
    "info": "{name: number}",
    "state": "{array name: values}, or None",
}


def _check_kind(where: str, result: Any) -> None:
    if not isinstance(result, KernelResult):
        raise ModelError(f"{where} returned {type(result).__name__}, but must return a KernelResult")


def check_values(
    where: str, values: Any, shape: tuple[int, int | None], rows_and_columns: str, sparse: bool = False
) -> None:
    """Check that statistics have this shape, None for any number of columns. Raises ModelError like `check_result`.

    sparse : whether they are for an array of sparse rows
    """
    plain = _is_lists(values) if sparse else _is_plain(values)
    if plain and values.ndim == 2 and values.shape == (shape[0], shape[1] or values.shape[1]):
        return
    wanted = f"({shape[0]}, {'n_columns' if shape[1] is None else shape[1]})"
    if not plain:
        found = type(values).__name__ + (f" of {values.dtype}" if isinstance(values, np.ndarray) else "")
        kind = "a csr_array of float32" if sparse else f"a NumPy array {wanted} of {', '.join(DTYPES)}"
        raise ModelError(f"{where} is {found}, but must be {kind}")
    raise ModelError(
        f"{where} has shape {values.shape}, but must have {wanted}: {rows_and_columns}, padding included"
    )


def _is_plain(values: Any) -> bool:
    """Whether compiled loops take these values: no masked array, no half precision, no foreign byte order."""
    return type(values) is np.ndarray and values.dtype in _DTYPES


def _is_lists(values: Any) -> bool:
    from scipy.sparse import csr_array

    return isinstance(values, csr_array) and values.dtype == np.float32 and values.has_sorted_indices


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
    doc_topics: np.ndarray = result.doc_topics
    if not _is_plain(doc_topics) or doc_topics.shape != (docs.n_docs, n):
        kind, is_array = type(doc_topics).__name__, isinstance(doc_topics, np.ndarray)
        found = f"of shape {doc_topics.shape}, {kind} of {doc_topics.dtype}" if is_array else f"as {kind}"
        raise ModelError(
            f"{where} returned doc_topics {found}, but must return a NumPy array ({docs.n_docs}, {n}) where "
            "hyper.doc_topics is true: documents by topics, no padding"
        )
    good = (np.abs(doc_topics.sum(axis=1) - 1.0) <= _SLACK) & (doc_topics.min(axis=1) >= -_SLACK)
    if not good.all():
        raise ModelError(
            f"{where} returned the topics {doc_topics[np.argmin(good)]!s:.60} for a document, which are not a "
            "distribution: give each document numbers from 0 that add up to 1. Look for a division by 0, a logarithm "
            "of 0 or an overflow in the kernel"
        )
    return doc_topics


def check_scratch(kernel: Kernel, scratch: Any) -> Scratch:
    """The memory that a kernel declares. Raises ModelError like `check_result`."""
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
    """The cost that a kernel declares. Raises ModelError like `check_result`."""
    if _is_size(cost):
        return float(cost)
    raise ModelError(f"kernel {kernel.name!r}: cost returned {cost!r:.60}, but must return a number from 0")


def _is_size(value: Any) -> bool:
    return is_number(value) and 0 <= value < np.inf
