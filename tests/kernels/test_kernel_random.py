"""Keyed random numbers: functions of their key, and distributed as they say, within standard errors."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy import stats

from bigtopic.kernels.support import random as _random

ROWS = np.arange(1000)


@njit
def _draw_both(keys, numbers, others):
    for i in range(keys.shape[0]):
        numbers[i] = _random.uniform(keys[i], 3)
        others[i] = _random.as_uniform(_random.bits(keys[i], 3))


def filled(low=0.0, high=1.0, seed=5, rows=ROWS, columns=100):
    out = np.empty((len(rows), columns))
    _random.fill_uniform(out, seed, rows, low, high)
    return out


def test_first_words_are_those_of_splitmix64():
    """Key 0 walks the published sequence of seed 0 (Vigna's splitmix64.c)."""
    words = [int(_random.bits(np.uint64(0), draw)) for draw in range(3)]
    assert words == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_numbers_depend_on_key_only():
    whole = filled()
    np.testing.assert_array_equal(filled(rows=ROWS[[700, 3]]), whole[[700, 3]])
    np.testing.assert_array_equal(filled(columns=7), whole[:, :7])


def test_keys_differ():
    seeds = [0, 1, 2**32, 2**63 - 1]
    keys = {int(_random.key(seed, row)) for seed in seeds for row in range(2000)}
    assert len(keys) == len(seeds) * 2000


def test_numbers_are_uniform():
    values, law = filled(2.0, 5.0), stats.uniform(2, 3)
    assert stats.kstest(values.ravel(), law.cdf).pvalue > 1e-3
    error = law.std() / math.sqrt(values.size)
    assert abs(values.mean() - law.mean()) < 4 * error


def test_neighbours_are_uncorrelated():
    a, b = filled(), filled(seed=6)
    pairs = {"draws": (a[:, :-1], a[:, 1:]), "rows": (a[:-1], a[1:]), "seeds": (a, b)}
    for name, (x, y) in pairs.items():
        assert abs(np.corrcoef(x.ravel(), y.ravel())[0, 1]) < 4 / math.sqrt(x.size), name


def test_uniform_stays_inside():
    values = filled(columns=1000)
    assert values.min() > 0 and values.max() < 1
    assert len(np.unique(values)) == values.size


def test_vectors_of_words_become_the_numbers_of_uniform():
    """To the last bit: half the words have their first bit set, which makes a number of more than 2^52."""
    keys, found = np.arange(5000, dtype=np.uint64), np.empty((2, 5000))
    _draw_both(keys, *found)
    np.testing.assert_array_equal(*found)
    last = [_random.as_uniform(np.uint64(word)) for word in (0, 2**11, 2**64 - 1)]
    assert last == [0.5 * 2.0**-53, 1.5 * 2.0**-53, (float(2**53 - 1) + 0.5) * 2.0**-53]
