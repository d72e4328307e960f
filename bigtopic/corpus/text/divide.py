"""Long documents divided into pieces: so many words each, or paragraphs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

from bigtopic.errors import SettingError, argument

__all__ = ["PARAGRAPHS", "checked_division", "divider"]

PARAGRAPHS = "paragraphs"
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")


def checked_division(how: Any) -> int | str | None:
    """The setting `split_documents`: None, a number of words, or "paragraphs".

    Raises
    ------
    SettingError
    """
    if how is None or how == PARAGRAPHS:
        return how
    if isinstance(how, Integral) and not isinstance(how, bool) and 1 <= int(how) < 1 << 31:
        return int(how)
    raise SettingError(
        f"{argument('split_documents', how)}: give a number of words, from 1 on, or {PARAGRAPHS!r}"
    )


def divider(how: int | str) -> Callable[[Any], Sequence[Any]]:
    """A function of a document, a text or a list of tokens, that returns its pieces; an empty one is one piece.

    Words of a text are what white space divides; paragraphs what blank lines divide. The last piece has the rest.
    """
    if how == PARAGRAPHS:
        return lambda text: _BLANK_LINES.split(text.strip()) if text else [text]
    size = int(how)
    words = re.compile(rf"\S++(?:\s++\S++){{0,{size - 1}}}+")

    def divide(body: Any) -> Sequence[Any]:
        if isinstance(body, str):
            return words.findall(body) or [body]
        tokens = list(body or ())
        return [tokens[at : at + size] for at in range(0, len(tokens), size)] or [tokens]

    return divide
