"""Checks of what a method, its model, its kernels and its schemes declare, before anything is computed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec
from bigtopic.runtime.row_arrays import DTYPES
from bigtopic.schemes import companion_names
from bigtopic.types import Kernel, StateSpec

__all__ = ["check_method", "check_slice_size", "check_specs"]

_FORMS = ("mean", "expected_log", "counts")
_LIVES = ("none", "round", "run")
_ROWS = ("entry", "token", "document")
_DISTRIBUTIONS = ("gamma", "uniform")
_NORMALISED = ("axis", "components", None)
_DTYPES = ("float32", "float64", "int32", "int64")  # the compiled loops on arrays are of these
_WHOLE = {
    "batch_size": 1,
    "least_rounds": 1,
    "slice_size": 1,
    "delay": 0,
    "inner": 1,
    "max_iter": 1,
    "enough_rounds": 1,
}
_OPTIONAL = ("batch_size", "slice_size", "enough_rounds")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


def check_specs(method: Method) -> None:
    """Check the declarations of arrays, and of the companions that schemes request.

    Raises
    ------
    SettingError
        When an object is not an `ArraySpec` or not a scheme, or a name is unknown; lists the known names.
    """
    _check_numbers(method)
    for name, spec in method.model.arrays.items():
        _check_array(f"array {name!r}", spec, method.model.components)
    for name, scheme in method.schemes.items():
        where = f"method {method.name!r}: schemes[{name!r}]"
        _check_scheme(where, scheme)
        _check_dtype(where, getattr(scheme, "dtype", _DTYPES[0]))
        companions = getattr(scheme, "companions", {})
        if not isinstance(companions, Mapping):
            raise SettingError(f"{where} has companions={companions!r}, but must have {{name: ArraySpec}}")
        for companion, path in companion_names(name, scheme).items():
            if not _NAME.fullmatch(str(companion)):
                raise SettingError(
                    f"{where}: companions has the name {companion!r}; give one of letters, digits and underscores"
                )
            _check_array(f"array {path!r}", companions[companion], method.model.components)


def _check_scheme(where: str, scheme: Any) -> None:
    if isinstance(scheme, type) or not callable(getattr(scheme, "step", None)):
        raise SettingError(f"{where} is {scheme!r}, but must be an object with a method step, such as Add()")


def _check_numbers(method: Method) -> None:
    for name, least in _WHOLE.items():
        value = getattr(method, name)
        optional = name in _OPTIONAL and value is None
        rule = name == "inner" and callable(value)
        if not (optional or rule or (_is_whole(value) and value >= least)):
            raise SettingError(
                f"method {method.name!r}: {name}={value!r} must be a whole number from {least}"
            )
    if not (_is_number(method.tol) and 0 <= method.tol < np.inf):
        raise SettingError(f"method {method.name!r}: tol={method.tol!r} must be a number from 0")


def _check_array(where: str, spec: Any, counts: Iterable[str]) -> None:
    if not isinstance(spec, ArraySpec):
        raise SettingError(f"{where} is {spec!r}, but must be an ArraySpec")
    columns: Any = spec.columns
    if columns not in counts and not (isinstance(columns, int) and columns >= 1):
        raise SettingError(f"{where} has columns={columns!r}; {_choose((*counts, 'a number from 1'))}")
    if spec.normalised_over not in _NORMALISED:
        raise SettingError(f"{where} has normalised_over={spec.normalised_over!r}; {_choose(_NORMALISED)}")
    _check_dtype(where, spec.dtype)


def _check_dtype(where: str, dtype: Any) -> None:
    try:
        known = np.dtype(dtype) in map(np.dtype, _DTYPES)
    except TypeError:
        known = False
    if not known:
        raise SettingError(f"{where} has dtype={dtype!r}; {_choose(_DTYPES)}")


def check_method(method: Method, arrays: Mapping[str, ArraySpec]) -> None:
    """Check that the arrays, priors and options that a method, its kernels and its schemes name exist.

    Parameters
    ----------
    arrays : arrays of the model and companions of the schemes, as they will be made

    Raises
    ------
    SettingError
        When a name is unknown, with the known names, or statistics have no scheme.
    """
    where, kernel, inference = f"method {method.name!r}", method.load_kernel(), method.load_inference()
    for each in {id(k): k for k in (kernel, inference)}.values():
        _check_kernel(each, arrays, method.model.components)
    for name in method.schemes:
        if name not in kernel.statistics:
            raise SettingError(
                f"{where}: schemes[{name!r}]: kernel {kernel.name!r} has no such statistics; "
                f"{_choose({**kernel.statistics, **kernel.offers})}"
            )
    idle = [name for name in kernel.statistics if name not in method.schemes]
    if idle:
        raise SettingError(
            f"{where}: kernel {kernel.name!r} returns statistics of {', '.join(idle)}, which no scheme moves; give "
            "each a scheme"
        )
    _check_prior_schemes(method, kernel, arrays)
    _check_starts(method, arrays)
    priors = {spec.prior: None for spec in method.model.arrays.values() if spec.prior}
    for what, names, known in (
        ("priors", method.priors, priors),
        ("options", method.options, {**kernel.options, **inference.options}),
    ):
        for name in names:
            if name not in known:
                raise SettingError(f"{where}: {what} has the name {name!r}; {_choose(known)}")


def _check_prior_schemes(method: Method, kernel: Kernel, arrays: Mapping[str, ArraySpec]) -> None:
    fit = [
        name
        for name in kernel.posteriors
        if name in method.schemes and arrays[name].prior and arrays[name].normalised_over == "axis"
    ]
    for name, scheme in method.prior_schemes.items():
        where = f"method {method.name!r}: prior_schemes[{name!r}]"
        if name not in fit:
            raise SettingError(
                f"{where}: the prior of this array cannot be learned with kernel {kernel.name!r}; {_choose(fit)}"
            )
        _check_scheme(where, scheme)


def _check_starts(method: Method, arrays: Mapping[str, ArraySpec]) -> None:
    for name in method.init:
        if name not in method.model.arrays:
            raise SettingError(
                f"method {method.name!r}: init[{name!r}]: there is no such array; {_choose(method.model.arrays)}"
            )
    for name, spec in arrays.items():
        where = f"method {method.name!r}: init[{name!r}]" if name in method.init else f"array {name!r}: start"
        if spec.start is not None:
            _check_start(f"{where}={spec.start!r}", spec.start)
            if np.dtype(spec.dtype).kind == "i" and spec.start[1] != 0:
                raise SettingError(
                    f"array {name!r} of {spec.dtype} has start={spec.start!r}, but integers begin as zeros; give "
                    f"init={{{name!r}: None}} to the method"
                )


def _check_start(where: str, start: Any) -> None:
    if not isinstance(start, tuple | list) or len(start) != 2:
        raise SettingError(f"{where} must be (distribution, share), or None for zeros")
    distribution, share = start
    if distribution not in _DISTRIBUTIONS:
        raise SettingError(f"{where} has the distribution {distribution!r}; {_choose(_DISTRIBUTIONS)}")
    if share is not None and not (_is_number(share) and 0 <= share < np.inf):
        raise SettingError(
            f"{where} has the share {share!r}; give a number from 0, or None for entries as drawn"
        )


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


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
    if kernel.components not in (*counts, None):
        raise SettingError(f"{where}: components={kernel.components!r}; {_choose((*counts, None))}")
    _check_name_of_dtype(f"{where}: statistics have", kernel.dtype)
    if kernel.state not in _LIVES:
        raise SettingError(f"{where}: state={kernel.state!r}; {_choose(_LIVES)}")
    if (kernel.state == "none") == bool(kernel.remembers):
        raise SettingError(
            f"{where}: state={kernel.state!r} and remembers={dict(kernel.remembers)!r}; give both, or neither"
        )
    for name, spec in kernel.remembers.items():
        if not _NAME.fullmatch(str(name)):
            raise SettingError(
                f"{where}: remembers has the name {name!r}; give one of letters, digits and underscores"
            )
        _check_state(f"{where}: remembers[{name!r}]", spec, (*counts, *kernel.options))


def _check_state(where: str, spec: Any, sizes: Iterable[str]) -> None:
    if not isinstance(spec, StateSpec):
        raise SettingError(f"{where} is {spec!r}, but must be a StateSpec")
    if spec.rows not in _ROWS:
        raise SettingError(f"{where} has rows={spec.rows!r}; {_choose(_ROWS)}")
    sizes = ("n_components", *sizes)
    if not isinstance(spec.shape, tuple):
        raise SettingError(
            f"{where} has shape={spec.shape!r}, but must have a tuple, such as ('n_components',)"
        )
    size: Any
    for size in spec.shape:
        if size not in sizes and not (_is_whole(size) and size >= 1):
            raise SettingError(f"{where} has {size!r} in its shape; {_choose((*sizes, 'a number from 1'))}")
    if spec.dtype not in DTYPES:
        raise SettingError(f"{where} has dtype={spec.dtype!r}; {_choose(DTYPES)}")
    if not _holds(spec.dtype, spec.missing):
        raise SettingError(f"{where} has missing={spec.missing!r}, which {spec.dtype} cannot hold")


def _holds(dtype: str, value: Any) -> bool:
    """Whether a number is finite and one of the dtype, to within rounding."""
    if not (_is_number(value) or isinstance(value, bool)) or not np.isfinite(value):
        return False
    limits = {"i": np.iinfo, "u": np.iinfo, "f": np.finfo}.get(np.dtype(dtype).kind)
    if limits is None:
        return value in (0, 1)
    whole = np.dtype(dtype).kind == "f" or value == int(value)
    return bool(whole and limits(dtype).min <= value <= limits(dtype).max)


def _check_name_of_dtype(where: str, dtype: Any) -> None:
    try:
        np.dtype(dtype)
    except TypeError:
        raise SettingError(f"{where} dtype={dtype!r}; give NumPy's name of one, such as 'int16'") from None


def check_slice_size(kernel: Kernel, slice_size: int | None) -> None:
    """Check that the slice size is given if the result depends on it. Raises SettingError like `check_method`."""
    if kernel.interacts and slice_size is None:
        raise SettingError(
            f"kernel {kernel.name!r} has interacts=True: the documents of a call influence each other, so their number "
            "is a setting of the method; give it a slice_size"
        )


def _choose(names: Iterable[Any]) -> str:
    return f"choose one of: {', '.join(map(str, names)) or 'none'}"
