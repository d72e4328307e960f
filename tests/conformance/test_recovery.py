"""Documents drawn from known topics: every method comes nearer to these with more documents, and never beats them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets.synthetic import lda_corpus
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import log_predictive
from bigtopic.methods import Method, get

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

TRUTH = lda_corpus(700, 50, 2, mean_length=40.0, doc_topic_prior=0.2, topic_word_prior=0.1, random_state=2)
FEW, MANY, HELD_OUT = (from_matrix(TRUTH.counts[own]) for own in (slice(30), slice(600), slice(600, 700)))


TOPICS = TRUTH.components / TRUTH.components.sum(axis=1, keepdims=True)
HALF_WAY = np.abs(TOPICS[0] - TOPICS[1]).sum() / 2


def distance(model: LDA) -> float:
    """L1, the mean over topics, each with the true one that matches it best."""
    distances = np.abs(TOPICS[:, None] - model.get_topics()).sum(axis=2)
    return float(distances[linear_sum_assignment(distances)].mean())


def settings(method: Method) -> dict[str, int]:
    """Few passes of minibatches, or several of a whole corpus; labels need more of these than expected counts."""
    kernel = method.load_kernel()
    if method.batch_size is None or kernel.state == "run":
        return {"max_iter": 50 if "labels" in kernel.remembers else 12}
    return {"max_iter": 3, "batch_size": 60} if method.inner == 1 else {"max_iter": 1, "batch_size": 120}


def marked(name: str) -> Any:
    """Passes that write what is remembered of documents are slow."""
    remembers = get(name).load_kernel().state == "run"
    return pytest.param(name, marks=[pytest.mark.slow] if remembers else [])


@pytest.mark.parametrize("name", [marked(name) for name in case.methods_of_lda()])
def test_topics_are_found_again(name):
    if name == "cdf":
        pytest.skip("one sweep of each document: what the first ones drew stays")
    own = {**settings(get(name)), "client": False, "n_threads": 1, "random_state": 0}
    if name == "svb-progressive":  # at its paper's prior, half of the starts end with one topic for both
        own["doc_topic_prior"] = 0.5
    few, many = (LDA(2, method=name, **own).fit(documents) for documents in (FEW, MANY))
    assert distance(many) < min(distance(few), HALF_WAY)
    gain, error = log_predictive(many, HELD_OUT).minus(log_predictive(TRUTH.components, HELD_OUT))
    assert gain < 3 * error
