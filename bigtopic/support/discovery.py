"""Families of modules, discovered in their folders: to add a member, add a file.

A file defines the member of its name. Close variants of it share the file: `FURTHER`, {name: member}, lists them. A
family with many members has them in subfolders; `support/` holds the code that members share.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from bigtopic.errors import SettingError, did_you_mean

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
    """Names of all members; all modules are imported."""
    found = {name: import_module(path) for name, path in modules(package).items()}
    own = [name for name, module in found.items() if hasattr(module, attribute)]
    return sorted([*own, *(name for module in found.values() for name in _further(module))])


def _further(module: Any) -> dict[str, Any]:
    return getattr(module, "FURTHER", {})


def _home(package: str, name: str) -> str | None:
    """The module that defines a member. Variants tend to begin with the name of their file: such files come first."""
    paths = modules(package)
    if name in paths:
        return paths[name]
    homes = sorted(paths, key=lambda home: not name.startswith(home))
    return next((paths[home] for home in homes if name in _further(import_module(paths[home]))), None)


def load(package: str, name: str, attribute: str, kind: str, *, hyphens: bool = False) -> Any:
    """A member; only its module is imported, if it has the member's name.

    Parameters
    ----------
    kind : what the attribute is, for errors
    hyphens : whether names have hyphens where the files have underscores

    Raises
    ------
    SettingError
        When there is no such module, it does not define the attribute, or what it defines has another name.
    """
    module = name.replace("-", "_") if hyphens else name
    path = _paths.get((package, module))
    if path not in sys.modules:  # looking into the folders takes a third of a millisecond each
        path = _home(package, module)
    if path is None:
        there = [_written(one, hyphens) for one in names(package, attribute)]
        raise SettingError(
            f"there is no {kind} {name!r}; there are: {', '.join(there)}{did_you_mean(name, there)}"
        )
    found = _defined(path, attribute, _written(module, hyphens))
    _paths[package, module] = path
    return found


def _defined(path: str, attribute: str, name: str) -> Any:
    """A member of a module. If it has a name itself, that must be the name it is found by."""
    module, file = import_module(path), f"{path.replace('.', '/')}.py"
    further = _further(module)
    if name not in further and not hasattr(module, attribute):
        raise SettingError(
            f"file {file} must define {attribute}; if it is something else, move it to another folder, or begin its "
            "name with an underscore"
        )
    found = further[name] if name in further else getattr(module, attribute)
    own = name if isinstance(found, type) else getattr(found, "name", name)
    if own != name:
        where, other = (f"FURTHER[{name!r}]", "key") if name in further else (attribute, "file")
        raise SettingError(
            f"file {file} defines {where} with name={own!r}: write name={name!r}, or rename the {other}"
        )
    return found


def _written(module: str, hyphens: bool) -> str:
    return module.replace("_", "-") if hyphens else module


_paths: dict[tuple[str, str], str] = {}
