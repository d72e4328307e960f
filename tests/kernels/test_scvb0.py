"""SCVB0: masses that never change, the step that many tokens take at once, and where it comes to rest."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.errors import SettingError

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL = kernels.load("scvb0")
N_WORDS, N_COMPONENTS = 30, 4
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])


def expected_tokens(docs, doc_topics, alpha=ALPHA):
    """N of each document, if it sums to the document's tokens."""
    n_tokens = np.array([own.sum() for own in np.split(docs.counts, docs.indptr[1:-1])])
    return doc_topics * (alpha.sum() + n_tokens)[:, None] - alpha


@pytest.mark.parametrize("burn_in", [0, 1, 40])
@pytest.mark.parametrize(("decay", "offset"), [(0.9, 10.0), (0.6, 0.0), (1e-300, 3.0)])
def test_it_takes_the_steps_of_single_tokens(docs, topic_words, burn_in, decay, offset):
    options = {"burn_in": burn_in, "doc_learning_decay": decay, "doc_learning_offset": offset}
    result = case.infer(KERNEL, docs, topic_words, ALPHA, **options)
    infer, expected = case.reference("scvb0")["infer"], np.zeros((N_WORDS, N_COMPONENTS))
    for d in np.flatnonzero(np.diff(docs.indptr)):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        with np.errstate(divide="ignore"):
            stats, theta = infer(docs.words[own], docs.counts[own].astype(float), topic_words, ALPHA, options)
        expected[docs.words[own]] += stats
        np.testing.assert_allclose(result.doc_topics[d], theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result.stats["topic_words"][:, :N_COMPONENTS], expected, rtol=1e-9, atol=1e-12)


def test_expected_tokens_are_those_of_the_document(docs, topic_words):
    """Were their sum another one, topics that no word speaks for would not keep what is left of the start alone."""
    impossible = topic_words.copy()
    impossible[:, 2] = 0
    doc_topics = case.infer(KERNEL, docs, impossible, ALPHA, burn_in=0).doc_topics
    tokens = expected_tokens(docs, doc_topics)
    for d in range(docs.n_docs):
        counts, left, seen = docs.counts[docs.indptr[d] : docs.indptr[d + 1]].astype(float), 1.0, 0.0
        for count in counts:
            left *= (1 - (10 + seen) ** -0.9) ** count
            seen += count
        np.testing.assert_allclose(tokens[d, 2], left * counts.sum() / N_COMPONENTS, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.1, 0.5, ALPHA], ids=["0.1", "0.5", "vector"])
def test_long_documents_rest_where_em_with_another_prior_does(docs, topic_words, alpha):
    """Steps fall as 1 / t, and the distance to the maximum a posteriori of alpha + 1 with them."""
    alpha = np.broadcast_to(np.asarray(alpha, float), N_COMPONENTS)
    exact = {"max_doc_update_iter": 5000, "mean_change_tol": 0.0}
    mode = case.infer(kernels.load("map_em"), docs, topic_words, alpha + 1, **exact).doc_topics
    distances = []
    for burn_in in (30, 300, 3000):
        options = {"burn_in": burn_in, "doc_learning_decay": 0.9}
        found = case.infer(KERNEL, docs, topic_words, alpha, **options).doc_topics
        distances.append(np.abs(found - mode)[np.diff(docs.indptr) > 0].max())
    assert distances[0] > 3 * distances[1] > 9 * distances[2]


def test_fractions_of_tokens_are_tokens(docs, topic_words):
    """Half the counts: half the statistics, up to what smaller steps change."""
    half = replace(docs, counts=docs.counts / 2)
    result = case.infer(KERNEL, half, topic_words, ALPHA)
    counts = np.bincount(half.words, half.counts, N_WORDS)
    np.testing.assert_allclose(result.stats["topic_words"].sum(axis=1), counts, rtol=1e-12)


def test_float32_keeps_the_mass_of_long_documents(topic_words):
    """Errors of a step fade with the next ones: no sum drifts, however many there are."""
    docs = case.documents([25] * 4, N_WORDS, seed=6)
    docs = replace(docs, counts=docs.counts * 1000)
    results = [
        case.infer(KERNEL, docs, topic_words, 0.01, dtype=dtype, burn_in=1000)
        for dtype in (np.float32, float)
    ]
    counts = np.bincount(docs.words, docs.counts, N_WORDS)
    np.testing.assert_allclose(results[0].stats["topic_words"].sum(axis=1), counts, rtol=1e-6)
    np.testing.assert_allclose(results[0].doc_topics, results[1].doc_topics, atol=1e-5)


def test_a_document_of_unknown_words_is_empty(docs, topic_words):
    result = case.infer(KERNEL, docs, np.zeros_like(topic_words), ALPHA)
    np.testing.assert_allclose(result.doc_topics, np.tile(ALPHA / ALPHA.sum(), (5, 1)), rtol=1e-12)
    assert result.info["dropped_tokens"] == docs.counts.sum()
    assert not result.stats["topic_words"].any()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("doc_learning_decay", -0.1),
        ("doc_learning_decay", 0.0),
        ("doc_learning_decay", 1.1),
        ("doc_learning_decay", float("nan")),
        ("doc_learning_offset", -1.0),
        ("doc_learning_offset", float("inf")),
        ("doc_learning_offset", float("nan")),
    ],
)
def test_step_sizes_that_are_none(docs, topic_words, option, value):
    with pytest.raises(SettingError, match=f"{option}="):
        case.infer(KERNEL, docs, topic_words, ALPHA, **{option: value})
