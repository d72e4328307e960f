"""Names of authors, tags or labels as sources give them: what is a name, what is none, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from bigtopic.corpus.columns import is_missing
from bigtopic.errors import InputError

__all__ = ["author_names", "not_a_name"]


def author_names(given: Any, where: str) -> Iterator[str]:
    """The names in what a document has for its authors: a name, a list of names, or something missing.

    A number is the name with its digits; whole numbers are the same as integers and as floats, because a column of
    integers with a missing cell is one of floats.

    Raises
    ------
    InputError
        For mappings and bytes; begins with `where`, the document.
    """
    if isinstance(given, str):
        if name := given.strip():
            yield name
    elif isinstance(given, Mapping | bytes | bytearray | memoryview):
        raise not_a_name(given, where)
    elif isinstance(given, Iterable):
        for one in given:
            yield from author_names(one, where)
    elif not is_missing(given):
        whole = isinstance(given, float | np.floating) and given.is_integer()
        yield str(int(given) if whole else given)


def not_a_name(value: Any, where: str) -> InputError:
    """The error about an author that is not a name."""
    remedy = ", such as the value of one field of each" if isinstance(value, Mapping) else ""
    return InputError(f"{where} has the author {value!r:.60}; give names as text{remedy}")
