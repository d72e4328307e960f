"""Rows that have statistics are replaced, the others stay."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from bigtopic import schemes

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.dense_array import info, random_array, random_stats

from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Overlay

SCHEME = schemes.load("replace_rows")()


def test_rows_of_the_statistics_alone_are_replaced():
    array, stats = random_array(), random_stats()
    expected = array.statistics.copy()
    expected[stats.ids] = stats.values
    for step in (1, 2):  # a second time changes nothing
        SCHEME.step(array, stats, info(step))
        np.testing.assert_array_equal(array.statistics, expected)


def test_sums_are_those_of_the_rows():
    dense, stats = random_array(), random_stats(dtype=np.float64)
    lazy = LazyArray(dense.statistics.copy(), np.full(16, 0.25), np.full((1, 1), 0.1), 5, "author")
    overlay = Overlay(lazy.copy())
    for array in (lazy, overlay):
        SCHEME.step(array, stats, info())
        np.testing.assert_allclose(array.gather(stats.ids)[:, :5], 0.1 + stats.values[:, :5], rtol=1e-12)
        sums = array.gather(None)[:, :5].sum(axis=0) - 30 * 0.1
        np.testing.assert_allclose(array.totals()[:5], sums, rtol=1e-12)
