"""Lazily scaled params against a dense float64 model of what each operation means."""

from __future__ import annotations

import time

import numpy as np
import pytest

from bigtopic.errors import ModelError
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate, InterpolateNormalised
from bigtopic.schemes.replace import Replace
from bigtopic.state import lazy_array
from bigtopic.state.lazy_array import LazyArray, padded
from bigtopic.state.params import Overlay, Params
from bigtopic.types import AxisStats, RoundInfo

N_ROWS, N_COMPONENTS = 23, 5
PRIORS = ("number", "per row", "per topic and row")
DECAYS = (1.0, 0.5, 0.0, 1e-7, "per column")


def make_prior(kind: str, rng: np.random.Generator, n_rows: int = N_ROWS) -> float | np.ndarray:
    if kind == "number":
        return 0.3
    return rng.random(n_rows if kind == "per row" else (N_COMPONENTS, n_rows)) + 0.01


def dense_prior(prior: float | np.ndarray, n_rows: int = N_ROWS) -> np.ndarray:
    table = np.asarray(prior, float)
    table = table.T if table.ndim == 2 else table.reshape(-1, 1)
    return np.broadcast_to(table, (n_rows, N_COMPONENTS)).copy()


class Dense:
    """Statistics as one float64 array."""

    def __init__(self, prior: float | np.ndarray) -> None:
        self.statistics = np.zeros((N_ROWS, padded(N_COMPONENTS)))
        self.prior = dense_prior(prior)

    def add(self, stats, weight, decay, row_weight, row_decay):
        rows = np.arange(len(self.statistics)) if stats.ids is None else stats.ids
        self.statistics *= decay
        for i, row in enumerate(rows):
            self.statistics[row] *= 1.0 if row_decay is None else row_decay[i]
            self.statistics[row] += stats.values[i] * weight * (1.0 if row_weight is None else row_weight[i])

    def grow(self, n_rows):
        extra = n_rows - len(self.statistics)
        self.statistics = np.vstack([self.statistics, np.zeros((extra, self.statistics.shape[1]))])
        self.prior = np.vstack([self.prior, np.repeat(self.prior.mean(axis=0, keepdims=True), extra, axis=0)])

    def weights(self):
        return self.prior + self.statistics[:, :N_COMPONENTS]


def some_rows(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Distinct ids, unsorted, or None for all of them, and values that are zero in the padding."""
    ids = None if rng.random() < 0.2 else rng.permutation(n_rows)[: rng.integers(0, n_rows)].astype(np.int32)
    values = np.zeros((n_rows if ids is None else len(ids), padded(N_COMPONENTS)), np.float32)
    values[:, :N_COMPONENTS] = rng.random((len(values), N_COMPONENTS))
    return ids, values


def some_decay(rng: np.random.Generator) -> float | np.ndarray:
    decay = DECAYS[rng.integers(len(DECAYS))]
    if decay != "per column":
        return decay
    return rng.choice([0.0, 1e-9, 0.3, 1.0], padded(N_COMPONENTS))


def some_row_factors(rng: np.random.Generator, n_rows: int) -> list[np.ndarray | None]:
    """Weights and decays of rows, or none."""
    return [None if rng.random() < 0.5 else rng.choice([0.0, 0.3, 1.0], n_rows) for _ in range(2)]


def check_equal(array: LazyArray, dense: Dense) -> None:
    expected = dense.weights()
    scale = np.abs(expected).max() + 1
    np.testing.assert_allclose(array.gather(None)[:, :N_COMPONENTS], expected, atol=2e-6 * scale)
    assert not array.gather(None)[:, N_COMPONENTS:].any()
    ids = np.array([7, 0, 22], np.int32)
    np.testing.assert_allclose(array.gather(ids)[:, :N_COMPONENTS], expected[ids], atol=2e-6 * scale)
    totals = dense.statistics.sum(axis=0)
    np.testing.assert_allclose(array.totals(), totals, rtol=1e-5, atol=1e-5 * scale)
    np.testing.assert_allclose(array.weight_totals(), expected.sum(axis=0), rtol=1e-5)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("seed", range(12))
def test_any_sequence_of_operations_equals_the_dense_one(prior, seed):
    rng = np.random.default_rng(seed)
    given = make_prior(prior, rng)
    array = LazyArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=given)
    dense = Dense(given)
    for _ in range(25):
        operation = rng.choice(["add"] * 8 + ["fold", "grow", "copy"])
        if operation == "add":
            ids, values = some_rows(rng, array.n_rows)
            weight = rng.random() * 3 if rng.random() < 0.5 else rng.random(padded(N_COMPONENTS))
            factors = weight, some_decay(rng), *some_row_factors(rng, len(values))
            array.add(AxisStats(ids, values), *factors)
            dense.add(AxisStats(ids, values), *factors)
        elif operation == "fold":
            array.fold()
            assert (array.scale == 1).all()
        elif operation == "grow":
            array.grow(array.n_rows + 2)
            dense.grow(len(dense.statistics) + 2)
        else:
            array.copy().add(AxisStats(None, np.ones_like(array.raw)), 1.0, 0.0)  # changes nothing here
        check_equal(array, dense)


def test_totals_survive_the_fold_that_a_tiny_scale_forces():
    array = LazyArray.zeros(3, 2, axis="word", dtype="float64")
    values = np.zeros((3, 16))
    values[:, :2] = 1
    array.add(AxisStats(None, values))
    for _ in range(12):  # the scale passes SMALLEST_SCALE
        array.add(AxisStats(None, values), weight=1.0, decay=0.01)
    assert array.scale.min() > lazy_array.SMALLEST_SCALE
    np.testing.assert_allclose(array.totals(), array.gather(None).sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(array.gather(None)[0, 0], 1 / 0.99, rtol=1e-9)


def test_repeated_ids_are_not_needed_but_missing_rows_keep_their_value():
    array = LazyArray.zeros(4, 2, axis="word", prior=0.5)
    array.add(AxisStats(np.array([2], np.int32), np.full((1, 16), 3, np.float32)), decay=0.5)
    np.testing.assert_array_equal(array.gather(None)[:, 0], [0.5, 0.5, 3.5, 0.5])


def test_fold_works_in_blocks(monkeypatch):
    monkeypatch.setattr(lazy_array, "FOLD_ROWS", 4)
    array = LazyArray.zeros(10, 3, axis="word")
    assert list(array.blocks()) == [(0, 4), (4, 8), (8, 10)]
    values = np.arange(160, dtype=np.float32).reshape(10, 16)
    array.add(AxisStats(None, values))
    array.add(AxisStats(np.zeros(0, np.int32), np.zeros((0, 16), np.float32)), decay=0.25)
    array.fold()
    np.testing.assert_array_equal(array.raw, values * 0.25)
    np.testing.assert_allclose(array.totals(), values.sum(axis=0) * 0.25)


@pytest.mark.parametrize("prior", PRIORS)
def test_local_rows_keep_the_totals_of_the_axis(prior):
    rng = np.random.default_rng(0)
    array = LazyArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=make_prior(prior, rng))
    array.add(AxisStats(*some_rows(rng, N_ROWS)), decay=0.5)
    ids = np.array([4, 19, 2], np.int32)
    part = array.local(ids)
    np.testing.assert_array_equal(part.gather(None), array.gather(ids))
    np.testing.assert_array_equal(part.weight_totals(), array.weight_totals())


SCHEMES = (
    Add(),
    Replace(),
    Interpolate(0.7, 1.0),
    Interpolate(0.7, 0.0, scale="tokens"),
    InterpolateNormalised(0.5, 0.0),
)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("n_steps", [1, 3])
def test_an_overlay_is_a_step_on_a_copy(scheme, prior, n_steps):
    rng = np.random.default_rng(n_steps)
    base = LazyArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=make_prior(prior, rng))
    for _ in range(3):
        base.add(AxisStats(*some_rows(rng, N_ROWS)), decay=0.7)
    before, raw = base.copy(), base.raw.copy()
    overlay, copy = Overlay(base), base.copy()
    for step in range(1, n_steps + 1):
        stats = AxisStats(*some_rows(rng, N_ROWS))
        info = RoundInfo(step, 10, 40.0, 100, 400.0)
        scheme.step(overlay, stats, info)
        scheme.step(copy, stats, info)
    ids = np.array([20, 3, 11, 0], np.int32)
    for wanted in (None, ids):
        np.testing.assert_allclose(overlay.gather(wanted), copy.gather(wanted), rtol=2e-6, atol=1e-6)
    np.testing.assert_allclose(overlay.totals(), copy.totals(), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(overlay.local(ids).weight_totals(), copy.weight_totals(), rtol=1e-6)
    np.testing.assert_array_equal(base.raw, raw)
    np.testing.assert_array_equal(base.totals(), before.totals())
    np.testing.assert_array_equal(base.scale, before.scale)


@pytest.mark.parametrize("seed", range(6))
def test_an_overlay_has_factors_for_rows(seed):
    rng = np.random.default_rng(seed)
    base = LazyArray.zeros(N_ROWS, N_COMPONENTS, axis="word", dtype="float64")
    base.add(AxisStats(*some_rows(rng, N_ROWS)), decay=0.7)
    overlay, copy = Overlay(base), base.copy()
    for _ in range(3):
        stats = AxisStats(*some_rows(rng, N_ROWS))
        factors = rng.random(), rng.random(), *some_row_factors(rng, len(stats.values))
        overlay.add(stats, *factors)
        copy.add(stats, *factors)
    np.testing.assert_allclose(overlay.gather(None), copy.gather(None), atol=1e-6)
    np.testing.assert_allclose(overlay.totals(), copy.totals(), atol=1e-5)


def test_integers_are_counted_exactly():
    """Single precision would stop counting at 2^24; labels are given and taken away."""
    array = LazyArray.zeros(3, 2, axis="word", prior=0.5, dtype="int64")
    ids, ones = np.array([2, 0], np.int32), np.zeros((2, 16), np.float32)
    ones[:, :2] = 1
    for target in (array, overlay := Overlay(array.copy())):
        target.add(AxisStats(ids, ones), weight=float(1 << 24))
        target.add(AxisStats(ids, ones), row_weight=np.array([1.0, -3.0]))
        target.add(AxisStats(ids[:1], ones[:1]), weight=0.4)  # rounded
    for target in (array, overlay):
        found = target.gather(None)
        np.testing.assert_array_equal(found[:, 0], [(1 << 24) - 3 + 0.5, 0.5, (1 << 24) + 1 + 0.5])
        assert found.dtype == np.float64 and not found[:, 2:].any()
        np.testing.assert_array_equal(target.totals()[:2], (1 << 25) - 2)
    array.add(AxisStats(ids, ones), decay=0.0, row_decay=np.zeros(2))
    assert array.raw.dtype == np.int64 and array.raw.sum() == 4
    for target in (array, overlay):
        with pytest.raises(ModelError, match=r"decay 0.5 to an array of integers"):
            target.add(AxisStats(ids, ones), decay=0.5)


def test_params_copy_and_overlay_leave_the_original():
    arrays = {name: LazyArray.zeros(4, 2, axis="word") for name in "ab"}
    params = Params(arrays)
    copy = params.copy()
    copy["a"].add(AxisStats(None, np.ones((4, 16), np.float32)))
    provisional = params.overlay(["a"])
    provisional["a"].add(AxisStats(None, np.ones((4, 16), np.float32)))
    assert not params["a"].raw.any() and not params["a"].totals().any()
    assert provisional["b"] is params["b"]
    assert params.axis_sizes() == {"word": 4} and params.nbytes == 2 * 4 * 16 * 4


def seconds(work, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return min(times)


@pytest.mark.parametrize("vector", [False, True], ids=["scalar prior", "prior per row"])
def test_a_minibatch_costs_its_own_rows_and_not_the_vocabulary(vector):
    """A step and a view over 1000 of 2 000 000 rows: reading the axis once would take a hundred times as long."""
    from bigtopic.state.views import take_view

    ids = np.arange(0, 1000, dtype=np.int32)
    values = np.ones((1000, 16), np.float32)
    costs = {}
    for n_rows in (1000, 2_000_000):
        prior = np.full(n_rows, 0.1) if vector else 0.1
        array = LazyArray.zeros(n_rows, 16, axis="word", prior=prior)
        info = RoundInfo(3, 500, 1000.0, 10_000, 20_000.0)

        def minibatch(array=array, info=info):
            for kind in ("mean", "expected_log", "counts", "stored"):
                take_view({"a": array}, {"a": kind}, {"word": ids})
            for scheme in (Interpolate(), InterpolateNormalised(), Add()):
                scheme.step(array, AxisStats(ids, values), info)
            overlay = Overlay(array)
            Interpolate().step(overlay, AxisStats(ids, values), info)
            take_view({"a": overlay}, {"a": "mean"}, {"word": ids})

        minibatch()
        costs[n_rows] = seconds(minibatch)
    assert costs[2_000_000] < 10 * costs[1000]


def test_rounds_cost_the_same_in_a_large_vocabulary(synthetic):
    """Twenty whole rounds, read to step, over the same documents: once of 80 words, once of a million."""
    from scipy import sparse

    from bigtopic import methods as table
    from bigtopic.corpus.memory import from_matrix
    from bigtopic.learning.executors.base import Until
    from bigtopic.learning.executors.threads import ThreadExecutor
    from bigtopic.learning.new_run import make_run
    from bigtopic.plan.cursor import Cursor
    from bigtopic.state.new_model import new_model

    costs = {}
    for n_words in (80, 1_000_000):
        matrix = sparse.csr_array(synthetic.counts, copy=True)
        matrix.resize(300, n_words)
        corpus = from_matrix(matrix)
        model = new_model(table.get("online-cvb0"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
        run = make_run(model, corpus, batch_size=15, slice_size=None, order="stored")
        with ThreadExecutor(run, 1) as executor:

            def one_pass(executor=executor, model=model):
                assert sum(len(done) for _, done in executor.advance(model.params, Cursor(), Until())) == 20

            one_pass()
            costs[n_words] = seconds(one_pass)
    assert costs[1_000_000] < 10 * costs[80]
