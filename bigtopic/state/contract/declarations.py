"""Checks of what a method, its model, its kernels and its schemes declare, before anything is computed.

What they allow can be saved and loaded: names and settings follow the rules of a stored model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np

from bigtopic import schemes
from bigtopic.errors import SettingError, argument
from bigtopic.methods import Method
from bigtopic.models.base import DOC_TOPIC_PRIOR, ArraySpec, Model
from bigtopic.state.contract.kernels import check_kernel, check_lengths
from bigtopic.state.contract.rules import (
    ARRAY_NAME,
    METHOD_NAME,
    NAME,
    SETTINGS,
    SIZE,
    check_arguments,
    check_dtype,
    check_kinds,
    check_storable,
    choose,
    plain,
    require,
)
from bigtopic.state.running_mean import COUNT, MEAN, specs
from bigtopic.support.numbers import is_number, is_whole
from bigtopic.types import Kernel, Scheme

__all__ = ["array_specs", "check_method", "check_model", "check_options", "check_scheme"]

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
    "phase": (str, "text"),
    "then": (tuple, "a tuple of methods, the phases after this one"),
}
_WHOLE = ("batch_size", "least_rounds", "slice_size", "inner", "max_iter", "enough_rounds")  # from 1
_OPTIONAL = ("batch_size", "slice_size", "enough_rounds")
_KINDS = {float: (float, int), int: (int,), bool: (bool,), str: (str,)}  # of options, by their defaults
_NORMALISED = ("axis", "components", None)
_KNOWN_AXES = ("none", "word", "column", "author", "row")
_OF_MODEL = {
    "name": (str, "text"),
    "arrays": (Mapping, "{name: ArraySpec}"),
    "components": (tuple, "a tuple of names, such as ('topic',)"),
    "mixing": ((str, NoneType), "the name of an array, or None"),
}
_OF_ARRAY = {
    "rows": (str, "the name of an axis"),
    "prior": ((str, NoneType), "the name of a setting, or None"),
}


def check_method(method: Method) -> None:
    """Check what a method declares, and that the arrays, priors and options that it names exist.

    Raises
    ------
    SettingError
        When a value is of the wrong type or not allowed, a name is unknown, or statistics have no scheme; names the
        method, kernel, scheme or array, the value found, and the allowed values.
    """
    require(isinstance(method, Method), f"{argument('method', method)} must be a bigtopic.Method")
    check_storable("a method's name", method.name, METHOD_NAME)
    where = f"method {method.name!r}"
    _check_one(where, method)
    if method.then:
        _check_phases(where, method)


def _check_one(where: str, method: Method) -> None:
    """Check a method without the phases after it."""
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
    for name in method.init:
        require(
            name in method.model.arrays,
            f"{where}: init[{name!r}]: there is no such array; {choose(method.model.arrays)}",
        )
    for name, spec in arrays.items():
        _check_start(
            f"{where}: init[{name!r}]" if name in method.init else f"array {name!r}: start", name, spec
        )
    priors = {spec.prior: None for spec in method.model.arrays.values() if spec.prior}
    options = {**kernel.options, **inference.options}
    for what, names, known in (("priors", method.priors, priors), ("options", method.options, options)):
        for name in names:
            require(name in known, f"{where}: {what} has the name {name!r}; {choose(known)}")
    check_options(method, method.kernel_options({}))


def _check_phases(where: str, method: Method) -> None:
    """Check the phases of a method: each a method of its own, on the arrays of the first, that can be told by name."""
    names = [method.phase]
    for number, phase in enumerate(method.then):
        here = f"{where}: then[{number}]"
        require(isinstance(phase, Method), f"{here} is {phase!r:.60}, but must be a Method")
        require(
            phase.name == method.name,
            f"{here}: name={phase.name!r:.60}, but phases have the name of their method; give {method.name!r}",
        )
        _check_one(here, phase)
        require(
            phase.model == method.model,
            f"{here}: its model {phase.model.name!r} differs from the model of the first phase, "
            f"{method.model.name!r}; give that",
        )
        require(
            not phase.then, f"{here}: then={phase.then!r:.60}, but must be (); give all phases to the first"
        )
        names.append(phase.phase)
    taken = {*method.model.arrays, *(spec.prior for spec in method.model.arrays.values())}
    for number, name in enumerate(names):
        here = f"{where}: then[{number - 1}]" if number else where
        check_storable(f"{here}: phase", name, NAME)  # in front of the dot in names of options, as arrays are
        require(
            name not in taken, f"{here}: phase={name!r} is the name of another phase, an array or a prior"
        )
        taken.add(name)


def _check_numbers(where: str, method: Method) -> None:
    for name in _WHOLE:
        value = getattr(method, name)
        optional = name in _OPTIONAL and value is None
        rule = name == "inner" and callable(value)
        require(
            optional or rule or (is_whole(value) and value >= 1),
            f"{where}: {argument(name, value)} must be a whole number from 1",
        )
    if callable(method.inner):
        check_arguments(f"{where}: inner", method.inner, "iteration", "info")
    for name, prior in method.priors.items():
        if callable(prior):
            check_arguments(f"{where}: priors[{name!r}]", prior, "n_components")
    tol, average, share = method.tol, method.average, method.docs_per_component
    for name in ("enough_tokens", "enough_length"):
        enough = getattr(method, name)
        require(
            enough is None or (is_number(enough) and 0 < enough < np.inf),
            f"{where}: {argument(name, enough)} must be a number above 0, or None",
        )
    require(
        is_number(share) and 0 <= share < np.inf,
        f"{where}: {argument('docs_per_component', share)} must be a number from 0",
    )
    require(is_number(tol) and 0 <= tol < np.inf, f"{where}: tol={tol!r} must be a number from 0")
    require(
        is_number(average) and 0 <= average <= 1,
        f"{where}: {argument('average', average)} must be a share of the updates, from 0 to 1",
    )


def _check_schemes(where: str, method: Method, kernel: Kernel) -> None:
    of_kernel = f"{where}: kernel {kernel.name!r} returns"
    require(kernel.statistics, f"{of_kernel} no statistics, so there is nothing to learn")
    for name in method.schemes:
        require(
            name in kernel.statistics,
            f"{where}: schemes[{name!r}]: kernel {kernel.name!r} has no such statistics; "
            f"{choose({**kernel.statistics, **kernel.offers})}",
        )
    idle = [name for name in kernel.statistics if name not in method.schemes]
    require(
        not idle, f"{of_kernel} statistics of {', '.join(idle)}, which no scheme moves; give each a scheme"
    )
    for name, scheme in method.schemes.items():
        here = f"{where}: schemes[{name!r}]={scheme!r}"
        _check_fit(here, name, scheme, method.model, kernel)
        for other in getattr(scheme, "reads", ()):
            require(
                other in method.schemes,
                f"{here} reads the statistics of {other!r}, which no scheme of the method has; "
                f"{choose(method.schemes)}, or give {other!r} a scheme, such as Keep()",
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
    require(
        prior is None or not getattr(scheme, "own_prior", False),
        f"{where}: it has the prior of {name!r} as a setting, but the array adds its own, {prior}; give a model "
        "whose array has prior=None, as in bigtopic.models.lda_samples",
    )


def _misfit(name: str, scheme: Any, kernel: Kernel) -> str:
    """Why the scheme, or its class, makes no sense of the statistics of array `name`; "" if it does."""
    if getattr(scheme, "sets_prior", False):
        return "this scheme sets the prior of its array and does not use statistics; give it in prior_schemes"
    if name in kernel.changes and not getattr(scheme, "takes_changes", False):
        return f"kernel {kernel.name!r} returns changes of counts, and this scheme would take them for the counts"
    if getattr(scheme, "takes_expected_logs", False) and name != DOC_TOPIC_PRIOR:
        return f"this scheme takes sums of E[log theta], and the statistics of {name!r} are something else"
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
        require(
            name in fit,
            f"{here}: the prior of this array cannot be learned with kernel {kernel.name!r}; {choose(fit)}",
        )
        check_scheme(here, name, scheme, method.model)


def _check_start(where: str, name: str, spec: ArraySpec) -> None:
    start: Any = spec.start
    if start is None:
        return
    where = f"{where}={start!r}"
    require(
        isinstance(start, tuple | list) and len(start) == 2,
        f"{where} must be (distribution, share), or None for zeros",
    )
    distribution, share = start
    require(
        distribution in _DISTRIBUTIONS,
        f"{where} has the distribution {distribution!r}; {choose(_DISTRIBUTIONS)}",
    )
    require(
        share is None or (is_number(share) and 0 <= share < np.inf),
        f"{where} has the share {share!r}; give a number from 0, or None for entries as drawn",
    )
    require(
        distribution != "documents" or (spec.rows in _COUNTED and spec.columns == 1 and share is None),
        f"{where}: documents are counted, with the share None, for arrays of one column whose rows are "
        f"{', '.join(_COUNTED)}",
    )
    require(
        np.dtype(spec.dtype).kind != "i" or share == 0,
        f"array {name!r} of {spec.dtype} has start={start!r}, but integers begin as zeros; give "
        f"init={{{name!r}: None}} to the method",
    )


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
        require(
            type(value) in _KINDS.get(type(default), (type(value),)),
            f"{where}: option {name} is {value!r:.60}, but must be like its default, {default!r}",
        )
    for each in (kernel, inference):
        check_lengths(each, options, method.model.components)


def array_specs(method: Method) -> dict[str, ArraySpec]:
    """The arrays of the method's model, with the types its schemes ask for, then the companions of arrays that move."""
    arrays, beside = {}, {}
    for name, spec in method.model.arrays.items():
        scheme = method.schemes.get(name)
        start = method.init.get(name, spec.start)
        arrays[name] = replace(spec, dtype=getattr(scheme, "dtype", spec.dtype), start=start)
        for companion, path in schemes.companion_names(name, scheme).items():
            own = getattr(scheme, "companions")[companion]  # noqa: B009
            beside[path] = replace(own, rows=spec.rows, prior=None, normalised_over=None)
        if method.average and scheme is not None:
            beside |= specs(name, spec)
    return {**arrays, **beside}


def check_model(model: Model) -> None:
    """Check the arrays and the component counts of a model. Raises SettingError like `check_method`."""
    where, arrays = f"model {model.name!r}", model.arrays
    check_kinds(where, model, _OF_MODEL)
    for name in model.components:
        check_storable(f"{where}: a name in components", name, NAME)
        require(
            name not in _KNOWN_AXES and model.components.count(name) == 1,
            f"{where}: components={model.components!r}; give different names, and none of an axis: "
            + ", ".join(_KNOWN_AXES),
        )
    require(
        model.components and arrays,
        f"{where} has arrays={arrays!r}, components={model.components!r}; give some of each",
    )
    for name, spec in arrays.items():
        check_storable(f"{where}: a name in arrays", name, ARRAY_NAME)
        _check_array(f"array {name!r}", spec, model)
        check_storable(f"array {name!r}: rows", spec.rows, NAME)
    first = model.components[0]
    require(
        model.mixing is None or (model.mixing in arrays and arrays[model.mixing].rows == first),
        f"{where} has mixing={model.mixing!r}, but must name an array with rows={first!r}; {choose(arrays)}",
    )
    prior = arrays.get(DOC_TOPIC_PRIOR)  # of which kernels read a number for each topic, in compiled loops
    if prior is not None:
        require(
            (prior.rows, prior.columns) == ("none", first),
            f"array {DOC_TOPIC_PRIOR!r} has rows={prior.rows!r} and columns={prior.columns!r}, but holds the prior of "
            f"documents' topics: give rows='none' and columns={first!r}, or another name",
        )


def _check_array(where: str, spec: Any, model: Model) -> None:
    require(isinstance(spec, ArraySpec), f"{where} is {spec!r}, but must be an ArraySpec")
    check_kinds(where, spec, _OF_ARRAY)
    if spec.columns not in model.components:
        counts = (*model.components, "a number from 1")
        require(
            type(spec.columns) is int and spec.columns >= 1,
            f"{where} has columns={spec.columns!r}; {choose(counts)}",
        )
        check_storable(f"{where}: columns", spec.columns, SIZE)
    over = spec.normalised_over
    require(over in _NORMALISED, f"{where} has normalised_over={over!r}; {choose(_NORMALISED)}")
    check_dtype(where, spec.dtype)


def check_scheme(where: str, name: str, scheme: Any, model: Model) -> None:
    """Check the scheme of array `name`. Raises SettingError like `check_method`."""
    require(
        not isinstance(scheme, type) and callable(getattr(scheme, "step", None)),
        f"{where} is {scheme!r}, but must be an object with a method step, such as Add()",
    )
    check_arguments(f"{where}: step", scheme.step, "array", "stats", "info")
    params = getattr(scheme, "__dataclass_params__", None)
    require(
        params is not None and params.frozen,
        f"{where} is {scheme!r}, but must be of a class with @dataclass(frozen=True): its fields are settings, "
        "which are saved with the model; what changes belongs in companions",
    )
    _check_settings(where, scheme)
    for setting in getattr(scheme, "names_arrays", ()):
        other = getattr(scheme, setting)
        require(
            not other or other in model.arrays,
            f"{where}: {setting}={other!r}: there is no such array; {choose(model.arrays)}",
        )
    if hasattr(scheme, "dtype"):
        check_dtype(where, scheme.dtype)
    companions = getattr(scheme, "companions", {})
    require(
        isinstance(companions, Mapping),
        f"{where} has companions={companions!r}, but must have {{name: ArraySpec}}",
    )
    for companion, spec in companions.items():
        check_storable(f"{where}: a name in companions", companion, NAME)
        require(
            companion not in (MEAN, COUNT),
            f"{where} has a companion {companion!r}, a name of averages; choose another",
        )
        _check_array(f"array '{name}.{companion}'", spec, model)


def _check_settings(where: str, scheme: Scheme) -> None:
    """Check that saving and loading gives the same scheme."""
    own = schemes.settings(scheme)
    check_storable(where, own, SETTINGS)
    try:
        again = schemes.settings(replace(scheme, **own))  # type: ignore[type-var]
    except (TypeError, ValueError) as error:
        raise SettingError(f"{where} cannot be made again from its fields, to be loaded: {error}") from error
    require(
        repr(again) == repr(own),
        f"{where} has the fields {own}, and made again from them, to be loaded, {again}",
    )
