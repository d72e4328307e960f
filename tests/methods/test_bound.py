"""The bound of method `vb` is below log p(words), which can be enumerated in a corpus of seven tokens."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

from bigtopic.estimators.lda import LDA

PRIORS = [(0.5, 0.3), (2.0, 1.0), (0.1, 5.0)]
COUNTS = np.array([[2, 1, 0], [0, 1, 1], [1, 0, 0]])
DOCUMENTS, WORDS = np.repeat(np.argwhere(COUNTS), COUNTS[COUNTS > 0], axis=0).T


def log_dirichlet_multinomial(counts: np.ndarray, prior: float) -> float:
    """log p of the labels or words of each row, in their order; summed over rows."""
    n = counts.shape[1]
    rows = gammaln(n * prior) - gammaln(counts.sum(axis=1) + n * prior)
    return float(rows.sum() + (gammaln(counts + prior) - gammaln(prior)).sum())


def log_evidence(n_components: int, alpha: float, eta: float) -> float:
    """log p(words), by summing the joint probability over all labels."""
    logs = []
    for labels in product(range(n_components), repeat=len(WORDS)):
        by_document, by_topic = np.zeros((3, n_components)), np.zeros((n_components, 3))
        np.add.at(by_document, (DOCUMENTS, labels), 1)
        np.add.at(by_topic, (labels, WORDS), 1)
        logs.append(log_dirichlet_multinomial(by_document, alpha) + log_dirichlet_multinomial(by_topic, eta))
    return float(np.logaddexp.reduce(logs))


def bounds(n_components: int, alpha: float, eta: float) -> np.ndarray:
    """In nats, after 0, 1, ... passes."""
    settings = {"doc_topic_prior": alpha, "topic_word_prior": eta, "options": {"bound": True}}
    model = LDA(n_components, method="vb", max_iter=20, tol=0.0, client=False, random_state=0, **settings)
    return COUNTS.sum() * np.array([row["bound"] for row in model.fit(COUNTS).history_])


@pytest.mark.parametrize(("alpha", "eta"), PRIORS)
def test_the_bound_is_below_the_likelihood_of_the_words(alpha, eta):
    found = bounds(2, alpha, eta)
    assert found[0] < found[-1] and found.max() < log_evidence(2, alpha, eta)


@pytest.mark.parametrize(("alpha", "eta"), PRIORS)
def test_the_bound_of_one_topic_is_the_likelihood(alpha, eta):
    """Nothing is unknown but the topic, and its posterior is a Dirichlet distribution."""
    assert bounds(1, alpha, eta)[-1] == pytest.approx(log_evidence(1, alpha, eta), rel=1e-6)
