"""The sums of E[log theta] that kernels offer: of posteriors and labels as NumPy has them, and only if asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

from bigtopic import kernels
from bigtopic.kernels.support.expected_logs import expected_logs, expected_logs_of_labels
from bigtopic.types import Kernel, KernelResult

sys.path.insert(0, str(Path(__file__).parents[1]))

from known import known
from reference import case

ALPHA = np.array([0.1, 0.5, 1.3, 0.02, 0.7])
DOCS = case.documents([9, 0, 1, 17, 4, 25, 3, 12, 0, 6], 40, seed=1, first_row=100)
TOPICS = case.topics(40, 5, seed=2)
PRIOR = "doc_topic_prior"
OFFERING = [name for name in case.of_lda(kernels.names()) if PRIOR in kernels.load(name).offers]

RANDOM_START = {"ilr", "cvb", "streaming_ilr"}


@pytest.fixture(params=OFFERING)
def kernel(request) -> Kernel:
    return kernels.load(request.param)


def run(
    kernel: Kernel, topics=TOPICS, docs=DOCS, asked=(PRIOR,), alpha=ALPHA, dtype=np.float64
) -> KernelResult:
    told = case.hyper(kernel, alpha, topics.shape[1], docs.n_words)._replace(statistics=asked)
    return kernel.run(docs, case.view(kernel, topics, dtype), told, 7, None)


def test_all_kernels_offer_it_but_those_whose_documents_are_points():
    silent = {*case.of_lda(kernels.names())} - {*OFFERING}
    assert silent & known("kernel") == {"frank_wolfe", "map_em", "ope"}


def test_of_posteriors():
    gammas = np.random.default_rng(0).gamma(0.3, size=(20, 5)) + 1e-3
    logs = expected_logs(gammas, 16)
    expected = (psi(gammas) - psi(gammas.sum(axis=1, keepdims=True))).sum(axis=0)
    np.testing.assert_allclose(logs[0, :5], expected, rtol=1e-12)
    assert logs.shape == (1, 16) and not logs[0, 5:].any()


def test_of_labels():
    labels = np.random.default_rng(0).integers(0, 5, 30)
    logs = expected_logs_of_labels(np.array([0, 12, 12, 30]), labels, ALPHA, 16)
    numbers = [np.bincount(own, minlength=5) for own in (labels[:12], labels[:0], labels[12:])]
    np.testing.assert_allclose(
        logs[0, :5], sum(psi(ALPHA + n) - psi((ALPHA + n).sum()) for n in numbers), rtol=1e-12
    )


def test_nothing_else_depends_on_being_asked(kernel):
    plain, asked = run(kernel, asked=()), run(kernel)
    assert set(plain.stats) == set(kernel.statistics) and set(asked.stats) == {*kernel.statistics, PRIOR}
    for name in kernel.statistics:
        np.testing.assert_array_equal(asked.stats[name], plain.stats[name])
    np.testing.assert_array_equal(asked.doc_topics, plain.doc_topics)
    logs = asked.stats[PRIOR]
    assert logs.shape == (1, 16) and logs.dtype == np.float64 and not logs[0, 5:].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_where_words_tell_their_topic_it_is_known(kernel, dtype):
    """Each word in one topic alone: every kernel must find the same counts, and from these the posterior."""
    if kernel.name in RANDOM_START:
        pytest.skip("begins with each word in a topic at random, whatever topics say")
    topics = np.zeros((40, 5))
    topics[np.arange(40), np.arange(40) % 5] = 1 / 8
    expected = np.zeros(5)
    for d in range(DOCS.n_docs):
        own = slice(DOCS.indptr[d], DOCS.indptr[d + 1])
        gamma = ALPHA + np.bincount(DOCS.words[own] % 5, DOCS.counts[own], 5)
        expected += psi(gamma) - psi(gamma.sum())
    found = run(kernel, topics, dtype=dtype).stats[PRIOR][0, :5]
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


def test_documents_without_tokens_have_that_of_the_prior(kernel):
    docs = case.documents([0, 0, 0], 40)
    found = run(kernel, docs=docs).stats[PRIOR][0, :5]
    np.testing.assert_allclose(found, 3 * (psi(ALPHA) - psi(ALPHA.sum())), rtol=1e-12)


def test_sweeps_that_are_kept_have_the_exact_mean():
    """A document of three tokens, of which all labels are listed: within four standard errors of 20 000 copies."""
    kernel, brute_force = kernels.load("gibbs"), case.reference("gibbs")["exact"]
    words, counts, n = np.array([3, 20]), np.array([2.0, 1.0]), 20_000
    docs = case.documents([2] * n, 40)
    docs.words[:], docs.counts[:] = np.tile(words, n), np.tile(counts, n)
    _, posterior = brute_force(words, counts, TOPICS, ALPHA)
    logs = {z: psi(g := ALPHA + np.bincount(z, minlength=5)) - psi(g.sum()) for z in posterior}
    mean = sum(p * logs[z] for z, p in posterior.items())
    variance = sum(p * (logs[z] - mean) ** 2 for z, p in posterior.items())
    found = run(kernel, docs=docs).stats[PRIOR][0, :5]
    assert (np.abs(found / n - mean) < 4 * np.sqrt(variance / n)).all()
