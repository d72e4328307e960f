"""Streaming Gibbs sampling: collapsed Gibbs sampling label for label, the posterior where it can be enumerated, and
where a minibatch stops."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare

from bigtopic import kernels
from bigtopic.errors import InputError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.methods import Method
from bigtopic.schemes.add import Add
from bigtopic.types import CallSize, Docs, KernelResult, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL, CGS = kernels.load("sgs"), kernels.load("cgs")
REFERENCE = case.reference("sgs")
N_WORDS, ETA = 30, 0.2


@pytest.fixture
def docs() -> Docs:
    return case.documents([8, 0, 15, 1, 22], N_WORDS, seed=3, first_row=7)


@pytest.fixture
def past() -> np.ndarray:
    """Decayed counts of earlier minibatches."""
    return 0.8 * np.random.default_rng(1).poisson(0.7, (N_WORDS, 6))


def view_of(counts: np.ndarray, dtype: type = np.float64, eta: float = ETA) -> View:
    weights = case.padded(counts + eta, dtype)
    return View({"topic_words": weights}, {"topic_words": weights.sum(axis=0, dtype=np.float64)})


def infer(docs: Docs, view: View, alpha: np.ndarray, seed: int = 5, **options: int) -> KernelResult:
    return KERNEL.run(docs, view, case.hyper(KERNEL, alpha, len(alpha), docs.n_words, **options), seed, None)


@pytest.mark.parametrize("n_components", [4, 37, 150])
def test_one_minibatch_without_a_past_is_collapsed_gibbs_sampling(docs, n_components):
    """Label for label: a sweep more, and the counts of what collapsed Gibbs sampling remembers."""
    alpha, begun = np.linspace(0.05, 0.5, n_components), view_of(np.zeros((N_WORDS, n_components)))
    weights, totals = begun.arrays["topic_words"], begun.totals["topic_words"]
    counts, state = np.zeros_like(weights), None
    told = case.hyper(CGS, alpha, n_components, N_WORDS)
    for sweep in range(6):
        view = View({"topic_words": weights + counts}, {"topic_words": totals + counts.sum(axis=0)})
        expected = CGS.run(docs, view, told, 5 + sweep, state)
        counts, state = counts + expected.stats["topic_words"], expected.state
        result = infer(docs, begun, alpha, max_sweeps=sweep)
        np.testing.assert_array_equal(result.stats["topic_words"], counts)
        np.testing.assert_array_equal(result.doc_topics, expected.doc_topics)


@pytest.mark.parametrize("patience", [1, 3, 50])
def test_it_goes_on_and_stops_like_the_reference(docs, past, patience):
    alpha, view = np.linspace(0.05, 0.5, 6), view_of(past)
    told = case.hyper(KERNEL, alpha, 6, N_WORDS, max_sweeps=40, patience=patience)
    totals = view.totals["topic_words"][:6]
    counts, topics, _, history = REFERENCE["infer"](docs, past + ETA, totals, alpha, told.options, 5)
    result = KERNEL.run(docs, view, told, 5, None)
    np.testing.assert_allclose(result.stats["topic_words"][:, :6], counts, atol=1e-9)
    np.testing.assert_allclose(result.doc_topics, topics, rtol=1e-9)
    assert result.info["iterations"] == len(history) * docs.n_docs
    assert result.info["log_likelihood"] == pytest.approx(history[-1], rel=1e-10)
    assert (len(history) < 41) == (patience < 41)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_statistics_are_whole_labels_of_every_token(docs, past, dtype):
    """However fractional the past is."""
    result = infer(docs, view_of(past, dtype), np.full(6, 0.3), max_sweeps=60, patience=61)
    counts = result.stats["topic_words"]
    assert counts.dtype == np.float64 and (counts >= 0).all() and (counts == np.round(counts)).all()
    np.testing.assert_array_equal(counts.sum(axis=1), np.bincount(docs.words, docs.counts, N_WORDS))


@pytest.mark.costly
@pytest.mark.parametrize("level", [1.5, 0.0], ids=["a past", "no past"])
def test_labels_have_their_posterior_given_the_past(level):
    """Five tokens of three words in two documents: independent draws of the counts, against all 32 labellings."""
    docs = Docs(np.array([0, 2, 4]), np.array([0, 1, 1, 2]), np.array([2, 1, 1, 1.0]), np.array([3, 9]), 3)
    alpha, past = np.array([0.6, 0.3]), level * np.array([[0.5, 0.3], [0.1, 0.4], [0.4, 0.6]])
    view, n_draws = view_of(past), 3000
    exact = REFERENCE["posterior"](docs, past + ETA, view.totals["topic_words"][:2], alpha)
    found, n_tokens = dict.fromkeys(exact, 0), np.array([[3.0], [2.0]])
    for seed in range(n_draws):
        result = infer(docs, view, alpha, seed=100 * seed, max_sweeps=8, patience=9)
        by_doc = np.round(result.doc_topics * (alpha.sum() + n_tokens) - alpha)
        found[(by_doc + 0.0).tobytes() + result.stats["topic_words"][:, :2].tobytes()] += 1
    expected = n_draws * np.array(list(exact.values()))
    assert expected.min() > 5
    assert chisquare(list(found.values()), expected).pvalue > 1e-3


def test_the_past_matters(docs):
    """Words that only one topic has had keep to it."""
    past = np.zeros((N_WORDS, 2))
    past[:10, 1] = past[10:, 0] = 1e9
    counts = infer(docs, view_of(past), np.full(2, 0.1)).stats["topic_words"]
    assert not counts[:10, 0].any() and not counts[10:, 1].any() and counts.sum() == docs.counts.sum()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("eta", [1e-30, 1e24])
@pytest.mark.parametrize("alpha", [[1e-30, 1, 1e24], [1e-30, 1e-30, 1]], ids=str)
def test_extreme_priors_lose_nothing(docs, alpha, eta, dtype):
    result = infer(docs, view_of(np.zeros((N_WORDS, 3)), dtype, eta), np.array(alpha))
    found = result.stats["topic_words"].sum(axis=1)
    np.testing.assert_allclose(found, np.bincount(docs.words, docs.counts, N_WORDS), rtol=1e-5)
    np.testing.assert_allclose(result.doc_topics.sum(axis=1), 1, rtol=1e-5)
    assert np.isfinite(list(result.info.values())).all()


def test_one_topic_takes_every_token(docs):
    result = infer(docs, view_of(np.full((N_WORDS, 1), 2.5)), np.array([0.4]))
    np.testing.assert_array_equal(
        result.stats["topic_words"][:, 0], np.bincount(docs.words, docs.counts, N_WORDS)
    )
    assert result.info["iterations"] == 11 * docs.n_docs  # nothing can improve


def test_weights_are_refused(docs):
    with pytest.raises(InputError, match=r"document 7 has a count of 0\.5.*whole tokens"):
        infer(replace(docs, counts=docs.counts * 0.5), view_of(np.zeros((N_WORDS, 3))), np.full(3, 0.3))


@pytest.mark.parametrize("options", [{"max_sweeps": -1}, {"patience": 0}], ids=str)
def test_settings_that_cannot_be_are_refused(docs, options):
    ((name, value),) = options.items()
    with pytest.raises(SettingError, match=f"{name}={value}: must be"):
        infer(docs, view_of(np.zeros((N_WORDS, 3))), np.full(3, 0.3), **options)


def test_the_estimate_of_memory_has_the_labels():
    size = CallSize(32, 900, N_WORDS, {"topic_words": N_WORDS}, {"topic_words": 16}, 3, 10**12, 10**12)
    assert max(KERNEL.scratch(size, KERNEL.options).pooled) == 2 * 10**12


def test_a_document_whose_labels_do_not_fit_into_memory_is_refused():
    x = np.random.default_rng(0).poisson(0.3, (100, 30)).astype(float)
    x[3, 4] = 1e12
    method = Method("own", "sgs", {"topic_words": Add()}, inference="cvb0", batch_size=32)
    model = LDA(3, method=method, max_iter=1, client=False, n_threads=1)
    with pytest.raises(SettingError, match="GB, but the machine has"):
        model.fit(x)
