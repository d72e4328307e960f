"""The natural logarithm for compiled loops: no branches and no tables, so that a loop over it is vectorised.

x = m 2^e,  m from sqrt(1/2) to sqrt(2) ;  log x = e log 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...),  s = (m - 1) / (m + 1)
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


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
def _log32(x):
    bits = np.float32(x).view(np.int32)
    exponent = np.int32(np.int32(bits - _ROOT_OF_HALF) >> _MANTISSA)
    m = np.int32(bits - np.int32(exponent << _MANTISSA)).view(np.float32)
    s = (m - _ONE32) / (m + _ONE32)
    z = s * s
    return np.float32(exponent) * _LN2_32 + s * (_L1 + z * (_L3 + z * (_L5 + z * (_L7 + z * _L9))))


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def _log64(x):
    return math.log(x)


def fast_log(x):
    """log(x) of a positive normal number in the precision of x, float32 or float64.

    In float32 the error is below 2e-7 times (|log x| + the distance of x from 1). Only for compiled code.
    """
    raise NotImplementedError("only for compiled code")


@overload(fast_log)
def _fast_log(x):
    function = _log32 if x == types.float32 else _log64
    return lambda x: function(x)
