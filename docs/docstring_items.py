"""An extension of griffe, which reads docstrings for the reference pages.

Our docstrings say `name : what it is`, since the type is in the signature. griffe takes what follows the colon for the
type; here it is moved to the description.
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
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if following.startswith("---") and line:
            section = line
        item = _ITEM.match(line) if section in _SECTIONS else None
        out += [item[1], f"    {item[2]}"] if item else [line]
    return "\n".join(out)


class DocstringItems(griffe.Extension):
    """Applies `described` to every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = described(obj.docstring.value)
