"""Names of authors, tags or labels as sources give them: what is a name, what is none, and what is refused."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bigtopic.corpus.columns import is_missing, name_text
from bigtopic.errors import InputError

__all__ = ["author_names", "not_a_name"]

_NO_NAMES = Mapping | bytes | bytearray | memoryview


def author_names(given: Any, i: int, place: Callable[[int], str]) -> Iterator[str]:
    """The names in what document i has for its authors: a name, a list of names, or something missing.

    A number is the name with its digits, see `name_text`. `place` is asked only for the message: its answer may take
    reading a file from its start.

    Raises
    ------
    InputError
        For mappings, bytes, and lists inside lists; begins with the document's place.
    """
    for one in given if _is_list(given) else (given,):
        if isinstance(one, str):
            if name := one.strip():
                yield name
        elif isinstance(one, _NO_NAMES) or _is_list(one):
            raise not_a_name(one, place(i))
        elif not is_missing(one):
            yield name_text(one)


def not_a_name(value: Any, where: str) -> InputError:
    """The error about an author that is not a name."""
    remedy = ", such as the value of one field of each" if isinstance(value, Mapping) else ""
    shown = reprlib.repr(value)  # of the beginning, however deep it is
    return InputError(f"{where} has the author {shown}; give names as text{remedy}")


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | _NO_NAMES)
