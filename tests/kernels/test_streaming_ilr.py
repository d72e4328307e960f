"""Streaming ILR: iterative CVB0 to the bit without a past, the reference with one, and where a minibatch stops."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.types import Docs, KernelResult, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL, ILR = kernels.load("streaming_ilr"), kernels.load("ilr")
REFERENCE = case.reference("streaming_ilr")
N_WORDS, ETA = 30, 0.2
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])


@pytest.fixture
def docs() -> Docs:
    return case.documents([8, 0, 15, 1, 22], N_WORDS, seed=3, first_row=7)


@pytest.fixture
def past() -> np.ndarray:
    """Decayed expected counts of earlier minibatches."""
    return np.random.default_rng(1).gamma(0.7, size=(N_WORDS, 4))


def view_of(counts: np.ndarray, dtype: type = np.float64, eta: float = ETA) -> View:
    weights = case.padded(counts + eta, dtype)
    return View({"topic_words": weights}, {"topic_words": weights.sum(axis=0, dtype=np.float64)})


def infer(docs: Docs, view: View, alpha: np.ndarray = ALPHA, **options: float) -> KernelResult:
    return KERNEL.run(docs, view, case.hyper(KERNEL, alpha, len(alpha), docs.n_words, **options), 5, None)


def test_one_minibatch_without_a_past_is_iterative_cvb0(docs):
    begun = view_of(np.zeros((N_WORDS, 4)))
    weights, totals = begun.arrays["topic_words"], begun.totals["topic_words"]
    counts, state = np.zeros_like(weights), None
    for sweep in range(6):
        view = View({"topic_words": weights + counts}, {"topic_words": totals + counts.sum(axis=0)})
        expected = ILR.run(docs, view, case.hyper(ILR, ALPHA, 4, N_WORDS), 5, state)
        counts, state = counts + expected.stats["topic_words"], expected.state
        result = infer(docs, begun, max_sweeps=sweep)
        np.testing.assert_allclose(result.stats["topic_words"], counts, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(result.doc_topics, expected.doc_topics, rtol=1e-12)


@pytest.mark.parametrize("tolerance", [3e-1, 1e-1, 0.0])
def test_it_goes_on_and_stops_like_the_reference(docs, past, tolerance):
    view = view_of(past)
    told = case.hyper(KERNEL, ALPHA, 4, N_WORDS, max_sweeps=25, mean_change_tol=tolerance)
    totals = view.totals["topic_words"][:4]
    counts, topics, n_sweeps = REFERENCE["infer"](docs, past + ETA, totals, ALPHA, told.options, 5)
    result = KERNEL.run(docs, view, told, 5, None)
    np.testing.assert_allclose(result.stats["topic_words"][:, :4], counts, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(result.doc_topics, topics, rtol=1e-10)
    assert result.info["iterations"] == n_sweeps * docs.n_docs
    assert (n_sweeps < 26) == (tolerance > 0)


def test_nothing_is_lost_in_hundreds_of_sweeps(docs, past):
    result = infer(docs, view_of(past), max_sweeps=300, mean_change_tol=0.0)
    counts = result.stats["topic_words"]
    np.testing.assert_allclose(
        counts.sum(axis=1), np.bincount(docs.words, docs.counts, N_WORDS), rtol=0, atol=1e-11
    )
    assert counts.min() > -1e-11 and result.info["moved_tokens"] < 1e-2


def test_single_precision_costs_little(docs, past):
    """At rest, where the responsibilities no longer depend on the way there."""
    settings = {"max_sweeps": 1000, "mean_change_tol": 1e-6}
    single, double = (
        infer(docs, view_of(10 * past, dtype), **settings) for dtype in (np.float32, np.float64)
    )
    assert single.stats["topic_words"].dtype == np.float64
    np.testing.assert_allclose(single.doc_topics, double.doc_topics, rtol=0, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("eta", [1e-30, 1e24])
@pytest.mark.parametrize("alpha", [[1e-30, 1, 1e24], [1e-30, 1e-30, 1]], ids=str)
def test_extreme_priors_lose_nothing(docs, alpha, eta, dtype):
    result = infer(docs, view_of(np.zeros((N_WORDS, 3)), dtype, eta), np.array(alpha))
    found = result.stats["topic_words"].sum(axis=1)
    np.testing.assert_allclose(found, np.bincount(docs.words, docs.counts, N_WORDS), rtol=1e-5)
    np.testing.assert_allclose(result.doc_topics.sum(axis=1), 1, rtol=1e-5)
    assert np.isfinite(list(result.info.values())).all()


def test_one_topic_takes_everything(docs):
    result = infer(docs, view_of(np.full((N_WORDS, 1), 2.5)), np.array([0.4]))
    np.testing.assert_array_equal(
        result.stats["topic_words"][:, 0], np.bincount(docs.words, docs.counts, N_WORDS)
    )
    assert result.info["iterations"] == docs.n_docs and result.info["moved_tokens"] == 0


def test_weights_are_taken(docs, past):
    halves = Docs(docs.indptr, docs.words, docs.counts / 2, docs.rows, N_WORDS)
    counts = infer(halves, view_of(past)).stats["topic_words"]
    assert counts.sum() == pytest.approx(docs.counts.sum() / 2, rel=1e-12)
