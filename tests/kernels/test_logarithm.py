"""The logarithm of compiled loops against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from bigtopic.kernels.support.math import fast_log


@njit
def _logs(x, out):
    for i in range(len(x)):
        out[i] = fast_log(x[i])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-7), (np.float64, 4e-16)])
def test_fast_log(dtype, tolerance):
    wide, near_one = np.geomspace(1e-12, 1e12, 20_001), np.linspace(0.5, 2, 20_001)
    x = np.concatenate([wide, near_one, np.sqrt([0.5, 2.0])]).astype(dtype)
    out = np.empty_like(x)
    _logs(x, out)
    true = np.log(x.astype(np.float64))
    np.testing.assert_array_less(np.abs(out - true), tolerance * (np.abs(true) + np.abs(x - 1)) + 1e-30)
