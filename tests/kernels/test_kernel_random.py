"""Keyed random numbers: functions of their key, and distributed as they say, within standard errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from bigtopic.kernels import _random

ROWS = np.arange(1000)


def filled(function, *arguments, seed=5, rows=ROWS, columns=100):
    out = np.empty((len(rows), columns))
    function(out, seed, rows, *arguments)
    return out


def test_first_words_are_those_of_splitmix64():
    """Key 0 walks the published sequence of seed 0 (Vigna's splitmix64.c)."""
    words = [int(_random.bits(np.uint64(0), draw)) for draw in range(3)]
    assert words == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_numbers_depend_on_key_only():
    whole = filled(_random.fill_normal)
    part = filled(_random.fill_normal, rows=ROWS[[700, 3]])
    np.testing.assert_array_equal(part, whole[[700, 3]])
    np.testing.assert_array_equal(filled(_random.fill_normal, columns=7), whole[:, :7])


def test_keys_differ():
    seeds = [0, 1, 2**32, 2**63 - 1]
    keys = {int(_random.key(seed, row)) for seed in seeds for row in range(2000)}
    assert len(keys) == len(seeds) * 2000


@pytest.mark.parametrize(
    ("function", "arguments", "law"),
    [
        (_random.fill_uniform, (2.0, 5.0), stats.uniform(2, 3)),
        (_random.fill_normal, (), stats.norm()),
        (_random.fill_gamma, (0.02, 1.0), stats.gamma(0.02)),
        (_random.fill_gamma, (0.7, 2.0), stats.gamma(0.7, scale=2)),
        (_random.fill_gamma, (1.0, 1.0), stats.gamma(1)),
        (_random.fill_gamma, (100.0, 0.01), stats.gamma(100, scale=0.01)),
    ],
)
def test_laws(function, arguments, law):
    values = filled(function, *arguments)
    assert stats.kstest(values.ravel(), law.cdf).pvalue > 1e-3
    error = law.std() / math.sqrt(values.size)
    assert abs(values.mean() - law.mean()) < 4 * error


@pytest.mark.parametrize("function", [_random.fill_uniform, _random.fill_normal])
def test_neighbours_are_uncorrelated(function):
    arguments = (0.0, 1.0) if function is _random.fill_uniform else ()
    a = filled(function, *arguments)
    b = filled(function, *arguments, seed=6)
    pairs = {"draws": (a[:, :-1], a[:, 1:]), "rows": (a[:-1], a[1:]), "seeds": (a, b)}
    for name, (x, y) in pairs.items():
        assert abs(np.corrcoef(x.ravel(), y.ravel())[0, 1]) < 4 / math.sqrt(x.size), name


def test_uniform_stays_inside():
    values = filled(_random.fill_uniform, 0.0, 1.0, columns=1000)
    assert values.min() > 0 and values.max() < 1
    assert len(np.unique(values)) == values.size
