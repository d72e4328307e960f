"""scikit-learn's tools on our estimators: its own checks, `set_output`, pipelines, and searches over a corpus."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import bigtopic as bt
from bigtopic.errors import InputError, MissingExtra, NotFitted, SettingError, VocabularyMismatch

HERE = {"client": False, "n_threads": 1, "progress": False}
TEXTS = ["cat dog cat pet", "dog pet cat", "rain sun wind", "sun wind rain rain"] * 5

REASON = "score predicts held-out tokens, and the check's counts are fractions, which are not tokens"
EXPECTED = {"check_fit_score_takes_y": REASON, "check_pipeline_consistency": REASON}


@pytest.mark.filterwarnings("ignore:Estimator LDA does not inherit")
def test_check_estimator():
    found = check_estimator(bt.LDA(2, **HERE), expected_failed_checks=EXPECTED, on_fail=None, on_skip=None)
    results = {
        name: [each for each in found if each["status"] == name] for name in ("passed", "failed", "xfail")
    }
    assert {each["check_name"]: each["exception"] for each in results["failed"]} == {}
    assert len(results["passed"]) > 30
    assert {each["check_name"]: type(each["exception"]) for each in results["xfail"]} == dict.fromkeys(
        EXPECTED, InputError
    )


@pytest.fixture(scope="module")
def model():
    return bt.LDA(2, method="online-cvb0", max_iter=5, **HERE).fit(TEXTS)


def test_what_needs_a_fit_raises_the_error_of_both():
    with pytest.raises(NotFittedError, match="call fit first") as caught:
        bt.LDA(2).topics()
    assert isinstance(caught.value, NotFitted)
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, NotFittedError) and str(again) == str(caught.value)


def test_nothing_needs_scikit_learn():
    script = """
import sys
sys.modules["sklearn"] = sys.modules["sklearn.exceptions"] = None
import bigtopic as bt
model = bt.LDA(2, method="online-cvb0", max_iter=1, client=False, n_threads=1, progress=False)
try:
    model.topics()
except bt.errors.NotFitted:
    print(model.set_output(transform="default").fit_transform(["cat dog", "rain sun"]).shape)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "(2, 2)\n"


# --- containers


def test_a_frame_has_the_names_of_topics_and_the_index_of_its_input(model):
    texts = pandas.Series(TEXTS[:4], index=list("abcd"))
    plain = model.transform(texts)
    framed = clone(clone(model).set_output(transform="pandas")).fit(TEXTS)
    frame = framed.transform(texts)
    assert frame.columns.tolist() == ["lda0", "lda1"] and frame.index.tolist() == list("abcd")
    np.testing.assert_array_equal(frame.to_numpy(), plain)
    assert framed.fit_transform(TEXTS).index.equals(pandas.RangeIndex(20))
    assert framed.transform(texts, sparse=True).shape == (4, 2)
    assert isinstance(framed.set_output(transform="default").transform(texts), np.ndarray)


def test_the_index_of_a_corpus_is_its_ids(model):
    corpus = bt.from_matrix(np.eye(6)[:4], model.vocabulary_, ids=["d3", "d1", "d4", "d2"])
    with config_context(transform_output="pandas"):
        assert model.transform(corpus).index.tolist() == ["d3", "d1", "d4", "d2"]
        stored = model.transform(corpus, order="stored").index.tolist()
    assert stored == corpus.document_ids(order="stored").tolist() != ["d3", "d1", "d4", "d2"]


def test_what_uses_topics_does_not_get_frames(model, tmp_path):
    framed = clone(model).set_output(transform="pandas").fit(TEXTS)
    store = framed.transform_to(TEXTS, tmp_path / "theta.zarr")
    assert framed.similar_documents("rain wind", store) == model.similar_documents("rain wind", store)


def test_other_containers_are_refused(model):
    with pytest.raises(SettingError, match="'arrow': must be one of 'default', 'pandas'"):
        model.set_output(transform="arrow")
    assert model.set_output() is model


def test_a_frame_of_polars_has_no_index(model):
    pytest.importorskip("polars")
    frame = clone(model).set_output(transform="polars").fit_transform(TEXTS)
    assert frame.columns == ["lda0", "lda1"] and frame.shape == (20, 2)
    np.testing.assert_array_equal(frame.to_numpy(), model.transform(TEXTS))


def test_a_missing_package_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtra, match="'polars'"):
        clone(model).set_output(transform="polars").fit_transform(TEXTS)


def test_a_pipeline_gives_a_frame_and_topics_of_words():
    pipeline = make_pipeline(
        CountVectorizer(), bt.LDA(2, method="online-cvb0", max_iter=30, **HERE).set_output(transform="pandas")
    )
    frame = pipeline.fit_transform(TEXTS)
    assert frame.columns.tolist() == pipeline.get_feature_names_out().tolist() == ["lda0", "lda1"]
    model = pipeline[-1].name_words(pipeline[0])
    words = {frozenset(word for word, _ in topic) for topic in model.topics(3)}
    assert words == {frozenset({"cat", "dog", "pet"}), frozenset({"rain", "sun", "wind"})}
    np.testing.assert_array_equal(model.transform(TEXTS[:4]), frame[:4])
    with pytest.raises(SettingError, match="have names"):
        model.name_words(pipeline[0])
    with pytest.raises(VocabularyMismatch, match="2 words, but the model has 3"):
        bt.LDA(2, method="online-cvb0", max_iter=1, **HERE).fit(np.eye(3)).name_words(["one", "two"])


# --- a corpus


def test_grid_search_over_a_corpus(corpus):
    estimator = bt.LDA(method="online-cvb0", max_iter=5, batch_size=50, **HERE)
    search = GridSearchCV(estimator, {"n_components": [1, 4], "random_state": [0, 1]}, cv=2).fit(corpus)
    assert search.best_params_["n_components"] == 4
    assert search.best_estimator_.vocabulary_ == corpus.vocabulary
    folds = corpus[150:], corpus[:150]
    one = clone(estimator).set_params(**search.best_params_).fit(folds[0])
    assert search.cv_results_["split0_test_score"][search.best_index_] == one.score(folds[1])


def test_a_corpus_is_divided_like_a_matrix(corpus):
    train, test = train_test_split(corpus, test_size=30, random_state=0)
    assert sorted([*train.rows(), *test.rows()]) == list(range(300))


# --- random_state


def test_a_random_state_draws_seeds(corpus):
    estimator = bt.LDA(3, method="online-cvb0", max_iter=1, random_state=np.random.RandomState(5), **HERE)
    first, second = (estimator.fit(corpus).random_state_ for _ in range(2))
    drawn = np.random.RandomState(5)
    assert [first, second] == [drawn.randint(1 << 31), drawn.randint(1 << 31)]
    other = bt.LDA(3, method="online-cvb0", max_iter=1, random_state=second, **HERE).fit(corpus)
    np.testing.assert_array_equal(estimator.components_, other.components_)
