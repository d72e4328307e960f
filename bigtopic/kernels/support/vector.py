"""Runs of columns held in registers, for the loops that kernels spend their time in.

A vector is LANES neighbouring numbers of a row, or fewer where it is loaded as such. Loops over rows written with it
are compiled to what they say: no checks whether rows overlap, no remainders, fused multiply-adds, the same order of
additions wherever the loop stands.

    for k in range(0, n_columns, LANES):          # n_columns is a multiple of LANES
        store(out, (i, k), load(out, (i, k)) + spread(weight) * load(rows, (j, k)))

Only for compiled code. Indices are not checked, and negative ones do not count from the end.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model
from numba.np import arrayobj

__all__ = [
    "HALF",
    "LANES",
    "QUARTER",
    "double",
    "larger",
    "largest",
    "like",
    "load",
    "load_double",
    "load_part",
    "n_lanes",
    "product",
    "quarter",
    "single",
    "spread",
    "store",
    "store_double",
    "store_part",
    "total",
    "totals",
]

LANES = 16
HALF, QUARTER = LANES // 2, LANES // 4
_WHOLE = types.literal(LANES)
_FAST = ("reassoc", "nsz", "contract")


class Vector(types.Type):
    """Numbers of one type. The operators are + - * /, between vectors of the same type and length."""

    def __init__(self, dtype: Any, lanes: int = LANES) -> None:
        self.dtype, self.lanes = dtype, lanes
        super().__init__(f"{lanes} x {dtype}")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, ir.VectorType(manager[kind.dtype].get_value_type(), kind.lanes))


def _define(function: Any, instruction: str) -> None:
    @infer_global(function)
    class _Template(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Vector) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(function, Vector, Vector)
    def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return getattr(builder, instruction)(*args, flags=_FAST)


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")
_define(operator.truediv, "fdiv")


def _address(context: Any, builder: Any, sig: Any, args: Any, lanes: int = LANES) -> tuple[Any, int]:
    """Where `array[index]` begins, as the address of a vector, and the bytes it is aligned to."""
    kind, index = sig.args[:2]
    data = arrayobj.make_array(kind)(context, builder, args[0])
    tuples = isinstance(index, types.BaseTuple)
    values = cgutils.unpack_tuple(builder, args[1]) if tuples else [args[1]]
    index = [
        context.cast(builder, value, of, types.intp)
        for value, of in zip(values, index if tuples else [index], strict=True)
    ]
    place = cgutils.get_item_pointer(context, builder, kind, data, index)
    vector = ir.VectorType(context.get_value_type(kind.dtype), lanes)
    return builder.bitcast(place, vector.as_pointer()), kind.dtype.bitwidth // 8


def _lanes(lanes: Any) -> int:
    """Of a number that is known when a function is compiled, or as many as a vector has."""
    return int(lanes.lanes if isinstance(lanes, Vector) else lanes.literal_value)


@intrinsic
def n_lanes(typing_context: Any, vector: Any) -> Any:
    """How many lanes it has, uint64."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return ir.Constant(ir.IntType(64), vector.lanes)

    return types.uint64(vector), generate


@intrinsic(prefer_literal=True)
def load(typing_context: Any, array: Any, index: Any, lanes: Any = _WHOLE) -> Any:
    """`array[index : index + lanes]`; a tuple is the index of a first column in an array of more axes.

    `lanes` is a constant, or a vector that has as many.
    """
    n = _lanes(lanes)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address, align = _address(context, builder, sig, args, n)
        return builder.load(address, align=align)

    return Vector(array.dtype, n)(array, index, lanes), generate


@intrinsic(prefer_literal=True)
def load_part(typing_context: Any, array: Any, index: Any, n: Any, lanes: Any = _WHOLE) -> Any:
    """The first `n` numbers of `array[index : index + lanes]`, and zeros; what is beyond need not be memory."""
    count = _lanes(lanes)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address, align = _address(context, builder, sig, args, count)
        element = context.get_value_type(sig.args[0].dtype)
        kind, inside = ir.VectorType(element, count), _first(context, builder, sig, args[2], count)
        arguments = [address, ir.Constant(ir.IntType(32), align), inside, ir.Constant(kind, [0] * count)]
        return _masked(builder, "load", kind, arguments, sig.args[0].dtype, count)

    return Vector(array.dtype, count)(array, index, n, lanes), generate


@intrinsic
def store_part(typing_context: Any, array: Any, index: Any, n: Any, vector: Any) -> Any:
    """`array[index : index + n]` = the first `n` numbers of `vector`; what is beyond stays."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address, align = _address(context, builder, sig, args, vector.lanes)
        inside = _first(context, builder, sig, args[2], vector.lanes)
        arguments = [args[3], address, ir.Constant(ir.IntType(32), align), inside]
        _masked(builder, "store", ir.VoidType(), arguments, vector.dtype, vector.lanes)
        return context.get_dummy_value()

    return types.void(array, index, n, vector), generate


@intrinsic
def load_double(typing_context: Any, array: Any, index: Any) -> Any:
    """`array[index : index + LANES]` as float64, of floating-point numbers or of whole ones with a sign."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address, align = _address(context, builder, sig, args)
        loaded, kind = builder.load(address, align=align), ir.VectorType(ir.DoubleType(), LANES)
        if isinstance(sig.args[0].dtype, types.Float):
            return loaded if sig.args[0].dtype == types.float64 else builder.fpext(loaded, kind)
        return builder.sitofp(loaded, kind)

    return Vector(types.float64)(array, index), generate


@intrinsic
def store(typing_context: Any, array: Any, index: Any, vector: Any) -> Any:
    """`array[index : index + lanes] = vector`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address, align = _address(context, builder, sig, args, vector.lanes)
        builder.store(args[2], address, align=align)
        return context.get_dummy_value()

    return types.void(array, index, vector), generate


@intrinsic
def store_double(typing_context: Any, array: Any, index: Any, vector: Any) -> Any:
    """`array[index : index + LANES] = vector` (float64); the array is of float64, or of whole numbers with a sign."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address, align = _address(context, builder, sig, args)
        kind, numbers = sig.args[0].dtype, args[2]
        if isinstance(kind, types.Integer):
            numbers = builder.fptosi(numbers, ir.VectorType(context.get_value_type(kind), LANES))
        builder.store(numbers, address, align=align)
        return context.get_dummy_value()

    return types.void(array, index, vector), generate


@intrinsic(prefer_literal=True)
def spread(typing_context: Any, number: Any, lanes: Any = _WHOLE) -> Any:
    """A vector of this number (float32 or float64)."""
    n = _lanes(lanes)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _spread(builder, args[0], n)

    return Vector(number, n)(number, lanes), generate


@intrinsic
def single(typing_context: Any, vector: Any) -> Any:
    """These numbers (float64), rounded to float32."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fptrunc(args[0], ir.VectorType(ir.FloatType(), vector.lanes))

    return Vector(types.float32, vector.lanes)(vector), generate


@intrinsic
def double(typing_context: Any, vector: Any) -> Any:
    """These numbers (float32, or whole ones without a sign) as float64."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        widen = builder.fpext if isinstance(vector.dtype, types.Float) else builder.uitofp
        return widen(args[0], ir.VectorType(ir.DoubleType(), vector.lanes))

    return Vector(types.float64, vector.lanes)(vector), generate


@intrinsic
def like(typing_context: Any, array: Any, vector: Any) -> Any:
    """These numbers (float64) as those of `array`: rounded to float32, or down to whole ones without a sign."""
    n = vector.lanes

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        narrow = builder.fptrunc if isinstance(array.dtype, types.Float) else builder.fptoui
        return narrow(args[1], ir.VectorType(context.get_value_type(array.dtype), n))

    return Vector(array.dtype, n)(array, vector), generate


@intrinsic
def product(typing_context: Any, a: Any, b: Any) -> Any:
    """`a * b`, rounded by itself: what it is added to or taken from is not fused with it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fmul(*args)

    return a(a, b), generate


@intrinsic
def larger(typing_context: Any, a: Any, b: Any) -> Any:
    """The larger of each pair of numbers."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _larger(builder, *args)

    return a(a, b), generate


@intrinsic
def total(typing_context: Any, vector: Any) -> Any:
    """The sum of the numbers, halves on halves."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _only(builder, _fold(builder, args[0], _plus))

    return vector.dtype(vector), generate


@intrinsic
def quarter(typing_context: Any, vector: Any) -> Any:
    """A vector of QUARTER lanes whose sum is that of the numbers, added as `total` adds them."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _fold(builder, args[0], _plus, QUARTER)

    return Vector(vector.dtype, QUARTER)(vector), generate


@intrinsic
def totals(typing_context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """The sums of four vectors of QUARTER lanes, as such a vector."""
    assert a.lanes == QUARTER

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        low, high = [0, 4, 2, 6], [1, 5, 3, 7]
        ab, cd = _both(builder, args[0], args[1], low, high), _both(builder, args[2], args[3], low, high)
        return _both(builder, ab, cd, [0, 1, 4, 5], [2, 3, 6, 7])

    return a(a, b, c, d), generate


@intrinsic
def largest(typing_context: Any, vector: Any) -> Any:
    """The largest of the numbers."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _only(builder, _fold(builder, args[0], _larger))

    return vector.dtype(vector), generate


def _first(context: Any, builder: Any, sig: Any, n: Any, lanes: int) -> Any:
    """Which of so many lanes are among the first `n`, the third argument."""
    last = context.cast(builder, n, sig.args[2], types.int32)
    return builder.icmp_signed("<", _positions(range(lanes)), _spread(builder, last, lanes))


def _masked(builder: Any, what: str, result: Any, arguments: Any, dtype: Any, lanes: int) -> Any:
    kind = f"{'f' if isinstance(dtype, types.Float) else 'i'}{dtype.bitwidth}"
    signature = ir.FunctionType(result, [argument.type for argument in arguments])
    name = f"llvm.masked.{what}.v{lanes}{kind}.p0"
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)


def _spread(builder: Any, number: Any, lanes: int) -> Any:
    empty = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, empty, _positions([0] * lanes))


def _larger(builder: Any, a: Any, b: Any) -> Any:
    bits = 32 if isinstance(a.type.element, ir.FloatType) else 64
    name = f"llvm.maxnum.v{a.type.count}f{bits}"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(a.type, [a.type, a.type]), name)
    return builder.call(function, [a, b], fastmath=("nnan", "nsz"))


def _plus(builder: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b)


def _fold(builder: Any, value: Any, combine: Any, lanes: int = 1) -> Any:
    n = value.type.count
    while n > lanes:
        n //= 2
        value = _both(builder, value, value, range(n), range(n, 2 * n), combine)
    return value


def _both(builder: Any, a: Any, b: Any, low: Any, high: Any, combine: Any = _plus) -> Any:
    """Some lanes of two vectors, combined with others of them."""
    parts = [builder.shuffle_vector(a, b, _positions(lanes)) for lanes in (low, high)]
    return combine(builder, *parts)


def _only(builder: Any, vector: Any) -> Any:
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def _positions(lanes: Any) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
