"""Progressive SVB: documents learn from those before them, and later inner iterations are those of `svb`."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

from bigtopic import kernels
from bigtopic.types import View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL, SVB = kernels.load("svb_progressive"), kernels.load("svb")
N_WORDS, N_COMPONENTS = 30, 4
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])


@pytest.fixture
def weights():
    return 0.2 + 3 * case.topics(N_WORDS, N_COMPONENTS, seed=4)


def counted(weights):
    """The weights as the kernel reads them."""
    rows = case.padded(weights, np.float64)
    return View({"topic_words": rows}, {"topic_words": rows.sum(axis=0)})


def told(**options):
    return case.hyper(KERNEL, ALPHA, N_COMPONENTS, **options)


def test_a_document_does_not_see_those_after_it(docs, weights):
    whole = KERNEL.run(docs, counted(weights), told(), 0, None)
    part = replace(docs, indptr=docs.indptr[:4], rows=docs.rows[:3])
    part = replace(part, words=docs.words[: docs.indptr[3]], counts=docs.counts[: docs.indptr[3]])
    first = KERNEL.run(part, counted(weights), told(), 0, None)
    np.testing.assert_array_equal(first.doc_topics, whole.doc_topics[:3])
    alone = replace(part, indptr=np.array([0, 15]), rows=docs.rows[2:3])
    alone = replace(alone, words=docs.words[8:23], counts=docs.counts[8:23])
    assert (
        np.abs(KERNEL.run(alone, counted(weights), told(), 0, None).doc_topics - whole.doc_topics[2]).max()
        > 1e-3
    )


def test_the_first_document_is_that_of_svb(docs, weights):
    rows = case.padded(np.exp(psi(weights) - psi(weights.sum(axis=0))), np.float64)
    plain = SVB.run(docs, View({"topic_words": rows}, {}), told(), 0, None)
    ours = KERNEL.run(docs, counted(weights), told(), 0, None)
    np.testing.assert_allclose(ours.doc_topics[0], plain.doc_topics[0], rtol=1e-9)
    assert ours.info["moved"] == ours.info["tokens"] == docs.counts.sum()


def test_later_inner_iterations_are_those_of_svb(docs, weights):
    rows = case.padded(np.exp(psi(weights) - psi(weights.sum(axis=0))), np.float64)
    state = {
        "gamma": np.random.default_rng(0).gamma(2.0, size=(docs.n_docs, N_COMPONENTS)).astype(np.float32)
    }
    plain = SVB.run(docs, View({"topic_words": rows}, {}), told(bound=True), 0, state)
    ours = KERNEL.run(docs, counted(weights), told(bound=True), 0, state)
    np.testing.assert_allclose(ours.stats["topic_words"], plain.stats["topic_words"], rtol=1e-9, atol=1e-12)
    assert ours.info == pytest.approx(plain.info, rel=1e-9)


def test_what_a_prior_is_learned_from_is_that_of_the_documents(docs, weights):
    wanted = told()._replace(statistics=("topic_words", "doc_topic_prior"))
    result = KERNEL.run(docs, counted(weights), wanted, 0, None)
    gammas = result.state["gamma"].astype(float)
    expected = (psi(gammas) - psi(gammas.sum(axis=1, keepdims=True))).sum(axis=0)
    np.testing.assert_allclose(result.stats["doc_topic_prior"][0, :N_COMPONENTS], expected, rtol=1e-5)
