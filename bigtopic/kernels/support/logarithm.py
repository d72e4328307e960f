"""The natural logarithm for compiled loops: no branches and no tables, so that a loop over it is vectorised.

x = m 2^e,  m from sqrt(1/2) to sqrt(2) ;  log x = e log 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...),  s = (m - 1) / (m + 1)

up to s^9 / 9 in float32 and s^21 / 21 in float64.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

__all__ = ["fast_log"]

_f = np.float32
_ONE32, _LN2_32 = _f(1.0), _f(math.log(2.0))
_L1, _L3, _L5, _L7, _L9 = _f(2.0), _f(2.0 / 3.0), _f(2.0 / 5.0), _f(2.0 / 7.0), _f(2.0 / 9.0)
_ROOT_OF_HALF = np.int32(np.sqrt(_f(0.5)).view(np.int32))
_MANTISSA = np.int32(23)  # bits

_LN2_HIGH, _LN2_LOW = (
    0.693147180369123816490,
    1.90821492927058770002e-10,
)  # their sum is log 2; the first has 33 bits
_D = tuple(2.0 / n for n in range(1, 22, 2))
_ROOT_OF_HALF64 = np.int64(np.sqrt(0.5).view(np.int64))
_MANTISSA64 = np.int64(52)


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
def _log32(x):
    bits = np.float32(x).view(np.int32)
    exponent = np.int32(np.int32(bits - _ROOT_OF_HALF) >> _MANTISSA)
    m = np.int32(bits - np.int32(exponent << _MANTISSA)).view(np.float32)
    s = (m - _ONE32) / (m + _ONE32)
    z = s * s
    return np.float32(exponent) * _LN2_32 + s * (_L1 + z * (_L3 + z * (_L5 + z * (_L7 + z * _L9))))


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
def _log64(x):
    bits = np.float64(x).view(np.int64)
    exponent = (bits - _ROOT_OF_HALF64) >> _MANTISSA64
    m = np.int64(bits - (exponent << _MANTISSA64)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    square = z * z  # pairs side by side: a chain of nine multiply-adds would be waited for
    fourth = square * square
    low = (_D[1] + z * _D[2]) + square * (_D[3] + z * _D[4])
    high = (_D[5] + z * _D[6]) + square * (_D[7] + z * _D[8])
    p = low + fourth * (high + fourth * (_D[9] + z * _D[10]))
    n = np.float64(np.int32(exponent))  # through 32 bits, which processors convert by vectors
    return n * _LN2_HIGH + (s * _D[0] + (s * z * p + n * _LN2_LOW))


def fast_log(x):
    """log(x) of a positive normal number in the precision of x, float32 or float64.

    In float32 the error is below 2e-7 times (|log x| + the distance of x from 1). Only for compiled code.
    """
    raise NotImplementedError("only for compiled code")


@overload(fast_log)
def _fast_log(x):
    function = _log32 if x == types.float32 else _log64
    return lambda x: function(x)
