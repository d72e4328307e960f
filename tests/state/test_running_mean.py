"""The running mean of an array, against the mean of the arrays themselves."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import schemes
from bigtopic.errors import ModelError
from bigtopic.state import running_mean
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.running_mean import COUNT, MEAN, RunningMean, begin_mean, mean_of
from bigtopic.types import ArraySpec, AxisStats

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.dense_array import N_COLUMNS, N_COMPONENTS, N_ROWS, info, random_stats, reading

DTYPES = ["float32", "float64", "int32"]


def random_array(dtype="float64", seed=0):
    array = LazyArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=0.05, dtype=dtype)
    array.raw[:, :N_COMPONENTS] = np.random.default_rng(seed).gamma(2.0, size=(N_ROWS, N_COMPONENTS))
    array.fold()
    return array


def averaged(array):
    """The array with what its mean needs beside it, by name."""
    rest = LazyArray.zeros(
        array.n_rows, array.n_components, axis="word", dtype="float64", normalised_over=None
    )
    count = LazyArray.zeros(1, 1, axis="none", dtype="float64", normalised_over=None)
    return {"a": array, f"a.{MEAN}": rest, f"a.{COUNT}": count}


def follow(arrays, update, n_updates):
    """The mean of the array after each update, densely and as it is kept."""
    seen = []
    for step in range(1, n_updates + 1):
        mean = RunningMean.of(arrays, "a")
        update(mean, step)
        mean.count()
        seen.append(arrays["a"].gather(None).astype(float))
    return np.mean(seen, axis=0), mean_of(arrays, "a").gather(None)


def check(arrays, update, n_updates):
    dense, kept = follow(arrays, update, n_updates)
    np.testing.assert_allclose(kept, dense, rtol=1e-6, atol=1e-6 * dense.max())


@pytest.mark.parametrize("dtype", DTYPES[:2])
@pytest.mark.parametrize("decay", [1.0, 0.999, 0.7, 0.05])
@pytest.mark.parametrize("folds", [False, True])
def test_it_is_the_mean_at_any_decay(dtype, decay, folds):
    """300 updates: at 0.7 the scale of the array itself is folded twice, and the mean made anew more often."""

    def update(array, step):
        if folds and step % 37 == 0:
            array.fold()
        array.add(random_stats(seed=step, ids=(step % N_ROWS, (7 * step + 1) % N_ROWS)), 1.0 - decay, decay)

    check(averaged(random_array(dtype)), update, 300)


@pytest.mark.parametrize("dtype", DTYPES[:2])
@pytest.mark.parametrize("decay", [1.0, 0.7])
def test_it_is_the_mean_where_all_rows_move_in_some_updates(dtype, decay):
    def update(array, step):
        rows = range(N_ROWS) if step % 3 else [step % N_ROWS]
        array.add(random_stats(seed=step, ids=rows), 1.0 - decay / 2, decay)

    check(averaged(random_array(dtype)), update, 100)


@pytest.mark.parametrize("dtype", DTYPES)
def test_it_is_the_mean_of_whatever_a_scheme_does(dtype):
    """Columns that decay differently or are cleared, rows that fade, several changes in an update, folds."""

    def update(array, step):
        draw = np.random.default_rng(step)
        decays = [1.0, 1.0, 0.0] if dtype == "int32" else [1.0, 1.0, 0.9, 1e-3, 1e-12, 0.0]
        for _ in range(draw.integers(0, 3)):
            ids = draw.choice(N_ROWS, 4, replace=False)
            stats = random_stats(int(draw.integers(1 << 30)), ids)
            decay = np.where(draw.random(N_COLUMNS) < 0.5, 1.0, draw.choice(decays))
            row_decay = None if draw.random() < 0.5 else draw.integers(0, 2, 4).astype(float)
            array.add(stats, draw.gamma(1.0, size=N_COLUMNS), decay, draw.gamma(1.0, size=4), row_decay)
        if draw.random() < 0.1:
            array.fold()

    check(averaged(random_array(dtype)), update, 200)


@pytest.mark.parametrize("name", schemes.names())
@pytest.mark.parametrize("dtype", DTYPES[:2])
def test_every_scheme_has_one(name, dtype):
    scheme = schemes.load(name)()
    array = random_array(dtype)
    beside = {
        each: LazyArray.zeros(N_ROWS, N_COMPONENTS, axis="word", dtype=spec.dtype, normalised_over=None)
        for each, spec in getattr(scheme, "companions", {}).items()
    }

    def update(mean, step):
        stats = random_stats(step, ids=np.random.default_rng(step).choice(N_ROWS, 4, replace=False))
        if getattr(scheme, "takes_expected_logs", False):
            stats = AxisStats(stats.ids, -stats.values)
        scheme.step(mean, stats, reading(scheme, stats, info(step))._replace(companions=beside))

    if getattr(scheme, "sets_prior", False):
        pytest.skip("moves the prior alone, which is not averaged")
    check(averaged(array), update, 100)


def test_the_array_moves_as_if_it_had_none():
    """To the bit, folds included."""
    alone, array = random_array("float32"), random_array("float32")
    arrays = averaged(array)
    for step in range(1, 200):
        mean = RunningMean.of(arrays, "a")
        for each in (alone, mean):
            each.add(random_stats(seed=step), 0.5, np.linspace(0.2, 1.0, N_COLUMNS))
        mean.count()
    np.testing.assert_array_equal(array.raw, alone.raw)
    np.testing.assert_array_equal(array.scale, alone.scale)
    np.testing.assert_array_equal(array.sums, alone.sums)


def test_an_update_costs_its_own_rows():
    arrays = averaged(random_array())
    ids = np.array([2, 3, 11, 29])
    follow(arrays, lambda array, step: array.add(random_stats(step, ids), 0.1, 0.9), 3)
    others = np.setdiff1d(np.arange(N_ROWS), ids)
    arrays[f"a.{MEAN}"].raw[others] = np.nan  # whoever reads or moves them shows it
    mean = RunningMean.of(arrays, "a")
    mean.add(random_stats(4, ids), 0.1, 0.9)
    mean.count()
    assert np.isfinite(arrays[f"a.{MEAN}"].sums).all()


def test_rows_that_are_added_later_had_nothing_before():
    arrays = averaged(random_array())
    follow(arrays, lambda array, step: array.add(random_stats(step), 0.1, 0.9), 4)
    for name in ("a", f"a.{MEAN}"):
        arrays[name].grow(N_ROWS + 1)
    for step in range(4):
        mean = RunningMean.of(arrays, "a")
        mean.add(random_stats(step, ids=(N_ROWS,)), 1.0, 1.0 if step else 0.5)
        mean.count()
    values = [random_stats(step, ids=(N_ROWS,)).values[0].astype(float) for step in range(4)]
    expected = np.cumsum(values, axis=0).sum(axis=0)[:N_COMPONENTS] / 8
    np.testing.assert_allclose(mean_of(arrays, "a").gather(None)[N_ROWS, :N_COMPONENTS] - 0.05, expected)


def test_without_updates_it_is_the_array():
    arrays = averaged(random_array())
    assert mean_of(arrays, "a") is arrays["a"]
    assert mean_of({"a": arrays["a"]}, "a") is arrays["a"]


def test_a_mean_that_was_begun_rises():
    """What it begins with counts as the first three updates; the i-th of all weighs in proportion to i."""
    arrays = averaged(random_array())
    begin_mean(arrays, "a")
    total, weights = 6 * arrays["a"].gather(None), 6
    np.testing.assert_allclose(mean_of(arrays, "a").gather(None), total / weights)
    for i in range(4, 20):
        mean = RunningMean.of(arrays, "a")
        mean.add(random_stats(i), 0.3, 0.7)
        mean.count(rises=True)
        total, weights = total + i * arrays["a"].gather(None), weights + i
        np.testing.assert_allclose(mean_of(arrays, "a").gather(None), total / weights, rtol=1e-6)


def test_its_totals_are_those_of_its_rows():
    arrays = averaged(random_array("float32"))
    follow(arrays, lambda array, step: array.add(random_stats(step), 0.3, 0.7), 60)
    mean = mean_of(arrays, "a")
    np.testing.assert_allclose(
        mean.weight_totals(), mean.gather(None)[:, :N_COMPONENTS].sum(axis=0), rtol=1e-6
    )
    assert not mean.gather(None)[:, N_COMPONENTS:].any()


def test_what_does_not_fit_is_refused_as_by_the_array():
    mean = RunningMean.of(averaged(random_array()), "a")
    with pytest.raises(ModelError, match="rows 99 to 99"):
        mean.add(random_stats(ids=(99,)))
    with pytest.raises(ModelError, match="decay"):
        mean.add(random_stats(), decay=np.nan)


def test_what_is_beside_an_array_has_its_rows():
    specs = running_mean.specs("a", ArraySpec("author", 3, prior="p"))
    assert specs[f"a.{MEAN}"] == ArraySpec("author", 3, normalised_over=None, dtype="float64")
    assert specs[f"a.{COUNT}"].rows == "none"
