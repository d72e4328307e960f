"""Checks of what a method, its model, its kernels and its schemes declare, before anything is computed.

What they allow can be saved and loaded: names and settings follow the rules of `model_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np

from bigtopic import schemes
from bigtopic.errors import SettingError, argument
from bigtopic.methods import Method
from bigtopic.models.base import DOC_TOPIC_PRIOR, ArraySpec, Model
from bigtopic.state.contract.array_declarations import array_specs, check_model, check_scheme
from bigtopic.state.contract.declaration_rules import (
    check_arguments,
    check_kinds,
    check_storable,
    choose,
    is_number,
    is_whole,
)
from bigtopic.state.contract.kernel_declarations import check_kernel, check_lengths
from bigtopic.state.stored.model_rules import METHOD_NAME, SETTINGS, plain
from bigtopic.types import Kernel, Scheme

__all__ = ["check_method", "check_options"]

_DISTRIBUTIONS = ("gamma", "uniform", "even", "diagonal", "documents")
_COUNTED = ("word", "column", "author")  # axes whose documents are counted
_OF_METHOD = {
    "kernel": ((str, Kernel), "the name of a kernel, or a Kernel"),
    "inference": ((str, Kernel, NoneType), "the name of a kernel, a Kernel, or None"),
    "schemes": (Mapping, "{array name: scheme}"),
    "prior_schemes": (Mapping, "{array name: scheme}"),
    "prior_learner": (type, "the class of a scheme, such as Newton"),
    "model": (Model, "a Model"),
    "priors": (Mapping, "{name of a prior: number or function}"),
    "init": (Mapping, "{array name: (distribution, share)}"),
    "options": (Mapping, "{name: value}"),
    "summary": (str, "text"),
    "paper": (str, "text"),
    "complexity": (str, "text"),
    "use": (str, "text"),
    "aliases": (tuple, 'a tuple of texts, such as ("ope:Online-VB",)'),
}
_WHOLE = {
    "batch_size": 1,
    "least_rounds": 1,
    "slice_size": 1,
    "inner": 1,
    "max_iter": 1,
    "enough_rounds": 1,
}
_OPTIONAL = ("batch_size", "slice_size", "enough_rounds")
_KINDS = {float: (float, int), int: (int,), bool: (bool,), str: (str,)}  # of options, by their defaults


def check_method(method: Method) -> None:
    """Check what a method declares, and that the arrays, priors and options that it names exist.

    Raises
    ------
    SettingError
        When a value is of the wrong type or not allowed, a name is unknown, or statistics have no scheme; names the
        method, kernel, scheme or array, the value found, and the allowed values.
    """
    if not isinstance(method, Method):
        raise SettingError(f"{argument('method', method)} must be a bigtopic.Method")
    check_storable("a method's name", method.name, METHOD_NAME)
    where = f"method {method.name!r}"
    check_kinds(where, method, _OF_METHOD)
    _check_numbers(where, method)
    check_model(method.model)
    for name, scheme in method.schemes.items():
        check_scheme(f"{where}: schemes[{name!r}]", name, scheme, method.model)
    arrays = array_specs(method)
    kernel, inference = method.load_kernel(), method.load_inference()
    for each in {id(k): k for k in (kernel, inference)}.values():
        check_kernel(each, arrays, method.model.components)
    _check_schemes(where, method, kernel)
    _check_prior_schemes(where, method, kernel, arrays)
    _check_starts(where, method, arrays)
    _check_names(where, method, {**kernel.options, **inference.options})
    check_options(method, method.kernel_options({}))


def _check_numbers(where: str, method: Method) -> None:
    for name, least in _WHOLE.items():
        value = getattr(method, name)
        optional = name in _OPTIONAL and value is None
        rule = name == "inner" and callable(value)
        if not (optional or rule or (is_whole(value) and value >= least)):
            raise SettingError(f"{where}: {argument(name, value)} must be a whole number from {least}")
    if callable(method.inner):
        check_arguments(f"{where}: inner", method.inner, "iteration", "info")
    for name, prior in method.priors.items():
        if callable(prior):
            check_arguments(f"{where}: priors[{name!r}]", prior, "n_components")
    if not (is_number(method.tol) and 0 <= method.tol < np.inf):
        raise SettingError(f"{where}: tol={method.tol!r} must be a number from 0")
    if not (is_number(method.average) and 0 <= method.average <= 1):
        raise SettingError(
            f"{where}: {argument('average', method.average)} must be a share of the updates, from 0 to 1"
        )


def _check_schemes(where: str, method: Method, kernel: Kernel) -> None:
    if not kernel.statistics:
        raise SettingError(
            f"{where}: kernel {kernel.name!r} returns no statistics, so there is nothing to learn"
        )
    for name in method.schemes:
        if name not in kernel.statistics:
            raise SettingError(
                f"{where}: schemes[{name!r}]: kernel {kernel.name!r} has no such statistics; "
                f"{choose({**kernel.statistics, **kernel.offers})}"
            )
    idle = [name for name in kernel.statistics if name not in method.schemes]
    if idle:
        raise SettingError(
            f"{where}: kernel {kernel.name!r} returns statistics of {', '.join(idle)}, which no scheme moves; give "
            "each a scheme"
        )
    for name, scheme in method.schemes.items():
        _check_fit(f"{where}: schemes[{name!r}]={scheme!r}", name, scheme, method.model, kernel)
        for other in getattr(scheme, "reads", ()):
            if other not in method.schemes:
                raise SettingError(
                    f"{where}: schemes[{name!r}]={scheme!r} reads the statistics of {other!r}, which no scheme of the "
                    f"method has; {choose(method.schemes)}, or give {other!r} a scheme, such as Keep()"
                )


def _check_fit(where: str, name: str, scheme: Scheme, model: Model, kernel: Kernel) -> None:
    """Check that the scheme makes sense of these statistics, and of this array."""
    prior, misfit = model.arrays[name].prior, _misfit(name, scheme, kernel)
    if misfit:
        known = {each: schemes.load(each) for each in schemes.names()}
        fit = [
            each
            for each, other in known.items()
            if not _misfit(name, other, kernel) and (prior is None or not getattr(other, "own_prior", False))
        ]
        raise SettingError(f"{where}: {misfit}; {choose(fit)}")
    if prior is not None and getattr(scheme, "own_prior", False):
        raise SettingError(
            f"{where}: it has the prior of {name!r} as a setting, but the array adds its own, {prior}; give a model "
            "whose array has prior=None, as in bigtopic.models.lda_samples"
        )


def _misfit(name: str, scheme: Any, kernel: Kernel) -> str:
    """Why the scheme, or its class, makes no sense of the statistics of array `name`; "" if it does."""
    if getattr(scheme, "sets_prior", False):
        return "this scheme sets the prior of its array and does not use statistics; give it in prior_schemes"
    if name in kernel.changes and not getattr(scheme, "takes_changes", False):
        return f"kernel {kernel.name!r} returns changes of counts, and this scheme would take them for the counts"
    if getattr(scheme, "takes_expected_logs", False) and name != DOC_TOPIC_PRIOR:
        return f"this scheme takes sums of E[log theta], which those of {name!r} are not"
    return ""


def _check_prior_schemes(where: str, method: Method, kernel: Kernel, arrays: Mapping[str, ArraySpec]) -> None:
    for name, scheme in method.prior_schemes.items():
        over = "components" if getattr(scheme, "of_rows", False) else "axis"
        fit = [
            each
            for each in kernel.posteriors
            if each in method.schemes and arrays[each].prior and arrays[each].normalised_over == over
        ]
        here = f"{where}: prior_schemes[{name!r}]"
        if name not in fit:
            raise SettingError(
                f"{here}: the prior of this array cannot be learned with kernel {kernel.name!r}; {choose(fit)}"
            )
        check_scheme(here, name, scheme, method.model)


def _check_starts(where: str, method: Method, arrays: Mapping[str, ArraySpec]) -> None:
    for name in method.init:
        if name not in method.model.arrays:
            raise SettingError(
                f"{where}: init[{name!r}]: there is no such array; {choose(method.model.arrays)}"
            )
    for name, spec in arrays.items():
        of_array = f"{where}: init[{name!r}]" if name in method.init else f"array {name!r}: start"
        if spec.start is not None:
            _check_start(f"{of_array}={spec.start!r}", spec.start)
            _check_documents(f"{of_array}={spec.start!r}", spec)
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
        raise SettingError(f"{where} has the distribution {distribution!r}; {choose(_DISTRIBUTIONS)}")
    if share is not None and not (is_number(share) and 0 <= share < np.inf):
        raise SettingError(
            f"{where} has the share {share!r}; give a number from 0, or None for entries as drawn"
        )


def _check_documents(where: str, spec: ArraySpec) -> None:
    if spec.start is None or spec.start[0] != "documents":
        return
    if spec.rows not in _COUNTED or spec.columns != 1 or spec.start[1] is not None:
        raise SettingError(
            f"{where}: documents are counted, with the share None, for arrays of one column whose rows are "
            f"{', '.join(_COUNTED)}"
        )


def _check_names(where: str, method: Method, options: Mapping[str, Any]) -> None:
    priors = {spec.prior: None for spec in method.model.arrays.values() if spec.prior}
    for what, names, known in (("priors", method.priors, priors), ("options", method.options, options)):
        for name in names:
            if name not in known:
                raise SettingError(f"{where}: {what} has the name {name!r}; {choose(known)}")


def check_options(method: Method, options: Mapping[str, Any]) -> None:
    """Check the options of a method's kernels: each of the kind of its default, and lengths from 1.

    Parameters
    ----------
    options : all of them, see `Method.kernel_options`

    Raises
    ------
    SettingError
        Like `check_method`.
    """
    where, kernel, inference = f"method {method.name!r}", method.load_kernel(), method.load_inference()
    check_storable(f"{where}: options", options, SETTINGS)
    for name, default in plain({**inference.options, **kernel.options}).items():
        value = plain(options[name])
        if type(value) not in _KINDS.get(type(default), (type(value),)):
            raise SettingError(
                f"{where}: option {name} is {value!r:.60}, but must be like its default, {default!r}"
            )
    for each in (kernel, inference):
        check_lengths(each, options, method.model.components)
