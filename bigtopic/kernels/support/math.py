"""Special functions for compiled loops: no branches and no tables, so that a loop over them is vectorised.

All shift the argument up by n with Gamma(x + 1) = x Gamma(x), n terms in one quotient, and expand there:

    psi(x)      = psi(x + n) - sum_i 1 / (x + i)
    psi(y + 1/2)      = log y + 1/24 z - 7/960 z^2 + 31/8064 z^3 - ...            with z = 1 / y^2
    exp psi(y + 1/2)  = y (1 + 1/24 z - 37/5760 z^2 + 10313/2903040 z^3 - ...)

(the second is the expansion of psi about half integers, the third its exponential). The arguments are
positive. In single precision n is 1 and a polynomial is enough:

    exp psi(x + 1) = x + 1/2 + t p(t)                             with t = 1 / (x + 1)

where p, of degree 4, is the one whose largest error relative to the whole is smallest for x >= 0: 1.1e-7.

Callers compiled with fast-math keep what is exact here: each function has its own flags, at most for fused
multiply-adds.

The natural logarithm of

    x = m 2^e,  m from sqrt(1/2) to sqrt(2) ;  log x = e log 2 + 2 (s + s^3 / 3 + s^5 / 5 + ...),  s = (m - 1) / (m + 1)

is summed up to s^9 / 9 in float32 and s^21 / 21 in float64.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from bigtopic.kernels.support.entry import OUTER, outer

__all__ = ["digamma", "exp_digamma", "fast_digamma", "fast_exp", "fast_log", "lgamma"]


_fused = njit(**OUTER | {"fastmath": {"contract"}})
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_LOG2E = 1.0 / math.log(2.0)
# their sum is log 2; the first has 16 bits
_LN2_HIGH, _LN2_LOW = 0.693145751953125, 1.42860682030941723212e-6

_f = np.float32
_E32 = tuple(_f(1.0 / math.factorial(n)) for n in range(8))
_LOG2E32, _LN2_32 = _f(_LOG2E), _f(math.log(2.0))
_HALF32, _ONE32 = _f(0.5), _f(1.0)
_P0, _P1, _P2 = _f(0.0416616194), _f(0.0207591173), _f(0.0049359967)
_P3, _P4 = _f(-0.00794022589), _f(0.00204303072)
_LEAST32, _MOST32, _FADE32 = _f(-87.0), _f(88.0), _f(-67.5)


@_fused
def _exp32(x):
    x = min(max(x, _LEAST32), _MOST32)
    n = np.floor(x * _LOG2E32 + _HALF32)
    r = x - n * _LN2_32
    square = r * r  # halves side by side: a chain of seven multiply-adds would be waited for
    low = (_ONE32 + r) + square * (_E32[2] + r * _E32[3])
    high = (_E32[4] + r * _E32[5]) + square * (_E32[6] + r * _E32[7])
    p = low + square * square * high
    return p * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@_fused
def _exp64(x):
    x = min(max(x, -708.0), 709.0)
    n = np.floor(x * _LOG2E + 0.5)
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    square = r * r  # pairs side by side, as above
    fourth = square * square
    highest = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    low = (0.5 + r * (1.0 / 6.0)) + square * (1.0 / 24.0 + r * (1.0 / 120.0))
    middle = (1.0 / 720.0 + r * (1.0 / 5040.0)) + square * (1.0 / 40320.0 + r * (1.0 / 362880.0))
    high = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + square * highest
    p = 1.0 + (r + square * (low + fourth * (middle + fourth * high)))
    return p * np.int64((np.int64(np.int32(n)) + np.int64(1023)) << np.int64(52)).view(np.float64)


@_fused
def _exp_digamma32(x):
    t = _ONE32 / (x + _ONE32)
    p = _P0 + t * (_P1 + t * (_P2 + t * (_P3 + t * _P4)))
    return ((x + _HALF32) + t * p) * _exp32(max(-_ONE32 / x, _FADE32))


@outer
def _eight_reciprocals(x):
    """Equivalent to `sum(1 / (x + i) for i in range(8))`."""
    u = x * (x + 7.0)
    a, b = u * (u + 6.0), (u + 10.0) * (u + 12.0)
    return (2.0 * x + 7.0) * ((2.0 * u + 6.0) * b + (2.0 * u + 22.0) * a) / (a * b)


@outer
def _exp_digamma64(x):
    y = x + 7.5
    inverse = 1.0 / y
    z = inverse * inverse
    p = -499769010050743.0 / 24103053950976000.0 + z * (47655701498228027.0 / 578473294823424000.0)
    p = -5509121.0 / 1393459200.0 + z * (2709398569.0 / 367873228800.0 + z * p)
    p = -37.0 / 5760.0 + z * (10313.0 / 2903040.0 + z * p)
    return (y + inverse * (1.0 / 24.0 + z * p)) * _exp64(-_eight_reciprocals(x))


@outer
def digamma(x):
    """Derivative of log Gamma at x > 0, float64; relative error below 1e-12 away from its root."""
    y = x + 7.5
    z = 1.0 / (y * y)
    return math.log(y) + z * _digamma_series(z) - _eight_reciprocals(x)


@outer
def fast_digamma(x):
    """As `digamma`, for loops that are vectorised: the last place may differ."""
    y = x + 7.5
    z = 1.0 / (y * y)
    return fast_log(y) + z * _digamma_series(z) - _eight_reciprocals(x)


@outer
def _digamma_series(z):
    p = -1414477.0 / 67092480.0 + z * (8191.0 / 98304.0)
    p = -127.0 / 30720.0 + z * (511.0 / 67584.0 + z * p)
    return 1.0 / 24.0 + z * (-7.0 / 960.0 + z * (31.0 / 8064.0 + z * p))


@outer
def lgamma(x):
    """log Gamma(x) for x > 0, float64, by Stirling's series at x + 8."""
    u = x * (x + 7.0)
    y = x + 8.0
    inverse = 1.0 / y
    z = inverse * inverse
    p = 1.0 / 1188.0 - z * (691.0 / 360360.0 - z * (1.0 / 156.0))
    p = 1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * p)))
    product = u * (u + 6.0) * (u + 10.0) * (u + 12.0)
    return (y - 0.5) * math.log(y) - y + _HALF_LOG_2PI + inverse * p - math.log(product)


def fast_exp(x):
    """exp(x) in the precision of x, float32 or float64; exponents are clipped to what is normal there.

    Relative error below 2e-7 or 4e-16 times (1 + |x|). Only for compiled code.
    """
    raise NotImplementedError("only for compiled code")


def exp_digamma(x):
    """exp(psi(x)) for x > 0 in the precision of x, float32 or float64, about x - 1/2 for large x.

    Relative error below 1e-6 (float32, from x = 0.05 on; below, the error of its exponent, 1e-7 / x) or 1e-13
    (times 1 / x below 1). float32 does not fall below about 3e-30 (it is reached at x = 0.0148): that keeps
    products with it normal numbers. Only for compiled code.
    """
    raise NotImplementedError("only for compiled code")


@overload(fast_exp)
def _fast_exp(x):
    function = _exp32 if x == types.float32 else _exp64
    return lambda x: function(x)


@overload(exp_digamma)
def _exp_digamma(x):
    function = _exp_digamma32 if x == types.float32 else _exp_digamma64
    return lambda x: function(x)


_L1, _L3, _L5, _L7, _L9 = _f(2.0), _f(2.0 / 3.0), _f(2.0 / 5.0), _f(2.0 / 7.0), _f(2.0 / 9.0)
_ROOT_OF_HALF = np.int32(np.sqrt(_f(0.5)).view(np.int32))
_MANTISSA = np.int32(23)  # bits

# their sum is log 2; the first has 33 bits
_LOG2_HIGH, _LOG2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
_D = tuple(2.0 / n for n in range(1, 22, 2))
_ROOT_OF_HALF64 = np.int64(np.sqrt(0.5).view(np.int64))
_MANTISSA64 = np.int64(52)


@_fused
def _log32(x):
    bits = np.float32(x).view(np.int32)
    exponent = np.int32(np.int32(bits - _ROOT_OF_HALF) >> _MANTISSA)
    m = np.int32(bits - np.int32(exponent << _MANTISSA)).view(np.float32)
    s = (m - _ONE32) / (m + _ONE32)
    z = s * s
    return np.float32(exponent) * _LN2_32 + s * (_L1 + z * (_L3 + z * (_L5 + z * (_L7 + z * _L9))))


@_fused
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
    return n * _LOG2_HIGH + (s * _D[0] + (s * z * p + n * _LOG2_LOW))


def fast_log(x):
    """log(x) of a positive normal number in the precision of x, float32 or float64.

    In float32 the error is below 2e-7 times (|log x| + the distance of x from 1). Only for compiled code.
    """
    raise NotImplementedError("only for compiled code")


@overload(fast_log)
def _fast_log(x):
    function = _log32 if x == types.float32 else _log64
    return lambda x: function(x)
