"""Sweeps: candidates are those of `fit`, to the bit; the choice is the one-standard-error rule, on planted scores."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.search import sweep as module
from bigtopic.evaluation import Measure, Score, log_predictive
from bigtopic.evaluation.base import Result
from bigtopic.evaluation.runs.compare import ratio_of_sums

CORPUS = bt.from_matrix(lda_corpus(90, 30, 3, mean_length=20, topic_word_prior=0.2, random_state=2).counts)
QUIET = {
    "method": "online-cvb0",
    "max_iter": 1,
    "batch_size": 50,
    "progress": False,
    "n_threads": 1,
    "client": False,
}


@dataclass(frozen=True)
class Planted(Result):
    """Scores of documents that depend on the model alone."""

    value: float
    rows: np.ndarray
    log_likelihood: np.ndarray
    tokens: np.ndarray


def planted(score):
    """A measure of which the score of a document with row i is score(subject.source, i)."""

    def finish(state, total):
        source, rows = state
        values = np.array([score(source, row) for row in rows])
        return Planted(values.mean(), rows, values, np.ones(len(rows)))

    return Measure("planted", lambda subject, _: (subject.source, subject.corpus.rows()), None, None, finish)


def noisy(gains, noise):
    """Documents' scores with these means by number of topics, whose differences have this noise."""
    draws = {k: np.random.default_rng(k).normal(0, noise, 100) for k in gains}
    return planted(lambda source, row: gains[source.n_components] + draws[source.n_components][row])


def test_candidates_have_the_bits_of_fit():
    found = bt.sweep(
        CORPUS, n_components=[2, 3], random_state=[0, 5], measure=["log-predictive", "npmi"], **QUIET
    )
    train, test = CORPUS.split(0.1, module._SEED)
    assert found.candidates == [{"n_components": k, "random_state": s} for k in (2, 3) for s in (0, 5)]
    for own, (result,) in zip(found.candidates, found.results, strict=True):
        alone = LDA(**own, **QUIET).fit(train)
        assert result["log-predictive"].to_dict() == log_predictive(alone, test, n_threads=1).to_dict()
    again = LDA(**found.best_params_, **QUIET).fit(CORPUS)
    assert found.best_estimator_.components_.tobytes() == again.components_.tobytes()
    assert repr(found.best_estimator_) == repr(again)
    assert found.best_score_ == found["log-predictive"][found.best_index_]


def test_each_document_is_held_out_once():
    found = bt.sweep(CORPUS, n_components=[2], folds=3, **QUIET)
    (score,) = found.scores["log-predictive"]
    assert len(found.results[0]) == 3 and len(np.unique(score.rows)) == len(score.rows) > 80
    splits = module._splits(CORPUS, 3, 0.1)
    for train, test in splits:
        assert {*train.rows()}.isdisjoint(test.rows()) and train.n_docs + test.n_docs == CORPUS.n_docs
        assert test.n_docs == 30
    alone = [log_predictive(LDA(2, **QUIET).fit(train), test) for train, test in splits]
    total, tokens = (
        np.concatenate([getattr(one, name) for one in alone]) for name in ("log_likelihood", "tokens")
    )
    assert (score.value, score.standard_error) == ratio_of_sums(total, tokens)


def test_folds_do_not_depend_on_the_order_of_the_store():
    other = bt.from_matrix(CORPUS.to_scipy(), shuffle=False)
    for (_, one), (_, same) in zip(
        module._splits(CORPUS, 4, 0.1), module._splits(other, 4, 0.1), strict=True
    ):
        np.testing.assert_array_equal(one.rows(), same.rows())


@pytest.mark.parametrize(
    ("noise", "chosen"), [(0.01, 4), (1.0, 3)], ids=["the best is told from others", "it is not"]
)
def test_the_smallest_within_one_standard_error_is_chosen(noise, chosen):
    gains = {2: -3.0, 3: -1.02, 4: -1.0, 5: -1.5}
    found = bt.sweep(CORPUS, n_components=[2, 3, 4, 5], measure=noisy(gains, noise), folds=2, **QUIET)
    scores = found.scores["planted"]
    best = max(scores, key=lambda score: score.value)
    close = [k for k, score in zip(gains, scores, strict=True) if sum(score.minus(best)) >= 0]
    assert found.best_params_ == {"n_components": min(close)} == {"n_components": chosen}
    assert found["chosen"] == [k == chosen for k in gains] and found["planted difference"][2] <= 0


def test_of_equally_small_candidates_the_best_is_chosen():
    score = planted(lambda source, row: -abs(source.doc_topic_prior[0] - 0.3))
    found = bt.sweep(CORPUS, n_components=2, doc_topic_prior=[0.1, 0.3, 0.5], measure=score, **QUIET)
    assert found.best_params_ == {"doc_topic_prior": 0.3} and found.best_estimator_.n_components == 2


def test_a_measure_of_topics_has_an_error_over_folds():
    def finish(state, total):
        return Score(float(state))

    of_topics = Measure("k", lambda subject, _: subject.corpus.n_docs, None, None, finish)
    found = bt.sweep(CORPUS[:45], n_components=[2, 3], measure=of_topics, folds=2, **QUIET)
    assert found["k"] == [22.5, 22.5] and found["k standard error"] == [0.5, 0.5]
    assert found.best_params_ == {"n_components": 2}
    alone = bt.sweep(CORPUS, n_components=[3, 2], measure=of_topics, test_size=9, **QUIET)
    assert np.isnan(alone["k standard error"]).all() and alone.best_params_ == {"n_components": 2}
    assert alone.to_dict()["candidates"][0]["k standard error"] is None
    assert "chosen: the highest score; it has a standard error only between folds" in repr(alone)
    assert repr(found).endswith("paired by fold")


def test_settings_of_measures_reach_them():
    settings = {**QUIET, "measure": ["log-predictive", "npmi"], "n_components": np.array([2, 3])}
    found = bt.sweep(CORPUS, ratio=0.7, n_top=4, **settings)
    train, test = CORPUS.split(0.1, module._SEED)
    alone = log_predictive(LDA(2, **QUIET).fit(train), test, ratio=0.7, n_threads=1)
    assert found["log-predictive"][0] == alone.value and found.results[0][0]["npmi"].n_top == 4
    assert type(found.best_params_["n_components"]) is int


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": [2], "measure": ["entropy", "npmi"]}, "measure='entropy': describes topics"),
        ({"n_components": []}, "n_components: the list is empty; give a value, or more"),
        ({"n_components": [2, 0]}, "n_components=0: must be a whole number, 1 or more"),
        (
            {"topics": [2]},
            r"sweep\(\) has no argument 'topics', and LDA has no such setting; use n_components",
        ),
        ({"measures": "npmi"}, r"sweep\(\) has no argument 'measures', .*; use measure$"),
        ({"cv": 3}, r"sweep\(\) has no argument 'cv', .*; use folds$"),
        ({"n_components": 2}, r"no setting has a list .* such as n_components=\[10, 20\]$"),
        ({"n_components": [2], "ratio": "half"}, "ratio: must be a number"),
        ({"method": ["online-vb", "nope"]}, "method='nope' is not known"),
        ({"doc_topic_prior": [0.1, -1.0]}, "doc_topic_prior=-1.0: "),
        ({"options": {"nope": 1}, "n_components": [2]}, ".*nope"),
        ({"random_state": [None]}, "random_state=None: give a whole number, or a list of them"),
        ({"folds": 1}, "folds=1: must be a whole number from 2 to the 90 documents"),
        ({"folds": True}, "folds=True: must be a whole number"),
        ({"test_size": 0.0}, "test_size"),
        ({"measure": "nope"}, "there is no measure 'nope'"),
        ({"measure": []}, "measure: the list is empty"),
        ({"estimator": LDA}, r"estimator: must be an estimator, such as LDA\(\), found the class LDA"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_allowed_is_said_before_anything_is_learned(settings, message, monkeypatch):
    monkeypatch.setattr(LDA, "fit", lambda *arguments: pytest.fail("learned"))
    with pytest.raises((SettingError, TypeError), match=f"^{message}"):
        bt.sweep(CORPUS, **{**QUIET, **settings})


def test_a_bound_is_of_held_out_documents():
    found = bt.sweep(CORPUS, n_components=[2], measure="bound", **{**QUIET, "method": "online-vb"})
    assert [*found.results[0][0]["bound"].parts] == ["documents"]


def test_documents_without_words_are_no_hindrance():
    counts = CORPUS.to_scipy().toarray()
    counts[:5] = 0
    found = bt.sweep(bt.from_matrix(counts, shuffle=False), n_components=[2, 3], **QUIET)
    assert len(found) == 2


def test_ctrl_c_ends_the_sweep(monkeypatch):
    def interrupted(self, corpus):
        self.run_ = {"ended": "interrupt"}

    monkeypatch.setattr(LDA, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bt.sweep(CORPUS, n_components=[2, 3])


def test_any_estimator_is_swept():
    template = bt.DualTopicModel(2, 2, max_iter=1, progress=False, n_threads=1)
    found = bt.sweep(CORPUS, template, n_row_topics=[2, 3], measure=planted(lambda source, row: 0.0))
    assert found.best_params_ == {"n_row_topics": 2} and isinstance(found.best_estimator_, bt.DualTopicModel)
    assert template._model is None


def test_the_table_and_the_picture(tmp_path):
    gains = {2: -3.0, 3: -1.0, 4: -1.0}
    measure = noisy(gains, 0.1)
    found = bt.sweep(
        CORPUS, n_components=[2, 3, 4], measure=measure, **{**QUIET, "method": ["online-vb", "online-cvb0"]}
    )
    heading, *rows, split, rule = repr(found).splitlines()
    assert heading.split() == ["n_components", "method", "planted", "difference"] and len(rows) == 6
    assert sum(row.endswith("chosen") for row in rows) == 1 and sum("highest" in row for row in rows) == 1
    assert split.endswith("of 9 documents held out") and rule.startswith("chosen: the fewest topics")
    assert found._repr_html_().count("<tr>") == 7
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["best"] == found.best_params_ and len(told["candidates"]) == len(found.to_pandas()) == 6
    figure = found.plot()
    (axes,) = figure.axes
    assert axes.get_xlabel() == "n_components"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "method=online-vb",
        "method=online-cvb0",
        "chosen",
    ]
    ring = axes.lines[[line.get_label() for line in axes.lines].index("chosen")]
    assert ring.get_xydata()[0].tolist() == [
        found.best_params_["n_components"],
        found["planted difference"][found.best_index_],
    ]
    written = [bt.plots.save(found.plot(), tmp_path / f"{i}.svg").read_bytes() for i in (0, 1)]
    assert written[0] == written[1]
    with pytest.raises(
        SettingError, match=r"plot 'sweep' needs candidates; give what bigtopic\.sweep returns"
    ):
        bt.plots.draw("sweep", found.best_estimator_)


def test_values_may_be_arrays_and_methods():
    priors, method = [np.array([0.1, 0.4]), None], bt.methods.get("online-vb")
    shared = {**QUIET, "n_components": np.arange(2, 3), "method": [method]}
    found = bt.sweep(CORPUS, doc_topic_prior=priors, measure=planted(lambda source, row: 0.0), **shared)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["best"] == {"doc_topic_prior": [0.1, 0.4], "n_components": 2, "method": "online-vb"}
    assert len(repr(found).splitlines()) == 5 and found.plot().axes


def test_a_sweep_without_numbers_has_the_names_of_the_candidates_below_the_axis():
    found = bt.sweep(
        CORPUS, n_components=2, random_state=[0, 1], **{**QUIET, "method": ["online-vb", "online-cvb0"]}
    )
    (axes,) = found.plot().axes
    assert axes.get_xlabel() == "candidate"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["method=online-vb", "method=online-cvb0"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["chosen"]
    assert {x for line in axes.lines for x in np.asarray(line.get_xdata()).tolist()} <= {0, 1}
