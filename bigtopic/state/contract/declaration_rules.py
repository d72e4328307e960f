"""Rules that declarations of all kinds share: types, names, numbers, and what a stored model can hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.state.contract.kernel_results import DTYPES
from bigtopic.state.stored.model_rules import plain
from bigtopic.storage.json_rules import FieldError, Rule

__all__ = [
    "Kinds",
    "check_arguments",
    "check_dtype",
    "check_kinds",
    "check_storable",
    "choose",
    "is_number",
    "is_whole",
]

Kinds = Mapping[str, tuple[Any, str]]  # {attribute: (types, in words)}


def check_kinds(where: str, declared: Any, kinds: Kinds) -> None:
    """Check that attributes are of these types.

    Raises
    ------
    SettingError
        Like all checks of declarations: names what is declared, the value found, and what is allowed.
    """
    for name, (types, wanted) in kinds.items():
        value = getattr(declared, name)
        if not isinstance(value, types):
            raise SettingError(f"{where}: {name}={_shown(value)}, but must be {wanted}")


def check_arguments(where: str, function: Any, *names: str) -> None:
    """Check that a function takes so many arguments by position, if that can be found out."""
    try:
        own = signature(function)
    except (TypeError, ValueError):  # of a compiled one
        return
    try:
        own.bind(*names)
    except TypeError as error:
        raise SettingError(
            f"{where} takes other arguments: {error}; it is called with {', '.join(names)}"
        ) from error


def check_storable(where: str, value: Any, rule: Rule) -> None:
    """Check that a rule of `model_rules` allows the value, so that a model with it can be saved and loaded."""
    try:
        rule(plain(value), where)
    except FieldError as error:
        raise SettingError(f"{error}; it is saved with the model") from error


def check_dtype(where: str, dtype: Any) -> None:
    """Check that a dtype is the name of one that arrays of the params and statistics can have."""
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise SettingError(f"{where} has dtype={_shown(dtype)}; {choose(DTYPES)}")


def is_whole(value: Any) -> bool:
    """Whether this is a whole number, and not a truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether this is a real number, and not a truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def choose(names: Iterable[Any]) -> str:
    """The end of a message: what is known."""
    return f"choose one of: {', '.join(map(str, names)) or 'none'}"


def _shown(value: Any) -> str:
    return f"{value!r:.60}"
