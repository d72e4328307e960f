"""Zero-order inference of authors and topics by means: against responsibilities written out."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case, signed

KERNEL = kernels.load("author_vb_mean")
N_WORDS, N_AUTHORS, K = 30, 7, 4


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-5)])
def test_statistics_are_those_of_explicit_responsibilities(dtype, tolerance):
    docs = signed.documents([8, 0, 15, 1, 22, 9], N_WORDS, N_AUTHORS, seed=3)
    rng = np.random.default_rng(5)
    words, authors = 0.03 + rng.gamma(0.5, 4, (N_WORDS, K)), 0.1 + rng.gamma(0.5, 4, (N_AUTHORS, K))
    result = signed.run(KERNEL, docs, words, authors, dtype=dtype)
    means = words / words.sum(axis=0), authors / authors.sum(axis=1, keepdims=True)
    expected = case.reference("author_vb_mean")["infer"](signed.listed(docs), *means)
    for name, own in zip(("topic_words", "author_topics"), expected, strict=True):
        np.testing.assert_allclose(result.stats[name][:, :K], own, rtol=tolerance, atol=tolerance / 100)
    assert "bound" not in result.info
