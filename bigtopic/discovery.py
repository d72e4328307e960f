"""Families of modules, discovered in their folders: to add a member, add a file."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from typing import Any

from bigtopic.errors import SettingError

__all__ = ["load", "modules", "names"]


def modules(package: str) -> list[str]:
    """Names of a package's modules that do not begin with an underscore, in alphabetical order; none is imported."""
    found = [module.name for module in pkgutil.iter_modules(import_module(package).__path__)]
    return sorted(name for name in found if not name.startswith("_"))


def names(package: str, attribute: str) -> list[str]:
    """Those of `modules` that define the attribute; all are imported."""
    return [name for name in modules(package) if hasattr(import_module(f"{package}.{name}"), attribute)]


def load(package: str, name: str, attribute: str, kind: str) -> Any:
    """The attribute of a module; only this one is imported.

    Raises
    ------
    SettingError
        When there is no such module, or it does not define the attribute; `kind` says what is missing.
    """
    path = f"{package}.{name}"
    if path in sys.modules or name in modules(
        package
    ):  # looking into the folder takes a third of a millisecond
        module = import_module(path)
        if hasattr(module, attribute):
            return getattr(module, attribute)
    raise SettingError(f"there is no {kind} {name!r}; there are: {', '.join(names(package, attribute))}")
