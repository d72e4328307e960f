"""The order of documents and the choice of a split."""

import numpy as np
import pytest

from bigtopic.corpus import select
from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.order import document_keys, key_bounds, mix


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


@pytest.mark.parametrize("wanted", [1, 10, 999, 5000, 9999])
def test_a_split_has_the_documents_of_the_smallest_keys(wanted):
    corpus = from_matrix(np.ones((10_000, 1)))
    train, test = corpus.split(wanted, random_state=5)
    order = np.argsort(document_keys(5 + select._SALT, np.arange(10_000)))
    assert test.rows().tolist() == sorted(order[:wanted].tolist())
    assert train.rows().tolist() == sorted(order[wanted:].tolist())
    if wanted == 999:  # what a split left over is divided by the keys that are left
        assert train.split(50, random_state=5)[1].rows().tolist() == sorted(order[999:1049].tolist())
