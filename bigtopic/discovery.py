"""Families of modules, discovered in their folders: to add a member, add a file.

A family with many members has them in subfolders; `support/` holds what members share.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from bigtopic.errors import SettingError

__all__ = ["load", "modules", "names"]

_SHARED = "support"


def modules(package: str) -> dict[str, str]:
    """Modules of a package and its subfolders, by name in alphabetical order; none is imported.

    Those whose names begin with an underscore are not members of the family.
    """
    return dict(sorted(_found(package)))


def _found(package: str) -> Iterator[tuple[str, str]]:
    for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
        name = module.name.rpartition(".")[2]
        if module.ispkg and name != _SHARED:
            yield from _found(module.name)
        elif not module.ispkg and not name.startswith("_"):
            yield name, module.name


def names(package: str, attribute: str) -> list[str]:
    """Those of `modules` that define the attribute; all are imported."""
    return [name for name, path in modules(package).items() if hasattr(import_module(path), attribute)]


def load(package: str, name: str, attribute: str, kind: str) -> Any:
    """The attribute of a module; only this one is imported.

    Raises
    ------
    SettingError
        When there is no such module, or it does not define the attribute; `kind` says what is missing.
    """
    path = _paths.get((package, name))
    if path not in sys.modules:  # looking into the folders takes a third of a millisecond each
        path = modules(package).get(name)
    if path is not None and hasattr(module := import_module(path), attribute):
        _paths[package, name] = path
        return getattr(module, attribute)
    raise SettingError(f"there is no {kind} {name!r}; there are: {', '.join(names(package, attribute))}")


_paths: dict[tuple[str, str], str] = {}
