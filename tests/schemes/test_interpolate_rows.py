"""Each row moves by its own number of updates, and by its own share of the documents."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic import methods
from bigtopic.errors import SettingError
from bigtopic.schemes.interpolate import InterpolateRows
from bigtopic.types import AxisStats, Stats

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.dense_array import N_COLUMNS, N_ROWS, DenseArray, info, random_array, random_stats, update


def told(step, stats, documents, seen):
    """A round in which the rows had `seen` documents of the `documents` that they have in all."""
    totals = np.zeros((N_ROWS, N_COLUMNS))
    totals[:, 0] = documents
    found = Stats({"documents": AxisStats(stats.ids, np.array(seen, float)[:, None])}, 10, 500.0)
    array = DenseArray(totals, prior=0.0)
    return info(step)._replace(arrays={"documents": array}, stats=found)


def test_the_recursion_of_each_row():
    scheme = InterpolateRows(learning_decay=0.7, learning_offset=2.0, documents="documents")
    array, documents = random_array(), 1 + np.arange(N_ROWS)
    expected, steps = array.statistics.copy(), np.zeros(N_ROWS)
    for step, ids in enumerate([(2, 3, 11, 29), (3, 5, 29, 7), (29, 3, 0, 1)], 1):
        stats, seen = random_stats(seed=step, ids=ids), [1, 2, 3, 1]
        update(scheme, array, stats, told(step, stats, documents, seen))
        for i, row in enumerate(ids):
            steps[row] += 1
            rate = (2.0 + steps[row]) ** -0.7
            whole = documents[row] / seen[i] * stats.values[i]
            expected[row] = (1 - rate) * expected[row] + rate * whole
    np.testing.assert_allclose(array.statistics, expected, rtol=1e-12)


def test_with_the_clock_of_the_run_and_even_shares_it_is_interpolation():
    scheme = InterpolateRows(learning_decay=0.7, learning_offset=2.0, own_steps=False)
    array, stats = random_array(), random_stats(dtype=np.float64)
    rate, before = (2.0 + 4) ** -0.7, array.statistics[stats.ids]
    update(scheme, array, stats, info(step=4, n_docs=10, total_docs=1000.0))
    after = (1 - rate) * before + rate * 100.0 * stats.values
    np.testing.assert_allclose(array.statistics[stats.ids], after, rtol=1e-12)


@pytest.mark.parametrize("seen", [0.0, 1.0])
def test_a_row_without_documents_has_its_prior(seen):
    scheme = InterpolateRows(learning_offset=0.0, documents="documents")
    array, stats = random_array(), random_stats()
    update(scheme, array, stats, told(1, stats, np.zeros(N_ROWS), [seen] * 4))
    np.testing.assert_array_equal(array.statistics[stats.ids], 0)


@pytest.mark.parametrize("documents", ["", None])
def test_the_documents_of_rows_are_not_guessed(documents):
    with pytest.raises(
        SettingError, match=r"documents=.*the array that has the documents of each row; .*Interpolate"
    ):
        InterpolateRows(documents=documents)


def test_a_method_without_the_documents_of_rows_is_refused():
    online = methods.get("online-author-vb")
    own = {name: scheme for name, scheme in online.schemes.items() if name != "author_documents"}
    with pytest.raises(SettingError, match="reads the statistics of 'author_documents', which no scheme"):
        bt.AuthorTopicModel(2, method=replace(online, schemes=own)).fit(None)
