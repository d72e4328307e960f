"""Topics are alike: kernels that draw by the topics' numbers treat permuted topics alike on average."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.types import Docs

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

N_COPIES, ORDER = 4000, np.array([3, 1, 4, 0, 2])
ALPHA = np.array([0.1, 0.5, 1.3, 0.2, 0.7])
MASS = 1e6  # of topics so heavy that copies that see each other's labels do not matter to each other


@pytest.mark.parametrize("name", case.of_lda(kernels.names()))
def test_permuting_topics_permutes_the_mean_of_many_copies(name):
    """Within four and a half standard errors: of the topics of a document of seven tokens."""
    kernel, topic_words = kernels.load(name), MASS * case.topics(4, 5, seed=2)
    one = np.arange(4, dtype=np.int32), np.array([2, 1, 3, 1], np.float32)
    docs = Docs(
        np.arange(0, 4 * N_COPIES + 1, 4), *(np.tile(a, N_COPIES) for a in one), np.arange(N_COPIES), 4
    )
    alpha = case.accepted(kernel, ALPHA)
    plain = case.infer(kernel, docs, topic_words, alpha, seed=7).doc_topics[:, ORDER]
    if np.ptp(plain, axis=0).max() == 0:
        pytest.skip("nothing is drawn: see test_kernels")
    permuted = case.infer(kernel, docs, topic_words[:, ORDER], alpha[ORDER], seed=8).doc_topics
    error = np.sqrt((plain.var(axis=0) + permuted.var(axis=0)) / N_COPIES)
    assert (np.abs(plain.mean(axis=0) - permuted.mean(axis=0)) < 4.5 * error + 1e-9).all()
