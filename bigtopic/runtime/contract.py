"""What a method declares and what its kernel returns, compared with what the runtime will do with it. Statistics go to
compiled loops, which look at no bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bigtopic.errors import ModelError, SettingError
from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["check_doc_topics", "check_method", "check_result", "check_state"]

_FORMS = ("mean", "expected_log", "counts")
_LIVES = ("none", "round", "run")
_ROWS = ("entry", "token", "document")


def check_method(method: Method, arrays: Mapping[str, ArraySpec]) -> None:
    """Whether kernels and schemes speak of arrays that the model has, on their axes.

    Raises
    ------
    SettingError
        For a name that is not known; with those that are.
    """
    kernel = method.load_kernel()
    counts = method.model.components
    for name, spec in arrays.items():
        if isinstance(spec.columns, str) and spec.columns not in counts:
            raise SettingError(
                f"array {name!r} has columns={spec.columns!r}: {_choose((*counts, 'a number'))}"
            )
    for each in {id(k): k for k in (kernel, method.load_inference())}.values():
        _check_kernel(each, arrays, counts)
    for name, scheme in method.schemes.items():
        where = f"method {method.name!r}: schemes[{name!r}]"
        if name not in kernel.statistics:
            raise SettingError(
                f"{where}: kernel {kernel.name!r} has no such statistics; {_choose(kernel.statistics)}"
            )
        if isinstance(scheme, type) or not callable(getattr(scheme, "step", None)):
            raise SettingError(
                f"{where} is {scheme!r}, but must be an object with a method step, such as Add()"
            )


def _check_kernel(kernel: Kernel, arrays: Mapping[str, ArraySpec], counts: Iterable[str]) -> None:
    where = f"kernel {kernel.name!r}"
    for what, names in (("views", kernel.views), ("statistics", kernel.statistics)):
        for name in names:
            if name not in arrays:
                raise SettingError(f"{where}: {what} names the array {name!r}; {_choose(arrays)}")
    for name, form in kernel.views.items():
        if form not in _FORMS:
            raise SettingError(f"{where}: views[{name!r}]={form!r}; {_choose(_FORMS)}")
    for name, axis in kernel.statistics.items():
        if axis != arrays[name].rows:
            raise SettingError(
                f"{where}: statistics[{name!r}]={axis!r}, but the rows of this array are on axis "
                f"{arrays[name].rows!r}; give that"
            )
    if kernel.state not in _LIVES:
        raise SettingError(f"{where}: state={kernel.state!r}; {_choose(_LIVES)}")
    if (kernel.state == "none") == bool(kernel.remembers):
        raise SettingError(
            f"{where}: state={kernel.state!r} and remembers={dict(kernel.remembers)!r}; give both, or neither"
        )
    for name, spec in kernel.remembers.items():
        _check_spec(f"{where}: remembers[{name!r}]", spec, (*counts, *kernel.options))


def _check_spec(where: str, spec: Any, sizes: Iterable[str]) -> None:
    if not isinstance(spec, StateSpec):
        raise SettingError(f"{where} is {spec!r}, but must be a StateSpec")
    if spec.rows not in _ROWS:
        raise SettingError(f"{where} has rows={spec.rows!r}; {_choose(_ROWS)}")
    sizes = ("n_components", *sizes)
    for size in spec.shape:
        if isinstance(size, str) and size not in sizes:
            raise SettingError(f"{where} has {size!r} in its shape; {_choose((*sizes, 'a number'))}")
    try:
        np.dtype(spec.dtype)
    except TypeError:
        raise SettingError(
            f"{where} has dtype={spec.dtype!r}; give NumPy's name of one, such as 'int16'"
        ) from None


def check_result(
    kernel: Kernel, result: Any, view: View, hyper: Hyper, axes: Mapping[str, np.ndarray | None]
) -> None:
    """Whether statistics have the rows of the documents' ids, and the columns of the view.

    Raises
    ------
    ModelError
        With what was returned and what is wanted.
    """
    where = f"kernel {kernel.name!r}"
    if not isinstance(result, KernelResult):
        raise ModelError(f"{where} returned {type(result).__name__}, but must return a KernelResult")
    for name, axis in kernel.statistics.items():
        if name not in result.stats:
            raise ModelError(
                f"{where} declares the statistics {name!r} and did not return them; it returned: "
                + (", ".join(result.stats) or "none")
            )
        values, ids = result.stats[name], axes.get(axis)
        n_rows = hyper.axis_sizes[axis] if ids is None else len(ids)
        viewed = view.arrays.get(name)
        wanted = f"({n_rows}, {'n_columns' if viewed is None else viewed.shape[1]})"
        if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
            found = f"of {values.dtype}" if isinstance(values, np.ndarray) else type(values).__name__
            raise ModelError(f"{where}: stats[{name!r}] is {found}, but must be a float array {wanted}")
        shape = (n_rows, values.shape[-1:] if viewed is None else viewed.shape[1:])
        if values.ndim != 2 or (values.shape[0], values.shape[1:]) != shape:
            raise ModelError(
                f"{where}: stats[{name!r}] has shape {values.shape}, but must have {wanted}: a row for each local id "
                f"of axis {axis!r}, and the view's columns, padding included"
            )
    if kernel.state == "run" and result.state is None:
        raise ModelError(
            f"{where} has state='run', but returned no state; return {_names(kernel.remembers)} in it"
        )


def check_state(name: str, values: Any, spec: StateSpec, n_rows: int) -> None:
    """Whether an array of documents' state is as declared. Raises ModelError as `check_result`."""
    wanted = (n_rows, *spec.shape)
    if getattr(values, "shape", None) != wanted or values.dtype != spec.dtype:
        found = f"{values.dtype} {values.shape}" if isinstance(values, np.ndarray) else type(values).__name__
        raise ModelError(
            f"the kernel returned state[{name!r}] as {found}, but declares {np.dtype(spec.dtype)} {wanted}: a row for "
            f"each {spec.rows}"
        )


def check_doc_topics(kernel: Kernel, docs: Docs, hyper: Hyper, doc_topics: np.ndarray | None) -> np.ndarray:
    """Topics of each document, when they are there. Raises ModelError as `check_result`."""
    n = hyper.components[kernel.components] if kernel.components else hyper.n_components
    if doc_topics is None or doc_topics.shape != (docs.n_docs, n):
        raise ModelError(
            f"kernel {kernel.name!r} returned doc_topics "
            + ("None" if doc_topics is None else f"of shape {doc_topics.shape}")
            + f", but must return ({docs.n_docs}, {n}) where hyper.doc_topics is true: documents by topics, no padding"
        )
    return doc_topics


def _choose(names: Iterable[str]) -> str:
    return f"choose one of: {_names(names)}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(str, names)) or "none"
