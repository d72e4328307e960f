"""The order of documents and the choice of a split."""

import numpy as np
import pytest

from bigtopic.corpus.order import document_keys, key_bounds, mix, smallest_keys


def test_mix_is_splitmix64():
    # the first outputs of the published generator for seed 0: state advances by the golden ratio, then the finaliser
    golden = 0x9E3779B97F4A7C15
    states = np.array([golden * i % (1 << 64) for i in (1, 2, 3)], np.uint64)
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert mix(states).tolist() == expected


def test_keys_are_unique_and_depend_on_seed_and_row_only():
    rows = np.arange(100_000)
    keys = document_keys(7, rows)
    assert len(np.unique(keys)) == len(rows)
    assert (document_keys(7, rows[::-1]) == keys[::-1]).all()
    assert (document_keys(8, rows) != keys).all()


def test_keys_are_uniform():
    n = 100_000
    ranges = np.searchsorted(key_bounds(16), document_keys(0, np.arange(n)), side="right")
    counts = np.bincount(ranges, minlength=16)
    chi2 = ((counts - n / 16) ** 2 / (n / 16)).sum()
    assert len(counts) == 16
    assert chi2 < 15 + 5 * np.sqrt(2 * 15)  # mean and standard deviation of chi-square, 15 degrees of freedom


def test_order_is_not_correlated_with_rows():
    n = 20_000
    rank = np.argsort(np.argsort(document_keys(3, np.arange(n))))
    assert abs(np.corrcoef(rank, np.arange(n))[0, 1]) < 5 / np.sqrt(n)


@pytest.mark.parametrize("wanted", [1, 10, 999, 5000, 10_000])
def test_smallest_keys_is_the_quantile(wanted):
    keys = document_keys(5, np.arange(10_000))
    limit = smallest_keys(wanted, len(keys), lambda: iter(np.array_split(keys, 7)))
    assert limit == np.sort(keys)[wanted - 1]


def test_smallest_keys_of_what_a_split_left_over():
    keys = np.sort(document_keys(5, np.arange(10_000)))[4000:]
    limit = smallest_keys(50, len(keys), lambda: iter([keys]))
    assert limit == keys[49]
