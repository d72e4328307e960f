"""Labels drawn from responsibilities, from which the prior of documents' topics is learned."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import psi

from bigtopic import kernels
from bigtopic.errors import SettingError
from bigtopic.kernels.support.expected_logs import expected_logs_of_shares, expected_logs_of_topics

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

ALPHA = np.array([0.1, 0.5, 1.3, 0.02, 0.7])
DOCS = case.documents([9, 0, 1, 17, 4], 40, seed=1, first_row=100)
TOPICS = case.topics(40, 5, seed=2)
SWEEPS = 5
REFERENCE = case.reference("drawn_labels")


def documents(docs=DOCS):
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        yield docs.words[own], docs.counts[own].astype(float), int(docs.rows[d])


def of_numbers(numbers):
    return sum(psi(ALPHA + n) - psi((ALPHA + n).sum()) for n in numbers)


@pytest.fixture(scope="module")
def shares():
    return [REFERENCE["converged"](words, counts, TOPICS, ALPHA) for words, counts, _ in documents()]


def test_against_topics(shares):
    """And a word that no topic knows has no label."""
    expected = [ALPHA + counts @ own for (_, counts, _), own in zip(documents(), shares, strict=True)]
    numbers = [
        REFERENCE["numbers"](words, counts, TOPICS, mass, ALPHA, SWEEPS, 7, row)
        for (words, counts, row), mass in zip(documents(), expected, strict=True)
    ]
    topics = np.array([mass / mass.sum() for mass in expected])
    logs = expected_logs_of_topics(DOCS, case.padded(TOPICS, float), topics, ALPHA, 7)
    np.testing.assert_allclose(logs[0, :5], of_numbers(numbers), rtol=1e-10)
    assert logs.shape == (1, 16) and not logs[0, 5:].any()
    nothing = expected_logs_of_topics(DOCS, np.zeros((40, 16)), topics, ALPHA, 7)
    np.testing.assert_allclose(nothing[0, :5], of_numbers(np.zeros((5, 5))), rtol=1e-10)


@pytest.mark.parametrize("second_order", [False, True])
def test_responsibilities_at_rest_tell_the_weights_that_they_come_from(second_order):
    """The same labels, though the weights of words are not given; whatever the sum of an entry's shares is."""
    told = {"second_order": second_order}
    shares = [
        REFERENCE["converged"](words, counts, TOPICS, ALPHA, **told) for words, counts, _ in documents()
    ]
    topics = np.array([ALPHA + counts @ own for (_, counts, _), own in zip(documents(), shares, strict=True)])
    logs = expected_logs_of_topics(DOCS, case.padded(TOPICS, float), topics, ALPHA, 7)
    scaled = 3 * np.concatenate(shares)
    found = expected_logs_of_shares(DOCS, scaled, ALPHA, 16, 7, **told)
    np.testing.assert_allclose(found, logs, rtol=1e-10)


def test_labels_are_samples_of_their_posterior():
    """A document of three tokens, of which all labels are listed: within four standard errors of 20 000 copies. The
    logarithms of expected counts are far outside."""
    kernel, exact = kernels.load("cvb0"), case.reference("gibbs")["exact"]
    words, counts, n = np.array([3, 20]), np.array([2.0, 1.0]), 20_000
    docs = case.documents([2] * n, 40)
    docs.words[:], docs.counts[:] = np.tile(words, n), np.tile(counts, n)
    _, posterior = exact(words, counts, TOPICS, ALPHA)
    logs = {z: of_numbers([np.bincount(z, minlength=5)]) for z in posterior}
    mean = sum(p * logs[z] for z, p in posterior.items())
    error = np.sqrt(sum(p * (logs[z] - mean) ** 2 for z, p in posterior.items()) / n)
    told = case.hyper(kernel, ALPHA, 5, 40)._replace(statistics=("doc_topic_prior",))
    result = kernel.run(docs, case.view(kernel, TOPICS), told, 7, None)
    assert (np.abs(result.stats["doc_topic_prior"][0, :5] / n - mean) < 4 * error).all()
    soft = result.doc_topics[0] * (ALPHA.sum() + 3)
    assert (psi(soft) - psi(soft.sum()) - mean > 40 * error).any()


@pytest.mark.parametrize("name", ["cvb0", "scvb0", "ilr", "cvb", "streaming_ilr"])
def test_weights_in_place_of_counts_are_refused_only_when_the_prior_is_learned(name):
    kernel, docs = kernels.load(name), case.documents([3, 5], 40)
    docs.counts[4] = 1.5
    told = case.hyper(kernel, ALPHA, 5, 40)
    kernel.run(docs, case.view(kernel, TOPICS), told, 7, None)
    with pytest.raises(SettingError, match=r"learn_doc_topic_prior.*count of 1\.5.*whole counts"):
        kernel.run(docs, case.view(kernel, TOPICS), told._replace(statistics=("doc_topic_prior",)), 7, None)
