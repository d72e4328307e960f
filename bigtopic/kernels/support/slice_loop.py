"""What lets threads infer slices without Python: a form of compiled function, see `types.SliceLoop`, and its calls."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["SIGNATURE", "SLICE_LOOP", "address_of", "call"]

SLICE_LOOP: Any = {"cache": True, "error_model": "numpy", "fastmath": False}  # how numba compiles one


def _read(dtype: Any, n_axes: int = 1) -> Any:
    return types.Array(dtype, n_axes, "C", readonly=True)


# (indptr (n_docs + 1,), words (nnz,), counts (nnz,), rows of the view (n_words, n_columns), prior (n_columns,),
# options (n,), scratch (n,), statistics (n_words, n_columns), figures (n,)); the last three are written
SIGNATURE = types.void(
    _read(types.int64), _read(types.int32), _read(types.float32), _read(types.float32, 2), _read(types.float32),
    _read(types.float64), types.float32[::1], types.float32[:, ::1], types.float64[::1],
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
def call(typing_context: Any, address: Any, arguments: Any) -> Any:
    """Call the loop at an address with a tuple of arguments. Passing the function itself would cost 20 us per call."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
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
