"""CVB of second order: the reference to rounding, CVB0 where counts are large, variances of what is remembered."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.types import Docs, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("cvb")
REFERENCE = case.reference("cvb")
N_WORDS, ETA = 30, 0.2
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])
EXTREME = ([1e-30, 1, 1e24], [1e-30, 1, 1e6], [1e-30, 1e-30, 1], [1e-35] * 20)


class Corpus:
    """A corpus of one slice: expected counts and their variances, and sweeps that change them."""

    def __init__(self, docs: Docs, alpha: np.ndarray = ALPHA, dtype: type = np.float64) -> None:
        self.docs, self.alpha, self.dtype, self.state = docs, alpha, dtype, None
        self.counts = np.zeros((docs.n_words, len(alpha)))
        self.variances = np.zeros_like(self.counts)

    @property
    def view(self) -> View:
        arrays = {
            "topic_words": case.padded(self.counts + ETA, self.dtype),
            "topic_word_variances": case.padded(self.variances, self.dtype),
        }
        return View(arrays, {name: array.sum(axis=0, dtype=np.float64) for name, array in arrays.items()})

    def sweep(self, name: str = "cvb"):
        kernel, n = kernels.load(name), len(self.alpha)
        told = case.hyper(kernel, self.alpha, n, self.docs.n_words)
        result = kernel.run(self.docs, self.view, told, 5, self.state)
        self.counts = self.counts + result.stats["topic_words"][:, :n]
        if name == "cvb":
            self.variances = self.variances + result.stats["topic_word_variances"][:, :n]
        self.state = result.state
        return result

    @property
    def shares(self) -> np.ndarray:
        kept = self.state["shares"].astype(float)
        return kept / kept.sum(axis=1, keepdims=True)

    def summed(self, values: np.ndarray) -> np.ndarray:
        """By word, of values for a token of each entry."""
        found = np.zeros_like(self.counts)
        np.add.at(found, self.docs.words, self.docs.counts[:, None] * values)
        return found


@pytest.fixture
def docs() -> Docs:
    return case.documents([8, 0, 15, 1, 22], N_WORDS, seed=3, first_row=7)


def test_every_sweep_is_that_of_the_reference(docs):
    corpus, shares = Corpus(docs), None
    for _ in range(6):
        view = corpus.view
        arrays = [view.arrays[name][:, :4] for name in KERNEL.views]
        totals = [view.totals[name][:4] for name in KERNEL.views]
        change, topics, shares, doubts = REFERENCE["infer"](
            docs, arrays[0], totals[0], ALPHA, {}, 5, shares, (arrays[1], totals[1])
        )
        result = corpus.sweep()
        np.testing.assert_allclose(corpus.shares, shares, rtol=1e-10)
        np.testing.assert_allclose(result.doc_topics, topics, rtol=1e-10)
        np.testing.assert_allclose(result.stats["topic_words"][:, :4], change, rtol=0, atol=1e-10)
        np.testing.assert_allclose(result.stats["topic_word_variances"][:, :4], doubts, rtol=0, atol=1e-10)


def test_counts_and_variances_are_those_of_what_is_remembered(docs):
    corpus = Corpus(docs)
    for _ in range(200):
        corpus.sweep()
    shares = corpus.shares
    np.testing.assert_allclose(corpus.counts, corpus.summed(shares), rtol=0, atol=1e-11)
    np.testing.assert_allclose(corpus.variances, corpus.summed(shares * (1 - shares)), rtol=0, atol=1e-11)
    words = np.bincount(docs.words, docs.counts, N_WORDS)
    np.testing.assert_allclose(corpus.counts.sum(axis=1), words, rtol=1e-13)


def test_it_comes_to_rest(docs):
    corpus = Corpus(docs)
    moved = [corpus.sweep().info["moved_tokens"] for _ in range(3000)]
    assert moved[-1] < 1e-4 < moved[0]


def test_it_tends_to_cvb0_where_counts_are_large(docs):
    """Variances grow like counts, and are divided by their squares: ten times the counts, a tenth of the difference."""
    shares = np.random.default_rng(0).dirichlet(np.ones(4), len(docs.words)).astype(np.float32)
    differences = []
    for factor in (1e3, 1e4, 1e5):
        ends = []
        for name in ("cvb", "ilr"):
            corpus = Corpus(replace(docs, counts=docs.counts * np.float32(factor)))
            corpus.state = {"shares": shares}
            corpus.counts = corpus.summed(corpus.shares)
            corpus.variances = corpus.summed(corpus.shares * (1 - corpus.shares))
            corpus.sweep(name)
            ends.append(corpus.shares)
        differences.append(np.abs(ends[0] - ends[1]).max())
    assert 5 < differences[0] / differences[1] < 20 and 5 < differences[1] / differences[2] < 20


def test_single_precision_rounds_each_update_once(docs):
    """An exponent of up to 30 multiplies the rounding of a share, 2 ** -23, by as much."""
    single, double = Corpus(docs, dtype=np.float32), Corpus(docs)
    for corpus in (single, double):
        corpus.sweep()
    np.testing.assert_allclose(single.shares, double.shares, rtol=0, atol=30 * 100 * 2.0**-23)


def test_permuted_topics_stay_permuted(docs):
    order = np.array([2, 0, 3, 1])
    plain, permuted = Corpus(docs), Corpus(docs, ALPHA[order])
    plain.sweep()
    permuted.state = {"shares": plain.state["shares"][:, order]}
    permuted.counts, permuted.variances = plain.counts[:, order], plain.variances[:, order]
    for _ in range(3):
        plain.sweep()
        permuted.sweep()
    np.testing.assert_allclose(permuted.shares, plain.shares[:, order], atol=1e-5)


def test_topics_begin_apart(docs):
    """Equal responsibilities would be a fixed point."""
    corpus = Corpus(docs, np.full(4, 0.3))
    corpus.sweep()
    assert np.ptp(corpus.counts.sum(axis=0)) > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", EXTREME)
def test_extreme_priors_lose_nothing(docs, dtype, alpha):
    corpus = Corpus(docs, np.array(alpha), dtype)
    for _ in range(30):
        topics = corpus.sweep().doc_topics
        assert (topics >= 0).all() and corpus.state["shares"].any(axis=1).all()
        np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-5)
    counted = corpus.summed(corpus.shares)
    np.testing.assert_allclose(corpus.counts, counted, rtol=0, atol=1e3 * np.finfo(dtype).eps)


@pytest.mark.parametrize("level", [1.0, 1e-30])
def test_of_a_lone_token_only_the_prior_decides(level):
    docs = replace(case.documents([1] * 40, N_WORDS, seed=4), counts=np.ones(40, np.float32))
    corpus, shares = Corpus(docs, level * ALPHA), None
    for _ in range(4):
        view = corpus.view
        arrays = [view.arrays[name][:, :4] for name in KERNEL.views]
        totals = [view.totals[name][:4] for name in KERNEL.views]
        _, _, shares, _ = REFERENCE["infer"](
            docs, arrays[0], totals[0], level * ALPHA, {}, 5, shares, (arrays[1], totals[1])
        )
        corpus.sweep()
        np.testing.assert_allclose(corpus.shares, shares, rtol=1e-6)


def test_one_topic_takes_everything(docs):
    corpus = Corpus(docs, np.array([0.4]))
    corpus.sweep()
    np.testing.assert_array_equal(corpus.counts[:, 0], np.bincount(docs.words, docs.counts, N_WORDS))
    assert not corpus.variances.any() and corpus.sweep().info["moved_tokens"] == 0
