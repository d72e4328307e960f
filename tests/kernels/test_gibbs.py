"""Gibbs sampling against fixed topics: exact where it can be, else against the posterior of all lists of labels."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from bigtopic import kernels
from bigtopic.errors import InputError, SettingError
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("gibbs")
N_WORDS, N_COMPONENTS = 30, 4
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])


def copies(counts, topic_words, n):
    """The document of the first words n times, each time with words of its own, so that its statistics are alone."""
    n_distinct = len(counts)
    docs = Docs(
        n_distinct * np.arange(n + 1),
        np.arange(n * n_distinct, dtype=np.int32),
        np.tile(np.asarray(counts, np.float32), n),
        np.arange(n),
        n * n_distinct,
    )
    return docs, np.tile(topic_words[:n_distinct], (n, 1))


def each(result, n, n_components):
    """Statistics of each copy, (n, n_distinct, n_components)."""
    return result.stats["topic_words"][:, :n_components].reshape(n, -1, n_components)


@pytest.mark.parametrize("start", ["uniform", "words"])
@pytest.mark.parametrize("statistic", ["labels", "conditionals", "theta"])
@pytest.mark.parametrize("n_components", [1, 16, 37, 100])
def test_against_the_reference(start, statistic, n_components):
    docs = case.documents([7, 0, 3, 1, 12, 9, 5], N_WORDS, seed=5)
    topic_words = case.topics(N_WORDS, n_components, seed=6)
    options = {"burn_in": 2, "samples": 3, "start": start, "statistic": statistic}
    result = case.infer(KERNEL, docs, topic_words, 0.1, seed=11, **options)
    expected = np.zeros((N_WORDS, n_components))
    infer = case.reference("gibbs")["infer"]
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        words, counts = docs.words[own], docs.counts[own].astype(float)
        prior = np.full(n_components, 0.1)
        stats, theta = infer(words, counts, topic_words, prior, options, 11, int(docs.rows[d]))
        expected[words] += stats
        np.testing.assert_allclose(result.doc_topics[d], theta, rtol=1e-10)
    np.testing.assert_allclose(
        result.stats["topic_words"][:, :n_components], expected, rtol=1e-10, atol=1e-13
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", ["uniform", "words"])
def test_labels_have_their_posterior(topic_words, start, dtype):
    """Chi-square of 20 000 documents' last labels, against all 4^4 lists of labels of four tokens."""
    n, counts = 20_000, np.ones(4)
    docs, tiled = copies(counts, topic_words, n)
    options = {"burn_in": 30, "samples": 1, "start": start}
    result = case.infer(KERNEL, docs, tiled, ALPHA, dtype=dtype, **options)
    labels = each(result, n, N_COMPONENTS).argmax(axis=2)
    _, exact = case.reference("gibbs")["exact"](np.arange(4), counts, topic_words, ALPHA)
    found = np.bincount(labels @ N_COMPONENTS ** np.arange(3, -1, -1), minlength=len(exact))
    expected = n * np.array(list(exact.values()))  # in the order of the lists, the last label fastest
    common = expected >= 5
    found = np.append(found[common], found[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    assert common.sum() > 10
    assert ((found - expected) ** 2 / expected).sum() < chi2.ppf(0.999, len(expected) - 1)


@pytest.mark.parametrize("statistic", ["labels", "conditionals"])
def test_means_are_those_of_the_posterior(topic_words, statistic):
    """With words that occur twice, within four standard errors of the exact expected counts."""
    n, counts = 4000, np.array([2, 1, 3])
    docs, tiled = copies(counts, topic_words, n)
    result = case.infer(KERNEL, docs, tiled, ALPHA, burn_in=20, samples=5, statistic=statistic)
    values = each(result, n, N_COMPONENTS)
    exact, _ = case.reference("gibbs")["exact"](np.arange(3), counts, topic_words, ALPHA)
    error = values.std(axis=0) / np.sqrt(n)
    assert (np.abs(values.mean(axis=0) - exact) < 4 * error).all() and (error < 0.05).all()


def test_conditionals_vary_less(topic_words):
    docs, tiled = copies([2, 1, 3], topic_words, 2000)
    spread = {
        statistic: each(case.infer(KERNEL, docs, tiled, ALPHA, statistic=statistic), 2000, N_COMPONENTS).var()
        for statistic in ("labels", "conditionals")
    }
    assert spread["conditionals"] < spread["labels"]


def test_conditionals_of_one_token_are_exact(topic_words):
    words = np.arange(N_WORDS, dtype=np.int32)
    docs = Docs(np.arange(N_WORDS + 1), words, np.ones(N_WORDS, np.float32), np.arange(N_WORDS), N_WORDS)
    posterior = ALPHA * topic_words / (topic_words @ ALPHA)[:, None]
    options = {"burn_in": 0, "samples": 1, "statistic": "conditionals"}
    result = case.infer(KERNEL, docs, topic_words, ALPHA, **options)
    np.testing.assert_allclose(result.stats["topic_words"][:, :N_COMPONENTS], posterior, rtol=1e-12)


@pytest.mark.parametrize("statistic", ["labels", "conditionals"])
def test_document_topics_are_of_what_was_counted(topic_words, statistic):
    """sum_k N_dk = N_d, and theta = (alpha + N) / (sum alpha + N_d)."""
    docs = case.documents([17], N_WORDS, seed=2)
    result = case.infer(KERNEL, docs, topic_words, ALPHA, statistic=statistic, samples=7)
    counted = result.stats["topic_words"][:, :N_COMPONENTS].sum(axis=0)
    assert counted.sum() == pytest.approx(docs.counts.sum(), rel=1e-13)
    np.testing.assert_allclose(result.doc_topics[0], (ALPHA + counted) / (ALPHA + counted).sum(), rtol=1e-12)
    if statistic == "labels":
        np.testing.assert_allclose(7 * counted, np.round(7 * counted), rtol=1e-12)


@pytest.mark.parametrize("unknown", [0, 20])
@pytest.mark.parametrize("statistic", ["labels", "conditionals", "theta"])
def test_company_changes_no_bit(topic_words, statistic, unknown):
    """Documents are worked on together; a document alone gives the same numbers, however many words are unknown."""
    topic_words = topic_words.copy()
    topic_words[:unknown] = 0
    docs = case.documents([8, 0, 15, 1, 22, 15, 3, 9, 11], N_WORDS, seed=5)
    whole = case.infer(KERNEL, docs, topic_words, ALPHA, dtype=np.float32, statistic=statistic)
    for d in range(docs.n_docs):
        alone, ids = case.localised(docs, d, d + 1)
        result = case.infer(KERNEL, alone, topic_words[ids], ALPHA, dtype=np.float32, statistic=statistic)
        np.testing.assert_array_equal(result.doc_topics[0], whole.doc_topics[d])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [3, 50])
def test_a_topic_without_weight_is_never_drawn(dtype, n_components):
    rng = np.random.default_rng(1)
    topic_words = case.topics(N_WORDS, n_components, seed=2)
    topic_words[rng.random(topic_words.shape) < 0.6] = 0
    topic_words[:, 0] += 1e-6
    docs = case.documents([20] * 40, N_WORDS, seed=3)
    for statistic in ("labels", "conditionals"):
        result = case.infer(KERNEL, docs, topic_words, 0.1, dtype=dtype, statistic=statistic)
        assert not result.stats["topic_words"][:, :n_components][topic_words == 0].any()


def test_float32_does_not_drift(topic_words):
    """Thousands of changes of a count leave a small prior what it was: every statistic is a whole number of labels."""
    docs = case.documents([25] * 4, N_WORDS, seed=6)
    docs = replace(docs, counts=docs.counts * 40)
    result = case.infer(KERNEL, docs, topic_words, 1e-5, dtype=np.float32, burn_in=200, samples=2)
    assert (result.doc_topics > 0).all()
    stats = 2 * result.stats["topic_words"][:, :N_COMPONENTS]
    np.testing.assert_array_equal(stats, np.round(stats))
    np.testing.assert_array_equal(stats.sum(axis=1), 2 * np.bincount(docs.words, docs.counts, N_WORDS))


def test_a_row_of_weights_may_have_any_factor(docs, topic_words):
    """Weights are compared within a word alone: exp(E log p) over its maximum will do. Powers of two are exact."""
    factors = 2.0 ** np.random.default_rng(0).integers(-20, 20, (N_WORDS, 1))
    first, second = (case.infer(KERNEL, docs, rows, ALPHA) for rows in (topic_words, factors * topic_words))
    np.testing.assert_array_equal(first.stats["topic_words"], second.stats["topic_words"])


def test_seed_and_row_decide(docs, topic_words):
    first = case.infer(KERNEL, docs, topic_words, 0.1, seed=1).doc_topics
    assert not np.array_equal(first, case.infer(KERNEL, docs, topic_words, 0.1, seed=2).doc_topics)
    moved = replace(docs, rows=docs.rows + 1)
    assert not np.array_equal(first, case.infer(KERNEL, moved, topic_words, 0.1, seed=1).doc_topics)


def test_dropped_tokens_are_told(docs, topic_words):
    unknown = topic_words.copy()
    unknown[docs.words[0]] = 0
    result = case.infer(KERNEL, docs, unknown, ALPHA)
    assert result.info["dropped_tokens"] == docs.counts[docs.words == docs.words[0]].sum()
    nothing = case.infer(KERNEL, docs, np.zeros_like(topic_words), ALPHA, statistic="theta")
    np.testing.assert_allclose(nothing.doc_topics, np.tile(ALPHA / ALPHA.sum(), (5, 1)), rtol=1e-12)


@pytest.mark.parametrize(
    "options", [{"start": "gamma"}, {"statistic": "phi"}, {"burn_in": -1}, {"samples": 0}], ids=str
)
def test_settings_that_make_no_sense(docs, topic_words, options):
    ((name, value),) = options.items()
    with pytest.raises(SettingError, match=f"{name}={value!r}: must be"):
        case.infer(KERNEL, docs, topic_words, 0.1, **options)


@pytest.mark.parametrize("name", ["gibbs", "gibbs_expected_log", "gibbs_boosted"])
def test_large_arrays_are_declared(topic_words, name, monkeypatch):
    """In documents of few words and many tokens, the lists of tokens are the largest."""
    docs = case.documents([N_WORDS] * 8, N_WORDS, seed=3)
    docs, taken = replace(docs, counts=np.full(8 * N_WORDS, 40, np.float32)), []

    def empty(shape, dtype):
        taken.append(int(np.prod(shape)) * np.dtype(dtype).itemsize)
        return np.empty(shape, dtype)

    monkeypatch.setattr(buffers, "empty", empty)
    monkeypatch.setattr(buffers, "zeros", np.zeros)
    kernel = kernels.load(name)
    case.infer(kernel, docs, topic_words, ALPHA, dtype=np.float32)
    size = CallSize(
        8, 8 * N_WORDS, N_WORDS, {"topic_words": N_WORDS}, {"topic_words": 16}, 4, 320 * N_WORDS, 40 * N_WORDS
    )
    declared = kernel.scratch(size, kernel.options).pooled
    assert sorted(n for n in taken if n >= 1024) == sorted(n for n in declared if n >= 1024)
    assert max(declared) == 8 * 4 * 40 * N_WORDS


def test_fractions_of_tokens_are_refused(docs, topic_words):
    counts = docs.counts.copy()
    counts[3] = 2.5
    with pytest.raises(InputError, match=r"document \d+ has a count of 2\.5.*whole.*vb"):
        case.infer(KERNEL, replace(docs, counts=counts), topic_words, 0.1)
