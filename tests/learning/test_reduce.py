"""The merge tree: sums in one fixed order, whoever adds up which part of it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from bigtopic.learning.reduce import BUNDLE, Tree, add
from bigtopic.plan.slices import SUBTREE
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


def test_nothing_can_be_added():
    rng = np.random.default_rng(0)
    a, nothing = some_stats(rng), some_stats(rng, 0)
    np.testing.assert_array_equal(dense(add(a, nothing)), dense(a))
    np.testing.assert_array_equal(dense(add(nothing, a)), dense(a))
    assert add(nothing, nothing).arrays["words"].values.shape == (0, 16)
    assert Tree().result() is None


def test_a_sum_of_the_same_rows_does_not_hold_twice_the_memory():
    rng = np.random.default_rng(0)
    a = some_stats(rng, 12)
    values = add(a, a).arrays["words"].values
    assert (values if values.base is None else values.base).nbytes < 1.5 * values.nbytes


def sequential(stats: list[Stats]) -> Stats:
    tree = Tree()
    for one in stats:
        tree.push(one)
    return tree.result()


@pytest.mark.parametrize(
    "n_slices", [1, 2, 3, 15, 16, 17, 40, 100, SUBTREE * BUNDLE, SUBTREE * BUNDLE * 2 + 37]
)
def test_any_mixture_of_levels_gives_the_same_bits(n_slices):
    rng = np.random.default_rng(n_slices)
    stats = [some_stats(rng) for _ in range(n_slices)]
    expected = sequential(stats)
    np.testing.assert_allclose(dense(expected), sum(map(dense, stats)), rtol=1e-4, atol=1e-3)
    for attempt in range(4 if n_slices < 200 else 1):
        choose = np.random.default_rng(attempt)
        tree, at = Tree(), 0
        while at < n_slices:
            fitting = [k for k in range(5) if at % (1 << k) == 0 and at + (1 << k) <= n_slices]
            level = int(choose.choice(fitting))
            tree.push(subtree(stats[at : at + (1 << level)]), level)
            at += 1 << level
        assert bits(tree.result()) == bits(expected)


def subtree(stats: list[Stats]) -> Stats:
    """The sum of 2**n slices as the complete binary tree has it."""
    if len(stats) == 1:
        return stats[0]
    half = len(stats) // 2
    return add(subtree(stats[:half]), subtree(stats[half:]))


@pytest.mark.parametrize(
    "n_slices", [5, 16, 50, SUBTREE * BUNDLE - 1, SUBTREE * BUNDLE + 1, 2 * SUBTREE * BUNDLE]
)
def test_bundles_of_subtrees_give_the_same_bits(n_slices):
    """What a graph does: subtrees added from left to right in a task each, bundles added by the driver."""
    rng = np.random.default_rng(n_slices)
    stats = [some_stats(rng) for _ in range(n_slices)]
    driver = Tree()
    for first in range(0, n_slices, SUBTREE * BUNDLE):
        bundle, total = stats[first : first + SUBTREE * BUNDLE], None
        for start in range(0, len(bundle), SUBTREE):
            part = sequential(bundle[start : start + SUBTREE])
            total = part if total is None else add(total, part)
        driver.push_bundle(total)
    assert bits(driver.result()) == bits(sequential(stats))


def test_dask_is_told_what_a_sum_holds():
    """Else it would carry sums through the network to add them where there is none."""
    stats = some_stats(np.random.default_rng(0))
    parts = [array for one in stats.arrays.values() for array in (one.ids, one.values)]
    held = sum(array.nbytes for array in parts if array is not None)
    assert held <= sys.getsizeof(stats) < held + 100
