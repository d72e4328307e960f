"""Boosted Gibbs sampling: against the sampler that makes all sweeps at once, and against the exact posterior."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.errors import InputError, SettingError
from bigtopic.types import Docs

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

KERNEL, AT_ONCE = kernels.load("gibbs_boosted"), kernels.load("gibbs")
N_WORDS, N_COMPONENTS = 30, 4
ALPHA = np.array([0.3, 0.05, 1.2, 0.6])
STATISTICS = ("topic_words", "doc_topic_prior")


def iterations(docs, topic_words, n, prior=ALPHA, seed=7, dtype=np.float64, **options):
    """The results of n inner iterations with the same topics."""
    state, results = None, []
    hyper = case.hyper(KERNEL, np.broadcast_to(prior, topic_words.shape[1]), topic_words.shape[1], **options)
    hyper = hyper._replace(statistics=STATISTICS)
    for iteration in range(1, n + 1):
        given = state and {name: array.copy() for name, array in state.items()}
        view = case.view(KERNEL, topic_words, dtype)
        results.append(KERNEL.run(docs, view, hyper._replace(iteration=iteration), seed, given))
        assert state is None or all(np.array_equal(given[name], state[name]) for name in state)
        state = results[-1].state
    return results


@pytest.mark.parametrize("start", ["uniform", "words"])
@pytest.mark.parametrize("n_components", [1, 4, 37])
@pytest.mark.parametrize("unknown", [0, 6])
def test_inner_iterations_with_the_same_topics_are_the_sweeps(start, n_components, unknown):
    docs = case.documents([7, 0, 3, 1, 12, 9, 5], N_WORDS, seed=5)
    topic_words = case.topics(N_WORDS, n_components, seed=6)
    topic_words[:unknown] = 0
    for iteration, result in enumerate(
        iterations(docs, topic_words, 6, 0.2, burn_in=2, start=start), start=1
    ):
        if iteration > 2:
            options = {"burn_in": 2, "samples": iteration - 2, "start": start, "statistic": "conditionals"}
            told = case.hyper(AT_ONCE, 0.2, n_components, **options)._replace(statistics=STATISTICS)
            expected = AT_ONCE.run(docs, case.view(AT_ONCE, topic_words), told, 7, None)
            np.testing.assert_allclose(result.doc_topics, expected.doc_topics, rtol=1e-11, atol=1e-13)
            for name in STATISTICS:
                np.testing.assert_allclose(result.stats[name], expected.stats[name], rtol=1e-11, atol=1e-13)
            assert result.info["dropped_tokens"] == expected.info["dropped_tokens"]
        else:
            assert not result.stats["topic_words"].any()


def test_topics_are_of_the_labels_until_sweeps_are_kept():
    docs = case.documents([7, 0, 3], N_WORDS, seed=5)
    (result,) = iterations(docs, case.topics(N_WORDS, 4), 1, burn_in=1)
    tokens = np.repeat(np.repeat([0, 1, 2], np.diff(docs.indptr)), docs.counts.astype(int))
    for d in range(3):
        own = ALPHA + np.bincount(result.state["labels"][tokens == d], minlength=4)
        np.testing.assert_allclose(result.doc_topics[d], own / own.sum(), rtol=1e-12)


def test_a_word_that_becomes_known_gets_a_label():
    docs = case.documents([9, 4], N_WORDS, seed=5)
    topic_words = case.topics(N_WORDS, 4)
    unknown = topic_words.copy()
    unknown[docs.words[:3]] = 0
    (first,) = iterations(docs, unknown, 1)
    hyper = case.hyper(KERNEL, ALPHA, 4)._replace(iteration=2)
    second = KERNEL.run(docs, case.view(KERNEL, topic_words), hyper, 7, first.state)
    assert (first.state["labels"] < 0).sum() == first.info["dropped_tokens"] > 0
    assert (second.state["labels"] >= 0).all() and second.info["dropped_tokens"] == 0


@pytest.mark.parametrize("counts", [[1, 1, 1], [2, 1, 3], [1, 2, 2, 1]], ids=str)
def test_means_are_those_of_the_posterior(counts):
    """S1 of documents of up to six tokens, within four standard errors of all their lists of labels."""
    n, n_distinct, counts = 3000, len(counts), np.array(counts)
    docs = Docs(
        n_distinct * np.arange(n + 1),
        np.arange(n * n_distinct, dtype=np.int32),
        np.tile(counts.astype(np.float32), n),
        np.arange(n),
        n * n_distinct,
    )
    topic_words = case.topics(N_WORDS, N_COMPONENTS, seed=4)[:n_distinct]
    *_, last = iterations(docs, np.tile(topic_words, (n, 1)), 25, burn_in=20)
    values = last.stats["topic_words"][:, :N_COMPONENTS].reshape(n, n_distinct, N_COMPONENTS)
    exact, _ = case.reference("gibbs")["exact"](np.arange(n_distinct), counts, topic_words, ALPHA)
    error = values.std(axis=0) / np.sqrt(n)
    assert (np.abs(values.mean(axis=0) - exact) < 4 * error).all() and (error < 0.05).all()


def test_company_changes_no_bit():
    topic_words = case.topics(N_WORDS, N_COMPONENTS, seed=4)
    docs = case.documents([8, 0, 15, 1, 22, 15, 3, 9, 11], N_WORDS, seed=5)
    whole = iterations(docs, topic_words, 3, burn_in=1, dtype=np.float32)[-1]
    for d in range(docs.n_docs):
        alone, ids = case.localised(docs, d, d + 1)
        result = iterations(alone, topic_words[ids], 3, burn_in=1, dtype=np.float32)[-1]
        np.testing.assert_array_equal(result.doc_topics[0], whole.doc_topics[d])


@pytest.mark.parametrize("options", [{"start": "gamma"}, {"burn_in": -1}], ids=str)
def test_settings_that_make_no_sense(options):
    ((name, value),) = options.items()
    docs, topic_words = case.documents([3], N_WORDS), case.topics(N_WORDS, N_COMPONENTS)
    with pytest.raises(SettingError, match=f"{name}={value!r}: must be"):
        case.infer(KERNEL, docs, topic_words, 0.1, **options)


def test_what_labels_cannot_hold_is_refused():
    docs, topic_words = case.documents([3], N_WORDS), case.topics(N_WORDS, N_COMPONENTS)
    hyper = case.hyper(KERNEL, ALPHA, N_COMPONENTS)._replace(n_components=40_000)
    with pytest.raises(SettingError, match=r"n_components=40000.*at most 32767"):
        KERNEL.run(docs, case.view(KERNEL, topic_words), hyper, 0, None)
    fractions = replace(docs, counts=docs.counts + np.float32(0.5))
    with pytest.raises(InputError, match="whole"):
        case.infer(KERNEL, fractions, topic_words, 0.1)
