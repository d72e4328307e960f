"""An extension of griffe, which reads docstrings for the reference pages.

Our docstrings say `name : what it is`, since the type is in the signature. griffe takes what follows the colon for the
type; here it is moved to the description. Names that share a description get one each, as defaults differ.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_SECTIONS = ("Parameters", "Attributes", "Other Parameters")
_ITEM = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.*)$")


def described(text: str) -> str:
    """The docstring with the text of each parameter and attribute below its name."""
    lines, section = text.split("\n"), ""
    out: list[str] = []
    names: list[str] = []
    about: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if names and line.startswith(" "):
            about.append(line)
            continue
        out += _each(names, about)
        section = line if line and following.startswith("---") else section
        item = _ITEM.match(line) if section in _SECTIONS else None
        names, about = (item[1].split(", "), [f"    {item[2]}"]) if item else ([], [])
        out += [] if item else [line]
    return "\n".join(out + _each(names, about))


def _each(names: list[str], about: list[str]) -> list[str]:
    return [row for name in names for row in (name, *about)]


class DocstringItems(griffe.Extension):
    """Applies `described` to every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = described(obj.docstring.value)
