"""Iterative CVB0: the reference to rounding, nothing lost in hundreds of sweeps, the fixed points of single tokens."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.kernels.collapsed.ilr import HALF
from bigtopic.types import Docs, Kernel, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("ilr")
REFERENCE = case.reference("ilr")
N_WORDS, ETA = 30, 0.2
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])
ROUNDED = {"ilr": np.float32, "ilr-half": lambda shares: np.floor(65535 * shares + 0.5)}
EXTREME = ([1e-30, 1, 1e24], [1e-30, 1, 1e6], [1e-30, 1e-30, 1], [1e-35] * 20)


class Corpus:
    """A corpus of one slice: expected counts, and sweeps that change them."""

    def __init__(
        self,
        docs: Docs,
        alpha: np.ndarray = ALPHA,
        dtype: type = np.float64,
        kernel: Kernel = KERNEL,
        eta: float = ETA,
    ) -> None:
        self.docs, self.alpha, self.dtype, self.kernel, self.eta = docs, alpha, dtype, kernel, eta
        self.counts, self.state = np.zeros((docs.n_words, len(alpha))), None

    @property
    def view(self) -> View:
        weights = case.padded(self.counts + self.eta, self.dtype)
        return View({"topic_words": weights}, {"topic_words": weights.sum(axis=0, dtype=np.float64)})

    def sweep(self):
        told = case.hyper(self.kernel, self.alpha, len(self.alpha), self.docs.n_words)
        result = self.kernel.run(self.docs, self.view, told, 5, self.state)
        self.counts = self.counts + result.stats["topic_words"][:, : len(self.alpha)]
        self.state = result.state
        return result

    @property
    def shares(self) -> np.ndarray:
        kept = self.state["shares"].astype(float)
        return kept / kept.sum(axis=1, keepdims=True)

    def counted(self) -> np.ndarray:
        """Expected counts, from what is remembered."""
        found = np.zeros_like(self.counts)
        np.add.at(found, self.docs.words, self.docs.counts[:, None] * self.shares)
        return found

    def nats(self) -> float:
        """log p(word) per token under the current means."""
        topics = self.alpha + np.stack(
            [
                self.docs.counts[a:b] @ self.shares[a:b]
                for a, b in zip(self.docs.indptr[:-1], self.docs.indptr[1:], strict=True)
            ]
        )
        words = (self.counts + self.eta) / (self.counts + self.eta).sum(axis=0)
        of_entry = np.repeat(np.arange(self.docs.n_docs), np.diff(self.docs.indptr))
        mixed = ((topics / topics.sum(axis=1, keepdims=True))[of_entry] * words[self.docs.words]).sum(axis=1)
        return float(self.docs.counts @ np.log(mixed) / self.docs.counts.sum())


@pytest.fixture
def docs() -> Docs:
    return case.documents([8, 0, 15, 1, 22], N_WORDS, seed=3, first_row=7)


def test_every_sweep_is_that_of_the_reference(docs):
    corpus, shares = Corpus(docs), None
    for _ in range(6):
        view = corpus.view
        weights, totals = view.arrays["topic_words"][:, :4], view.totals["topic_words"][:4]
        change, topics, shares = REFERENCE["infer"](docs, weights, totals, ALPHA, {}, 5, shares)
        result = corpus.sweep()
        np.testing.assert_allclose(result.stats["topic_words"][:, :4], change, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(result.doc_topics, topics, rtol=1e-12)
        np.testing.assert_allclose(corpus.shares, shares, rtol=1e-12)


@pytest.mark.parametrize("n_components", [16, 21, 32, 50])
def test_rows_of_whole_vectors_and_parts_of_one(docs, n_components):
    alpha = np.linspace(0.02, 1.3, n_components)
    corpus, shares = Corpus(docs, alpha), None
    for _ in range(3):
        view = corpus.view
        weights, totals = (
            view.arrays["topic_words"][:, :n_components],
            view.totals["topic_words"][:n_components],
        )
        change, topics, shares = REFERENCE["infer"](docs, weights, totals, alpha, {}, 5, shares)
        result = corpus.sweep()
        np.testing.assert_allclose(
            result.stats["topic_words"][:, :n_components], change, rtol=1e-12, atol=1e-12
        )
        assert not result.stats["topic_words"][:, n_components:].any()
        np.testing.assert_allclose(result.doc_topics, topics, rtol=1e-12)


def test_single_precision_rounds_each_update_once(docs):
    """A share is a product of three numbers that are each right to 2 ** -23, of counts that were added up likewise."""
    single, double = Corpus(docs, dtype=np.float32), Corpus(docs)
    for corpus in (single, double):
        corpus.sweep()
    np.testing.assert_allclose(single.shares, double.shares, rtol=0, atol=100 * 2.0**-23)
    np.testing.assert_allclose(single.counts, double.counts, rtol=0, atol=100 * 2.0**-23 * docs.counts.max())


@pytest.mark.parametrize(("kernel", "n_sweeps"), [(KERNEL, 300), (HALF, 300)])
def test_counts_are_those_of_what_is_remembered(docs, kernel, n_sweeps):
    corpus = Corpus(docs, kernel=kernel)
    for _ in range(n_sweeps):
        corpus.sweep()
    np.testing.assert_allclose(corpus.counts, corpus.counted(), rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        corpus.counts.sum(axis=1), np.bincount(docs.words, docs.counts, N_WORDS), rtol=1e-13
    )


def test_it_comes_to_rest_where_single_tokens_do(docs):
    corpus = Corpus(docs)
    moved = [corpus.sweep().info["moved_tokens"] for _ in range(3000)]
    assert moved[-1] < 1e-4 < moved[0]
    tokens = REFERENCE["token_level"](docs, ALPHA, ETA, N_WORDS, corpus.shares, 1)
    np.testing.assert_allclose(tokens, np.repeat(corpus.shares, docs.counts.astype(int), axis=0), atol=1e-5)


def test_topics_begin_apart(docs):
    """Equal responsibilities would be a fixed point."""
    n = len(docs.words)
    corpus = Corpus(docs, np.full(4, 0.3))
    corpus.state = {"shares": np.full((n, 4), 0.25, np.float32)}
    corpus.counts = corpus.counted()
    for _ in range(3):
        corpus.sweep()
    np.testing.assert_array_equal(corpus.shares, 0.25)
    fresh = Corpus(docs, np.full(4, 0.3))
    fresh.sweep()
    assert np.ptp(fresh.counts.sum(axis=0)) > 1 and np.ptp(fresh.shares, axis=1).min() > 1e-3


def test_strong_priors_make_responsibilities_even(docs):
    corpus = Corpus(docs, np.full(4, 1e6), eta=1e6)
    for _ in range(5):
        corpus.sweep()
    np.testing.assert_allclose(corpus.shares, 0.25, rtol=1e-3)


@pytest.mark.parametrize("kernel", [KERNEL, HALF])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", EXTREME)
def test_extreme_priors_lose_nothing(docs, kernel, dtype, alpha):
    corpus = Corpus(docs, np.array(alpha), dtype, kernel)
    for _ in range(30):
        topics = corpus.sweep().doc_topics
        assert (topics >= 0).all() and corpus.state["shares"].any(axis=1).all()
        np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(corpus.counts, corpus.counted(), rtol=0, atol=1e3 * np.finfo(dtype).eps)


@pytest.mark.parametrize("level", [1.0, 1e-30])
def test_of_a_lone_token_only_the_prior_decides(level):
    """Its own share takes part in the sum that the prior is added to; taken out again, the prior must be left."""
    docs = case.documents([1] * 40, N_WORDS, seed=4)
    docs = replace(docs, counts=np.ones(40, np.float32))
    corpus, shares = Corpus(docs, level * ALPHA), None
    for _ in range(4):
        view = corpus.view
        weights, totals = view.arrays["topic_words"][:, :4], view.totals["topic_words"][:4]
        _, _, shares = REFERENCE["infer"](docs, weights, totals, level * ALPHA, {}, 5, shares)
        corpus.sweep()
        np.testing.assert_allclose(corpus.shares, shares, rtol=1e-6)


def test_words_of_one_token_follow_their_document_where_their_prior_is_nothing():
    """What rounding leaves of such a word's counts is far above the prior."""
    docs = Docs(np.array([0, 3]), np.arange(3, dtype=np.int32), np.ones(3, np.float32), np.arange(1), 3)
    shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    corpus = Corpus(docs, np.full(2, 0.1), eta=1e-30)
    corpus.state = {"shares": shares.astype(np.float32)}
    corpus.counts = corpus.counted()
    corpus.sweep()
    for i in range(3):
        others = shares.sum(axis=0) - shares[i]
        shares[i] = (0.1 + others) / others / ((0.1 + others) / others).sum()
    np.testing.assert_allclose(corpus.shares, shares, rtol=1e-6)


def test_one_topic_takes_everything(docs):
    corpus = Corpus(docs, np.array([0.4]))
    corpus.sweep()
    np.testing.assert_array_equal(corpus.counts[:, 0], np.bincount(docs.words, docs.counts, N_WORDS))
    assert corpus.sweep().info["moved_tokens"] == 0


def test_entries_that_were_not_counted_are_added(docs):
    corpus = Corpus(docs)
    corpus.sweep()
    shares = corpus.state["shares"].copy()
    shares[docs.words < 10] = 0
    corpus.state = {"shares": shares}
    corpus.counts[:10] = 0
    corpus.sweep()
    np.testing.assert_allclose(corpus.counts, corpus.counted(), atol=1e-12)


def test_two_bytes_cost_less_than_a_thousandth_of_a_nat():
    """Both from the same start; most shares of ten topics are far below the two bytes' step of 1 / 65 535."""
    docs = case.documents([40] * 60, 300, seed=8)
    nats = []
    for kernel in (KERNEL, HALF):
        corpus = Corpus(docs, np.full(10, 0.1), kernel=kernel, eta=0.05)
        begin = None
        for _ in range(60):
            corpus.sweep()
            begin = corpus.nats() if begin is None else begin
        nats.append(corpus.nats())
        assert nats[-1] > begin + 0.1
    assert nats[0] != nats[1] and abs(nats[0] - nats[1]) < 1e-3


def test_what_was_remembered_is_not_changed(docs):
    corpus = Corpus(docs)
    corpus.sweep()
    before = corpus.state["shares"].copy()
    before.flags.writeable = False
    corpus.state = {"shares": before}
    corpus.sweep()
    assert not np.array_equal(before, corpus.state["shares"])


@pytest.mark.parametrize("kernel", [KERNEL, HALF], ids=lambda kernel: kernel.name)
def test_entries_begin_with_what_follows_from_given_topics(docs, kernel):
    """Zeros in place of responsibilities are those of an entry that is not counted yet."""
    weights = 40 * case.topics(N_WORDS, len(ALPHA), seed=4) + ETA
    rows = case.padded(weights, np.float64)
    view = View({"topic_words": rows}, {"topic_words": rows.sum(axis=0)})
    told = case.hyper(kernel, ALPHA, len(ALPHA), N_WORDS)._replace(begun=True)
    told = told._replace(priors={"topic_words": ETA})
    found = kernel.run(docs, view, told, 5, None)
    nothing = np.zeros((len(docs.words), len(ALPHA)))
    change, topics, _ = REFERENCE["infer"](
        docs, weights, weights.sum(axis=0), ALPHA, {}, 5, nothing, ROUNDED[kernel.name]
    )
    np.testing.assert_allclose(found.stats["topic_words"][:, : len(ALPHA)], change, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(found.doc_topics, topics, rtol=2e-5)
