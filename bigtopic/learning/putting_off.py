"""Which steps put off what they add to rows, so that threads add the updates of a group side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bigtopic.learning.rounds import Settings
from bigtopic.state.additions import Additions
from bigtopic.state.lazy_array import LazyArray

__all__ = ["putting_off"]

LEAST_DELAY = 3  # where groups have two updates: threads that share a single one wait longer than they add


@contextmanager
def putting_off(arrays: Mapping[str, LazyArray], settings: Settings, delay: int) -> Iterator[Additions]:
    """What the arrays put off inside this context. Nothing where groups are single updates, or where steps do more than
    add with one weight and one decay for all rows."""
    additions = Additions()
    adds_up = all(getattr(scheme, "adds_up", False) for scheme in settings.schemes.values())
    if delay < LEAST_DELAY or settings.prior_schemes or settings.average or not adds_up:
        yield additions
        return
    try:
        for array in arrays.values():
            array.put_off = additions
        yield additions
    finally:
        for array in arrays.values():
            array.put_off = None
        additions.do()
