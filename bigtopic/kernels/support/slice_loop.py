"""What lets threads infer slices without Python: a form of compiled function, see `types.SliceLoop`, its calls,
pointers to arrays that it was not given, and column sums of statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from bigtopic.kernels.support.entry import outer

__all__ = ["SIGNATURE", "SLICE_LOOP", "add_up", "add_up_two", "address", "address_of", "call", "pointer"]


SLICE_LOOP: Any = {"cache": True, "error_model": "numpy", "fastmath": False}  # how numba compiles one


def _read(dtype, n_axes=1):
    return types.Array(dtype, n_axes, "C", readonly=True)


# (seed, source rows of the documents (n_docs,), indptr (n_docs + 1,), words (nnz,), counts (nnz,), rows of the view
# (n_words, n_columns), prior (n_columns,), options (n,), scratch (n,), statistics (n_words, n_columns), figures (n,));
# the last three are written
SIGNATURE = types.void(
    types.int64, _read(types.int64), _read(types.int64), _read(types.int32), _read(types.float32),
    _read(types.float32, 2), _read(types.float32), _read(types.float64), types.float32[::1], types.float32[:, ::1],
    types.float64[::1],
)  # fmt: skip


@cache
def address_of(loop: Callable[..., None]) -> int:
    """The address of the loop, compiled for `SIGNATURE`."""
    function: Any = loop
    function.compile(SIGNATURE)
    compiled = function.overloads[SIGNATURE.args]
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return address


@intrinsic
def call(typing_context, address, arguments):
    """Call the loop at an address with a tuple of arguments. Passing the function itself would cost 20 us per call."""

    def generate(context, builder, signature, values):
        given = [
            context.cast(builder, value, own, wanted)
            for value, own, wanted in zip(
                cgutils.unpack_tuple(builder, values[1]), signature.args[1], SIGNATURE.args, strict=True
            )
        ]
        kind = context.call_conv.get_function_type(SIGNATURE.return_type, SIGNATURE.args)
        function = builder.inttoptr(values[0], ir.PointerType(kind))
        status, _ = context.call_conv.call_function(
            builder, function, SIGNATURE.return_type, SIGNATURE.args, given
        )
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.void(types.int64, arguments), generate


def address(array: np.ndarray) -> int:
    """Of the first number of a contiguous array."""
    found: int = array.__array_interface__["data"][0]
    return found


@intrinsic
def pointer(typing_context, address):
    """The pointer to an address, for `numba.carray`."""

    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@outer
def add_up(values, sums):
    """sums[k] += sum_i values[i, k]; sums of sixteen rows are in the precision of `values`."""
    add_up_two(values, values[:0], sums)


@outer
def add_up_two(first, then, sums):
    """Equivalent to `add_up(np.concatenate([first, then]), sums)`."""
    n_columns, n = first.shape[1], len(first)
    part = np.empty(n_columns, first.dtype)
    for begin in range(0, n + len(then), 16):
        part[:] = 0
        for i in range(begin, min(begin + 16, n + len(then))):
            source = first[i] if i < n else then[i - n]
            for k in range(n_columns):
                part[k] += source[k]
        for k in range(n_columns):
            sums[k] += part[k]
