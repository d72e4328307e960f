"""Measures of documents under models whose topics are lists: in slices, and without a fold-in where no model is
compared with another."""

import numpy as np
import pytest
from many import N_TOPICS, N_WORDS, corpus_of_many, sparse_and_dense

import bigtopic as bt
from bigtopic import evaluate
from bigtopic.errors import SettingError
from bigtopic.evaluation import subject as module
from bigtopic.evaluation.runs.common_words import CommonWords
from bigtopic.evaluation.sparse.lists import lists_of
from bigtopic.state import machine_memory


@pytest.fixture(scope="module")
def corpus():
    return corpus_of_many()


@pytest.fixture(scope="module")
def models(corpus):
    return sparse_and_dense(corpus)


def test_the_held_out_score_is_that_of_dense_rows(models, corpus):
    found, known = (evaluate.log_predictive(model, corpus) for model in models)
    np.testing.assert_allclose(found.log_likelihood, known.log_likelihood, rtol=1e-4)


@pytest.mark.parametrize("measure", ["log_predictive", "left_to_right", "prevalence"])
def test_slices_change_no_bit(measure, models, corpus, monkeypatch):
    some, sizes, rows = corpus.select(rows=range(40)), list[int](), module.topic_rows

    def watched(source, ids):
        sizes.append(len(ids))
        return rows(source, ids)

    monkeypatch.setattr(module, "topic_rows", watched)
    for model in models:
        known = getattr(evaluate, measure)(model, some)
        sizes.clear()
        with monkeypatch.context() as patch:
            patch.setattr(module, "_ROWS", 100 * N_TOPICS)
            patch.setattr(module, "_TOPICS", 11 * N_TOPICS)
            found = getattr(evaluate, measure)(model, some)
        if measure == "prevalence":
            np.testing.assert_allclose(found.share, known.share, rtol=1e-12)
            assert (found.rows == known.rows).all() and (found.weights == known.weights).all()
            assert not sizes if model is models[0] else max(sizes) <= 100
        else:
            assert found.log_likelihood.tobytes() == known.log_likelihood.tobytes()


def test_prevalence_is_of_the_topics_of_transform(models, corpus):
    model = models[0]
    found, topics = evaluate.prevalence(model, corpus, n_documents=2), model.transform(corpus)
    tokens = corpus.to_scipy().sum(axis=1).A1
    np.testing.assert_allclose(found.share, tokens @ topics / tokens.sum(), rtol=1e-5)
    np.testing.assert_allclose(found.weights, np.sort(topics, axis=0)[::-1][:2].T, rtol=1e-6)
    by_prior = evaluate.measure(model, corpus, "prevalence", doc_topic_prior=3.0)["prevalence"]
    assert np.abs(by_prior.share - found.share).max() > 1e-4  # a prior of the caller's asks for the fold-in


def test_more_documents_than_there_are_leave_no_gaps(models, corpus):
    counts = np.array([[2, 3, 0], [0, 1, 0], [0, 0, 1]])
    some = bt.from_matrix(counts, ["w001", "w002", "unknown"])
    found = evaluate.prevalence(models[0], some, n_documents=5)
    assert found.rows.shape == found.weights.shape == (N_TOPICS, 2) and {*found.rows.ravel()} == {0, 1}
    assert evaluate.prevalence(models[0], some, n_documents=0).rows.shape == (N_TOPICS, 0)


def test_common_words_are_lists_too(models, corpus):
    names = np.array(corpus.vocabulary[50:120])
    found, known = (CommonWords.of(model.topic_source(), names) for model in models)
    assert lists_of(found) is not None and lists_of(known) is None
    ids, probabilities = evaluate.top_words(found, 5)
    expected, others = evaluate.top_words(known, 5)
    np.testing.assert_allclose(probabilities, others, rtol=1e-5)
    np.testing.assert_allclose(found.gather(np.arange(70)).sum(axis=0), 1, rtol=1e-4)
    assert (ids == expected).mean() > 0.9


def test_what_has_no_room_is_refused(models, corpus, monkeypatch, tmp_path):
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: 4 * N_WORDS * N_TOPICS)
    with pytest.raises(
        SettingError, match=r"features of a classifier, need about .* GB, but the machine has"
    ):
        evaluate.classification_accuracy(models[0], corpus, np.arange(corpus.n_docs) % 2)
    with pytest.raises(
        SettingError, match=r"questions about 60 topics need about .* GB, but the machine has"
    ):
        evaluate.document_intrusion(models[0], corpus, tmp_path / "asked.csv")
