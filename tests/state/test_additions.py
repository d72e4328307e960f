"""Additions that are put off leave the same bits as those that are done at once, whoever does them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from bigtopic.learning import _kernels
from bigtopic.side_by_side import helped
from bigtopic.state import _kernels as state_kernels
from bigtopic.state.additions import Additions
from bigtopic.state.lazy_array import LazyArray
from bigtopic.types import AxisStats

N_ROWS, N_COLUMNS = 200, 16


def statistics(ids: np.ndarray, values: np.ndarray) -> AxisStats:
    sums = np.zeros(values.shape[1])
    _kernels.add_up(values, sums)
    return AxisStats(ids, values).summed(sums)


def do(additions: Additions, n_threads: int) -> int:
    """Do what was put off on so many threads; returns the number of parts."""
    found = []

    def share(cut):
        found.extend(cut(n_threads))
        list(pool.map(lambda part: part(), found))

    with ThreadPoolExecutor(n_threads) as pool, helped(share):
        additions.do()
    return len(found)


def updated(additions: Additions | None, decay: float) -> LazyArray:
    """An array after some updates, put off where there are `additions`."""
    rng = np.random.default_rng(0)
    array = LazyArray.zeros(N_ROWS, N_COLUMNS, axis="word")
    array.put_off = additions
    for _ in range(12):
        ids = rng.permutation(N_ROWS)[:70].astype(np.int32)
        array.add(statistics(ids, rng.random((70, N_COLUMNS), np.float32)), weight=3.0, decay=decay)
    return array


@pytest.mark.parametrize("n_threads", [1, 2, 5, 32])
@pytest.mark.parametrize("decay", [0.9, 1e-7, 0.0], ids=["lazy", "folded", "cleared"])
def test_parts_give_the_bits_of_additions_done_at_once(decay, n_threads):
    expected, additions = updated(None, decay), Additions()
    array = updated(additions, decay)
    # those before a fold are done with it, and a single one is not divided
    assert do(additions, n_threads) == (8 if decay == 0.9 else 0)
    np.testing.assert_array_equal(array.raw, expected.raw)
    np.testing.assert_array_equal(array.scale, expected.scale)
    np.testing.assert_array_equal(array.sums, expected.sums)


def test_a_scheme_that_reads_rows_reads_what_was_put_off():
    array, expected = updated(Additions(), 0.9), updated(None, 0.9)
    np.testing.assert_array_equal(array.gather(None), expected.gather(None))


def test_rows_wait_until_the_parts_are_done():
    additions = Additions()
    array = updated(additions, 0.9)
    assert not array.raw.any() and array.sums.all()
    additions.do()
    assert array.raw.any()


@pytest.mark.parametrize("n_parts", [0, 3])
def test_ctrl_c_leaves_what_was_not_added_to_be_added(monkeypatch, n_parts):
    """It comes when a call of the compiled loop returns; other threads may have done parts before."""
    additions, expected = Additions(), updated(None, 0.9)
    array, scatter_some = updated(additions, 0.9), state_kernels.scatter_some

    def interrupted(*call):
        scatter_some(*call)
        raise KeyboardInterrupt

    def share(cut):
        *others, last = cut(2)
        for part in others[:n_parts]:
            part()
        monkeypatch.setattr(state_kernels, "scatter_some", interrupted)
        last()

    with helped(share), pytest.raises(KeyboardInterrupt):
        additions.do()
    monkeypatch.undo()
    additions.do()
    np.testing.assert_array_equal(array.raw, expected.raw)


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
    put_off = [array.copy() for array in arrays]
    for array in put_off:
        array.put_off = additions
    for stats, which in given:
        arrays[which].add(stats, weight=0.3, decay=0.9)
        put_off[which].add(stats, weight=0.3, decay=0.9)
    do(additions, 3)
    for array, expected in zip(put_off, arrays, strict=True):
        np.testing.assert_array_equal(array.raw, expected.raw)


def test_statistics_made_from_others_have_no_sums():
    stats = statistics(np.arange(3, dtype=np.int32), np.ones((3, N_COLUMNS), np.float32))
    assert replace(stats, values=2 * stats.values).sums is None


@pytest.mark.parametrize("other", ["row_weight", "row_decay", "no sums"])
def test_other_additions_come_after_what_was_put_off(other):
    rng = np.random.default_rng(0)
    plain = statistics(np.arange(30, dtype=np.int32), rng.random((30, N_COLUMNS), np.float32))
    last = AxisStats(plain.ids, plain.values) if other == "no sums" else plain
    factors = {} if other == "no sums" else {other: rng.random(30)}
    array = LazyArray.zeros(N_ROWS, N_COLUMNS, axis="word")
    expected = array.copy()
    array.put_off = Additions()
    for updated in (array, expected):
        updated.add(plain, decay=0.9)
        updated.add(last, decay=0.9, **factors)
    np.testing.assert_array_equal(array.raw, expected.raw)
    np.testing.assert_array_equal(array.sums, expected.sums)
