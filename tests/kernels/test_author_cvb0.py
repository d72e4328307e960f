"""CVB0 of authors and topics: against the equation, `ilr`, and what its responsibilities add up to."""

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

KERNEL = kernels.load("author_cvb0")
N_WORDS, N_AUTHORS, ETA, ALPHA = 20, 5, 0.2, np.array([0.6, 0.3, 0.1])
K = len(ALPHA)


class Chain:
    """A corpus of one slice: expected counts on both axes, and sweeps that change them."""

    def __init__(self, docs: Docs) -> None:
        self.docs, self.state, self.seed = docs, None, 11
        self.words, self.authors = np.zeros((docs.n_words, K)), np.zeros((docs.n_authors, K))

    def sweep(self) -> None:
        words, authors = case.padded(self.words + ETA, float), case.padded(self.authors + ALPHA, float)
        view = View({"topic_words": words, "author_topics": authors}, {"topic_words": words.sum(axis=0)})
        result = KERNEL.run(self.docs, view, signed.hyper(KERNEL, K), self.seed, self.state)
        self.words = self.words + result.stats["topic_words"][:, :K]
        self.authors = self.authors + result.stats["author_topics"][:, :K]
        self.state = result.state

    def shares(self) -> list[np.ndarray]:
        return signed.shares(self.docs, self.state)


@pytest.fixture
def docs() -> Docs:
    return signed.documents([5, 0, 8, 1, 6], N_WORDS, N_AUTHORS, seed=3)


def test_a_sweep_is_that_of_the_equation(docs):
    chain, sweep = Chain(docs), case.reference("author_cvb0")["sweep"]
    chain.sweep()
    for _ in range(4):
        expected = sweep(signed.listed(docs), chain.shares(), N_WORDS, N_AUTHORS, ETA, ALPHA)
        chain.sweep()
        for own, other in zip(chain.shares(), expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=2e-6, atol=1e-9)


def test_counts_are_those_of_what_is_remembered(docs):
    chain, counted = Chain(docs), case.reference("author_cvb0")["counted"]
    for _ in range(30):
        chain.sweep()
    words, authors = counted(signed.listed(docs), chain.shares(), N_WORDS, N_AUTHORS)
    np.testing.assert_allclose(chain.words, words, atol=1e-12)
    np.testing.assert_allclose(chain.authors, authors, atol=1e-12)
    np.testing.assert_allclose(chain.authors.sum(), docs.counts.sum(), rtol=1e-12)


def test_documents_with_authors_of_their_own_are_those_of_ilr(docs):
    n, ilr = docs.n_docs, kernels.load("ilr")
    private = replace(docs, author_indptr=np.arange(n + 1), authors=np.arange(n, dtype=np.int32), n_authors=n)
    chain, state, counts = Chain(private), None, np.zeros((N_WORDS, K))
    told = case.hyper(ilr, ALPHA, K)
    for _ in range(5):
        chain.sweep()
        rows = case.padded(counts + ETA, float)
        view = View({"topic_words": rows}, {"topic_words": rows.sum(axis=0)})
        result = ilr.run(docs, view, told, chain.seed, state)
        counts, state = counts + result.stats["topic_words"][:, :K], result.state
        np.testing.assert_allclose(chain.words, counts, rtol=1e-6, atol=1e-8)


def test_more_authors_than_there_is_room_for(docs):
    told = signed.hyper(KERNEL, K, most_authors=1)
    view = signed.view(KERNEL, np.ones((N_WORDS, K)), np.ones((N_AUTHORS, K)))
    with pytest.raises(InputError, match=r"has 3 authors, and there is room for 1.*'most_authors': 3"):
        KERNEL.run(docs, view, told, 0, None)


@pytest.mark.parametrize("name", ["author_cvb0", "author_cvb"])
def test_a_document_without_words_may_have_any_number_of_authors(name):
    kernel, few = kernels.load(name), signed.documents([5, 0], N_WORDS, N_AUTHORS, most=1, seed=3)
    many = replace(
        few,
        author_indptr=np.array([0, 1, 1 + N_AUTHORS]),
        authors=np.array([few.authors[0], *range(N_AUTHORS)]),
    )
    results = [
        kernel.run(docs, all_counts(kernel), signed.hyper(kernel, K, most_authors=1), 0, None)
        for docs in (few, many)
    ]
    assert results[0].state["shares"].shape == (5, 1, K)
    for array, expected in results[0].stats.items():
        np.testing.assert_array_equal(results[1].stats[array], expected)


def all_counts(kernel) -> View:
    rows = {"word": N_WORDS, "author": N_AUTHORS}
    arrays = {name: case.padded(np.ones((rows[axis], K)), float) for name, axis in kernel.statistics.items()}
    return View(arrays, {name: array.sum(axis=0) for name, array in arrays.items()})
