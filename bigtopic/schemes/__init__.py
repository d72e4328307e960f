"""How statistics update the params: one rule per file of this folder.

A file that defines `SCHEME`, a frozen dataclass with the method `step(array, stats, info)`, is a scheme of
the file's name. To add a scheme, add a file.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from bigtopic import discovery
from bigtopic.types import Scheme

__all__ = ["companion_names", "load", "names", "settings"]


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


def settings(scheme: Scheme) -> dict[str, Any]:
    """The settings of a scheme by name: what `dataclasses.replace` can change."""
    return {f.name: getattr(scheme, f.name) for f in fields(scheme) if f.init}  # type: ignore[arg-type]
