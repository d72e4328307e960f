"""Questions about the same documents infer their topics once, and never answer with those of others."""

import pickle

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.estimators import inference
from bigtopic.questions import documents
from bigtopic.questions.table import Table

COUNTS = np.random.default_rng(0).poisson(0.5, (60, 20)).astype(np.float32)


@pytest.fixture
def model():
    return bt.LDA(3, method="online-cvb0", max_iter=2, random_state=0, client=False).fit(
        bt.from_matrix(COUNTS)
    )


@pytest.fixture
def inferred(monkeypatch):
    """The number of documents of each inference."""
    seen, infer = [], inference.infer

    def counted(model, corpus, **settings):
        seen.append(corpus.n_docs)
        return infer(model, corpus, **settings)

    monkeypatch.setattr(inference, "infer", counted)
    return seen


def shares(model, counts, **settings):
    return Table.of(model.documents(1, counts, 60, **settings)).columns["share"]


def test_the_second_question_infers_nothing(model, inferred):
    first = shares(model, COUNTS)
    model.topic_correlation(COUNTS.copy())  # the content counts, not the object
    assert shares(model, COUNTS) == first and inferred == [60]


def test_other_documents_are_inferred(model, inferred):
    changed = COUNTS.copy()
    changed[7, 3] += 5
    first = shares(model, COUNTS)
    assert shares(model, changed) != first
    corpus = bt.from_matrix(COUNTS)
    assert len(shares(model, corpus, where={"rows": range(10)})) == 10
    assert shares(model, corpus) == first and inferred == [60, 60, 10, 60]


def test_a_model_that_has_learned_more_infers_again(model, inferred):
    first = shares(model, COUNTS)
    model.partial_fit(COUNTS)
    inferred.clear()
    assert shares(model, COUNTS) != first and inferred == [60]
    model.fit(COUNTS)
    inferred.clear()
    shares(model, COUNTS)
    assert inferred == [60]


def test_a_search_that_ends_early_is_not_remembered(inferred, model):
    source = model._theta(COUNTS, None, None, None)
    next(source.batches("searching"))
    shares(model, COUNTS)
    assert inferred == [60, 60]


def test_large_answers_are_not_kept_and_pickles_hold_none(model, inferred, monkeypatch):
    first = shares(model, COUNTS)
    assert pickle.loads(pickle.dumps(model))._last_topics._pieces == []
    monkeypatch.setattr(documents, "MOST_BYTES", 4 * 60 * 3 - 1)
    other = COUNTS[::-1]
    shares(model, other)
    assert model._last_topics._pieces == [] and len(inferred) == 2
    assert shares(model, COUNTS) == first and len(inferred) == 3
