"""Method `vb` and scikit-learn's batch learning have the same bound, from the start on and after every pass."""

from __future__ import annotations

import numpy as np
import pytest

from bigtopic.estimators.lda import LDA

pytest.importorskip("sklearn")

from reference.scikit_learn import batch_vb

N_COMPONENTS, N_WORDS, N_PASSES = 4, 80, 10
PRIORS = {"doc_topic_prior": 0.3, "topic_word_prior": 0.05}
INNER = {"max_doc_update_iter": 30, "mean_change_tol": 0.0}  # no rounding decides when a document ends


@pytest.fixture(scope="module")
def counts(synthetic):
    return synthetic.counts[:60].astype(np.float64)


@pytest.fixture(scope="module")
def topics():
    """p(word | topic) at the start."""
    return np.random.default_rng(0).dirichlet(np.full(N_WORDS, 5.0), N_COMPONENTS)


@pytest.fixture(scope="module")
def bounds(counts, topics):
    """Ours in nats, after 0, 1, ... passes: that of a pass is of the topics with which it began."""
    settings = {"tol": 0.0, "options": {"bound": True}, "client": False, "n_threads": 1, "progress": False}
    model = LDA(N_COMPONENTS, method="vb", max_iter=N_PASSES + 1, init=topics, **PRIORS, **INNER, **settings)
    return counts.sum() * np.array([row["bound"] for row in model.fit(counts).history_])


@pytest.mark.parametrize("n_passes", [0, 1, 2, N_PASSES])
def test_scikit_learn_has_the_same_bound(n_passes, counts, topics, bounds):
    start = PRIORS["topic_word_prior"] + topics * counts.sum() / N_COMPONENTS
    theirs = batch_vb(counts, start, n_passes, **PRIORS, **INNER).score(counts)
    np.testing.assert_allclose(bounds[n_passes], theirs, rtol=1e-6)
