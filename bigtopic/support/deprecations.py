"""Old names of arguments and attributes: they work for one more version, with a warning that names the new one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar, cast

from bigtopic.errors import RenamedWarning, warn

__all__ = ["also_named", "current_names", "moved", "renamed", "renamed_attribute"]

_Target = TypeVar("_Target", bound=Callable[..., Any])


def renamed(**names: str) -> Callable[[_Target], _Target]:
    """Accept old names of the arguments of a function, or of a class, with a `RenamedWarning`.

    The signature has only the new names. An argument that is given under both raises `TypeError`.

    Parameters
    ----------
    names : {old name: new name}
    """
    return lambda target: _accepting(target, names, warns=True)


def also_named(**names: str) -> Callable[[_Target], _Target]:
    """Accept further names of arguments, which other libraries use: as `renamed`, but for good and without warning."""
    return lambda target: _accepting(target, names, warns=False)


def renamed_attribute(old: str, new: str) -> Any:
    """A property that returns the attribute `new`, with a `RenamedWarning`, for a class that called it `old`."""

    def value(self: Any) -> Any:
        _warn(f"attribute {old!r} is now {new!r}")
        return getattr(self, new)

    return property(value)


def moved(package: str, **homes: Sequence[str]) -> None:
    """Keep modules of a package importable by the names that they had.

    Parameters
    ----------
    homes : {module that has their contents: the names}
    """
    for home, names in homes.items():
        module = import_module(f"{package}.{home}")
        sys.modules.update({f"{package}.{name}": module for name in names})


def current_names(
    given: Mapping[str, Any], names: Mapping[str, str], *, warns: bool = True
) -> dict[str, Any]:
    """Arguments under their current names; the others as they are.

    Parameters
    ----------
    given : {name: value}
    names : {old name: new name}
    warns : whether old names raise a `RenamedWarning`

    Raises
    ------
    TypeError
        When an argument is given under both names.
    """
    current = dict(given)
    for old in names.keys() & given.keys():
        new = names[old]
        if new in current:
            raise TypeError(f"{old!r} and {new!r} are two names of one argument; give {new!r} only")
        if warns:
            _warn(f"argument {old!r} is now {new!r}")
        current[new] = current.pop(old)
    return current


def _accepting(target: _Target, names: Mapping[str, str], *, warns: bool) -> _Target:
    if isinstance(target, type):
        accepting = _accepting(vars(target)["__init__"], names, warns=warns)
        cast(Any, target).__init__ = accepting
        return target

    @wraps(target)
    def call(*args: Any, **given: Any) -> Any:
        return target(
            *args, **current_names(given, names, warns=warns) if names.keys() & given.keys() else given
        )

    return cast(_Target, call)


def _warn(change: str) -> None:
    warn(f"{change}; the old name ends with the next version", RenamedWarning)
