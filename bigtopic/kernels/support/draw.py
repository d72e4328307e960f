"""Draws of a topic with given weights, for compiled loops.

The topics are taken in an order that suits vectors of LANES columns: first all columns of lane 0 (0, LANES, 2 LANES,
...), then the columns of lane 1, and so on. The draw is the first topic, in this order, at which the running sum of the
weights exceeds u times their total. One pass over the weights makes the running sums of all lanes side by side; the
sums of the lanes say in which lane to look, and a bisection finds the topic there.

The arrays of compiled loops that draw are flat, and `get` and `put` do not look at an index: most of a draw would be
looking.

Running sums are as precise as the weights: in float32 a topic's probability is off by at most a few 1e-7 of the total
for each vector of columns. A topic of weight 0 is never drawn.

One of the lanes of a vector is drawn in proportion to their numbers without a branch:

    sums = running(vector)
    lane = n_reached(sums, u * total)          # the first lane whose running sum exceeds u * total
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from bigtopic.kernels.support.entry import inner
from bigtopic.kernels.support.vector import LANES, load, of_vectors, positions, spread, spread_to, store

__all__ = ["ENDS", "find", "get", "n_reached", "put", "running", "scan"]

ENDS = 2 * LANES  # room for the sums of the lanes, after zeros


def _place(context, builder, sig, args):
    kind, index = sig.args[:2]
    assert kind.ndim == 1 and kind.layout == "C"
    data = arrayobj.make_array(kind)(context, builder, args[0]).data
    return builder.gep(data, [context.cast(builder, args[1], index, types.intp)])


@intrinsic
def get(typing_context, array, index):
    """`array[index]` of an array of one axis, unchecked; negative indices do not count from the end."""

    def generate(context, builder, sig, args):
        return builder.load(_place(context, builder, sig, args))

    return array.dtype(array, index), generate


@intrinsic
def put(typing_context, array, index, number):
    """`array[index] = number`, likewise."""

    def generate(context, builder, sig, args):
        value = context.cast(builder, args[2], sig.args[2], sig.args[0].dtype)
        builder.store(value, _place(context, builder, sig, args))
        return context.get_dummy_value()

    return types.void(array, index, number), generate


@of_vectors
def running(typing_context, vector):
    """Equivalent to `np.cumsum(vector)`, in steps of 1, 2, 4, 8 lanes: the order of additions is fixed."""

    def build(builder, sums):
        n, step, zero = vector.lanes, 1, ir.Constant(sums.type, [0.0] * vector.lanes)
        while step < n:
            # lane i takes lane i - step, and zero (the second operand's first lane) where there is none
            lanes = [i - step if i >= step else n for i in range(n)]
            sums = builder.fadd(sums, builder.shuffle_vector(sums, zero, positions(lanes)))
            step *= 2
        return sums

    return vector, build


@of_vectors
def n_reached(typing_context, sums, number):
    """Equivalent to `(sums <= number).sum()`."""

    def build(builder, sums, number):
        reached = builder.fcmp_ordered("<=", sums, spread_to(builder, number, sums.type.count))
        bits = builder.bitcast(reached, ir.IntType(sums.type.count))
        return builder.zext(builder.ctpop(bits), ir.IntType(64))

    return types.int64, build


@of_vectors
def _last(typing_context, vector):
    """The number in the last lane."""
    return vector.dtype, lambda builder, value: builder.extract_element(
        value, ir.Constant(ir.IntType(32), LANES - 1)
    )


@intrinsic
def _mask(typing_context, number):
    """All bits for a number of at least 0, none for one below. It passes through an instruction that the compiler does
    not look into (there is none): it would make a branch of it, which no processor can predict here."""

    def generate(context, builder, sig, args):
        width = sig.args[0].bitwidth
        kind = ir.IntType(width)
        sign = builder.ashr(builder.bitcast(args[0], kind), ir.Constant(kind, width - 1))
        mask = builder.not_(sign)
        mask = mask if width == 64 else builder.sext(mask, ir.IntType(64))
        return builder.asm(ir.FunctionType(mask.type, [mask.type]), "", "=r,0", [mask], side_effect=False)

    return types.intp(number), generate


@inner
def _next_with_weight(topic, j, row, n_columns, mass, block):
    """The first topic after this one, in a circle, that has a weight; this one when none has."""
    for step in range(1, n_columns):
        other = (topic + step) % n_columns
        if get(mass, j * n_columns + other) * get(block, row + other) > 0:
            return other
    return topic


@inner
def scan(u, j, row, n_columns, mass, block, sums, ends, targets):
    """First half of the j-th of some draws: the running sums, and where they pass u. Returns the lane for `find`.

    Parameters
    ----------
    u : uniform in (0, 1)
    mass : (n * n_columns,); block : (any,). The weights are `mass[j * n_columns + k] * block[row + k]` for k from 0 to
        n_columns - 1, and 0 in the padding of the columns
    sums, ends, targets : (n * n_columns,), (n * ENDS,) and (n,), what `find` reads; `ends` begins as zeros
    """
    own = spread(mass.dtype.type(0))
    for k in range(0, n_columns, LANES):
        own = own + load(mass, j * n_columns + k) * load(block, row + k)
        store(sums, j * n_columns + k, own)
    up_to = running(own)
    store(ends, j * ENDS + LANES, up_to)
    target = mass.dtype.type(u * _last(up_to))
    put(targets, j, target)
    return min(n_reached(up_to, target), LANES - 1)


@inner
def _n_passed(sums, start, stride, n, most):
    """How many of the first n - 1 of the running sums `sums[start + i * stride]` are not above `most`, by bisection."""
    passed, left = np.intp(0), n
    while left > 1:
        half = left >> 1
        passed += half & _mask(most - get(sums, start + (passed + half - 1) * stride))
        left -= half
    return passed


@inner
def find(lane, j, row, n_columns, mass, block, sums, ends, targets):
    """Second half of a draw: the topic, in the lane that `scan` returned."""
    rest = get(targets, j) - get(ends, j * ENDS + LANES - 1 + lane)
    first = _n_passed(sums, j * n_columns + lane, LANES, n_columns // LANES, rest)
    topic = first * LANES + lane
    # rounding may lead past the last weight of a lane, or into a lane without any
    if get(mass, j * n_columns + topic) * get(block, row + topic) > 0:
        return topic
    return _next_with_weight(topic, j, row, n_columns, mass, block)
