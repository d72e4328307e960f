"""What a model, its arrays and the schemes that move them may declare, and the arrays that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import NoneType
from typing import Any

from bigtopic import schemes
from bigtopic.errors import SettingError
from bigtopic.methods import Method
from bigtopic.models.base import DOC_TOPIC_PRIOR, ArraySpec, Model
from bigtopic.state.contract.declaration_rules import (
    check_arguments,
    check_dtype,
    check_kinds,
    check_storable,
    choose,
)
from bigtopic.state.running_mean import COUNT, MEAN, specs
from bigtopic.state.stored.model_rules import ARRAY_NAME, NAME, SETTINGS, SIZE
from bigtopic.types import Scheme

__all__ = ["array_specs", "check_model", "check_scheme"]

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


def array_specs(method: Method) -> dict[str, ArraySpec]:
    """The arrays of the method's model, with the types its schemes ask for, then what lies beside those that move."""
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
    """Check the arrays and the component counts of a model. Raises SettingError like `declarations.check_method`."""
    where = f"model {model.name!r}"
    check_kinds(where, model, _OF_MODEL)
    for name in model.components:
        check_storable(f"{where}: a name in components", name, NAME)
        if name in _KNOWN_AXES or model.components.count(name) > 1:
            raise SettingError(
                f"{where}: components={model.components!r}; give different names, and none of an axis: "
                + ", ".join(_KNOWN_AXES)
            )
    if not model.components or not model.arrays:
        raise SettingError(
            f"{where} has arrays={model.arrays!r}, components={model.components!r}; give some of each"
        )
    for name, spec in model.arrays.items():
        check_storable(f"{where}: a name in arrays", name, ARRAY_NAME)
        _check_array(f"array {name!r}", spec, model)
        check_storable(f"array {name!r}: rows", spec.rows, NAME)
    if model.mixing is not None and (
        model.mixing not in model.arrays or model.arrays[model.mixing].rows != model.components[0]
    ):
        raise SettingError(
            f"{where} has mixing={model.mixing!r}, but must name an array with rows={model.components[0]!r}; "
            f"{choose(model.arrays)}"
        )
    _check_doc_topic_prior(model)


def _check_array(where: str, spec: Any, model: Model) -> None:
    if not isinstance(spec, ArraySpec):
        raise SettingError(f"{where} is {spec!r}, but must be an ArraySpec")
    check_kinds(where, spec, _OF_ARRAY)
    if spec.columns not in model.components:
        if type(spec.columns) is not int or spec.columns < 1:
            counts = (*model.components, "a number from 1")
            raise SettingError(f"{where} has columns={spec.columns!r}; {choose(counts)}")
        check_storable(f"{where}: columns", spec.columns, SIZE)
    if spec.normalised_over not in _NORMALISED:
        raise SettingError(f"{where} has normalised_over={spec.normalised_over!r}; {choose(_NORMALISED)}")
    check_dtype(where, spec.dtype)


def _check_doc_topic_prior(model: Model) -> None:
    """Kernels read a number for each topic of it, in compiled loops."""
    spec, first = model.arrays.get(DOC_TOPIC_PRIOR), model.components[0]
    if spec is not None and (spec.rows, spec.columns) != ("none", first):
        raise SettingError(
            f"array {DOC_TOPIC_PRIOR!r} has rows={spec.rows!r} and columns={spec.columns!r}, but holds the prior of "
            f"documents' topics: give rows='none' and columns={first!r}, or another name"
        )


def check_scheme(where: str, name: str, scheme: Any, model: Model) -> None:
    """Check the scheme of array `name`. Raises SettingError like `declarations.check_method`."""
    if isinstance(scheme, type) or not callable(getattr(scheme, "step", None)):
        raise SettingError(f"{where} is {scheme!r}, but must be an object with a method step, such as Add()")
    check_arguments(f"{where}: step", scheme.step, "array", "stats", "info")
    params = getattr(scheme, "__dataclass_params__", None)
    if params is None or not params.frozen:
        raise SettingError(
            f"{where} is {scheme!r}, but must be of a class with @dataclass(frozen=True): its fields are settings, "
            "which are saved with the model; what changes belongs in companions"
        )
    _check_settings(where, scheme)
    for setting in getattr(scheme, "names_arrays", ()):
        if (other := getattr(scheme, setting)) and other not in model.arrays:
            raise SettingError(
                f"{where}: {setting}={other!r}: there is no such array; {choose(model.arrays)}"
            )
    if hasattr(scheme, "dtype"):
        check_dtype(where, scheme.dtype)
    companions = getattr(scheme, "companions", {})
    if not isinstance(companions, Mapping):
        raise SettingError(f"{where} has companions={companions!r}, but must have {{name: ArraySpec}}")
    for companion, spec in companions.items():
        check_storable(f"{where}: a name in companions", companion, NAME)
        if companion in (MEAN, COUNT):
            raise SettingError(f"{where} has a companion {companion!r}, a name of averages; choose another")
        _check_array(f"array '{name}.{companion}'", spec, model)


def _check_settings(where: str, scheme: Scheme) -> None:
    """Check that saving and loading gives the same scheme."""
    own = schemes.settings(scheme)
    check_storable(where, own, SETTINGS)
    try:
        again = schemes.settings(replace(scheme, **own))  # type: ignore[type-var]
    except (TypeError, ValueError) as error:
        raise SettingError(f"{where} cannot be made again from its fields, to be loaded: {error}") from error
    if repr(again) != repr(own):
        raise SettingError(f"{where} has the fields {own}, and made again from them, to be loaded, {again}")
