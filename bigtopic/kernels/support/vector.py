"""Runs of columns held in registers, for the loops that kernels spend their time in.

A vector is LANES neighbouring numbers of a row, or fewer where it is loaded as such. Loops over rows written with it
are compiled to what they say: no checks whether rows overlap, no remainders, fused multiply-adds, the same order of
additions wherever the loop stands.

    for k in range(0, n_columns, LANES):          # n_columns is a multiple of LANES
        store(out, (i, k), load(out, (i, k)) + spread(weight) * load(rows, (j, k)))

Only for compiled code. Indices are not checked, and negative ones do not count from the end.

A loop over rows of a large table in random order waits for memory at every row; rows that `prefetch` asks for a few
turns ahead arrive while others are being processed.
"""

from __future__ import annotations

import operator
from functools import wraps

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
    "of_vectors",
    "positions",
    "prefetch",
    "product",
    "quarter",
    "single",
    "spread",
    "spread_to",
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

    def __init__(self, dtype, lanes=LANES):
        self.dtype, self.lanes = dtype, lanes
        super().__init__(f"{lanes} x {dtype}")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.VectorType(manager[kind.dtype].get_value_type(), kind.lanes))


def _define(function, instruction):
    @infer_global(function)
    class _Template(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and isinstance(args[0], Vector) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(function, Vector, Vector)
    def _lower(context, builder, sig, args):
        return getattr(builder, instruction)(*args, flags=_FAST)


_define(operator.add, "fadd")
_define(operator.sub, "fsub")
_define(operator.mul, "fmul")
_define(operator.truediv, "fdiv")


def _address(context, builder, sig, args, lanes=LANES):
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


def of_vectors(function):
    """An intrinsic of vectors: given their types, `function` returns the type of the result and what builds it."""

    @wraps(function)
    def typed(typing_context, *kinds):
        result, build = function(typing_context, *kinds)
        return result(*kinds), lambda context, builder, sig, args: build(builder, *args)

    return intrinsic(typed)


def _lanes(lanes):
    """Of a number that is known when a function is compiled, or as many as a vector has."""
    return int(lanes.lanes if isinstance(lanes, Vector) else lanes.literal_value)


@of_vectors
def n_lanes(typing_context, vector):
    """How many lanes it has, uint64."""
    return types.uint64, lambda builder, value: ir.Constant(ir.IntType(64), vector.lanes)


@intrinsic(prefer_literal=True)
def load(typing_context, array, index, lanes=_WHOLE):
    """`array[index : index + lanes]`; a tuple is the index of a first column in an array of more axes.

    `lanes` is a constant, or a vector that has as many.
    """
    n = _lanes(lanes)

    def generate(context, builder, sig, args):
        address, align = _address(context, builder, sig, args, n)
        return builder.load(address, align=align)

    return Vector(array.dtype, n)(array, index, lanes), generate


@intrinsic(prefer_literal=True)
def load_part(typing_context, array, index, n, lanes=_WHOLE):
    """The first `n` numbers of `array[index : index + lanes]`, and zeros; what is beyond need not be memory."""
    count = _lanes(lanes)

    def generate(context, builder, sig, args):
        address, align = _address(context, builder, sig, args, count)
        element = context.get_value_type(sig.args[0].dtype)
        kind, inside = ir.VectorType(element, count), _first(context, builder, sig, args[2], count)
        arguments = [address, ir.Constant(ir.IntType(32), align), inside, ir.Constant(kind, [0] * count)]
        return _masked(builder, "load", kind, arguments, sig.args[0].dtype, count)

    return Vector(array.dtype, count)(array, index, n, lanes), generate


@intrinsic
def store_part(typing_context, array, index, n, vector):
    """`array[index : index + n]` = the first `n` numbers of `vector`; what is beyond stays."""

    def generate(context, builder, sig, args):
        address, align = _address(context, builder, sig, args, vector.lanes)
        inside = _first(context, builder, sig, args[2], vector.lanes)
        arguments = [args[3], address, ir.Constant(ir.IntType(32), align), inside]
        _masked(builder, "store", ir.VoidType(), arguments, vector.dtype, vector.lanes)
        return context.get_dummy_value()

    return types.void(array, index, n, vector), generate


@intrinsic
def load_double(typing_context, array, index):
    """`array[index : index + LANES]` as float64, of floating-point numbers or of whole ones with a sign."""

    def generate(context, builder, sig, args):
        address, align = _address(context, builder, sig, args)
        loaded, kind = builder.load(address, align=align), ir.VectorType(ir.DoubleType(), LANES)
        if isinstance(sig.args[0].dtype, types.Float):
            return loaded if sig.args[0].dtype == types.float64 else builder.fpext(loaded, kind)
        return builder.sitofp(loaded, kind)

    return Vector(types.float64)(array, index), generate


@intrinsic
def store(typing_context, array, index, vector):
    """`array[index : index + lanes] = vector`."""

    def generate(context, builder, sig, args):
        address, align = _address(context, builder, sig, args, vector.lanes)
        builder.store(args[2], address, align=align)
        return context.get_dummy_value()

    return types.void(array, index, vector), generate


@intrinsic
def store_double(typing_context, array, index, vector):
    """`array[index : index + LANES] = vector` (float64); the array is of float64, or of whole numbers with a sign."""

    def generate(context, builder, sig, args):
        address, align = _address(context, builder, sig, args)
        kind, numbers = sig.args[0].dtype, args[2]
        if isinstance(kind, types.Integer):
            numbers = builder.fptosi(numbers, ir.VectorType(context.get_value_type(kind), LANES))
        builder.store(numbers, address, align=align)
        return context.get_dummy_value()

    return types.void(array, index, vector), generate


@intrinsic(prefer_literal=True)
def spread(typing_context, number, lanes=_WHOLE):
    """A vector of this number (float32 or float64)."""
    n = _lanes(lanes)

    def generate(context, builder, sig, args):
        return spread_to(builder, args[0], n)

    return Vector(number, n)(number, lanes), generate


@of_vectors
def single(typing_context, vector):
    """These numbers (float64), rounded to float32."""
    kind = ir.VectorType(ir.FloatType(), vector.lanes)
    return Vector(types.float32, vector.lanes), lambda builder, value: builder.fptrunc(value, kind)


@of_vectors
def double(typing_context, vector):
    """These numbers (float32, or whole ones without a sign) as float64."""
    widen = ir.IRBuilder.fpext if isinstance(vector.dtype, types.Float) else ir.IRBuilder.uitofp
    kind = ir.VectorType(ir.DoubleType(), vector.lanes)
    return Vector(types.float64, vector.lanes), lambda builder, value: widen(builder, value, kind)


@intrinsic
def like(typing_context, array, vector):
    """These numbers (float64) in the type of `array`: rounded to float32, or down to whole ones without a sign."""
    n = vector.lanes

    def generate(context, builder, sig, args):
        narrow = builder.fptrunc if isinstance(array.dtype, types.Float) else builder.fptoui
        return narrow(args[1], ir.VectorType(context.get_value_type(array.dtype), n))

    return Vector(array.dtype, n)(array, vector), generate


@of_vectors
def product(typing_context, a, b):
    """`a * b`, rounded by itself: what it is added to or taken from is not fused with it."""
    return a, lambda builder, *values: builder.fmul(*values)


@of_vectors
def larger(typing_context, a, b):
    """The larger of each pair of numbers."""
    return a, _larger


@of_vectors
def total(typing_context, vector):
    """The sum of the numbers, halves on halves."""
    return vector.dtype, lambda builder, value: _only(builder, _fold(builder, value, _plus))


@of_vectors
def quarter(typing_context, vector):
    """A vector of QUARTER lanes with the sum of the numbers, added as `total` adds them."""
    return Vector(vector.dtype, QUARTER), lambda builder, value: _fold(builder, value, _plus, QUARTER)


@of_vectors
def totals(typing_context, a, b, c, d):
    """The sums of four vectors of QUARTER lanes, as such a vector."""
    assert a.lanes == QUARTER

    def build(builder, *values):
        low, high = [0, 4, 2, 6], [1, 5, 3, 7]
        ab, cd = _both(builder, *values[:2], low, high), _both(builder, *values[2:], low, high)
        return _both(builder, ab, cd, [0, 1, 4, 5], [2, 3, 6, 7])

    return a, build


@of_vectors
def largest(typing_context, vector):
    """The largest of the numbers."""
    return vector.dtype, lambda builder, value: _only(builder, _fold(builder, value, _larger))


def _first(context, builder, sig, n, lanes):
    """Which of so many lanes are among the first `n`, the third argument."""
    last = context.cast(builder, n, sig.args[2], types.int32)
    return builder.icmp_signed("<", positions(range(lanes)), spread_to(builder, last, lanes))


def _masked(builder, what, result, arguments, dtype, lanes):
    kind = f"{'f' if isinstance(dtype, types.Float) else 'i'}{dtype.bitwidth}"
    signature = ir.FunctionType(result, [argument.type for argument in arguments])
    name = f"llvm.masked.{what}.v{lanes}{kind}.p0"
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)


def spread_to(builder, number, lanes):
    """What `spread` is compiled to."""
    empty = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    first = builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, empty, positions([0] * lanes))


def _larger(builder, a, b):
    bits = 32 if isinstance(a.type.element, ir.FloatType) else 64
    name = f"llvm.maxnum.v{a.type.count}f{bits}"
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(a.type, [a.type, a.type]), name)
    return builder.call(function, [a, b], fastmath=("nnan", "nsz"))


def _plus(builder, a, b):
    return builder.fadd(a, b)


def _fold(builder, value, combine, lanes=1):
    n = value.type.count
    while n > lanes:
        n //= 2
        value = _both(builder, value, value, range(n), range(n, 2 * n), combine)
    return value


def _both(builder, a, b, low, high, combine=_plus):
    """Some lanes of two vectors, combined with others of them."""
    parts = [builder.shuffle_vector(a, b, positions(lanes)) for lanes in (low, high)]
    return combine(builder, *parts)


def _only(builder, vector):
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def positions(lanes):
    """Numbers of lanes, as a shuffle takes them."""
    return ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))


@intrinsic
def prefetch(typing_context, array, row, column=types.none):
    """Prefetch the cache line of `array[row, column]`, or of `array[row]`. Does not change any result."""

    def generate(context, builder, sig, args):
        places = [context.cast(builder, args[i], sig.args[i], types.intp) for i in range(1, 1 + array.ndim)]
        data = arrayobj.make_array(array)(context, builder, args[0])
        at = cgutils.get_item_pointer(context, builder, array, data, places)
        line, number = builder.bitcast(at, ir.IntType(8).as_pointer()), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [line.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", (line.type,), kind)
        builder.call(function, [line, number(0), number(3), number(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, row, column), generate
