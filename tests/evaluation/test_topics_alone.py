"""Measures of topics alone, against versions written from the equations and closed forms."""

import numpy as np
import pytest

from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError
from bigtopic.evaluation import measure

TOPICS = lda_corpus(10, 40, 4, topic_word_prior=0.2, random_state=1).components
TOPICS = TOPICS / TOPICS.sum(axis=1, keepdims=True)
NAMES = ["diversity", "exclusivity", "entropy"]


def brute_force(topics, n):
    """(diversity, exclusivity per topic, entropy per topic), word by word."""
    tops = [sorted(range(len(topic)), key=lambda w, own=topic: (-own[w], w))[:n] for topic in topics]
    diversity = len({w for top in tops for w in top}) / (n * len(topics))
    exclusivity = [
        sum(topic[w] / sum(other[w] for other in topics) for w in top) / n
        for topic, top in zip(topics, tops, strict=True)
    ]
    entropy = [-sum(p * np.log(p) for p in topic if p > 0) for topic in topics]
    return diversity, exclusivity, entropy


@pytest.mark.parametrize("n", [1, 3, 40])
def test_measures_are_their_equations(n, monkeypatch):
    monkeypatch.setattr("bigtopic.evaluation.source._ROWS", 7)
    found, expected = measure(TOPICS, measures=NAMES, n_top=n), brute_force(TOPICS, n)
    assert found["diversity"].value == expected[0]
    for name, per_topic in zip(NAMES[1:], expected[1:], strict=True):
        np.testing.assert_allclose(found[name].per_topic, per_topic, rtol=2e-5)
        assert found[name].value == found[name].per_topic.mean()


def test_topics_that_are_the_same_and_topics_apart():
    same = measure(np.ones((5, 30)), measures=NAMES, n_top=6)
    assert [same[name].value for name in NAMES] == pytest.approx([1 / 5, 1 / 5, np.log(30)], rel=1e-6)
    apart = measure(np.kron(np.eye(3), np.ones(4)), measures=NAMES, n_top=4)
    assert [apart[name].value for name in NAMES] == pytest.approx([1, 1, np.log(4)], rel=1e-6)


@pytest.mark.parametrize("name", NAMES[:2])
def test_more_top_words_than_words_are_refused(name):
    with pytest.raises(
        SettingError, match="n_top: must be between 1 and the vocabulary's 40 words, found 41"
    ):
        measure(TOPICS, measures=[name], n_top=41)
