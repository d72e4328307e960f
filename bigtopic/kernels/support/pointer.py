"""What lets compiled code reach arrays that it was not given, by their addresses."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

__all__ = ["pointer"]


@intrinsic
def pointer(typing_context: Any, address: Any) -> Any:
    """The pointer to an address, for `numba.carray`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate
