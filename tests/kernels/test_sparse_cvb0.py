"""CVB0 of few candidates against its reference, and what the draws promise."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.types import Docs

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case
from reference.sparse_cvb0 import candidates, infer

KERNEL = kernels.load("sparse_cvb0")
N_WORDS, N_COMPONENTS = 60, 70  # topics in five vectors, of which the last is not whole
LENGTHS = [9, 0, 1, 17, 4, 25, 40]
FEW = {"candidates": 6, "explored": 2, "max_doc_update_iter": 4}


@pytest.fixture
def docs():
    return case.documents(LENGTHS, N_WORDS, seed=1, first_row=100)


@pytest.fixture
def topic_words():
    return case.topics(N_WORDS, N_COMPONENTS, seed=2, concentration=0.05)


def own(docs, d):
    part = slice(docs.indptr[d], docs.indptr[d + 1])
    return docs.words[part], docs.counts[part].astype(float)


@pytest.mark.parametrize("options", [FEW, {**FEW, "candidates": 1}, {**FEW, "candidates": 17, "explored": 0}])
def test_few_candidates_against_the_reference(docs, topic_words, options):
    alpha = np.random.default_rng(3).uniform(0.01, 0.5, N_COMPONENTS)
    result = case.infer(KERNEL, docs, topic_words, alpha, seed=11, **options)
    expected = np.zeros((N_WORDS, N_COMPONENTS))
    for d in range(docs.n_docs):
        words, counts = own(docs, d)
        stats, theta = infer(words, counts, topic_words, alpha, options, 11, int(docs.rows[d]))
        expected[words] += stats
        np.testing.assert_allclose(result.doc_topics[d], theta, rtol=1e-8, atol=1e-12)
        assert (theta - alpha / (alpha.sum() + counts.sum()) > 1e-9).sum() <= options["candidates"]
    np.testing.assert_allclose(result.stats["topic_words"][:, :N_COMPONENTS], expected, rtol=1e-8, atol=1e-12)


def test_all_candidates_are_cvb0(docs, topic_words):
    plain = case.infer(kernels.load("cvb0"), docs, topic_words, 0.1)
    every = case.infer(KERNEL, docs, topic_words / topic_words.sum(axis=0), 0.1, candidates=18)
    scaled = case.infer(kernels.load("cvb0"), docs, topic_words / topic_words.sum(axis=0), 0.1)
    np.testing.assert_allclose(every.doc_topics, scaled.doc_topics, rtol=1e-9)
    np.testing.assert_allclose(every.stats["topic_words"], scaled.stats["topic_words"], rtol=1e-9, atol=1e-13)
    assert plain.stats["topic_words"].sum() == pytest.approx(every.stats["topic_words"].sum())


def test_topics_are_drawn_in_proportion_to_their_weights(topic_words):
    """One word, one draw, one candidate: over many source rows, how often each topic was drawn."""
    n = 20_000
    docs = Docs(np.arange(n + 1), np.full(n, 5, np.int32), np.ones(n, np.float32), np.arange(n), N_WORDS)
    result = case.infer(KERNEL, docs, topic_words, 0.1, candidates=1, explored=0)
    found = result.stats["topic_words"][5, :N_COMPONENTS]
    share = topic_words[5] / topic_words[5].sum()
    deviation = (found - n * share) / np.sqrt(n * share * (1 - share) + 1e-12)
    assert np.abs(deviation[n * share > 5]).max() < 4.5


def test_rarer_words_win_ties(docs, topic_words):
    words, counts = own(docs, 6)
    chosen = candidates(
        words, np.ones_like(counts), np.eye(N_WORDS, N_COMPONENTS), {**FEW, "explored": 0}, 1, 1
    )
    np.testing.assert_array_equal(chosen, np.sort(words[-6:]))
