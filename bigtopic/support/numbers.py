"""What counts as a number in an argument: Python's and NumPy's numbers, and never a truth value."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

__all__ = ["is_number", "is_whole"]


def is_whole(value: Any) -> bool:
    """Whether this is a whole number.

    Examples
    --------
    >>> is_whole(np.int32(2)), is_whole(2.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether this is a real number; infinity and NaN are."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
