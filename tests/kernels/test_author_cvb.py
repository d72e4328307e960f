"""Second-order CVB of authors and topics: against the equation, `cvb`, and what its responsibilities add up to."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.errors import InputError
from bigtopic.types import Docs, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case, signed

KERNEL = kernels.load("author_cvb")
REFERENCE = case.reference("author_cvb")
N_WORDS, N_AUTHORS, ETA, ALPHA = 20, 5, 0.2, np.array([0.6, 0.3, 0.1])
K = len(ALPHA)
PRIORS = {"topic_words": ETA, "author_topics": ALPHA}


class Chain:
    """A corpus of one slice: expected counts and variances on both axes, and sweeps that change them."""

    def __init__(self, docs: Docs) -> None:
        self.docs, self.state, self.seed = docs, None, 11
        n_rows = {"word": docs.n_words, "author": docs.n_authors}
        self.sums = {
            name: np.zeros((n_rows[axis], 1 if name == "author_variances" else K))
            for name, axis in KERNEL.statistics.items()
        }

    def sweep(self) -> None:
        arrays = {
            name: case.padded(values + PRIORS.get(name, 0.0), float) for name, values in self.sums.items()
        }
        view = View(arrays, {name: values.sum(axis=0) for name, values in arrays.items()})
        result = KERNEL.run(self.docs, view, signed.hyper(KERNEL, K), self.seed, self.state)
        for name, values in self.sums.items():
            values += result.stats[name][:, : values.shape[1]]
        self.state = result.state

    def shares(self) -> list[np.ndarray]:
        return signed.shares(self.docs, self.state)


@pytest.fixture
def docs() -> Docs:
    return signed.documents([5, 0, 8, 1, 6], N_WORDS, N_AUTHORS, seed=3)


def test_a_sweep_is_that_of_the_equation(docs):
    chain = Chain(docs)
    chain.sweep()
    for _ in range(4):
        expected = REFERENCE["sweep"](signed.listed(docs), chain.shares(), N_WORDS, N_AUTHORS, ETA, ALPHA)
        chain.sweep()
        for own, other in zip(chain.shares(), expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=2e-6, atol=1e-9)


def test_sums_are_those_of_what_is_remembered(docs):
    chain = Chain(docs)
    for _ in range(30):
        chain.sweep()
    told = (signed.listed(docs), chain.shares(), N_WORDS, N_AUTHORS)
    words, authors = case.reference("author_cvb0")["counted"](*told)
    by_word, by_pair, by_author = REFERENCE["spread"](*told)
    expected = (words, by_word, authors, by_pair, by_author[:, None])
    for name, values in zip(KERNEL.statistics, expected, strict=True):
        np.testing.assert_allclose(chain.sums[name], values, atol=1e-12, err_msg=name)
    assert by_author.max() > 0.1 and (by_pair.sum(axis=1) - by_author).max() > 0.1  # two different variances
    np.testing.assert_allclose(authors.sum(), docs.counts.sum(), rtol=1e-12)


def test_documents_with_authors_of_their_own_are_those_of_cvb(docs):
    n, cvb = docs.n_docs, kernels.load("cvb")
    private = replace(docs, author_indptr=np.arange(n + 1), authors=np.arange(n, dtype=np.int32), n_authors=n)
    chain, state = Chain(private), None
    sums = {name: np.zeros((N_WORDS, K)) for name in cvb.statistics}
    for _ in range(5):
        chain.sweep()
        arrays = {name: case.padded(values + PRIORS.get(name, 0.0), float) for name, values in sums.items()}
        view = View(arrays, {name: values.sum(axis=0) for name, values in arrays.items()})
        result = cvb.run(docs, view, case.hyper(cvb, ALPHA, K), chain.seed, state)
        state = result.state
        for name, values in sums.items():
            values += result.stats[name][:, :K]
            np.testing.assert_allclose(chain.sums[name], values, rtol=1e-6, atol=1e-7)


def test_what_is_certain_is_author_cvb0(docs):
    """At first each entry is in one topic of one author: no variance, so the first entry has the same shares."""
    chain = Chain(docs)
    zero_order = kernels.load("author_cvb0")
    chain.sweep()
    view = signed.view(zero_order, np.full((N_WORDS, K), ETA), np.tile(ALPHA, (N_AUTHORS, 1)))
    result = zero_order.run(docs, view, signed.hyper(zero_order, K), chain.seed, None)
    np.testing.assert_allclose(result.state["shares"][0], chain.state["shares"][0], rtol=1e-6)
    assert np.abs(result.state["shares"][3] - chain.state["shares"][3]).max() > 1e-3


def test_more_authors_than_there_is_room_for(docs):
    told = signed.hyper(KERNEL, K, most_authors=1)
    with pytest.raises(InputError, match=r"has 3 authors, and there is room for 1.*'most_authors': 3"):
        KERNEL.run(docs, View({}, {}), told, 0, None)
