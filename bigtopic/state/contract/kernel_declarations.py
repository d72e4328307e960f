"""What a kernel may declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.models.base import ArraySpec
from bigtopic.state.contract.declaration_rules import (
    check_arguments,
    check_dtype,
    check_kinds,
    check_storable,
    choose,
    is_number,
    is_whole,
)
from bigtopic.state.stored.model_rules import METHOD_NAME, NAME, SETTINGS
from bigtopic.storage.row_arrays import DTYPES
from bigtopic.types import Bound, Kernel, SliceLoop, StateSpec

__all__ = ["check_kernel", "check_lengths", "check_slice_size", "statistics_dtype"]

_FORMS = ("mean", "expected_log", "counts", "stored")
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
        if getattr(kernel, name) is not None:
            check_arguments(f"{where}: {name}", getattr(kernel, name), *arguments)
    _check_arrays(where, kernel, arrays)
    if kernel.components not in (*counts, None):
        raise SettingError(f"{where}: components={kernel.components!r}; {choose((*counts, None))}")
    check_storable(f"{where}: options", kernel.options, SETTINGS)
    for name, text in kernel.meanings.items():
        if name not in kernel.options or not isinstance(text, str):
            raise SettingError(
                f"{where}: meanings[{name!r}]={text!r:.60} must be text about one of its options"
            )
    statistics_dtype(kernel, kernel.options)
    if kernel.state not in _LIVES:
        raise SettingError(f"{where}: state={kernel.state!r}; {choose(_LIVES)}")
    if kernel.whole_minibatches and kernel.state == "run":
        raise SettingError(
            f"{where}: whole_minibatches=True and state='run': documents that are remembered keep topics aligned; give "
            "whole_minibatches=False, or another state"
        )
    if (kernel.state == "none") == bool(kernel.remembers):
        raise SettingError(
            f"{where}: state={kernel.state!r} and remembers={dict(kernel.remembers)!r}; give both, or neither"
        )
    for name, spec in kernel.remembers.items():
        check_storable(f"{where}: a name in remembers", name, NAME)
        _check_state(f"{where}: remembers[{name!r}]", spec, (*counts, *kernel.options))


def _check_arrays(where: str, kernel: Kernel, arrays: Mapping[str, ArraySpec]) -> None:
    for what, names in (("views", kernel.views), ("statistics", kernel.statistics)):
        for name in names:
            if name not in arrays:
                raise SettingError(f"{where}: {what} names the array {name!r}; {choose(arrays)}")
    for name, form in kernel.views.items():
        if form not in _FORMS:
            raise SettingError(f"{where}: views[{name!r}]={form!r}; {choose(_FORMS)}")
    for name, axis in kernel.statistics.items():
        if axis != arrays[name].rows:
            raise SettingError(
                f"{where}: statistics[{name!r}]={axis!r}, but the model's ArraySpec of this array has "
                f"rows={arrays[name].rows!r}; if one of them is misspelt, correct it: both must name the same axis"
            )


def _check_state(where: str, spec: Any, sizes: Iterable[str]) -> None:
    if not isinstance(spec, StateSpec):
        raise SettingError(f"{where} is {spec!r}, but must be a StateSpec")
    if spec.rows not in _ROWS:
        raise SettingError(f"{where} has rows={spec.rows!r}; {choose(_ROWS)}")
    sizes = ("n_components", *sizes)
    if not isinstance(spec.shape, tuple):
        raise SettingError(
            f"{where} has shape={spec.shape!r}, but must have a tuple, such as ('n_components',)"
        )
    size: Any
    for size in spec.shape:
        if size not in sizes and not (is_whole(size) and size >= 1):
            raise SettingError(f"{where} has {size!r} in its shape; {choose((*sizes, 'a number from 1'))}")
    if spec.dtype not in DTYPES:
        raise SettingError(f"{where} has dtype={spec.dtype!r}; {choose(DTYPES)}")
    if not _holds(spec.dtype, spec.missing):
        raise SettingError(f"{where} has missing={spec.missing!r}, which {spec.dtype} cannot hold")


def _holds(dtype: str, value: Any) -> bool:
    """Whether a number is finite and one of the dtype, to within rounding."""
    if not (is_number(value) or isinstance(value, bool)) or not np.isfinite(value):
        return False
    limits = {"i": np.iinfo, "u": np.iinfo, "f": np.finfo}.get(np.dtype(dtype).kind)
    if limits is None:
        return value in (0, 1)
    whole = np.dtype(dtype).kind == "f" or value == int(value)
    return bool(whole and limits(dtype).min <= value <= limits(dtype).max)


def statistics_dtype(kernel: Kernel, options: Mapping[str, Any]) -> np.dtype:
    """The dtype of the statistics with these options. Raises SettingError like `check_kernel`."""
    where, dtype = f"kernel {kernel.name!r}, of its statistics,", kernel.dtype
    if callable(dtype):
        check_arguments(f"kernel {kernel.name!r}: dtype", dtype, "options")
        dtype = dtype(options)
    check_dtype(where, dtype)
    return np.dtype(dtype)


def check_lengths(kernel: Kernel, options: Mapping[str, Any], counts: Iterable[str]) -> None:
    """Check the options that are lengths of document state. Raises SettingError like `check_kernel`."""
    for spec in kernel.remembers.values():
        for name in {size for size in spec.shape if isinstance(size, str)}.intersection(options) - {*counts}:
            if not (is_whole(options[name]) and options[name] >= 1):
                raise SettingError(
                    f"option {name} is {options[name]!r}, but kernel {kernel.name!r} remembers as many numbers: "
                    "give a whole number from 1"
                )


def check_slice_size(kernel: Kernel, slice_size: int | None, batch_size: int | None) -> None:
    """Check that the slice size is given if the result depends on it, and that it is not less than the batch size, None
    for the whole corpus, where the kernel needs whole minibatches. Raises SettingError like `check_kernel`."""
    if kernel.whole_minibatches:
        if slice_size is not None and (batch_size is None or slice_size < batch_size):
            raise SettingError(
                f"slice_size={slice_size}: kernel {kernel.name!r} needs a whole minibatch in each call, because the "
                "topics of two calls begin unaligned and cannot be added; leave slice_size out, or give "
                f"{argument('batch_size', slice_size)} for smaller minibatches"
            )
        return
    if kernel.interacts and slice_size is None:
        raise SettingError(
            f"kernel {kernel.name!r} has interacts=True: the documents of a call influence each other, so their number "
            "is a setting of the method; give it a slice_size"
        )
