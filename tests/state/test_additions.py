"""Deferred additions leave the same bits as additions that are done at once, whoever does them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

from bigtopic.errors import ModelError
from bigtopic.kernels.support.slice_loop import add_up
from bigtopic.state import _kernels as state_kernels
from bigtopic.state.lazy_array import SMALLEST_SCALE, Additions, LazyArray
from bigtopic.support.side_by_side import helped
from bigtopic.types import AxisStats

N_ROWS, N_COLUMNS = 200, 16


def statistics(ids: np.ndarray, values: np.ndarray) -> AxisStats:
    sums = np.zeros(values.shape[1])
    add_up(values, sums)
    return AxisStats(ids, values).summed(sums)


def do(additions: Additions, n_threads: int) -> int:
    """Do what was deferred on so many threads; returns the number of parts."""
    found = []

    def share(cut):
        found.extend(cut(n_threads))
        list(pool.map(lambda part: part(), found))

    with ThreadPoolExecutor(n_threads) as pool, helped(share):
        additions.do(n_threads)
    return len(found)


def updated(additions: Additions | None, decay: float) -> LazyArray:
    """An array after some updates, deferred where there are `additions`."""
    rng = np.random.default_rng(0)
    array = LazyArray.zeros(N_ROWS, N_COLUMNS, axis="word")
    array.deferred = additions
    for _ in range(12):
        ids = rng.permutation(N_ROWS)[:70].astype(np.int32)
        array.add(statistics(ids, rng.random((70, N_COLUMNS), np.float32)), weight=3.0, decay=decay)
    return array


@pytest.mark.parametrize(("n_threads", "n_parts"), [(1, 0), (2, 4), (5, 8), (32, 8)])
def test_parts_give_the_bits_of_additions_done_at_once(n_threads, n_parts):
    expected, additions = updated(None, 0.9), Additions()
    array = updated(additions, 0.9)
    assert do(additions, n_threads) == n_parts  # a single one is not shared
    np.testing.assert_array_equal(array.raw, expected.raw)
    np.testing.assert_array_equal(array.scale, expected.scale)
    np.testing.assert_array_equal(array.sums, expected.sums)


@pytest.mark.parametrize("does", ["gather", "row_weight", "row_decay", "clears", "fold"])
def test_rows_that_others_read_can_neither_be_read_nor_scaled(does):
    array = updated(None, 0.9)
    array.deferred = Additions()
    some = statistics(np.arange(5, dtype=np.int32), np.ones((5, N_COLUMNS), np.float32))
    calls = {
        "gather": lambda: array.gather(some.ids),
        "row_weight": lambda: array.add(some, row_weight=np.ones(5)),
        "row_decay": lambda: array.add(some, row_decay=np.ones(5)),
        "clears": lambda: array.add(some, decay=0.0),
        "fold": array.fold,
    }
    with pytest.raises(ModelError, match="declares `is_linear`, but does more than `add`"):
        calls[does]()


@pytest.mark.parametrize("deferred", [False, True])
def test_values_of_another_shape_are_refused_and_all_rows_are_added_to(deferred):
    array = LazyArray.zeros(N_ROWS, N_COLUMNS, axis="word")
    array.deferred = Additions() if deferred else None
    some = np.arange(5, dtype=np.int32)
    with pytest.raises(ModelError, match=r"shape \(5, 1\), but must have \(5, 16\)"):
        array.add(AxisStats(some, np.ones((5, 1), np.float32)).summed(np.ones(1)), 2.0, 0.5)
    array.add(
        AxisStats(None, np.ones((N_ROWS, N_COLUMNS), np.float32)).summed(np.full(N_COLUMNS, 200.0)), 2.0, 0.5
    )
    if array.deferred is not None:
        array.deferred.do()
        array.deferred = None
    np.testing.assert_array_equal(array.gather(None), 2.0)


@pytest.mark.parametrize("factors", ["arrays", "integers", "a large weight"])
def test_factors_of_any_kind_are_deferred(factors):
    given = {
        "arrays": (np.full(N_COLUMNS, 3.0), np.full(N_COLUMNS, 0.9)),
        "integers": (3, 1),
        "a large weight": (1e31, 1e-3),
    }[factors]
    arrays = [LazyArray.zeros(N_ROWS, N_COLUMNS, axis="word") for _ in range(2)]
    arrays[1].deferred = Additions()
    some = statistics(np.arange(5, dtype=np.int32), np.full((5, N_COLUMNS), 1e-4, np.float32))
    for array in arrays:
        array.add(some, *given)
    arrays[1].deferred.do()
    np.testing.assert_array_equal(arrays[1].raw, arrays[0].raw)
    np.testing.assert_array_equal(arrays[1].sums, arrays[0].sums)


@pytest.mark.parametrize("n_steps", [2, 3, 4, 32])
def test_a_scale_that_is_kept_may_fall_by_steps_that_add_up_to_one(n_steps):
    """It may be as small as it gets when they begin."""
    array = updated(None, 0.9)
    array.raw /= SMALLEST_SCALE
    array.scale, array.keeps_scale = array.scale * 0 + SMALLEST_SCALE, True
    some = statistics(np.arange(5, dtype=np.int32), np.ones((5, N_COLUMNS), np.float32))
    for _ in range(n_steps):
        array.add(some, weight=1.0, decay=1.0 - 1.0 / n_steps)
    with pytest.raises(ModelError, match="declares `is_linear`, but decays more than"):
        array.add(some, weight=1.0, decay=0.5)


def test_rows_wait_until_the_parts_are_done():
    additions = Additions()
    array = updated(additions, 0.9)
    assert not array.raw.any() and array.sums.all()
    additions.do()
    assert array.raw.any()


def test_without_memory_all_is_left_to_be_added(monkeypatch):
    additions, expected = Additions(), updated(None, 0.9)
    array = updated(additions, 0.9)

    def full(*given):
        raise MemoryError

    monkeypatch.setattr(np, "empty", full)
    with pytest.raises(MemoryError):
        additions.do()
    monkeypatch.undo()
    assert not array.raw.any()
    additions.do()
    np.testing.assert_array_equal(array.raw, expected.raw)


@njit
def _add_often(n, *given):
    for _ in range(n):
        state_kernels.scatter_part(*given)


def test_a_part_allocates_nothing():
    """Or it could fail, and be lost."""
    raw, ids, factor = (
        np.zeros((100, 16), np.float32),
        np.arange(100, dtype=np.int32),
        np.ones(16, np.float32),
    )
    given = raw, ids, np.ones_like(raw), factor, 1, 2, np.empty(7, np.int64)
    _add_often(1, *given)
    _nrt_python.memsys_enable_stats()
    try:
        counts = []
        for n in (1, 50):
            before = rtsys.get_allocation_stats().alloc
            _add_often(n, *given)
            counts.append(rtsys.get_allocation_stats().alloc - before)
    finally:
        _nrt_python.memsys_disable_stats()
    assert counts[0] == counts[1]
    assert (raw[1::2] == 52).all() and not raw[::2].any()


def test_arrays_and_types_in_turn():
    rng = np.random.default_rng(0)
    arrays = [
        LazyArray.zeros(N_ROWS, N_COLUMNS, axis="word", dtype=dtype) for dtype in ("float32", "float64")
    ]
    given = [
        (statistics(rng.permutation(N_ROWS)[:30], rng.random((30, N_COLUMNS)).astype(dtype)), number % 2)
        for number, dtype in enumerate(["float32", "float32", "float32", "float64"] * 5)
    ]
    additions = Additions()
    deferred = [array.copy() for array in arrays]
    for array in deferred:
        array.deferred = additions
    for stats, which in given:
        arrays[which].add(stats, weight=0.3, decay=0.9)
        deferred[which].add(stats, weight=0.3, decay=0.9)
    do(additions, 3)
    for array, expected in zip(deferred, arrays, strict=True):
        np.testing.assert_array_equal(array.raw, expected.raw)


def test_statistics_made_from_others_have_no_sums():
    stats = statistics(np.arange(3, dtype=np.int32), np.ones((3, N_COLUMNS), np.float32))
    assert replace(stats, values=2 * stats.values).sums is None


def test_statistics_without_sums_are_deferred():
    rng = np.random.default_rng(0)
    plain = statistics(np.arange(30, dtype=np.int32), rng.random((30, N_COLUMNS), np.float32))
    array = LazyArray.zeros(N_ROWS, N_COLUMNS, axis="word")
    expected = array.copy()
    array.deferred = additions = Additions()
    for updated in (array, expected):
        updated.add(plain, decay=0.9)
        updated.add(AxisStats(plain.ids, plain.values), decay=0.9)
    additions.do()
    np.testing.assert_array_equal(array.raw, expected.raw)
    np.testing.assert_array_equal(array.sums, expected.sums)
