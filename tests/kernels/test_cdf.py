"""Conditional density filtering: the topics that are drawn, every label of the reference, documents in their order."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, kstest

from bigtopic import kernels
from bigtopic.errors import InputError
from bigtopic.kernels.sampling.cdf import draw_first_topics, draw_topics
from bigtopic.kernels.support.random import gamma_room
from bigtopic.types import Docs, KernelResult, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("cdf")
REFERENCE = case.reference("cdf")
N_WORDS, ETA = 30, 0.2


@pytest.fixture
def docs() -> Docs:
    return case.documents([8, 0, 15, 1, 22, 30], N_WORDS, seed=3, first_row=7)


def past(n_components: int) -> np.ndarray:
    """Counts of earlier minibatches; most are 0."""
    return np.random.default_rng(1).poisson(0.4, (N_WORDS, n_components)).astype(float)


def view_of(counts: np.ndarray, dtype: type = np.float64, eta: float = ETA) -> View:
    weights = case.padded(counts + eta, dtype)
    return View({"topic_words": weights}, {"topic_words": weights.sum(axis=0, dtype=np.float64)})


def infer(docs: Docs, view: View, alpha: np.ndarray, seed: int = 5) -> KernelResult:
    return KERNEL.run(docs, view, case.hyper(KERNEL, alpha, len(alpha), docs.n_words), seed, None)


def draws(words: list[int], counts: np.ndarray, n_draws: int) -> np.ndarray:
    """Phi of these words, (n_draws, n, n_components); half of the counts as labels of the call."""
    n, room = (
        counts.shape[1],
        (
            np.empty((len(words), counts.shape[1])),
            *np.empty((3, counts.shape[1])),
            gamma_room(counts.shape[1]),
        ),
    )
    weights, labels = counts + ETA - np.floor(counts / 2), np.floor(counts / 2)
    found = np.empty((n_draws, len(words), n))
    for draw in range(n_draws):
        totals = (counts + ETA).sum(axis=0)
        draw_topics(np.array(words, np.int32), weights, labels, totals, np.uint64(draw), *room)
        found[draw] = np.exp(room[0])
    return found


def test_drawn_topics_have_the_mean_of_the_counts():
    """E Phi_kv = (N_kv + eta) / (N_k + V eta), within four standard errors, and all of their distribution."""
    counts, words = 3 * past(5), [4, 0, 17, 29]
    found, weights, totals = draws(words, counts, 20_000), counts + ETA, (counts + ETA).sum(axis=0)
    error = found.std(axis=0) / np.sqrt(len(found))
    assert (np.abs(found.mean(axis=0) - weights[words] / totals) < 4 * error).all()
    for k in range(5):
        exact = beta(weights[17, k], totals[k] - weights[17, k])
        assert kstest(found[:, 2, k], exact.cdf).pvalue > 1e-3
    pair = found[:, :2].sum(axis=1)  # words together are a Beta too: they are drawn jointly
    exact = beta(weights[[4, 0], 0].sum(), totals[0] - weights[[4, 0], 0].sum())
    assert kstest(pair[:, 0], exact.cdf).pvalue > 1e-3


def test_all_words_have_all_of_the_probability():
    found = draws(list(range(N_WORDS)), past(3), 50)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-9)


def test_first_topics_are_uniform_numbers_divided_by_their_sums():
    """Of two words, the share p of one has the distribution p / (2 - 2p) up to a half, and is symmetric."""
    shares, room = [], np.empty((2, 3))
    for draw in range(3000):
        draw_first_topics(2, np.uint64(draw), room, np.empty(3))
        np.testing.assert_allclose(np.exp(room).sum(axis=0), 1, rtol=1e-12)
        shares.append(np.exp(room[0, 2]))

    def exact(p: np.ndarray) -> np.ndarray:
        return np.where(p < 0.5, p / (2 - 2 * p), 1 - (1 - p) / (2 * p))

    assert kstest(shares, exact).pvalue > 1e-3


@pytest.mark.parametrize("lengths", [[8, 15, 1], [0, 8, 15]])
def test_the_first_document_has_uniform_topics(lengths):
    """That is, the first one with words."""
    docs, alpha, nothing = case.documents(lengths, N_WORDS), np.linspace(0.1, 0.5, 5), np.zeros((N_WORDS, 5))
    view, totals = view_of(nothing), np.full(5, N_WORDS * ETA)
    told = case.hyper(KERNEL, alpha, 5, N_WORDS)._replace(priors={"topic_words": ETA})
    counts, topics = REFERENCE["infer"](docs, nothing + ETA, totals, alpha, {}, 5)
    result = KERNEL.run(docs, view, told, 5, None)
    np.testing.assert_array_equal(result.stats["topic_words"][:, :5], counts)
    np.testing.assert_allclose(result.doc_topics, topics, rtol=1e-12)
    one_token = np.zeros((N_WORDS, 5))
    one_token[3, 1] = 1
    np.testing.assert_array_equal(
        KERNEL.run(docs, view_of(one_token), told, 5, None).doc_topics,
        infer(docs, view_of(one_token), alpha).doc_topics,
    )


@pytest.mark.parametrize("n_components", [2, 16, 37])
@pytest.mark.parametrize("eta", [ETA, 1e-4])
def test_every_label_is_that_of_the_reference(docs, n_components, eta):
    alpha, view = np.linspace(0.05, 0.5, n_components), view_of(past(n_components), eta=eta)
    totals = view.totals["topic_words"][:n_components]
    counts, topics = REFERENCE["infer"](docs, past(n_components) + eta, totals, alpha, {}, 5)
    result = infer(docs, view, alpha)
    np.testing.assert_array_equal(result.stats["topic_words"][:, :n_components], counts)
    np.testing.assert_allclose(result.doc_topics, topics, rtol=1e-12)


def test_documents_follow_each_other(docs):
    """A call for all is a call for each, the counts of the others added."""
    alpha, counts = np.full(4, 0.3), past(4)
    whole = infer(docs, view_of(counts), alpha)
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        alone = Docs(
            docs.indptr[d : d + 2] - own.start,
            docs.words[own],
            docs.counts[own],
            docs.rows[d : d + 1],
            N_WORDS,
        )
        result = infer(alone, view_of(counts), alpha)
        np.testing.assert_array_equal(result.doc_topics[0], whole.doc_topics[d])
        counts = counts + result.stats["topic_words"][:, :4]
    np.testing.assert_array_equal(whole.stats["topic_words"][:, :4], counts - past(4))


def test_the_label_of_one_token_has_its_probability():
    """The mean of alpha_k Phi_k / sum over the topics drawn, within four standard errors."""
    docs = Docs(np.array([0, 1]), np.array([2]), np.ones(1, np.float32), np.array([3]), 3)
    alpha, counts = np.array([0.6, 0.3]), np.array([[2.0, 0.0], [1.0, 3.0], [0.0, 1.0]])
    n, weights = 4000, counts + ETA
    rng = np.random.default_rng(0)
    phi = rng.beta(weights[2], weights.sum(axis=0) - weights[2], size=(400_000, 2))
    exact = (alpha * phi)[:, 0] / (alpha * phi).sum(axis=1)
    found = [infer(docs, view_of(counts), alpha, seed).stats["topic_words"][2, 0] for seed in range(n)]
    error = np.sqrt(exact.mean() * (1 - exact.mean()) / n + exact.var() / len(exact))
    assert abs(np.mean(found) - exact.mean()) < 4 * error


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("eta", [ETA, 1e-30])
def test_every_token_has_a_label(docs, dtype, eta):
    """Also where the numbers drawn are far below the smallest that there is."""
    result = infer(docs, view_of(np.zeros((N_WORDS, 5)), dtype, eta), np.full(5, 0.3))
    counts = result.stats["topic_words"]
    assert counts.dtype == dtype and (counts == np.round(counts)).all() and result.info["dropped_tokens"] == 0
    np.testing.assert_array_equal(counts.sum(axis=1), np.bincount(docs.words, docs.counts, N_WORDS))


def test_single_precision_draws_the_same_labels(docs):
    """Weights of 0.25 and whole numbers are exact in either; probabilities are rounded once they are drawn."""
    single, double = (
        infer(docs, view_of(past(5), dtype, eta=0.25), np.full(5, 0.3)) for dtype in (np.float32, np.float64)
    )
    np.testing.assert_array_equal(single.stats["topic_words"], double.stats["topic_words"])


def test_words_that_no_topic_knows_are_dropped(docs):
    counts, alpha = past(3) + ETA, np.full(3, 0.3)
    counts[:5] = 0
    result = infer(docs, view_of(counts, eta=0.0), alpha)
    unknown = docs.counts[docs.words < 5].sum()
    assert not result.stats["topic_words"][:5].any() and result.info["dropped_tokens"] == unknown > 0
    none = infer(docs, view_of(np.zeros((N_WORDS, 3)), eta=0.0), alpha)
    np.testing.assert_allclose(none.doc_topics, 1 / 3, rtol=1e-12)


def test_the_source_row_decides(docs):
    first = infer(docs, view_of(past(4)), np.full(4, 0.3)).doc_topics
    moved = infer(replace(docs, rows=docs.rows + 1), view_of(past(4)), np.full(4, 0.3)).doc_topics
    assert not np.array_equal(first, moved)


def test_weights_are_refused(docs):
    with pytest.raises(InputError, match=r"document 7 has a count of [0-9]\.5.*whole tokens"):
        infer(replace(docs, counts=docs.counts * 0.5), view_of(past(3)), np.full(3, 0.3))
