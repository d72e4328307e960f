"""What every scheme promises, asked of every scheme in the folder with a dense array in place of the lazy one."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import schemes
from bigtopic.errors import SettingError
from bigtopic.schemes.schedule import PlainStep
from bigtopic.types import AxisStats, Scheme

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.dense_array import N_COLUMNS, N_COMPONENTS, N_ROWS, info, random_array, random_stats, update

pytestmark = pytest.mark.battery(2)
WHOLE_AXIS = {schemes.load("langevin")}


@pytest.fixture(params=schemes.names())
def scheme(request) -> Scheme:
    return schemes.load(request.param)()


def test_there_are_schemes_and_the_schedule_is_none():
    assert {"add", "decay_add", "interpolate", "interpolate_normalised", "replace"} <= set(schemes.names())
    assert "schedule" not in schemes.names()


def test_unknown_scheme_names_the_known_ones():
    with pytest.raises(SettingError, match="interpolate"):
        schemes.load("nonsense")


def test_settings_are_a_frozen_dataclass(scheme):
    assert isinstance(scheme, Scheme)
    assert scheme == type(scheme)(**dataclasses.asdict(scheme))
    assert hash(scheme) == hash(type(scheme)())
    with pytest.raises(dataclasses.FrozenInstanceError):
        scheme.anything = 1


def test_statistics_are_only_read(scheme):
    stats = random_stats()
    before = stats.values.copy()
    stats.values.flags.writeable = stats.ids.flags.writeable = False
    update(scheme, random_array(), stats, info())
    np.testing.assert_array_equal(stats.values, before)


def test_costs_its_own_rows(scheme):
    if type(scheme) in WHOLE_AXIS:
        pytest.skip("moves every row")
    array = random_array()
    update(scheme, array, random_stats(), info())
    assert array.moved <= {2, 3, 11, 29} and len(array.touched) <= 4
    assert all(companion.touched <= {2, 3, 11, 29} for companion in array.beside.values())


def test_padding_stays_zero_and_weights_stay_finite(scheme):
    array = random_array()
    for step in range(1, 6):
        update(scheme, array, random_stats(seed=step), info(step))
    assert not array.statistics[:, N_COMPONENTS:].any()
    assert np.isfinite(array.statistics).all() and (array.statistics >= 0).all()
    assert np.isfinite(array.prior).all() and (array.prior > 0).all()


@pytest.mark.parametrize("name", [n for n in schemes.names() if schemes.is_linear(schemes.load(n))])
def test_a_linear_scheme_takes_no_larger_step_than_allowed(name):
    """And scales all rows alike."""
    scheme, array = schemes.load(name)(), random_array()
    before = array.statistics.copy()
    update(scheme, array, random_stats(), info(2)._replace(largest_step=0.01))
    others = np.setdiff1d(np.arange(N_ROWS), random_stats().ids)
    kept = array.statistics[others, :N_COMPONENTS] / before[others, :N_COMPONENTS]
    np.testing.assert_allclose(kept, kept[:1].repeat(len(others), axis=0))
    assert (kept >= 0.99 - 1e-12).all() and (kept <= 1).all()


@pytest.mark.parametrize("name", [n for n in schemes.names() if hasattr(schemes.load(n), "takes_half_life")])
def test_a_half_life_leaves_its_share(name):
    """Of the rows that have no statistics; late in a run, when a step size of a schedule would be smaller."""
    for missed in (0, 26):
        scheme, array = schemes.load(name)(), random_array()
        before = array.statistics.copy()
        update(scheme, array, random_stats(), info(10**6)._replace(retained=0.75, missed=missed))
        others = np.setdiff1d(np.arange(N_ROWS), random_stats().ids)
        kept = array.statistics[others, :N_COMPONENTS] / before[others, :N_COMPONENTS]
        np.testing.assert_allclose(kept, 0.75, rtol=1e-6)


@pytest.mark.parametrize("name", ["interpolate", "interpolate_raw"])
def test_steps_make_up_for_updates_that_are_missed(name):
    scheme = schemes.load(name)(learning_decay=None, learning_scale=0.01)
    kept = []
    for missed in (0, 1, 26):
        array = random_array()
        before = array.statistics.copy()
        update(scheme, array, random_stats(), info(2)._replace(missed=missed))
        others = np.setdiff1d(np.arange(N_ROWS), random_stats().ids)
        kept.append((array.statistics[others, 0] / before[others, 0]).mean())
    np.testing.assert_allclose(kept, [0.99, 0.99, 0.98], rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in schemes.names() if issubclass(schemes.load(n), PlainStep)])
def test_factors_are_those_of_the_step(name):
    """From numbers alone, and also of a minibatch of nothing."""
    scheme = schemes.load(name)()
    for sizes in ({}, {"n_docs": 0, "n_tokens": 0.0}):
        weight, decay = scheme.factors(info(2, **sizes)._replace(arrays={}, stats=None))
        assert type(weight) is type(decay) is float
        stepped, added = random_array(), random_array()
        update(scheme, stepped, random_stats(), info(2, **sizes))
        added.add(random_stats(), weight=weight, decay=decay)
        np.testing.assert_array_equal(stepped.statistics, added.statistics)
    assert schemes.is_linear(scheme)


def test_order_of_rows_does_not_matter(scheme):
    first, second, stats = random_array(), random_array(), random_stats()
    update(scheme, first, stats, info())
    order = np.array([3, 0, 2, 1])
    update(scheme, second, AxisStats(stats.ids[order], stats.values[order]), info())
    np.testing.assert_allclose(second.statistics, first.statistics, rtol=1e-6)


def test_whole_axis_is_the_same_as_all_ids(scheme):
    stats = random_stats(ids=range(N_ROWS))
    first, second = random_array(), random_array()
    update(scheme, first, stats, info())
    update(scheme, second, AxisStats(None, stats.values), info())
    np.testing.assert_array_equal(second.statistics, first.statistics)


def test_a_minibatch_without_documents_is_harmless(scheme):
    array = random_array()
    empty = AxisStats(np.empty(0, np.int32), np.empty((0, N_COLUMNS), np.float32))
    update(scheme, array, empty, info(n_docs=0, n_tokens=0.0))
    assert np.isfinite(array.statistics).all()
