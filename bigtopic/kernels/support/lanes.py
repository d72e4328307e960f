"""Drawing one of the lanes of a vector (`_vector`) in proportion to their numbers, without a branch.

    sums = running(vector)
    lane = n_reached(sums, u * total)          # the first lane whose running sum exceeds u * total

Only for compiled code.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from bigtopic.kernels.support.memory import DATA, KEEP, READ
from bigtopic.kernels.support.vector import Vector

__all__ = ["n_reached", "prefetch", "running"]


@intrinsic
def running(typing_context: Any, vector: Any) -> Any:
    """Equivalent to `np.cumsum(vector)`, in steps of 1, 2, 4, 8 lanes: the order of additions is fixed."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        n = vector.lanes
        sums, zero = args[0], ir.Constant(args[0].type, [0.0] * n)
        step = 1
        while step < n:
            # lane i takes lane i - step, and zero (the second operand's first lane) where there is none
            lanes = [i - step if i >= step else n for i in range(n)]
            mask = ir.Constant(ir.VectorType(ir.IntType(32), n), lanes)
            sums = builder.fadd(sums, builder.shuffle_vector(sums, zero, mask))
            step *= 2
        return sums

    return vector(vector), generate


@intrinsic
def n_reached(typing_context: Any, sums: Any, number: Any) -> Any:
    """Equivalent to `(sums <= number).sum()`."""
    assert isinstance(sums, Vector)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        bits = _reached(builder, *args)
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    return types.int64(sums, sums.dtype), generate


def _reached(builder: Any, sums: Any, number: Any) -> Any:
    """A bit for each lane, set where its sum is not above the number."""
    one = builder.insert_element(ir.Constant(sums.type, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    n = sums.type.count
    mask = ir.Constant(ir.VectorType(ir.IntType(32), n), [0] * n)
    reached = builder.fcmp_ordered("<=", sums, builder.shuffle_vector(one, one, mask))
    return builder.bitcast(reached, ir.IntType(n))


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Equivalent to that of `_memory`, for an array of one axis."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = sig.args[0]
        data = arrayobj.make_array(kind)(context, builder, args[0])
        place = context.cast(builder, args[1], sig.args[1], types.intp)
        at = cgutils.get_item_pointer(context, builder, kind, data, [place])
        number = ir.IntType(32)
        line = builder.bitcast(at, ir.IntType(8).as_pointer())
        signature = ir.FunctionType(ir.VoidType(), [line.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", (line.type,), signature)
        builder.call(function, [line, number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, index), generate
