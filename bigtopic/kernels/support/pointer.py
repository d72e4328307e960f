"""What lets compiled code reach arrays that it was not given, by their addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

__all__ = ["address", "pointer"]


def address(array: np.ndarray) -> int:
    """Of the first number of a contiguous array."""
    found: int = array.__array_interface__["data"][0]
    return found


@intrinsic
def pointer(typing_context: Any, address: Any) -> Any:
    """The pointer to an address, for `numba.carray`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate
