"""Accuracy of a classifier on topics: against scikit-learn on the same topics and folds, and what is refused."""

import sys

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.order import document_keys
from bigtopic.datasets import lda_corpus
from bigtopic.errors import InputError, MissingExtra, SettingError
from bigtopic.evaluation import classification_accuracy
from bigtopic.evaluation.source import topics_of
from bigtopic.evaluation.subject import Documents, Subject

TRUTH = lda_corpus(120, 40, 3, mean_length=20, topic_word_prior=0.1, random_state=2)
CORPUS = from_matrix(TRUTH.counts)
LABELS = np.array(["a", "b", "c"])[TRUTH.doc_topics.argmax(axis=1)]
QUIET = {"client": False, "n_threads": 1}


def theta_of(topics):
    subject = Subject(topics, CORPUS)
    documents = Documents(CORPUS.read(), subject.inference)
    return documents.docs.rows, documents.doc_topics.astype(float)


def test_accuracy_is_that_of_scikit_learn_on_the_same_folds():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import PredefinedSplit, cross_val_predict

    found = classification_accuracy(TRUTH.components, CORPUS, LABELS, n_folds=4, random_state=3, **QUIET)
    rows, theta = theta_of(TRUTH.components)
    folds = np.empty(120, int)
    folds[np.argsort(document_keys(3, rows))] = np.arange(120) % 4
    expected = cross_val_predict(LogisticRegression(max_iter=1000), theta, LABELS, cv=PredefinedSplit(folds))
    np.testing.assert_array_equal(found.correct, expected == LABELS)
    assert found.value == found.correct.mean()
    assert found.standard_error == pytest.approx(found.correct.std(ddof=1) / np.sqrt(120))
    counts = {fold: [(LABELS[folds != fold] == one).sum() for one in "abc"] for fold in range(4)}
    majority = np.array(["abc"[int(np.argmax(counts[fold]))] for fold in folds])
    np.testing.assert_array_equal(found.majority_correct, majority == LABELS)
    assert found.majority == found.baselines["majority class"] == found.majority_correct.mean()
    assert found.value - found.majority > 3 * found.standard_error
    assert set(found.to_dict()) == set(found.reported) and not found.details()["left out"]


def test_one_topic_predicts_the_majority():
    found = classification_accuracy(np.ones((1, 40)), CORPUS, LABELS, **QUIET)
    np.testing.assert_array_equal(found.correct, found.majority_correct)
    other = classification_accuracy(TRUTH.components, CORPUS, LABELS, **QUIET)
    difference, error = other.minus(found)
    assert difference == pytest.approx(other.value - found.value) and difference > 3 * error


def test_blocks_and_threads_change_nothing(monkeypatch):
    whole = classification_accuracy(TRUTH.components, CORPUS, LABELS, **QUIET)
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 100)
    other = classification_accuracy(TRUTH.components, CORPUS, LABELS, client=False, n_threads=3)
    np.testing.assert_array_equal(whole.correct, other.correct)
    assert whole.to_dict() == other.to_dict()


def test_documents_without_a_label_are_left_out():
    some = LABELS.astype(object)
    some[[3, 8]] = "", None
    found = classification_accuracy(topics_of(TRUTH.components), CORPUS, some, **QUIET)
    assert found.n_omitted == 2 and not {3, 8} & set(found.rows.tolist())
    numbers = np.where(LABELS == "a", np.nan, LABELS == "b")
    found = classification_accuracy(TRUTH.components, CORPUS, numbers, **QUIET)
    assert (found.n_classes, found.n_omitted) == (2, (LABELS == "a").sum())
    with pytest.raises(SettingError, match="other: was measured on other documents"):
        found.minus(classification_accuracy(TRUTH.components, CORPUS, LABELS, **QUIET))


@pytest.mark.parametrize("other", [{"labels": np.roll(LABELS, 1)}, {"random_state": 1}])
def test_other_labels_and_other_folds_are_not_paired(other):
    found = classification_accuracy(TRUTH.components, CORPUS, LABELS, **QUIET)
    asked = {"labels": LABELS, **other}
    with pytest.raises(SettingError, match="other: was measured on other documents, labels or folds"):
        found.minus(classification_accuracy(TRUTH.components, CORPUS, **asked, **QUIET))


@pytest.mark.parametrize(
    ("labels", "settings", "error", "message"),
    [
        ("topic", {}, SettingError, "there is no column 'topic' in this corpus"),
        (LABELS[:5], {}, SettingError, r"labels: found shape \(5,\); give the name of a column"),
        (np.linspace(0, 1, 120), {}, SettingError, "labels: numbers with fractions are not classes"),
        (np.zeros(120, int), {}, InputError, "labels: the documents outside fold 0 have fewer than two"),
        (np.full(120, ""), {}, SettingError, "n_folds=5: .* the 0 documents with a label"),
        (LABELS, {"n_folds": 1}, SettingError, "n_folds=1: must be a whole number from 2 to the 120"),
        (LABELS, {"n_folds": 121}, SettingError, "n_folds=121"),
    ],
)
def test_what_cannot_be_classified_is_refused(labels, settings, error, message):
    with pytest.raises(error, match=message):
        classification_accuracy(TRUTH.components, CORPUS, labels, **settings, **QUIET)


def test_without_scikit_learn_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(MissingExtra, match=r"bigtopic\[scikit-learn\]"):
        classification_accuracy(TRUTH.components, CORPUS, LABELS, **QUIET)


def test_labels_that_pandas_has_none_for_are_left_out():
    pandas = pytest.importorskip("pandas")
    expected = np.where(LABELS == "a", "", LABELS)
    found = classification_accuracy(
        TRUTH.components, CORPUS, pandas.Series(expected).replace("", pandas.NA).astype("string"), **QUIET
    )
    assert found.to_dict() == classification_accuracy(TRUTH.components, CORPUS, expected, **QUIET).to_dict()


def test_documents_of_unknown_words_are_refused():
    source = topics_of(TRUTH.components, [f"other{i}" for i in range(40)])
    named = from_matrix(TRUTH.counts, [f"w{i}" for i in range(40)])
    with pytest.raises(InputError, match="corpus: the model knows no word of it"):
        classification_accuracy(source, named, LABELS, **QUIET)
