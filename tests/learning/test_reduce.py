"""The merge tree: sums in one fixed order, whoever adds up which part of it."""

from __future__ import annotations

import math
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate

import numpy as np
import pytest
from reference.serial import total
from scipy.sparse import csr_array

from bigtopic.learning import reduce
from bigtopic.learning.reduce import Tree, TreeInAnyOrder, add, cut, depth
from bigtopic.learning.tasks import packed, unpacked
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.sparse.array import SparseArray
from bigtopic.types import AxisStats, Stats


def some_stats(rng: np.random.Generator, n_ids: int = 4, n_rows: int = 12) -> Stats:
    """Float32 values of very different sizes: any change in the order of adding shows in the bits."""
    ids = rng.permutation(n_rows)[:n_ids].astype(np.int32)
    values = (rng.random((n_ids, 16)) * 10.0 ** rng.integers(-4, 5, (n_ids, 16))).astype(np.float32)
    joint = rng.random((1, 16)).astype(np.float32)
    arrays = {"words": AxisStats(ids, values), "joint": AxisStats(None, joint)}
    return Stats(arrays, int(rng.integers(1, 9)), float(rng.random()), {"bound": float(rng.random())})


def dense(stats: Stats, n_rows: int = 12) -> np.ndarray:
    table = np.zeros((n_rows, 16))
    table[stats.arrays["words"].ids] = stats.arrays["words"].values
    return table


def bits(stats: Stats) -> tuple[bytes, ...]:
    """Everything a round's statistics hold, rows sorted by id."""
    words = stats.arrays["words"]
    order = np.argsort(words.ids)
    figures = np.array([stats.n_docs, stats.n_tokens, *stats.info.values()])
    joint = stats.arrays["joint"].values
    return words.ids[order].tobytes(), words.values[order].tobytes(), joint.tobytes(), figures.tobytes()


def test_a_sum_is_elementwise_and_changes_neither_argument():
    rng = np.random.default_rng(0)
    a, b = some_stats(rng), some_stats(rng, 7)
    before = bits(a), bits(b)
    total = add(a, b)
    np.testing.assert_allclose(dense(total), dense(a) + dense(b), rtol=1e-6)
    np.testing.assert_allclose(
        total.arrays["joint"].values, a.arrays["joint"].values + b.arrays["joint"].values
    )
    assert len(np.unique(total.arrays["words"].ids)) == len(total.arrays["words"].ids)
    assert total.n_docs == a.n_docs + b.n_docs and total.n_tokens == a.n_tokens + b.n_tokens
    assert total.info["bound"] == a.info["bound"] + b.info["bound"]
    assert (bits(a), bits(b)) == before


def test_sums_of_whole_numbers_of_four_bytes_may_be_larger():
    """A node may have more tokens of a word than such a number can count, and others of the same tree may not."""
    few, most = 5, 2**31 - 1

    def stats(value: int, *ids: int) -> Stats:
        rows = AxisStats(np.array(ids, np.int32), np.full((len(ids), 16), value, np.int32))
        return Stats({"words": rows, "joint": AxisStats(None, rows.values[:1])}, 1, float(value))

    large = add(stats(most, 0, 1), stats(most, 1))
    for found in (add(large, stats(few, 1)), add(stats(few, 1), large)):
        words = found.arrays["words"]
        by_word = dict(zip(words.ids.tolist(), words.values.tolist(), strict=True))
        assert by_word == {0: [most] * 16, 1: [2 * most + few] * 16}
        assert found.arrays["joint"].values.tolist() == [[2 * most + few] * 16]
    assert add(stats(few, 0), stats(few, 1)).arrays["words"].values.dtype == np.int32


def test_large_sums_have_the_same_bits(monkeypatch):
    rng = np.random.default_rng(0)
    a, b = (
        AxisStats(np.sort(rng.choice(900, 500, replace=False)).astype(np.int32), rng.random((500, 16)))
        for _ in range(2)
    )
    small = reduce.add_axis(a, b)
    monkeypatch.setattr(reduce, "LARGE", 1)
    large = reduce.add_axis(a, b)
    np.testing.assert_array_equal(large.ids, small.ids)
    np.testing.assert_array_equal(large.values, small.values)


def test_nothing_can_be_added():
    rng = np.random.default_rng(0)
    a, nothing = some_stats(rng), some_stats(rng, 0)
    np.testing.assert_array_equal(dense(add(a, nothing)), dense(a))
    np.testing.assert_array_equal(dense(add(nothing, a)), dense(a))
    assert add(nothing, nothing).arrays["words"].values.shape == (0, 16)
    assert Tree(0).result() is None


def test_a_sum_of_the_same_rows_does_not_hold_twice_the_memory():
    rng = np.random.default_rng(0)
    a = some_stats(rng, 12)
    values = add(a, a).arrays["words"].values
    assert (values if values.base is None else values.base).nbytes < 1.5 * values.nbytes


SIZES = [1, 2, 3, 5, 15, 16, 17, 40, 49, 100, 16 * 64 + 5, 16 * 129]


@pytest.mark.parametrize("n_slices", SIZES)
def test_slices_are_added_as_the_tree_says(n_slices):
    """The plain statement, and sums of the same shape as those that were pushed."""
    tree = Tree(n_slices, lambda a, b: (a, b))
    for i in range(n_slices):
        tree.push(i)
    assert tree.result() == total(range(n_slices), lambda a, b: (a, b))


@pytest.mark.parametrize("n_slices", SIZES)
@pytest.mark.parametrize("n_threads", [1, 4])
def test_slices_that_come_in_any_order_are_added_as_the_tree_says(n_slices, n_threads):
    tree, order = TreeInAnyOrder(n_slices, lambda a, b: (a, b)), np.random.default_rng(n_slices)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda i: tree.push(i, i), order.permutation(n_slices).tolist()))
    assert tree.result() == total(range(n_slices), lambda a, b: (a, b))


def test_slices_are_added_as_soon_as_both_halves_are_there():
    sums = []

    def plus(a: str, b: str) -> str:
        sums.append(a + b)
        return a + b

    tree, made = TreeInAnyOrder(8, plus), []
    for first in (5, 4, 7, 6, 0, 2, 3, 1):
        tree.push(str(first), first)
        made.append(len(sums))
    assert made == [0, 1, 1, 3, 3, 3, 4, 7]
    assert sums == ["45", "67", "4567", "23", "01", "0123", "01234567"] and tree.result() == sums[-1]


@pytest.mark.parametrize("n_slices", SIZES)
@pytest.mark.parametrize("n_nodes", [1, 3, 8, 200])
def test_nodes_that_others_have_added_give_the_same_bits(n_slices, n_nodes):
    """What a graph does: a node in a task each, and the rest of the tree elsewhere."""
    rng = np.random.default_rng(n_slices)
    stats = [some_stats(rng) for _ in range(n_slices)]
    tree, sizes = Tree(n_slices), cut(n_slices, n_nodes)
    assert sum(sizes) == n_slices and min(n_nodes, n_slices) <= len(sizes)
    for size, last in zip(sizes, accumulate(sizes), strict=True):
        tree.push(total(stats[last - size : last]), size)
    assert bits(tree.result()) == bits(total(stats))


@pytest.mark.parametrize("n_slices", SIZES)
def test_slices_in_order_leave_a_sum_for_each_level(n_slices):
    alive, most = [0], [0]

    def plus(a: int, b: int) -> int:
        alive[0] -= 1
        return a + b

    tree = Tree(n_slices, plus)
    for _ in range(n_slices):
        alive[0] += 1
        most[0] = max(most[0], alive[0])
        tree.push(1)
    assert tree.result() == n_slices and alive == [1]
    assert most[0] <= 1 + depth(n_slices)
    assert depth(n_slices) == math.ceil(math.log2(n_slices))


def test_halves_of_a_large_round_are_nearly_equal():
    """So that as many workers as a power of two have the same work."""
    sizes = cut(7400, 32)
    assert len(sizes) == 32 and max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("form", ["dense", "lists"])
def test_dask_is_told_what_a_sum_holds(form):
    """Else it would carry sums through the network to add them where there is none."""
    stats = some_stats(np.random.default_rng(0))
    if form == "lists":
        stats = some_lists(np.random.default_rng(0), 9)[0]
    held = 0
    for one in stats.arrays.values():
        values = one.values
        parts = (values,) if form == "dense" else (values.data, values.indices, values.indptr)
        held += sum(part.nbytes for part in (*parts, one.ids) if part is not None)
    assert held <= sys.getsizeof(stats) < held + 100


def some_lists(rng: np.random.Generator, n_ids: int, n_rows: int = 12) -> tuple[Stats, Stats]:
    """Statistics of an array of sparse rows, and of a dense one. Rows may be empty or full, ids in any order."""
    ids = rng.permutation(n_rows)[:n_ids].astype(np.int32)
    known = rng.random((n_ids, 16)) < rng.choice([0.0, 0.2, 1.0], (n_ids, 1))
    values = (known * rng.random((n_ids, 16)) * 10.0 ** rng.integers(-4, 5, (n_ids, 16))).astype(np.float32)
    forms = csr_array(values), values
    return tuple(Stats({"words": AxisStats(ids, form)}, n_ids, float(n_ids)) for form in forms)


@pytest.mark.parametrize("n_ids", [(5, 7), (0, 4), (4, 0), (0, 0), (12, 12)])
def test_lists_are_added_as_the_same_dense_rows(n_ids):
    rng = np.random.default_rng(sum(n_ids))
    for _ in range(10):
        (a, dense_a), (b, dense_b) = (some_lists(rng, n) for n in n_ids)
        before = [table(one).tobytes() for one in (a, b)]
        for found, expected in ((add(a, b), add(dense_a, dense_b)), (add(b, a), add(dense_b, dense_a))):
            words = found.arrays["words"]
            assert isinstance(words.values, csr_array) and words.values.dtype == np.float32
            assert words.values.shape == (len(words.ids), 16) and words.ids.dtype == np.int32
            assert set(words.ids) == {*a.arrays["words"].ids, *b.arrays["words"].ids}
            assert all((np.diff(row.indices) > 0).all() for row in words.values)
            np.testing.assert_array_equal(table(found), table(expected))
            assert (found.n_docs, found.n_tokens) == (sum(n_ids), sum(n_ids))
        assert [table(one).tobytes() for one in (a, b)] == before


def table(stats: Stats, n_rows: int = 12) -> np.ndarray:
    """Of lists or dense rows, float32 (n_rows, 16)."""
    words, rows = stats.arrays["words"], np.zeros((n_rows, 16), np.float32)
    rows[words.ids] = words.values if isinstance(words.values, np.ndarray) else words.values.toarray()
    return rows


def test_lists_have_the_bits_of_the_tree():
    rng = np.random.default_rng(0)
    pairs = [some_lists(rng, int(rng.integers(13))) for _ in range(40)]
    np.testing.assert_array_equal(*(table(total(form)) for form in zip(*pairs, strict=True)))


def test_lists_stay_lists_where_statistics_are_sent():
    """Dense ones of which most are zeros are sent as lists, and arrive as they were."""
    rng = np.random.default_rng(3)
    lists = some_lists(rng, 9)[0].arrays["words"].summed(np.arange(16.0))
    zeros = np.zeros((9, 16), np.float32)
    zeros[2, 3] = 7.0
    few, full = AxisStats(lists.ids, zeros).summed(np.ones(16)), AxisStats(lists.ids, zeros + 1)
    stats = Stats({"lists": lists, "few": few, "full": full}, 9, 9.0)
    kinds = {"lists": SparseArray, "few": LazyArray, "full": LazyArray}
    params = {name: kind.zeros(12, 16, axis="word") for name, kind in kinds.items()}
    sent, n_bytes = packed(stats)
    assert isinstance(sent.arrays["few"].values, csr_array) and sent.arrays["lists"] is lists
    assert n_bytes == sum(one.__sizeof__() for one in sent.arrays.values()) < sys.getsizeof(stats)
    arrived = unpacked(pickle.loads(pickle.dumps(sent)), params).arrays
    assert isinstance(arrived["lists"].values, csr_array)
    np.testing.assert_array_equal(arrived["lists"].values.toarray(), lists.values.toarray())
    np.testing.assert_array_equal(arrived["few"].values, zeros)
    np.testing.assert_array_equal(arrived["full"].values, zeros + 1)
    assert arrived["lists"].sums.tolist() == lists.sums.tolist() and arrived["few"].sums.sum() == 16
