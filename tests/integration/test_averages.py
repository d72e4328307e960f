"""Topics that are the mean over updates: what is averaged, for every method, and who reads it."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import gammaln

import bigtopic as bt
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import ModelError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.learning.estep import evaluate, gather
from bigtopic.learning.new_run import make_run, with_document_state
from bigtopic.learning.rounds import round_stats
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import get
from bigtopic.plan.cursor import Cursor
from bigtopic.schemes.langevin import LazyLangevin
from bigtopic.state.model_store import load, save
from bigtopic.state.new_model import new_model
from bigtopic.state.running_mean import COUNT, MEAN
from bigtopic.types import ArraySpec

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case, serial

pytestmark = pytest.mark.battery
LAZY = replace(get("lds"), name="lds-lazy", schemes={"topic_words": LazyLangevin()})
METHODS = {name: get(name) for name in case.methods_of_lda()} | {"lds-lazy": LAZY}
HERE = {"client": False, "n_threads": 1, "progress": False, "random_state": 0}
ONLINE = {"method": "g-oem", "batch_size": 50, **HERE}


@pytest.fixture(params=METHODS)
def method(request):
    return METHODS[request.param]


@pytest.fixture(scope="module")
def some(corpus):
    return corpus[:90]


def begun(method, documents, n_passes):
    """A run of several updates a pass, where the method has minibatches, and its model."""
    model = new_model(method, 4, documents.vocabulary, n_tokens=documents.n_tokens)
    batch_size = None if method.batch_size is None else 30
    sizes = {"batch_size": batch_size, "slice_size": 30, "order": "shuffled", "max_iter": n_passes}
    return with_document_state(make_run(model, documents, **sizes), model, documents), model


@pytest.mark.parametrize("average", [0.4, 1.0])
def test_the_topics_are_the_mean_over_the_last_updates(method, average, some):
    run, model = begun(replace(method, average=average), some, 4)
    versions = []
    for params, _ in serial.learn(run, model.params, 4):
        versions.append({name: params[name].gather(None).astype(float) for name in method.schemes})
        model.params = params
    assert len(versions) == 4 * run.plan.n_rounds
    left_out = len(versions) - round(average * len(versions))
    for name in method.schemes:
        dense = np.mean([version[name] for version in versions[left_out:]], axis=0)
        kept = model.estimate(name).gather(None)
        np.testing.assert_allclose(kept, dense, rtol=1e-6, atol=1e-6 * dense.max())
        assert model.params[f"{name}.{COUNT}"].first_row() == [len(versions) - left_out]


def test_learning_is_the_same_without(method, some):
    """To the bit."""
    arrays = []
    for average in (0.0, 0.7):
        run, model = begun(replace(method, average=average), some, 2)
        *_, (params, _) = serial.learn(run, model.params, 2)
        arrays.append(params.arrays)
    for name, array in arrays[0].items():
        for part in ("raw", "scale", "sums", "prior"):
            assert getattr(array, part).tobytes() == getattr(arrays[1][name], part).tobytes()


def test_the_mean_of_gibbs_samples_is_the_posterior_mean():
    """Of the labels of five tokens, by enumeration; priors tell the topics apart. Over some chains."""
    counts, alpha = np.array([[1, 2, 0], [0, 1, 1]]), np.array([0.7, 0.4])
    eta = np.array([[1.0, 0.3, 0.2], [0.2, 0.5, 0.9]])
    exact, mass = np.zeros((2, 3)), 0.0
    tokens = [(d, w) for d in range(2) for w in range(3) for _ in range(counts[d, w])]
    for labels in itertools.product(range(2), repeat=len(tokens)):
        of_docs, of_words = np.tile(alpha, (2, 1)), eta.copy()
        for (d, w), k in zip(tokens, labels, strict=True):
            of_docs[d, k] += 1
            of_words[k, w] += 1
        weight = np.exp(
            gammaln(of_docs).sum() + gammaln(of_words).sum() - gammaln(of_words.sum(axis=1)).sum()
        )
        exact, mass = exact + weight * of_words, mass + weight
    settings = {"method": "cgs", "average": 0.9, "max_iter": 60, "topic_word_prior": eta, **HERE}
    found = np.array(
        [
            LDA(2, doc_topic_prior=alpha, **{**settings, "random_state": seed}).fit(counts).components_
            for seed in range(8)
        ]
    )
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (error > 0).all() and (error < 0.2).all()
    assert (np.abs(found.mean(axis=0) - exact / mass) < 4.5 * error).all()


def test_everyone_reads_the_mean(corpus):
    settings = {"max_iter": 2, "learn_doc_topic_prior": "asymmetric", **ONLINE}
    latest, mean = LDA(4, **settings).fit(corpus), LDA(4, average=True, **settings).fit(corpus)
    kept = mean._model.estimate("topic_words").gather(None)[:, :4]
    assert np.abs(kept.T - latest.components_).max() > 1
    np.testing.assert_array_equal(mean.components_, kept.T)
    np.testing.assert_allclose(mean.get_topics(), (kept / kept.sum(axis=0)).T, rtol=1e-5)
    np.testing.assert_array_equal(mean.array("topic_words").values.T, mean.get_topics())
    assert np.abs(mean.doc_topic_prior_ - latest.doc_topic_prior_).max() > 1e-3
    np.testing.assert_array_equal(mean.topic_source().doc_topic_prior, mean.doc_topic_prior_)
    given = LDA(4, init=mean, doc_topic_prior=mean.doc_topic_prior_, **ONLINE)
    given._model = given._begun(corpus, 0)
    np.testing.assert_allclose(given.transform(corpus[:50]), mean.transform(corpus[:50]), atol=1e-4)
    assert np.abs(mean.transform(corpus[:50]) - latest.transform(corpus[:50])).max() > 1e-3
    prior = {"vocabulary": corpus, "doc_topic_prior": mean.doc_topic_prior_}
    expected = bt.evaluate.log_predictive(mean.get_topics(), corpus, **prior).value
    assert bt.evaluate.log_predictive(mean, corpus).value == pytest.approx(expected, rel=1e-6)
    assert bt.evaluate.log_predictive(latest, corpus).value != pytest.approx(expected, rel=1e-6)


def test_tasks_get_no_means(corpus):
    """Which may be larger than all that they read."""
    run, model = begun(replace(get("v-oem++"), average=1.0), corpus, 1)
    seen, remembered = [], serial.Remembered("round")

    def map_reduce(rnd, arrays, iteration):
        seen.append(set(arrays))
        return serial.total(
            [evaluate(ref, gathered(ref, arrays), run.work, iteration, remembered) for ref in rnd.slices]
        )

    def gathered(ref, arrays):
        return gather(run.parts[ref.part].read(ref.start, ref.stop), arrays, run.work)

    round_stats(model.params, next(run.plan.rounds(0)), Cursor(), run.settings, map_reduce)
    assert len(seen) == 20 and all(names == {"topic_words", "doc_topic_prior"} for names in seen)


def test_a_run_that_ends_before_the_mean_begins_has_the_latest_topics(corpus):
    ends = {"max_iter": 10, "callbacks": [], "validation": 0.2, "patience": 1, "evaluate_every": 1}
    cut = LDA(4, average=0.1, **ends, **ONLINE).fit(corpus)
    latest = LDA(4, **ends, **ONLINE).fit(corpus)
    assert cut.n_batch_iter_ < 0.9 * 10 * 5
    np.testing.assert_array_equal(cut.components_, latest.components_)


def test_a_saved_model_continues_its_mean_with_the_same_bits(corpus, tmp_path):
    method = replace(get("g-oem"), average=1.0)
    whole = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    for part in range(2):
        if part:
            save(whole, tmp_path / "model.zarr")
        train(whole, corpus, Limits(1), batch_size=50, n_threads=1)
    again, _ = load(tmp_path / "model.zarr")
    assert again.method.average == 1.0
    train(again, corpus, Limits(1), batch_size=50, n_threads=1)
    for name, array in whole.params.arrays.items():
        for part in ("raw", "scale", "sums", "prior"):
            assert getattr(array, part).tobytes() == getattr(again.params[name], part).tobytes()


def test_a_saved_estimator_has_the_same_topics(corpus, tmp_path):
    model = LDA(4, average=0.5, **ONLINE).fit(corpus)
    model.save(tmp_path / "model.zarr")
    again = bt.load_model(tmp_path / "model.zarr")
    assert again.average == 0.5
    np.testing.assert_array_equal(again.get_topics(), model.get_topics())


@pytest.mark.costly
@pytest.mark.parametrize("name", ["g-oem", "cgs"])
def test_a_resumed_run_has_the_bits_of_an_undisturbed_one(name, corpus, tmp_path):
    settings = {**ONLINE, "method": name, "average": 0.5, "max_iter": 6}
    if name == "cgs":
        settings["slice_size"] = 50
    stops = []

    def stop(event):
        if event.kind == "round" and event.step == 26 and not stops:
            stops.append(event)
            raise KeyboardInterrupt

    often = bt.Checkpoint(tmp_path / "run.ckpt", rounds=5)
    with pytest.raises(KeyboardInterrupt):
        LDA(4, callbacks=[stop], **settings).fit(corpus, checkpoint=often)
    resumed = LDA(4, **settings).fit(corpus, checkpoint=often, resume=True)
    undisturbed = LDA(4, **settings).fit(corpus)
    assert stops and resumed.n_batch_iter_ == undisturbed.n_batch_iter_ == 36
    np.testing.assert_array_equal(resumed.components_, undisturbed.components_)


def test_scores_do_not_change_the_mean(corpus):
    """They read it in the middle of the run."""
    train_, held_out = corpus.split(test_size=0.2, random_state=0)
    plain, scored = (
        LDA(4, average=True, max_iter=2, validation=held, evaluate_every=every, **ONLINE).fit(train_)
        for held, every in ((None, None), (held_out, 2))
    )
    np.testing.assert_array_equal(plain.components_, scored.components_)


def test_a_stream_averages_all_its_updates_and_grows(corpus):
    """New words have no weight but their prior in what came before them."""
    counts = corpus.to_scipy(order="stored")
    known, new = from_matrix(counts[:100, :60], [f"w{i}" for i in range(60)]), corpus[150:]
    stream = LDA(4, average=0.1, total_samples=300, **ONLINE).partial_fit(known).partial_fit(new)
    array = stream._model.params["topic_words"]
    n_updates = stream.n_batch_iter_
    assert stream._model.params[f"topic_words.{COUNT}"].first_row() == [n_updates]
    assert stream._model.params[f"topic_words.{MEAN}"].n_rows == array.n_rows == 80
    topics = stream.get_topics()
    np.testing.assert_allclose(topics.sum(axis=1), 1.0, rtol=1e-5)
    assert (stream.components_[:, 60:] > 0).any()


def test_a_fit_that_goes_on_as_a_stream_goes_on_with_its_mean(corpus):
    model = LDA(4, average=0.5, max_iter=4, **ONLINE).fit(corpus)
    count = model._model.params[f"topic_words.{COUNT}"]
    assert count.first_row() == [12] and model.n_batch_iter_ == 24
    model.partial_fit(corpus[:100])
    assert count.first_row() == [12 + model.n_batch_iter_ - 24]


@pytest.mark.parametrize("average", [-0.1, 1.5, 2, "half", np.nan])
def test_what_is_no_share_is_refused(average, corpus):
    with pytest.raises(SettingError, match=r"average=.*share of the run's updates"):
        LDA(4, average=average).fit(corpus)
    with pytest.raises(SettingError, match=r"average=.*share of the updates"):
        LDA(4, method=replace(get("g-oem"), average=average)).fit(corpus)


def test_a_count_that_is_none_is_damage(corpus, tmp_path):
    model = LDA(4, average=True, **ONLINE).fit(corpus)
    model._model.params[f"topic_words.{COUNT}"].raw[0, 0] = -1.0
    with pytest.raises(ModelError, match=f"{COUNT} holds values from -1"):
        model.save(tmp_path / "model.zarr")


def test_companions_do_not_take_the_names_of_means(corpus):
    class Own(type(get("g-oem").schemes["topic_words"])):
        companions: ClassVar = {MEAN: ArraySpec("")}

    method = replace(get("g-oem"), name="own", schemes={"topic_words": Own()})
    with pytest.raises(SettingError, match=f"companion '{MEAN}'.*choose another"):
        LDA(4, method=method).fit(corpus)
