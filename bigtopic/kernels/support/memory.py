"""Prefetching rows.

A loop over rows of a large table in random order waits for memory at every row; prefetched a few rows ahead, they
arrive while others are being processed.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

__all__ = ["prefetch"]

READ, KEEP, DATA = 0, 3, 1


@intrinsic
def prefetch(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    """Prefetch the cache line of `array[row, column]`. Does not change any result."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        data = arrayobj.make_array(kind)(context, builder, arguments[0])
        at = cgutils.get_item_pointer(context, builder, kind, data, arguments[1:])
        line = builder.bitcast(at, ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        signature = ir.FunctionType(ir.VoidType(), [line.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", (line.type,), signature)
        builder.call(function, [line, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate
