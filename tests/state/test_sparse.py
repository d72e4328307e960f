"""Sparse rows, and the array of them, against a dense float64 model of what each operation means."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from bigtopic.errors import ModelError
from bigtopic.state.lazy_array import LazyArray, padded
from bigtopic.state.sparse import array as module
from bigtopic.state.sparse import rows as module_of_rows
from bigtopic.state.sparse.array import LEAST, SparseArray
from bigtopic.state.sparse.rows import _SPARE, SparseRows
from bigtopic.state.views import take_view
from bigtopic.types import AxisStats

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

N_ROWS, N_COMPONENTS = 12, 21
N_COLUMNS = padded(N_COMPONENTS)
DENSITIES = (0.0, 0.1, 0.5, 1.0)
ONE, NONE = np.ones(N_COLUMNS, np.float32), np.zeros(N_COLUMNS, np.float32)


def some_values(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Rows of any density, of numbers of very different sizes, with zeros in the padding."""
    values = np.zeros((n_rows, N_COLUMNS), np.float32)
    known = rng.random((n_rows, N_COMPONENTS)) < rng.choice(DENSITIES, (n_rows, 1))
    values[:, :N_COMPONENTS][known] = 10.0 ** rng.uniform(-4, 2, known.sum())
    return values


def some_stats(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray | None, np.ndarray]:
    """Distinct ids, unsorted, or None for all of them, and dense values."""
    ids = None if rng.random() < 0.2 else rng.permutation(n_rows)[: rng.integers(n_rows)].astype(np.int32)
    return ids, some_values(rng, n_rows if ids is None else len(ids))


def sparse(ids: np.ndarray | None, values: np.ndarray) -> AxisStats:
    return AxisStats(ids, csr_array(values))


def statistics(array: SparseArray) -> np.ndarray:
    """float64 (n_rows, n_columns)"""
    return array.raw[:].astype(np.float64) * array.scale


def bits(array: SparseArray) -> tuple[bytes, ...]:
    """All that can be read of an array."""
    lists = array.raw.lists(np.arange(array.n_rows, dtype=np.int32))
    read = array.gather(None), array.totals(), array.weight_totals(), array.scale, array.prior
    return *(values.tobytes() for values in (*lists, *read)), np.float64(array.dropped).tobytes()


class Dense:
    """Statistics as one float64 array."""

    def __init__(self, prior: float) -> None:
        self.statistics = np.zeros((N_ROWS, N_COLUMNS))
        self.prior = np.full(N_COMPONENTS, prior)

    def add(self, ids: np.ndarray | None, values: np.ndarray, weight, decay) -> None:
        self.statistics *= decay
        self.statistics[slice(None) if ids is None else ids] += values * weight

    def check(self, array: SparseArray, ids: np.ndarray) -> None:
        weights = self.prior + self.statistics[:, :N_COMPONENTS]
        near = {"rtol": 2e-6, "atol": 2e-6 * np.abs(weights).max()}
        assert array.raw.shape == (array.n_rows, array.n_columns) == self.statistics.shape
        np.testing.assert_allclose(array.gather(None)[:, :N_COMPONENTS], weights, **near)
        np.testing.assert_allclose(array.gather(ids)[:, :N_COMPONENTS], weights[ids], **near)
        np.testing.assert_allclose(array.first_row(), weights[0], **near)
        np.testing.assert_allclose(array.totals(), self.statistics.sum(axis=0), **near)
        np.testing.assert_allclose(array.weight_totals(), weights.sum(axis=0), rtol=2e-6)
        assert not array.gather(None)[:, N_COMPONENTS:].any()
        _, columns, values = array.raw.lists(array.rows_of(None))
        assert array.raw.nnz == len(columns) == len(values) and (columns < N_COMPONENTS).all()


def some_factor(rng: np.random.Generator, most: float) -> float | np.ndarray:
    """A number, or one for each column."""
    return rng.random() * most if rng.random() < 0.5 else rng.random(N_COLUMNS) * most


def some_decay(rng: np.random.Generator) -> float | np.ndarray:
    choices = [1.0, 0.5, 0.0, 1e-7]
    return rng.choice(choices) if rng.random() < 0.7 else rng.choice(choices, N_COLUMNS)


OTHERS = {"begin", "copy", "fold", "grow", "keep", "multiply", "reload", "set_prior"}


@pytest.mark.parametrize("seed", range(10))
def test_any_sequence_of_operations_equals_the_dense_one(seed, monkeypatch):
    """And an array whose rows have just been written, without room to grow, has the same bits after each of them."""
    monkeypatch.setattr(module, "LEAST", 0.0)
    rng = np.random.default_rng(seed)
    array, dense = SparseArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=0.3), Dense(0.3)
    for _ in range(40):
        n_rows, fresh = array.n_rows, replace(array, raw=array.raw.copy(), sums=array.sums.copy())
        operation = rng.choice(["add"] * 8 + ["decay", *sorted(OTHERS)])
        if operation == "add":
            ids, values = some_stats(rng, n_rows)
            factors = some_factor(rng, 3.0), some_decay(rng)
            dense.add(ids, values, *factors)
            for one in (array, fresh):
                one.add(sparse(ids, values), *factors)
        elif operation == "decay":
            decay = np.broadcast_to(some_decay(rng), N_COLUMNS)
            dense.statistics *= decay
            for one in (array, fresh):
                one.decay(decay)
        elif operation == "fold":
            for one in (array, fresh):
                one.fold()
            assert (array.scale == 1.0).all()
        elif operation == "grow":
            dense.statistics = np.vstack([dense.statistics, np.zeros((2, N_COLUMNS))])
            for one in (array, fresh):
                one.grow(n_rows + 2)
        elif operation == "keep":
            kept = np.sort(rng.permutation(n_rows)[: max(4, n_rows - 2)]).astype(np.int32)
            dense.statistics = dense.statistics[kept]
            for one in (array, fresh):
                one.keep(kept)
        elif operation == "begin":  # without what a topic gives to each of the rows
            begun = np.sort(rng.permutation(n_rows)[: n_rows - 2])
            given = rng.random(N_COMPONENTS) + some_values(rng, len(begun))[:, :N_COMPONENTS]
            dense.statistics[:] = 0
            dense.statistics[begun, :N_COMPONENTS] = given - given.min(axis=0)
            for one in (array, fresh):
                one.begin(begun, given)
        elif operation == "multiply":
            dense.statistics *= 1.7
            for one in (array, fresh):
                one.multiply(1.7)
        elif operation == "set_prior":
            dense.prior = rng.random(N_COMPONENTS)
            for one in (array, fresh):
                one.set_prior(dense.prior[None])
        elif operation == "copy":
            array.copy().add(sparse(*some_stats(rng, n_rows)), 1.0, 0.0)  # changes nothing here
            array.local(np.arange(3, dtype=np.int32)).decay(np.zeros(N_COLUMNS))
        else:
            array = pickle.loads(pickle.dumps(array))
        assert bits(array) == bits(fresh)
        dense.check(array, rng.permutation(array.n_rows)[:3].astype(np.int32))


@pytest.mark.parametrize("prior", [0.3, "of topics"])
@pytest.mark.parametrize("most", [LEAST, 0.02, np.inf])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_dropped_is_little_and_counted(prior, most, seed, monkeypatch):
    """Of the rows given, statistics below a part of the prior and below a number of tokens, and no others."""
    monkeypatch.setattr(module, "LEAST", most)
    rng = np.random.default_rng(seed)
    array, mass, n_dropped = SparseArray.zeros(N_ROWS, N_COMPONENTS, axis="word"), 0.0, 0
    priors = np.full(N_COMPONENTS, 0.3) if prior == 0.3 else rng.uniform(0.01, 0.5, N_COMPONENTS)
    array.set_prior(priors[None])
    for _ in range(40):
        before, (ids, values) = statistics(array), some_stats(rng, N_ROWS)
        weight, decay = rng.random() * 3, rng.choice([1.0, 0.5, 0.2])
        array.add(sparse(ids, values), weight, decay)
        expected, found, rows = before * decay, statistics(array), array.rows_of(ids)
        expected[rows] += weight * values
        given = np.isin(np.arange(N_ROWS), rows)[:, None]
        least = array.with_padding(np.minimum(priors, most))
        gone = (expected > 0) & (found == 0)
        np.testing.assert_allclose(found[~gone], expected[~gone], rtol=1e-6)
        assert (expected < least * (1 + 1e-6))[gone].all() and not (gone & ~given).any()
        assert (found >= least * (1 - 1e-6))[(found > 0) & given].all()
        n_dropped += gone.sum()
        mass = decay * mass + weight * values.sum(dtype=np.float64)
        assert array.totals().sum() + array.dropped == pytest.approx(mass, rel=1e-12)
        assert array.dropped_share == pytest.approx(array.dropped / mass, rel=1e-12)
        np.testing.assert_allclose(array.totals(), found.sum(axis=0), rtol=1e-5, atol=1e-6 * mass)
    assert n_dropped > (0 if most == LEAST else 100) and 0 < array.dropped < mass


def test_where_all_is_dropped_the_weights_are_the_prior(monkeypatch):
    """Sums are differences; rounding leaves none below 0, which a scheme would be told of."""
    monkeypatch.setattr(module, "LEAST", np.inf)
    rng = np.random.default_rng(0)
    array, mass = SparseArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=1e6), 0.0
    for _ in range(20):
        values, weight = some_values(rng, N_ROWS), rng.random()
        array.add(sparse(None, values), weight)
        mass += weight * values.sum(dtype=np.float64)
    assert array.raw.nnz == 0 and (array.gather(None)[:, :N_COMPONENTS] == 1e6).all()
    assert array.totals().min() >= 0 and array.totals().sum() < 1e-6 * mass
    assert array.dropped == pytest.approx(mass) and array.dropped_share == pytest.approx(1.0)
    array.decay(np.full(N_COLUMNS, 0.5))
    assert array.dropped == pytest.approx(mass / 2)
    array.decay(np.zeros(N_COLUMNS))
    assert array.dropped == array.dropped_share == 0.0
    array.add(sparse(None, np.eye(N_ROWS, N_COLUMNS, dtype=np.float32)))
    assert not array.totals().any()
    array.decay(np.full(N_COLUMNS, 0.25))
    assert array.dropped == N_ROWS / 4


def test_a_full_row_that_is_added_to_a_full_row_stays_in_its_place():
    """It never has more values than columns; a search for room for twice as many would not end."""
    full = np.ones((3, N_COLUMNS), np.float32)
    rows, ids = SparseRows.of(full, N_COLUMNS), np.arange(3, dtype=np.int32)
    for _ in range(9):
        rows.add(ids, csr_array(full), ONE, NONE)
    np.testing.assert_array_equal(rows[:], 10 * full)


def three_columns(start: int, rng: np.random.Generator) -> np.ndarray:
    """Rows that have three of the columns."""
    values = np.zeros((N_ROWS, N_COLUMNS), np.float32)
    values[:, start : start + 3] = rng.uniform(1, 2, (N_ROWS, 3))
    return values


@pytest.mark.parametrize("is_held", [False, True])
def test_a_pool_grows_in_place_unless_others_read_it(is_held):
    rng, n_replaced = np.random.default_rng(0), 0
    array = SparseArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=0.3)
    expected = np.zeros((N_ROWS, N_COLUMNS), np.float32)
    for start in range(0, N_COMPONENTS, 3):
        expected += (values := three_columns(start, rng))
        held = array.mean_lists(np.arange(N_ROWS), 0.0) if is_held else None
        pool, size = id(array.raw._values), len(array.raw._values)
        array.add(sparse(None, values))
        n_replaced += id(array.raw._values) != pool
        assert held is None or len(held.values) == size
        np.testing.assert_array_equal(array.raw[:], expected)
    assert (n_replaced > 0) == is_held


@pytest.mark.parametrize("full", ["_values", "_columns"])
def test_rows_that_memory_has_no_room_for_are_as_they_were(full, monkeypatch):
    """Others have what was added; and when there is room again, rows grow."""
    rng, extend = np.random.default_rng(0), SparseRows._extend
    array = SparseArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=0.3)
    array.add(sparse(None, first := three_columns(0, rng)))

    def refused(self: SparseRows, name: str, size: int) -> None:
        if name == full:
            raise MemoryError
        extend(self, name, size)

    second = np.zeros_like(first)
    for start in range(3, N_COMPONENTS, 3):
        second += three_columns(start, rng)
    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(SparseRows, "_extend", refused)
        array.raw.add(np.arange(N_ROWS, dtype=np.int32), csr_array(second), ONE, NONE)
    left = (array.raw[:] == first).all(axis=1)
    expected = np.where(left[:, None], first, first + second)
    np.testing.assert_array_equal(array.raw[:], expected)
    array.raw.add(np.arange(N_ROWS, dtype=np.int32), csr_array(second), ONE, NONE)
    np.testing.assert_array_equal(array.raw[:], expected + second)
    assert left.any()


@pytest.mark.parametrize("raised", [MemoryError, KeyboardInterrupt])
def test_sums_fit_the_rows_after_an_addition_that_ended_early(raised, monkeypatch):
    rng, add_rows = np.random.default_rng(0), module_of_rows._kernels.add_rows
    array = SparseArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=0.3)
    array.add(sparse(None, three_columns(0, rng)))

    def ends_early(*given):
        add_rows(*given)
        raise raised

    with monkeypatch.context() as patch, pytest.raises(raised):
        patch.setattr(module_of_rows._kernels, "add_rows", ends_early)
        array.add(sparse(None, three_columns(3, rng)))
    for start in range(6, N_COMPONENTS, 3):  # nothing is overwritten that was added
        np.testing.assert_allclose(array.totals(), statistics(array).sum(axis=0), rtol=1e-6)
        before = array.raw[:]
        array.add(sparse(None, added := three_columns(start, rng)))
        np.testing.assert_array_equal(array.raw[:], before + added)
    assert array.raw.first_out_of_order(N_COMPONENTS) is None


def test_what_rows_leave_behind_is_reclaimed(monkeypatch):
    """The pool has at most the room that its comment says, however often rows grow, shrink and move."""
    rng = np.random.default_rng(0)
    n_rows, most = 200, 0
    array = SparseArray.zeros(n_rows, N_COMPONENTS, axis="word", prior=0.3)
    smallest = array.raw.nbytes
    for _ in range(300):
        ids = rng.permutation(n_rows)[:20].astype(np.int32)
        array.add(sparse(ids, some_values(rng, 20)), decay=0.8)
        most = max(most, array.raw.nnz)
    rooms, grown = 1.25 * most, (1 + 1 / _SPARE) / (1 - 1 / _SPARE)
    assert most > 1000 and array.raw.nbytes - smallest <= 8 * (grown * rooms + 2 * N_COLUMNS)


WHICH = (
    slice(None),
    slice(2, 7),
    slice(None, None, 3),
    np.array([5, 0, 5], np.int32),
    np.array([], np.int32),
    np.arange(N_ROWS) % 2 == 0,
    3,
    -1,
    (np.array([4, 1]), slice(None, N_COMPONENTS)),
    (slice(1, 4), slice(3)),
    (0, slice(None, 5)),
)


@pytest.mark.parametrize("which", WHICH, ids=str)
def test_indices_give_dense_rows(which):
    values = some_values(np.random.default_rng(0), N_ROWS)
    for given in (values, csr_array(values), csr_array(np.flip(values, axis=1))[:, ::-1]):
        rows = SparseRows.of(given, N_COLUMNS)
        np.testing.assert_array_equal(rows[which], values[which])
        assert rows[which].dtype == np.float32 and len(rows) == N_ROWS
        assert rows.nnz == np.count_nonzero(values)


def test_an_array_of_sparse_rows_has_no_factors_of_rows():
    array, values = SparseArray.zeros(N_ROWS, N_COMPONENTS, axis="word"), np.ones((N_ROWS, N_COLUMNS))
    stats, factors = sparse(None, values.astype(np.float32)), np.ones(N_ROWS)
    with pytest.raises(ModelError, match=r"prior for each of 12 rows"):
        array.set_prior(np.ones((N_ROWS, 1)))
    for named in ("row_weight", "row_decay"):
        with pytest.raises(ModelError, match="factors of rows"):
            array.add(stats, **{named: factors})
    with pytest.raises(ModelError, match="must be a csr_array of float32"):
        array.add(AxisStats(None, values))
    with pytest.raises(ModelError, match="must be a csr_array of float32"):
        array.add(AxisStats(None, csr_array(values)))
    assert array.raw.nnz == 0 and not array.totals().any()


@pytest.mark.parametrize("prior", [0.3, 1e-20])
def test_views_are_those_of_the_same_dense_array(prior, monkeypatch):
    monkeypatch.setattr(module, "LEAST", 0.0)
    rng = np.random.default_rng(1)
    kinds, arrays = (SparseArray, LazyArray), {}
    drawn = [(some_values(rng, N_ROWS), rng.random()) for _ in range(3)]
    for kind in kinds:
        array = kind.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=prior)
        for values, decay in drawn:
            array.add(AxisStats(None, csr_array(values) if array.is_sparse else values), 2.0, decay)
        arrays[kind] = array
    ids = np.array([7, 0, 11], np.int32)
    for form in ("mean", "expected_log", "counts", "stored"):
        found, known = (take_view({"a": arrays[kind]}, {"a": form}, {"word": ids}) for kind in kinds)
        values = known.arrays["a"]
        if form == "stored":  # in place, of the dense array
            values = (values * known.arrays["a:scale"] + known.arrays["a:prior"])[ids]
        np.testing.assert_allclose(found.arrays["a"], values, rtol=2e-6, atol=1e-12)
        np.testing.assert_allclose(found.totals["a"], known.totals["a"], rtol=1e-6)
    lists = take_view({"a": arrays[SparseArray]}, {"a": "sparse_mean"}, {"word": ids})
    mean = take_view({"a": arrays[LazyArray]}, {"a": "sparse_mean"}, {"word": ids})
    rows = case.dense_lists(lists.arrays["a"])
    np.testing.assert_allclose(rows, mean.arrays["a"], rtol=2e-6, atol=1.1e-12)
    assert rows[:, :N_COMPONENTS].min() >= np.float32(1e-12) and not rows[:, N_COMPONENTS:].any()
    np.testing.assert_allclose(lists.totals["a"], mean.totals["a"], rtol=1e-6)
    assert lists.arrays["a"].shape == (3, N_COLUMNS)
    assert np.shares_memory(lists.arrays["a"].values, arrays[SparseArray].raw.places(ids)[3])
    with pytest.raises(ModelError, match="rows 0 to 12"):
        take_view({"a": arrays[SparseArray]}, {"a": "sparse_mean"}, {"word": np.array([0, N_ROWS], np.int32)})
