"""Models of many topics, whose rows are sparse: what is learned is what dense rows learn."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import bigtopic as bt
from bigtopic.datasets import lda_corpus
from bigtopic.state import new_model
from bigtopic.state.sparse.array import SparseArray

N_WORDS, N_COMPONENTS = 300, 140
SETTINGS: dict[str, Any] = {
    "n_components": N_COMPONENTS,
    "method": "sparse-cvb0",
    "batch_size": 20,
    "max_iter": 2,
    "random_state": 3,
    "progress": False,
    "client": False,
}
NAMES = [f"w{i}" for i in range(N_WORDS)]
CLOSE = 0.03  # nats per token; a model of one topic loses 0.9


@pytest.fixture(scope="module")
def counts():
    return lda_corpus(700, N_WORDS, 10, mean_length=80.0, random_state=1).counts


@pytest.fixture(scope="module")
def corpus(counts):
    return bt.from_matrix(counts[:500], NAMES)


@pytest.fixture(scope="module")
def held_out(counts):
    return bt.from_matrix(counts[500:], NAMES)


@pytest.fixture
def many(monkeypatch):
    """Rows of as few topics as these models have are sparse."""
    monkeypatch.setattr(new_model, "SPARSE_FROM", 8)


def topics(model):
    """The array, after a check that every topic is a distribution."""
    shares = model.get_topics()
    assert shares.shape[0] == N_COMPONENTS and shares.min() > 0
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    return model._fitted().topic_words


@pytest.fixture(scope="module")
def dense(corpus):
    return bt.LDA(**SETTINGS).fit(corpus)


@pytest.fixture(scope="module")
def dense_score(dense, corpus, held_out):
    alone = bt.LDA(**{**SETTINGS, "n_components": 1}).fit(corpus).score(held_out)
    score = dense.score(held_out)
    assert not isinstance(topics(dense), SparseArray) and score > alone + 20 * CLOSE
    return score


@pytest.mark.parametrize("kept", [8, 32])
@pytest.mark.parametrize("changed", [{}, {"n_threads": 2}, {"batch_size": None, "max_iter": 10}], ids=str)
def test_the_score_is_that_of_dense_rows(changed, kept, dense_score, corpus, held_out, many, monkeypatch):
    """Where all candidates remain; where eight do, it is no lower here."""
    settings = {**SETTINGS, **changed}
    model = bt.LDA(**settings, options={"kept": kept}).fit(corpus)
    array = topics(model)
    assert isinstance(array, SparseArray) and array.raw.nnz < 0.9 * N_WORDS * N_COMPONENTS
    if "batch_size" in changed:
        monkeypatch.undo()
        dense_score = bt.LDA(**settings).fit(corpus).score(held_out)
    if kept == 32:
        assert model.score(held_out) == pytest.approx(dense_score, abs=CLOSE)
    else:
        assert model.score(held_out) > dense_score - CLOSE
    assert 0 < array.dropped_share < 0.01
    assert array.totals().sum() + array.dropped == pytest.approx(corpus.n_tokens, rel=1e-5)


def test_lists_are_shorter_where_few_candidates_remain(corpus, many):
    few, all_remain = (topics(bt.LDA(**SETTINGS, options={"kept": n}).fit(corpus)) for n in (8, 32))
    assert few.raw.nnz < all_remain.raw.nnz


@pytest.mark.parametrize(
    ("declared", "draws"), [({}, 2), ({"total_samples": 2000}, 8), ({"total_samples": 100}, 1)], ids=str
)
def test_draws_follow_the_tokens_of_a_topic(declared, draws, corpus, many):
    """About 1050 of the corpus; 4200 and 210 of these streams."""
    settings = {**SETTINGS, "n_components": 38, **declared}
    fit, given, one = (
        bt.LDA(**settings, options=options) for options in ({}, {"draws": draws}, {"draws": 1})
    )
    for model in (fit, given, one):
        model.partial_fit(corpus) if declared else model.fit(corpus)
    np.testing.assert_array_equal(fit.get_topics(), given.get_topics())
    assert (fit.get_topics() != one.get_topics()).any() == (draws > 1)


def test_threads_and_copies_have_the_same_bits(corpus, held_out, many):
    alone, shared = (bt.LDA(**SETTINGS, n_threads=n).fit(corpus[:300]) for n in (1, 3))
    for model in (shared, pickle.loads(pickle.dumps(alone)), copy.deepcopy(alone)):
        np.testing.assert_array_equal(model.get_topics(), alone.get_topics())
        model.partial_fit(corpus[300:])
        assert isinstance(topics(model), SparseArray)
        scores = model.score(held_out), np.float64(topics(model).dropped)
        if model is shared:
            expected = scores
        assert scores == expected
    assert model.get_topics().tobytes() == shared.get_topics().tobytes() != alone.get_topics().tobytes()


def test_history_has_scores_and_what_was_dropped(corpus, held_out, many):
    model = bt.LDA(**SETTINGS, validation=held_out).fit(corpus)
    scores = [row["score"] for row in model.history_ if "score" in row]
    dropped = [row["dropped"] for row in model.history_ if "dropped" in row]
    assert len(scores) == len(dropped) == 2 and np.isfinite(scores).all()
    assert scores[-1] == pytest.approx(model.score(held_out), abs=CLOSE)
    assert dropped[-1] == topics(model).dropped_share > 0


@pytest.mark.parametrize(("factor", "told"), [(1.0, False), (1e-3, True)])
def test_a_line_says_that_much_was_dropped(factor, told, counts, many, capsys):
    given = bt.from_matrix(counts[:300] * np.float32(factor), NAMES)
    model = bt.LDA(**{**SETTINGS, "progress": None}).fit(given)
    share = topics(model).dropped_share
    assert (share > 0.01) == told
    assert (f"{share:.0%} of the statistics were dropped" in capsys.readouterr().err) == told
    bt.LDA(**SETTINGS).fit(given)
    assert "dropped" not in capsys.readouterr().err


def test_documents_without_words_and_words_without_documents(counts, held_out, many):
    rows = sparse.lil_array(counts[:300])
    rows[::3], rows[:, 5] = 0, 0
    model = bt.LDA(**SETTINGS).fit(corpus := bt.from_matrix(rows.tocsr(), NAMES))
    array, shares = topics(model), model.transform(corpus)
    assert isinstance(array, SparseArray) and len(array.raw.lists(np.array([5], np.int32))[1]) == 0
    empty = np.diff(corpus.to_scipy().indptr) == 0
    assert empty.sum() == 100 and np.isfinite(model.score(held_out))
    np.testing.assert_allclose(shares[empty], 1 / N_COMPONENTS, rtol=1e-5)
    assert (shares[~empty].max(axis=1) > 3 / N_COMPONENTS).all()
    of_prior = array.prior[0] / array.weight_totals()
    np.testing.assert_allclose(model.get_topics()[:, 5], of_prior, rtol=1e-5)


@pytest.mark.parametrize("known", [slice(None), slice(100, None)], ids=["all words", "some words"])
def test_a_run_begins_with_given_topics(known, dense, dense_score, corpus, held_out, many):
    """Topic by topic: after a few small steps, each is nearest to the one that it began with."""
    given = bt.LDA(**SETTINGS).fit(corpus.filter_vocabulary(keep=NAMES[known])) if known.start else dense
    small = {"learning_offset": 1e4, "max_iter": 1}
    model = bt.LDA(**{**SETTINGS, **small}, init=given).fit(corpus)
    assert isinstance(topics(model), SparseArray)
    begun, now = given.get_topics(), model.get_topics()[:, model.vocabulary_.index_of(given.vocabulary_[:])]
    begun, now = (np.sqrt(shares / shares.sum(axis=1, keepdims=True)) for shares in (begun, now))
    np.testing.assert_array_equal((now @ begun.T).argmax(axis=1), np.arange(N_COMPONENTS))
    if known.start is None:
        assert model.score(held_out) == pytest.approx(dense_score, abs=2 * CLOSE)


def test_new_words_of_a_stream(counts, corpus, many):
    """The second half of the documents has other words in place of half of them."""
    names = [*NAMES[:150], *(f"new{i}" for i in range(150))]
    later = bt.from_matrix(counts[250:500], names)
    model = bt.LDA(**SETTINGS).partial_fit(corpus[:250])
    model.partial_fit(later)
    shares, array = model.get_topics(), topics(model)
    assert isinstance(array, SparseArray) and array.raw.shape[0] == 450 == len(model.vocabulary_)
    new = model.vocabulary_.index_of(names[150:])
    seen = np.asarray(later.to_scipy().sum(axis=0)).ravel()[150:] > 0
    lengths = array.raw.lists(new.astype(np.int32))[0]
    assert (lengths > 0)[seen].mean() > 0.95 and not lengths[~seen].any()
    assert shares[:, new].sum(axis=1).mean() > 0.2
    assert np.isfinite(model.score(later)) and model.score(later) > -6


@pytest.mark.parametrize("declared", [{"half_life": 100}, {"total_samples": 5000}, {}], ids=str)
def test_a_stream_scores_as_with_dense_rows(declared, corpus, held_out, many, monkeypatch):
    scores = []
    for kind in (True, False):
        model = bt.LDA(**SETTINGS, **declared, options={"draws": 1})
        for start in range(0, 500, 100):
            model.partial_fit(corpus[start : start + 100])
        assert isinstance(topics(model), SparseArray) == kind
        scores.append(model.score(held_out))
        monkeypatch.undo()
    assert scores[0] == pytest.approx(scores[1], abs=CLOSE)


def test_a_large_prior_leaves_topics_alike(corpus, held_out, many):
    """Statistics smaller than it are kept, except tiny ones."""
    model = bt.LDA(**SETTINGS, topic_word_prior=1e4).fit(corpus)
    array = topics(model)
    assert array.raw.nnz > 1000 and 0 < array.dropped_share < 1e-3
    largest = (array.raw[:] * array.scale).max()
    np.testing.assert_allclose(model.get_topics(), 1 / N_WORDS, rtol=2 * largest / 1e4)
    assert model.score(held_out) == pytest.approx(-np.log(N_WORDS), abs=0.01)


STAY_DENSE = (
    {"learn_doc_topic_prior": "symmetric"},
    {"learn_doc_topic_prior": "asymmetric"},
    {"average": 0.5},
    {"topic_word_prior": np.full(N_WORDS, 0.05)},
    {"method": "online-cvb0"},
    {"method": "online-vb"},
)


@pytest.mark.parametrize("given", STAY_DENSE, ids=lambda given: next(iter(given)))
def test_what_needs_dense_rows_has_them(given, corpus, held_out, many):
    model = bt.LDA(**{**SETTINGS, **given}).fit(corpus)
    assert not isinstance(topics(model), SparseArray)
    assert np.isfinite(model.score(held_out)) and np.ptp(model.get_topics(), axis=0).max() > 0.01


@pytest.mark.parametrize("given", [{"options": {"candidates": N_COMPONENTS}}, {"n_components": 128}], ids=str)
def test_topics_part_where_all_are_candidates(given, dense_score, corpus, held_out, many):
    """As in a model of a hundred topics and so many words that its rows are sparse."""
    model = bt.LDA(**{**SETTINGS, **given}).fit(corpus)
    assert np.ptp(model.get_topics(), axis=0).max() > 0.01
    assert model.score(held_out) > dense_score - 0.1


@pytest.mark.parametrize("least", [8, N_COMPONENTS - 1], ids=["sparse", "dense"])
def test_merged_topics_have_the_statistics_of_both(least, corpus, many, monkeypatch):
    """Also where what is left is no longer sparse."""
    model = bt.LDA(**SETTINGS).fit(corpus)
    monkeypatch.setattr(new_model, "SPARSE_FROM", least)
    merged = model.merge_topics([[1, 4], [2, 0, 3]])
    words, before = merged._fitted().topic_words, model._fitted().topic_words
    assert words.is_sparse == (least == 8)
    own = before.raw[:, :N_COMPONENTS] * before.scale[:N_COMPONENTS]
    expected = np.column_stack([own[:, [0, 2, 3]].sum(axis=1), own[:, [1, 4]].sum(axis=1), own[:, 5:]])
    np.testing.assert_allclose(words.raw[:, : expected.shape[1]], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(words.totals()[: expected.shape[1]], expected.sum(axis=0), rtol=1e-5)
