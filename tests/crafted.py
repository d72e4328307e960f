"""JSON documents with one place changed, as somebody might change them who means harm."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

MISSING = object()


def places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The keys and indices that lead to every place below the root of a document."""
    if here:
        yield here
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(item, (*here, key))


def changed(document: Any, place: Sequence[Any], value: Any) -> Any:
    """A copy of the document with this value at a place; without the place for `MISSING`."""
    document = copy.deepcopy(document)
    *above, last = place
    holder = document
    for key in above:
        holder = holder[key]
    if value is MISSING:
        del holder[last]
    else:
        holder[last] = value
    return document
