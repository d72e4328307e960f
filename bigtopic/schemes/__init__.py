"""How statistics move the params: one rule per file, found by looking into this folder.

A file that defines `SCHEME`, a frozen dataclass with the method `step(array, stats, info)`, is a scheme of
the file's name. Adding a scheme is adding a file.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

from bigtopic.errors import SettingError
from bigtopic.types import Scheme

__all__ = ["companion_names", "load", "names"]


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")


def names() -> list[str]:
    """Names of the schemes that are there, in alphabetical order."""
    found = [module.name for module in pkgutil.iter_modules(__path__)]
    return sorted(name for name in found if not name.startswith("_") and hasattr(_module(name), "SCHEME"))


def load(name: str) -> type:
    """The class of the scheme of this name; its fields are the scheme's settings.

    Raises
    ------
    SettingError
        When there is no such scheme.
    """
    if name not in names():
        raise SettingError(f"there is no scheme {name!r}; there are: {', '.join(names())}")
    return _module(name).SCHEME


def companion_names(array: str, scheme: Scheme | None) -> dict[str, str]:
    """The companion arrays that a scheme asks for, and what each is called among the params."""
    return {name: f"{array}.{name}" for name in getattr(scheme, "companions", ())}
