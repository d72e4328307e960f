"""Measures while a model learns: when they are taken, what the history has, and that a resumed run has the same."""

import os
import signal

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import Measure, Score, Watch, bound, measure

CORPUS = bt.from_matrix(lda_corpus(200, 30, 3, mean_length=15, topic_word_prior=0.2, random_state=2).counts)
QUIET = {
    "method": "online-cvb0",
    "n_components": 3,
    "batch_size": 20,
    "progress": False,
    "n_threads": 1,
    "client": False,
}  # 10 updates a pass


class Steps:
    """Figures that say when they were measured."""

    def __init__(self, name="at", every=None):
        self.names, self.every = [name], every

    def measure(self, model):
        return {self.names[0]: float(model.cursor.step)}

    def __call__(self, event):
        pass


def found(model):
    """The history without its times."""
    return [{key: row[key] for key in row if "second" not in key} for row in model.history_]


def measured(model, name="at"):
    return [
        (row["pass"], row["step"], row["measures"][name])
        for row in model.history_
        if name in row.get("measures", ())
    ]


def interrupt_at(step):
    def callback(event):
        if event.kind == "round" and event.step == step:
            os.kill(os.getpid(), signal.SIGINT)

    return callback


def test_a_pass_has_the_measures_of_the_model_at_its_end():
    watch = Watch(CORPUS, ["npmi", "log-predictive"], repeats=2)
    learned = LDA(**QUIET, max_iter=2, callbacks=[watch]).fit(CORPUS)
    passes = [row for row in learned.history_ if "bound" in row]
    for n, row in enumerate(passes, start=1):
        alone = measure(LDA(**QUIET, max_iter=n).fit(CORPUS), CORPUS, ["npmi", "log-predictive"], repeats=2)
        assert row["measures"] == {
            "npmi": alone["npmi"].value,
            "log-predictive": alone["log-predictive"].value,
            "log-predictive standard error": alone["log-predictive"].standard_error,
        }
    assert len(passes) == 2
    plain = LDA(**QUIET, max_iter=2).fit(CORPUS)
    assert learned.components_.tobytes() == plain.components_.tobytes()


def test_scores_by_the_methods_own_inference_are_beside_the_common_ones():
    watch = Watch(CORPUS, "log-predictive", inference="both")
    model = LDA(**QUIET, max_iter=1, callbacks=[watch]).fit(CORPUS)
    both = measure(model, CORPUS, "log-predictive", inference="both")["log-predictive"]
    assert model.history_[0]["measures"] == {
        "log-predictive": both.value,
        "log-predictive standard error": both.standard_error,
        "log-predictive own": both.own.value,
        "log-predictive own standard error": both.own.standard_error,
    }


def test_every_so_many_updates():
    settings = {**QUIET, "max_iter": 2, "validation": CORPUS[:20], "evaluate_every": 8}
    model = LDA(**settings, callbacks=[Steps(every=4), Steps("rarely", 7), Steps("passes")]).fit(CORPUS)
    assert [step for _, step, _ in measured(model)] == [4, 8, 12, 16, 20]
    assert [step for _, step, _ in measured(model, "rarely")] == [7, 14]
    assert measured(model, "passes") == [(1, 10, 10.0), (2, 20, 20.0)]
    assert all(step == at for _, step, at in measured(model))
    plain = LDA(**settings).fit(CORPUS)
    assert [row for row in found(model) if "score" in row] == [row for row in found(plain) if "score" in row]
    assert model.components_.tobytes() == plain.components_.tobytes()


@pytest.mark.costly(2)
@pytest.mark.parametrize("steps", [(3,), (4,), (10,), (4, 12), (20,)], ids=str)
def test_a_resumed_run_has_the_history_of_an_uninterrupted_one(steps, tmp_path):
    def watching(*more):
        callbacks = [Steps(every=2), Steps("passes"), Steps("rarely", 6), *more]
        return LDA(**QUIET, max_iter=2, validation=CORPUS[:20], evaluate_every=4, callbacks=callbacks)

    expected = watching().fit(CORPUS)
    for step in steps:
        watching(interrupt_at(step)).fit(CORPUS, checkpoint=tmp_path / "run.ckpt", resume=True)
    for _ in range(2):  # the second time, nothing is left
        resumed = watching().fit(CORPUS, checkpoint=tmp_path / "run.ckpt", resume=True)
        assert found(resumed) == found(expected)
        assert resumed.components_.tobytes() == expected.components_.tobytes()


def test_a_run_that_converged_is_not_resumed(tmp_path):
    def watching():
        return LDA(
            **{**QUIET, "batch_size": 50}, max_iter=40, tol=0.1, callbacks=[Steps(every=4), Steps("passes")]
        )

    first = watching().fit(CORPUS, checkpoint=tmp_path / "run.ckpt")
    again = watching().fit(CORPUS, checkpoint=tmp_path / "run.ckpt", resume=True)
    assert first.n_iter_ < 40 and again.history_ == first.history_


def test_a_stream_is_watched_across_its_calls():
    model = LDA(**QUIET, callbacks=[Steps(every=3), Steps("passes")])
    for batch in (CORPUS[:80], CORPUS[80:200]):  # 4 updates, then 6
        model.partial_fit(batch)
    assert [step for _, step, _ in measured(model)] == [3, 6, 9]
    assert [step for _, step, _ in measured(model, "passes")] == [4, 10]


def test_a_saved_model_has_its_history(tmp_path):
    nothing = Measure(
        "nothing", lambda subject, _: None, None, None, lambda state, total: Score(float("nan"))
    )
    model = LDA(**QUIET, max_iter=1, callbacks=[Watch(None, nothing, every=5)]).fit(CORPUS)
    model.save(tmp_path / "m.zarr")
    history = bt.load_model(tmp_path / "m.zarr").history_
    assert history == model.history_ and history[0]["measures"] == {"nothing": None}


def test_measures_that_need_an_estimator_can_be_watched():
    settings = {**QUIET, "method": "online-vb", "max_iter": 1}
    model = LDA(**settings, callbacks=[Watch(CORPUS, "bound")]).fit(CORPUS)
    assert model.history_[0]["measures"]["bound"] == bound(model, CORPUS).value


def test_the_history_is_drawn(tmp_path):
    model = LDA(**QUIET, max_iter=2, callbacks=[Watch(CORPUS, ["npmi", "log-predictive"])]).fit(CORPUS)
    figure = model.plot("history")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["npmi", "log-predictive"]
    expected = [row["measures"]["npmi"] for row in model.history_]
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"every": 0}, "every=0: must be a whole number of updates, 1 or more"),
        ({"every": 1.5}, "every=1.5: must be"),
        ({"measures": "nope"}, "there is no measure 'nope'"),
        ({"measures": "npmi", "ratio": 0.5}, "ratio: is not a setting of these measures"),
        ({"corpus": 3}, "corpus: int is not a corpus"),
        ({"corpus": None}, "corpus: 'log-predictive' is a measure of documents; give them"),
        ({"measures": []}, "measures: there are none"),
        ({"n_top": "many"}, "n_top: must be a whole number, found 'many'"),
    ],
)
def test_what_cannot_be_watched_is_refused(settings, message):
    with pytest.raises(SettingError, match=f"^{message}"):
        Watch(**{"corpus": CORPUS, **settings})


def test_two_figures_of_one_name_are_refused():
    model = LDA(**QUIET, callbacks=[Steps(), Steps(every=2)])
    with pytest.raises(SettingError, match="callbacks: two of them record 'at'"):
        model.fit(CORPUS)
