"""Blocking VB with authors that each document moves: against explicit responsibilities, and against `author_vb`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.types import View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case, signed

KERNEL = kernels.load("author_vb_local")
N_WORDS, N_AUTHORS, K = 30, 7, 4
PRIOR = np.array([0.3, 0.05, 1.2, 0.6])
N_DOCUMENTS = np.array([3, 1, 40, 2, 5, 1, 9])
ARRAYS = ("topic_words", "author_topics")


@pytest.fixture
def docs():
    return signed.documents([8, 0, 15, 1, 22, 9], N_WORDS, N_AUTHORS, seed=3)


@pytest.fixture
def weights():
    rng = np.random.default_rng(5)
    return 0.2 + rng.gamma(0.5, 4, (N_WORDS, K)), PRIOR + rng.gamma(0.5, 4, (N_AUTHORS, K))


def run(docs, weights, step=3, dtype=np.float64, **options):
    known = signed.view(KERNEL, *weights, dtype)
    rows = case.padded(N_DOCUMENTS[:, None], dtype)
    view = View(
        {**known.arrays, "author_documents": rows}, {**known.totals, "author_documents": rows.sum(axis=0)}
    )
    told = signed.hyper(KERNEL, K, PRIOR, **options)._replace(step=step)
    return KERNEL.run(docs, view, told, 0, None)


@pytest.mark.parametrize(("max_iter", "tolerance", "step"), [(50, 1e-3, 1), (3, 0.0, 7), (200, 1e-10, 2)])
def test_statistics_are_those_of_the_reference(docs, weights, max_iter, tolerance, step):
    result = run(docs, weights, step, max_doc_update_iter=max_iter, mean_change_tol=tolerance)
    logs = case.reference("author_vb")["expected_logs"](weights[0], 0)
    infer, rate = case.reference("author_vb_local")["infer"], (1.0 + step) ** -0.55
    expected = infer(signed.listed(docs), logs, weights[1], N_DOCUMENTS, PRIOR, rate, max_iter, tolerance)
    for name, own in zip(ARRAYS, expected, strict=True):
        np.testing.assert_allclose(result.stats[name][:, :K], own, rtol=1e-8, atol=1e-12)


def test_both_arrays_count_every_token(docs, weights):
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 2e-6)):
        stats = run(docs, weights, dtype=dtype).stats
        expected = np.bincount(docs.words, docs.counts, docs.n_words)
        np.testing.assert_allclose(stats["topic_words"].sum(axis=1), expected, rtol=tolerance)
        np.testing.assert_allclose(stats["author_topics"].sum(), docs.counts.sum(), rtol=tolerance)
        np.testing.assert_array_equal(
            stats["author_documents"][:, 0], np.bincount(docs.authors, minlength=N_AUTHORS)
        )


def test_an_author_of_whom_next_to_nothing_is_known_outweighs_no_other(docs, weights):
    """exp(psi) of a hundredth is below the least number of single precision."""
    weights[1][1] = 1e-3
    single, double = (run(docs, weights, 10**9, dtype=dtype).stats for dtype in (np.float32, np.float64))
    np.testing.assert_allclose(single["author_topics"], double["author_topics"], rtol=1e-4, atol=1e-4)


def test_late_updates_are_those_of_the_kernel_without(docs, weights):
    other = signed.run(kernels.load("author_vb"), docs, *weights)
    for name in ARRAYS:
        late = run(docs, weights, 10**9, local_decay=1.0).stats[name]
        np.testing.assert_allclose(late, other.stats[name], rtol=1e-5, atol=1e-9)
