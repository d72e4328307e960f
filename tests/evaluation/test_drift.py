"""Drift reports: what changed between two windows is named, and chance is not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, SettingError
from bigtopic.evaluation import align, drift, snapshot
from bigtopic.evaluation.source import DenseTopics

K, WORDS, DOCS = 6, 12, 400  # topics, words of each, documents of a window


def topics(changes=None):
    """p(word | topic) of topics whose words do not overlap, and a little of all others; rows are words."""
    words = np.arange(K * WORDS).reshape(K, WORDS) if changes is None else changes
    found = np.full((K, 2 * K * WORDS), 1e-4)
    for k, own in enumerate(words):
        found[k, own] += 1.0
    return found / found.sum(axis=1, keepdims=True)


def window(true, seed, shares=None, model=None, n_docs=DOCS, names=None):
    """A snapshot of a model, the true one unless another is given, with documents that the true topics draw."""
    draw = np.random.default_rng(seed)
    prior = 0.5 * np.ones(K) if shares is None else np.asarray(shares, float)
    theta = draw.dirichlet(prior, n_docs)
    counts = np.array([draw.multinomial(20, row) for row in theta @ true])
    names = [f"w{i}" for i in range(true.shape[1])] if names is None else names
    model = true if model is None else model
    source = DenseTopics(np.ascontiguousarray(model.T, np.float32), np.full(K, 0.5), Vocabulary(names))
    return snapshot(source, bt.from_matrix(counts, names, shuffle=False), client=False, n_threads=1)


def test_tokens_shares_and_errors_are_those_of_a_loop():
    true = topics()
    one = window(true, 0, n_docs=12)
    draw = np.random.default_rng(0)
    counts = np.array([draw.multinomial(20, row) for row in draw.dirichlet(0.5 * np.ones(K), 12) @ true])
    corpus = bt.from_matrix(counts, [f"w{i}" for i in range(counts.shape[1])], shuffle=False)
    from bigtopic.evaluation.subject import Documents, Subject

    source = DenseTopics(true.T.astype(np.float32), np.full(K, 0.5), corpus.vocabulary)
    theta = Documents(corpus.parts[0].read(0, 12), Subject(source, corpus).inference).doc_topics
    tokens, of = np.zeros((counts.shape[1], K)), np.zeros((12, K))
    for d, v in zip(*counts.nonzero(), strict=True):
        share = theta[d] * true[:, v]
        tokens[v] += counts[d, v] * share / share.sum()
        of[d] += counts[d, v] * share / share.sum()
    np.testing.assert_allclose(one.tokens, tokens, rtol=1e-4, atol=1e-4)
    shares = of.sum(axis=0) / 240
    np.testing.assert_allclose(one.shares, shares, rtol=1e-5)
    np.testing.assert_allclose(one.errors, np.sqrt(((of - shares * 20) ** 2).sum(axis=0)) / 240, rtol=1e-4)
    np.testing.assert_allclose(one.prior_shares, 0.5 / 23)


def test_chance_is_reported_in_few_windows():
    true = topics()
    windows = [window(true, seed) for seed in range(30)]
    reports = [drift(*pair) for pair in pairwise(windows)]
    assert sum(bool(report.events) for report in reports) <= 2
    assert all((report.aligned == np.arange(K)).all() for report in reports)
    assert "0 of 6 topics changed, 400 documents against 400; 6 are most like themselves" in repr(reports[0])


def test_every_kind_of_change_is_named():
    true, words = topics(), np.arange(K * WORDS).reshape(K, WORDS)
    moved = words.copy()
    moved[1, :4] = K * WORDS + np.arange(4)  # new words
    report = drift(window(true, 1), window(topics(moved), 2))
    assert report.events == [("moved", 1)]
    assert {*report["came"][1][:4]} == {f"w{i}" for i in moved[1, :4]}
    assert {*report["gone"][1][:4]} == {f"w{i}" for i in words[1, :4]}
    assert report["distance"][1] ** 2 == pytest.approx(1 / 3, abs=0.03)

    even, uneven = [0.5] * K, [0.5, 0.5, 0.0001, 0.5, 0.5, 1.5]
    report = drift(window(true, 1, even), window(true, 2, uneven))
    assert {("died", 2), ("grew", 5)} <= {*report.events} and ("born", 2) not in report.events
    assert {("born", 2), ("shrank", 5)} <= {*drift(window(true, 1, uneven), window(true, 2, even)).events}

    joint, halves = words.copy(), words.copy()
    joint[3], joint[4] = words[3], K * WORDS + words[4]
    halves[3, ::2], halves[4] = K * WORDS + words[3, ::2], np.r_[words[3, ::2], words[4, ::2]]
    report = drift(window(topics(joint), 1), window(topics(halves), 2))
    assert ("split", 3) in report.events and report["with"][3] == 4
    assert "split with 4" in repr(report)


def test_words_are_matched_by_name_and_shown_as_data():
    true = topics()
    names = [f"w{i}" for i in range(true.shape[1])]
    other = ["<b>" + name if i < WORDS else name for i, name in enumerate(names)]
    one, two = window(true, 1, names=names[::-1]), window(true, 2, names=other)
    report = drift(one, two)
    assert {word for word, _, _ in report.new_words} == {*other[:WORDS]}
    assert all(topic == 0 for _, _, topic in report.new_words)
    assert report.new_words == sorted(report.new_words, key=lambda new: -new[1])
    shown = report._repr_html_()
    assert "&lt;b&gt;w1" in shown and "<b>w" not in shown
    assert len(report.to_pandas()) == K
    assert align(one, two).topics.tolist() == report.aligned.tolist()


def test_what_is_no_snapshot_is_refused():
    one = window(topics(), 1)
    with pytest.raises(
        SettingError, match=r"after: give snapshots of one model, from model.snapshot\(documents\)"
    ):
        drift(one, topics())
    with pytest.raises(InputError, match="knows no word of these documents"):
        snapshot(one, bt.from_matrix(np.eye(3, dtype=int), ["a", "b", "c"]), client=False)
