"""How statistics update the params.

A file that defines `SCHEME`, a frozen dataclass with the method `step(array, stats, info)`, is a scheme of the file's
name. To add a scheme, add a file. Related schemes share a file, which lists the others in `FURTHER`; the table at the
end of this module says which file that is.
"""

from __future__ import annotations

import re
from dataclasses import fields
from inspect import getdoc
from typing import Any

from bigtopic.support import deprecations, discovery
from bigtopic.types import Scheme

__all__ = ["companion_names", "is_linear", "load", "meanings", "names", "options", "settings"]

_ENTRY = re.compile(r"^(\w+) : (.*(?:\n +.*)*)", re.MULTILINE)  # of one setting, in a docstring


def names() -> list[str]:
    """Names of the available schemes, in alphabetical order."""
    return discovery.names(__name__, "SCHEME")


def load(name: str) -> type:
    """The class of the scheme of this name; its fields are the scheme's settings.

    Raises
    ------
    SettingError
        When there is no such scheme.
    """
    scheme: type = discovery.load(__name__, name, "SCHEME", "scheme")
    return scheme


def companion_names(array: str, scheme: Scheme | None) -> dict[str, str]:
    """The companion arrays that a scheme requests, with their names among the params."""
    return {name: f"{array}.{name}" for name in getattr(scheme, "companions", ())}


def is_linear(scheme: Any) -> bool:
    """Whether changes that a scheme, or its class, makes to the same params may be added; in earlier versions
    `adds_up`."""
    return bool(getattr(scheme, "is_linear", getattr(scheme, "adds_up", False)))


def settings(scheme: Scheme) -> dict[str, Any]:
    """The settings of a scheme by name: what `dataclasses.replace` can change."""
    return {f.name: getattr(scheme, f.name) for f in fields(scheme) if f.init}  # type: ignore[arg-type]


def options(scheme: Scheme) -> dict[str, Any]:
    """The settings that users set by name: all but those that runs set, whose fields have `repr=False`."""
    shown = {f.name for f in fields(scheme) if f.repr}  # type: ignore[arg-type]
    return {name: value for name, value in settings(scheme).items() if name in shown}


def meanings(scheme: type) -> dict[str, str]:
    """What each setting of a scheme's class sets, by the "Parameters" of the nearest docstring that describes it alone;
    "" where none does."""
    told: dict[str, str] = {}
    for each in reversed(scheme.__mro__):
        section = re.search(r"Parameters\n-+\n(.*?)(\n\n|\Z)", getdoc(each) or "", re.DOTALL)
        for name, text in _ENTRY.findall(section[1] if section and "__doc__" in vars(each) else ""):
            told[name] = " ".join(text.split())
    return {f.name: told.get(f.name, "") for f in fields(scheme) if f.init}


deprecations.moved(
    __name__,
    add=["add_to_prior", "decay_add"],
    interpolate=["interpolate_normalised", "interpolate_raw", "interpolate_rows"],
    langevin=["_noise", "lazy_langevin"],
    newton=["fixed_point"],
    own_prior=["own_row_prior"],
    replace=["keep", "replace_rows"],
)
