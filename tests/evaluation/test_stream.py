"""Scores along a stream: each batch is scored by what was learned before it, and nothing else."""

import json
import os
import signal

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import Measure, Score, log_predictive, stream, topics_of
from bigtopic.evaluation.runs.compare import ratio_of_sums

CORPUS = from_matrix(lda_corpus(250, 30, 3, mean_length=20, topic_word_prior=0.2, random_state=2).counts)
QUIET = {"method": "online-cvb0", "batch_size": 60, "progress": False, "n_threads": 1, "client": False}


class Uniform:
    """Learns nothing but how many documents there were."""

    def __init__(self, fitted=True):
        self.seen, self._fitted = [], fitted

    def __sklearn_is_fitted__(self):
        return self._fitted or bool(self.seen)

    def topic_source(self):
        return topics_of(np.ones((2, 30)))

    def partial_fit(self, batch):
        self.seen.append(batch.n_docs)


def n_seen(subject, settings):
    return sum(subject.model.seen)


SEEN = Measure("seen", n_seen, None, None, lambda state, total: Score(state), title="seen")


def test_equals_a_loop_of_partial_fit():
    curve = stream(LDA(3, **QUIET), CORPUS, 100, repeats=2, n_threads=1)
    model, found = LDA(3, **QUIET), []
    for start in (0, 100, 200):
        batch = CORPUS.run(start, start + 100, order="stored")
        if start:
            found.append(log_predictive(model, batch, repeats=2))
        model.partial_fit(batch)
    assert curve["documents"] == [100, 200]
    assert curve["log-predictive"] == [result.value for result in found]
    assert curve["log-predictive standard error"] == [result.standard_error for result in found]
    whole = curve.pooled()
    total, tokens = (
        np.concatenate([getattr(r, name) for r in found]) for name in ("log_likelihood", "tokens")
    )
    assert (whole.value, whole.standard_error) == ratio_of_sums(total, tokens)
    assert curve.pooled(start=101).value == found[1].value


def test_a_batch_is_scored_before_it_is_learned_from():
    model = Uniform()
    curve = stream(model, CORPUS, 100, ["log-predictive", SEEN])
    assert curve["seen"] == curve["documents"] == [0, 100, 200] and model.seen == [100, 100, 50]
    np.testing.assert_allclose(curve["log-predictive"], -np.log(30), rtol=1e-6)
    model = Uniform(fitted=False)
    assert stream(model, CORPUS, 125, SEEN)["seen"] == [125] and model.seen == [125, 125]


def test_two_methods_are_compared_paired():
    one, other = (stream(LDA(k, **QUIET), CORPUS, 125) for k in (1, 3))
    difference, error = other.pooled().minus(one.pooled())
    assert difference == pytest.approx(other.pooled().value - one.pooled().value) and error > 0


def test_a_model_of_scikit_learn():
    from sklearn.decomposition import LatentDirichletAllocation

    model = LatentDirichletAllocation(2, random_state=0)
    (score,) = stream(model, CORPUS, 125)["log-predictive"]
    again = LatentDirichletAllocation(2, random_state=0)
    batches = [CORPUS.run(start, start + 125, order="stored") for start in (0, 125)]
    again.partial_fit(batches[0].to_scipy())
    assert score == log_predictive(again, batches[1], vocabulary=CORPUS.vocabulary).value


def test_the_table():
    curve = stream(Uniform(), CORPUS, 125, ["log-predictive", SEEN])
    assert next(line.split() for line in repr(curve).splitlines())[:4] == [
        "documents",
        "held-out",
        "score,",
        "nats",
    ]
    assert repr(curve).count(" ± ") == 2 and curve._repr_html_().count("<tr>") == 3
    told = json.loads(json.dumps(curve.to_dict(), allow_nan=False))["curve"]
    assert [row["documents"] for row in told] == [0, 125] == curve.to_pandas()["documents"].tolist()
    with pytest.raises(
        SettingError, match="measure='seen': choose one that scores documents: log-predictive"
    ):
        curve.pooled("seen")
    with pytest.raises(SettingError, match="start=126: the last batch was scored after 125 documents"):
        curve.pooled(start=126)


@pytest.mark.parametrize(
    ("model", "batch_size", "settings", "message"),
    [
        (
            Uniform(False),
            250,
            {},
            "batch_size=250: must be a whole number, 1 or more, .* into 2 batches or more",
        ),
        (Uniform(), 0, {}, "batch_size=0: must be a whole number"),
        (Uniform(), 2.5, {}, "batch_size=2.5: must be a whole number"),
        (np.ones((2, 30)), 100, {}, "model: ndarray has no partial_fit, so it cannot learn from a stream"),
        (Uniform(), 100, {"n_top": 3}, "n_top: is not a setting of these measures"),
        (Uniform(), 100, {"repeats": "2"}, "repeats: must be a whole number, found '2'"),
    ],
)
def test_what_cannot_be_a_stream_is_refused(model, batch_size, settings, message):
    with pytest.raises(SettingError, match=f"^{message}"):
        stream(model, CORPUS, batch_size, **settings)


def test_a_bound_is_of_held_out_documents():
    (found,) = stream(LDA(3, **{**QUIET, "method": "online-vb"}), CORPUS, 125, "bound").results
    assert [*found["bound"].parts] == ["documents"]


def test_an_interrupt_ends_the_stream_not_only_a_batch():
    batches = []

    def interrupt(event):
        batches.append(event.kind)
        if event.kind == "round":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        stream(LDA(3, callbacks=[interrupt], **QUIET), CORPUS, 60)
    assert batches.count("round") == 1


def test_a_model_that_gets_no_topics_and_a_class_are_refused():
    class Silent:
        def partial_fit(self, batch):
            pass

    with pytest.raises(SettingError, match=r"^model: Silent learned from the stream, but has no topics"):
        stream(Silent(), CORPUS, 100)
    with pytest.raises(SettingError, match=r"^model: LDA is a class; give a model of it"):
        stream(LDA, CORPUS, 100)
