"""Each scheme against its formula on dense arrays, and the masses that the formulas imply."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import schemes
from bigtopic.errors import SettingError
from bigtopic.state.lazy_array import LazyArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.dense_array import N_COLUMNS, N_COMPONENTS, N_ROWS, info, random_array, random_stats


def dense(stats):
    out = np.zeros((N_ROWS, N_COLUMNS))
    out[stats.ids] = stats.values
    return out


def load(name, **settings):
    return schemes.load(name)(**settings)


def test_replace():
    array, stats = random_array(), random_stats()
    load("replace").step(array, stats, info())
    np.testing.assert_array_equal(array.statistics, dense(stats))


def test_add_counts_every_minibatch_once():
    array, seen = random_array(), random_array().statistics
    for step in range(1, 5):
        stats = random_stats(seed=step, ids=(step, step + 7))
        load("add").step(array, stats, info(step))
        seen += dense(stats)
    np.testing.assert_allclose(array.statistics, seen, rtol=1e-12)


@pytest.mark.parametrize("decay", [1.0, 0.7])
def test_decay_add_keeps_of_each_minibatch_what_the_later_ones_leave(decay):
    """After t minibatches of C_j tokens the mass is sum_j decay^(t - j + 1) C_j."""
    array, scheme = random_array(), load("decay_add", decay=decay)
    array.statistics[:] = 0
    expected, masses = array.statistics.copy(), []
    for step in range(1, 8):
        stats = random_stats(seed=step, ids=(step, step + 7) if step != 4 else ())
        scheme.step(array, stats, info(step))
        expected = decay * (expected + dense(stats))
        masses.append(stats.values.sum(dtype=float))
        left = decay ** np.arange(step, 0, -1)
        assert array.statistics.sum() == pytest.approx(left @ masses, rel=1e-12)
    np.testing.assert_allclose(array.statistics, expected, rtol=1e-12)


def test_decay_add_may_forget_less_and_less():
    """The mass is sum_j C_j times the decays of update j and of those after it; 1 - decay_t = 0.4 (2 + t)^-0.7."""
    array = random_array()
    array.statistics[:] = 0
    scheme, masses = load("decay_add", decay=0.6, forgetting_decay=0.7, forgetting_offset=2.0, hold=3), []
    for step in range(1, 8):
        stats = random_stats(seed=step)
        scheme.step(array, stats, info(step))
        masses.append(stats.values.sum(dtype=float))
    decays = 1 - 0.4 * (2.0 + np.maximum(np.arange(1, 8), 3)) ** -0.7
    left = np.cumprod(decays[::-1])[::-1]
    assert array.statistics.sum() == pytest.approx(left @ masses, rel=1e-12)


def test_the_prior_does_not_decay():
    """Decaying it, too, would leave eta (1 - decay^t) less in each entry."""
    array, scheme = random_array(), load("decay_add", decay=0.8)
    array.statistics[:] = 0
    eta = array.gather(None)
    recursion = array.gather(None)
    for step in range(1, 6):
        scheme.step(array, random_stats(seed=step), info(step))
        recursion = 0.8 * (recursion + dense(random_stats(seed=step)))
    np.testing.assert_allclose(array.gather(None) - recursion, eta * (1 - 0.8**5), rtol=1e-10)


def test_decay_add_on_the_params_for_a_thousand_minibatches():
    """The lazy array folds its scale on the way."""
    array = LazyArray.zeros(N_ROWS, N_COMPONENTS, axis="word", dtype="float64")
    expected, scheme = np.zeros((N_ROWS, N_COLUMNS)), load("decay_add", decay=0.5)
    for step in range(1, 1001):
        stats = random_stats(seed=step % 7, dtype=np.float64)
        scheme.step(array, stats, info(step))
        expected = 0.5 * (expected + dense(stats))
    np.testing.assert_allclose(array.gather(None), expected, rtol=1e-10)
    np.testing.assert_allclose(array.totals(), expected.sum(axis=0), rtol=1e-10)


@pytest.mark.parametrize("decay", [0.0, -0.5, 1.1, float("nan"), True, "0.9", None], ids=repr)
def test_a_decay_is_above_0_and_at_most_1(decay):
    with pytest.raises(SettingError, match=rf"decay={decay!r}: must be above 0 and at most 1"):
        load("decay_add", decay=decay)


@pytest.mark.parametrize("setting", [{"forgetting_decay": 1.1}, {"forgetting_offset": -1.0}, {"hold": -1}])
def test_decay_add_names_a_schedule_that_is_none(setting):
    with pytest.raises(SettingError, match=f"^{next(iter(setting))}="):
        load("decay_add", **setting)


@pytest.mark.parametrize(
    ("scheme", "decay"),
    [
        (load("add_to_prior"), 1.0),
        (load("add", forgets_start=True), 1.0),
        (load("decay_add", decay=0.7), 0.7),
        (load("decay_add", decay=1.0), 1.0),
    ],
    ids=repr,
)
def test_some_forget_the_start_alone(scheme, decay):
    array, seen = random_array(), np.zeros((N_ROWS, N_COLUMNS))
    for step in range(1, 5):
        stats = random_stats(seed=step, ids=(step, step + 7))
        scheme.step(array, stats, info(step))
        seen = decay * (seen + dense(stats))
        np.testing.assert_allclose(array.statistics, seen, rtol=1e-12)


@pytest.mark.parametrize(("scale", "factor"), [("documents", 1000 / 10), ("tokens", 40_000 / 500)])
def test_interpolate(scale, factor):
    array, scheme = random_array(), load("interpolate", learning_decay=0.7, learning_offset=3.0, scale=scale)
    expected = array.statistics.copy()
    for step in range(1, 6):
        stats = random_stats(seed=step)
        scheme.step(array, stats, info(step))
        rate = (3 + step) ** -0.7
        expected = (1 - rate) * expected + rate * factor * dense(stats)
    np.testing.assert_allclose(array.statistics, expected, rtol=1e-12)


def test_interpolating_statistics_is_interpolating_weights():
    """lambda <- (1 - rho) lambda + rho (eta + scale S), for an eta of each word and topic."""
    eta = np.random.default_rng(3).gamma(1.0, size=(N_ROWS, N_COMPONENTS))
    array = LazyArray(random_array().statistics, np.ones(N_COLUMNS), eta, N_COMPONENTS, "word")
    weights, scheme = array.gather(None)[:, :N_COMPONENTS], load("interpolate", learning_decay=0.7)
    for step in range(1, 6):
        stats, rate = random_stats(seed=step), scheme.schedule()(step, None)
        scheme.step(array, stats, info(step))
        weights = (1 - rate) * weights + rate * (eta + 100 * dense(stats)[:, :N_COMPONENTS])
    np.testing.assert_allclose(array.gather(None)[:, :N_COMPONENTS], weights, rtol=1e-12)


def test_a_run_may_end_in_small_steps():
    """The last quarter of 40 updates falls to the share of the corpus that a minibatch is; a stream never ends."""
    scheme, rates = load("interpolate", learning_decay=0.5, learning_offset=0.0, end=0.25), []
    for step in range(1, 41):
        array = random_array()
        before = array.statistics.sum()
        scheme.step(array, random_stats(ids=()), info(step)._replace(n_steps=40))
        rates.append(1 - array.statistics.sum() / before)
    usual = np.arange(1, 41) ** -0.5
    np.testing.assert_allclose(rates[:30], usual[:30], rtol=1e-12)
    assert rates[-1] == pytest.approx(10 / 1000) and (np.diff(rates[29:]) < 0).all()
    way = 3 / 10
    assert rates[32] == pytest.approx(usual[32] ** (1 - way) * (10 / 1000) ** way)
    array = random_array()
    scheme.step(array, random_stats(ids=()), info(40))
    assert 1 - array.statistics.sum() / before == pytest.approx(usual[39])
    with pytest.raises(SettingError, match=r"end=1\.5"):
        load("interpolate", end=1.5)


def test_a_stream_may_have_a_decay_of_its_own():
    """Only where the end of the run is unknown; a decay that a user gives is that of both."""
    scheme = load("interpolate", learning_decay=0.5, learning_offset=0.0, stream_decay=1.0)
    rates = {n_steps: 1.0 - scheme.factors(info(4)._replace(n_steps=n_steps))[1] for n_steps in (None, 100)}
    assert rates == {None: pytest.approx(0.25), 100: pytest.approx(0.5)}
    with pytest.raises(SettingError, match=r"stream_decay=2: must be above 0 and at most 1"):
        load("interpolate", stream_decay=2)


def test_interpolate_by_tokens_keeps_the_mass_at_the_corpus():
    """Once the statistics hold as many tokens as the corpus, they always do."""
    array, scheme = random_array(), load("interpolate", scale="tokens")
    array.statistics *= 40_000 / array.statistics.sum()
    for step in range(1, 20):
        stats = random_stats(seed=step)
        scheme.step(array, stats, info(step, n_tokens=float(stats.values.sum(dtype=float))))
        assert array.statistics.sum() == pytest.approx(40_000, rel=1e-10)


def test_interpolate_with_step_one_forgets_and_decay_one_averages():
    stats = [random_stats(seed=step) for step in range(1, 7)]
    array = random_array()
    for step, s in enumerate(stats, 1):
        load("interpolate", learning_decay=1.0, learning_offset=0.0).step(array, s, info(step))
    np.testing.assert_allclose(array.statistics, 100 * np.mean([dense(s) for s in stats], axis=0), rtol=1e-12)
    load("interpolate", learning_decay=None).step(array, stats[0], info(9))
    np.testing.assert_allclose(array.statistics, 100 * dense(stats[0]), rtol=1e-12)


def test_an_empty_minibatch_moves_nothing():
    by_size = [load("interpolate", scale=scale) for scale in ("documents", "tokens")]
    for scheme in (*by_size, load("interpolate_raw")):
        array = random_array()
        before = array.statistics.copy()
        scheme.step(array, random_stats(ids=()), info(n_docs=0, n_tokens=0.0))
        np.testing.assert_array_equal(array.statistics, before)


def test_interpolate_normalised():
    array, scheme = random_array(), load("interpolate_normalised", learning_decay=0.9, learning_offset=1.0)
    array.statistics[:, :N_COMPONENTS] /= array.statistics[:, :N_COMPONENTS].sum(axis=0)
    expected = array.statistics[:, :N_COMPONENTS].copy()
    for step in range(1, 6):
        stats = random_stats(seed=step)
        scheme.step(array, stats, info(step))
        rate = (1 + step) ** -0.9
        new = dense(stats)[:, :N_COMPONENTS]
        expected = (1 - rate) * expected + rate * new / new.sum(axis=0)
        np.testing.assert_allclose(array.statistics[:, :N_COMPONENTS].sum(axis=0), 1.0, rtol=1e-6)
    np.testing.assert_allclose(array.statistics[:, :N_COMPONENTS], expected, rtol=1e-6)


def test_interpolate_normalised_does_not_see_the_scale_of_a_topic():
    """Weights from elsewhere (another model's counts) move by the same step as probabilities do."""
    totals = np.arange(1.0, N_COLUMNS + 1) * 1e6
    unit, large = random_array(), random_array()
    unit.statistics[:, :N_COMPONENTS] /= unit.statistics[:, :N_COMPONENTS].sum(axis=0)
    large.statistics = unit.statistics * totals
    for array in (unit, large):
        load("interpolate_normalised").step(array, random_stats(), info())
    np.testing.assert_allclose(large.statistics / totals, unit.statistics, rtol=1e-10)


def test_interpolate_normalised_leaves_topics_without_mass_alone():
    array, stats = random_array(), random_stats()
    stats.values[:, 2] = 0
    before = array.statistics.copy()
    load("interpolate_normalised").step(array, stats, info())
    np.testing.assert_array_equal(array.statistics[:, 2], before[:, 2])
    assert (array.statistics[:, 1] != before[:, 1]).any()


def test_interpolate_normalised_fills_an_empty_topic():
    array, stats = random_array(), random_stats()
    array.statistics[:, 1] = 0
    load("interpolate_normalised", learning_decay=None).step(array, stats, info())
    np.testing.assert_allclose(array.statistics[:, 1].sum(), 1.0, rtol=1e-6)


def test_interpolate_raw_takes_means_of_documents():
    array, scheme = random_array(), load("interpolate_raw", learning_decay=0.5, learning_offset=1.0)
    expected = array.statistics.copy()
    for step in range(1, 6):
        stats = random_stats(seed=step)
        scheme.step(array, stats, info(step, n_docs=7 * step))
        rate = (1 + step) ** -0.5
        expected = (1 - rate) * expected + rate * dense(stats) / (7 * step)
    np.testing.assert_allclose(array.statistics, expected, rtol=1e-12)


def test_interpolate_raw_knows_no_corpus():
    first, second = random_array(), random_array()
    for array, total_docs in ((first, 1e3), (second, 1e9)):
        load("interpolate_raw").step(
            array, random_stats(), info(total_docs=total_docs, total_tokens=total_docs)
        )
    np.testing.assert_array_equal(first.statistics, second.statistics)


def test_interpolate_raw_is_interpolate_in_other_units():
    """Without a prior, interpolating the statistics of the whole corpus is that many times as much."""
    raw, scaled = random_array(), random_array()
    scaled.statistics *= 1000
    for step in range(1, 6):
        stats = random_stats(seed=step)
        for name, array in (("interpolate_raw", raw), ("interpolate", scaled)):
            load(name, learning_decay=0.6, learning_offset=2.0).step(
                array, stats, info(step, n_docs=3 * step)
            )
    np.testing.assert_allclose(scaled.statistics, 1000 * raw.statistics, rtol=1e-12)


def test_scale_is_documents_or_tokens():
    with pytest.raises(SettingError, match="scale='words'"):
        load("interpolate", scale="words")
