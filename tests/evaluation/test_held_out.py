"""What all held-out measures share: exact cases, errors over documents, the method's own inference, and records."""

import copy
import json
import pickle

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets.synthetic import KnownLDA
from bigtopic.errors import InputError, SettingError
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import (
    bound,
    held_out_records,
    left_to_right,
    log_predictive,
    log_records,
    measure,
    split_records,
)

QUIET = {"client": False, "n_threads": 1, "random_state": 0}
KNOWN = KnownLDA(30, 3, mean_length=20, topic_word_prior=0.2, random_state=4)
COUNTS = KNOWN.documents(120).counts
CORPUS = from_matrix(COUNTS)
TRAIN, TEST = split_records(CORPUS, 0.4)
MODELS = {method: LDA(3, method=method, max_iter=8, **QUIET).fit(TRAIN) for method in ("ilr", "cgs", "vb")}
MEASURES = {
    "log-predictive": lambda model, **more: log_predictive(model, CORPUS, **more),
    "by type": lambda model, **more: log_predictive(model, CORPUS, "type", **more),
    "left-to-right": lambda model, **more: left_to_right(model, CORPUS, particles=2, **more),
    "held-out-records": lambda model, **more: held_out_records(model, CORPUS, **more),
}


@pytest.mark.parametrize("name", MEASURES)
def test_uniform_topics_have_the_perplexity_of_uniform_words(name):
    found = MEASURES[name](np.ones((3, 30)))
    assert found.perplexity == pytest.approx(30, rel=1e-6)
    assert found.value == pytest.approx(-np.log(30), rel=1e-7)


@pytest.mark.parametrize("name", MEASURES)
def test_one_topic_with_the_training_frequencies_is_the_unigram(name):
    frequency = np.asarray(COUNTS.sum(axis=0)).ravel() + 0.5
    found = MEASURES[name](frequency[None, :], train=CORPUS)
    assert found.value == pytest.approx(found.unigram, abs=1e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_chunks_and_threads_do_not_change_the_tenth_digit(name, monkeypatch):
    expected = MEASURES[name](KNOWN, n_threads=1)
    monkeypatch.setattr("bigtopic.evaluation.subject._FEWEST_ENTRIES", 100)
    monkeypatch.setattr("bigtopic.evaluation.measures.log_predictive._SLICE_ENTRIES", 90)
    again = MEASURES[name](KNOWN, n_threads=2)
    np.testing.assert_allclose(again.log_likelihood, expected.log_likelihood, rtol=1e-13)
    assert again.value == pytest.approx(expected.value, rel=1e-13)
    assert again.standard_error == pytest.approx(expected.standard_error, rel=1e-12)


@pytest.mark.parametrize("method", ["vb", "cgs"])
def test_own_inference_is_that_of_transform(method):
    """The observed tokens as a corpus of their own, through `transform`."""
    model, scored = MODELS[method], from_matrix(COUNTS)
    both = log_predictive(model, scored, inference="both")
    own = log_predictive(model, scored, inference="own")
    assert both.value == log_predictive(model, scored).value
    assert both.own.value == own.value != both.value
    np.testing.assert_array_equal(both.own.tokens, both.tokens)
    assert both.details()["own inference"] and both.to_dict()["own"]["value"] == own.value
    assert "; own inference -" in repr(both) and "; inference the method's own" in repr(own)

    held_out, observed = np.zeros((120, 30)), np.zeros((120, 30))
    for row, words, counts, seen in divided(scored):
        observed[row, words], held_out[row, words] = seen, counts - seen
    theta = model.transform(from_matrix(observed)).astype(np.float64)
    logs = (held_out * np.log(theta @ model.get_topics())).sum(axis=1)
    np.testing.assert_allclose(own.log_likelihood, logs[own.rows], rtol=1e-5)  # topics are float32


def divided(corpus):
    """(source row, words, counts, observed counts) of each document, as `log_predictive` divides them."""
    from bigtopic.evaluation import _kernels

    block = corpus.read(order="stored")
    seen = np.empty(len(block.counts), np.float32)
    _kernels.observed_tokens(block.indptr, block.counts, block.rows, 0, 0.5, seen)
    for row, a, b in zip(block.rows, block.indptr, block.indptr[1:], strict=False):
        yield row, block.words[a:b], block.counts[a:b], seen[a:b]


def test_own_inference_does_not_depend_on_blocks(monkeypatch):
    expected = log_predictive(MODELS["cgs"], CORPUS, inference="own", n_threads=1)
    monkeypatch.setattr("bigtopic.evaluation.subject._FEWEST_ENTRIES", 100)
    again = log_predictive(MODELS["cgs"], CORPUS, inference="own", n_threads=2)
    np.testing.assert_array_equal(again.log_likelihood, expected.log_likelihood)


@pytest.mark.parametrize("method", ["ilr", "cgs"])
def test_records_are_scored_by_the_training_state(method):
    """theta from the counts of what the model remembers, by the equation, token by token."""
    model = MODELS[method]
    found = held_out_records(model, CORPUS)
    assert found.own_from == "training state" and found.n_tokens == TEST.n_tokens
    block, known = TRAIN.read(order="stored"), model._model
    state = known.remembered(0, 0, block.n_docs)
    logs, at = [], 0
    topics, alpha = model.get_topics(), known.doc_topic_prior
    held_out = TEST.to_scipy(order="stored").toarray()
    for d in range(block.n_docs):
        counts = alpha.copy()
        for entry in range(block.indptr[d], block.indptr[d + 1]):
            if method == "ilr":
                counts += block.counts[entry] * state["shares"][entry] / state["shares"][entry].sum()
            for _ in range(int(block.counts[entry]) if method == "cgs" else 0):
                counts[state["labels"][at]] += 1
                at += 1
        logs.append(held_out[d] @ np.log(counts / counts.sum() @ topics))
    expected = np.array(logs)[np.argsort(block.rows)][found.own.rows]
    np.testing.assert_allclose(found.own.log_likelihood, expected, rtol=1e-5)
    np.testing.assert_array_equal(found.own.tokens, found.tokens)


def test_records_by_transform_and_by_fold_in():
    found = held_out_records(MODELS["vb"], CORPUS)
    assert found.own_from == "transform" and found.own.value != found.value
    theta = MODELS["vb"].transform(TRAIN).astype(np.float64)
    logs = (TEST.to_scipy().toarray() * np.log(theta @ MODELS["vb"].get_topics())).sum(axis=1)
    np.testing.assert_allclose(found.own.log_likelihood, logs[found.rows], rtol=1e-5)
    assert held_out_records(pickle.loads(pickle.dumps(MODELS["ilr"])), CORPUS).own_from == "transform"
    assert held_out_records(KNOWN, CORPUS).own is None
    table = repr(measure(MODELS["ilr"], CORPUS, "held-out-records"))
    assert "by training state" in table and "uniform words" in table and "unigram model" in table
    assert "caution" not in table


def test_a_model_that_learned_from_the_held_out_tokens_is_noticed():
    for documents in (CORPUS, CORPUS[:20]):  # a view, too
        found = held_out_records(LDA(3, method="vb", max_iter=1, **QUIET).fit(documents), documents)
        assert found.saw_them and "caution" in found.details() and "; caution" in repr(found)
    for split in ({"random_state": 1}, {"test_size": 0.6}):
        other = held_out_records(MODELS["ilr"], CORPUS, **split)
        assert other.own_from == "transform"  # of another split the model has no state
        assert other.saw_them
    assert not any(held_out_records(model, CORPUS).saw_them for model in (*MODELS.values(), KNOWN))
    assert held_out_records(MODELS["vb"], TRAIN).saw_them  # a half of split_records, divided again


def test_words_that_the_model_does_not_know_do_not_change_the_split():
    words = [f"w{i}" for i in range(30)]
    known = np.arange(28)
    named = from_matrix(COUNTS, words)
    found = held_out_records(np.ones((2, 28)), named, vocabulary=[words[i] for i in known])
    assert found.tokens.sum() <= TEST.to_scipy()[:, known].sum()
    whole = TRAIN.to_scipy()[:, known].sum(axis=1) > 0  # without an observed token nothing is scored
    assert found.tokens.sum() == TEST.to_scipy()[:, known][np.flatnonzero(whole)].sum()


def test_what_has_no_meaning_says_what_to_ask():
    dual = DualTopicModel(2, 2, max_iter=1, **QUIET).fit(TRAIN)
    with pytest.raises(SettingError, match="log_records"):
        held_out_records(dual, CORPUS)
    with pytest.raises(SettingError, match="held_out_records or log_predictive"):
        log_records(MODELS["vb"], TEST)
    with pytest.raises(SettingError, match="'log-predictive' or 'left-to-right'"):
        bound(MODELS["cgs"], CORPUS)
    with pytest.raises(SettingError, match="'log-predictive' or 'left-to-right'"):
        bound(np.ones((2, 30)), CORPUS)
    with pytest.raises(SettingError, match="inference='common'"):
        log_predictive(np.ones((2, 30)), CORPUS, inference="own")
    with pytest.raises(SettingError, match="test_size"):
        held_out_records(KNOWN, CORPUS, 1.0)
    single = from_matrix(np.eye(30))
    with pytest.raises(InputError, match="whole ones, not a half of split_records"):
        held_out_records(np.ones((2, 30)), single)
    with pytest.raises(InputError, match="score whole ones with 'left-to-right'"):
        log_predictive(np.ones((2, 30)), single)


def test_the_bound_says_what_its_perplexity_is():
    found = bound(MODELS["vb"], TRAIN)
    assert found.perplexity == pytest.approx(np.exp(-found.nats / found.n_tokens))
    assert found.details()["perplexity"].startswith("at most ")


def test_a_bound_beyond_the_largest_number_is_infinite():
    model = LDA(3, method="vb", topic_word_prior=1e-9, max_iter=1, **QUIET).fit(
        from_matrix(np.eye(30) * 1000)
    )
    found = bound(model, from_matrix(np.eye(1, 30)))
    assert found.perplexity == np.inf
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["perplexity"] is None


def test_copies_keep_their_state():
    assert held_out_records(copy.deepcopy(MODELS["ilr"]), CORPUS).own_from == "training state"


@pytest.mark.parametrize("name", MEASURES)
def test_scores_of_other_tokens_are_not_compared(name):
    one, other = (MEASURES[name](KNOWN, random_state=seed) for seed in (0, 1))
    assert one.minus(MEASURES[name](KNOWN))[0] == 0
    with pytest.raises(
        SettingError, match=r"other: was scored with .*random_state=1, not with .*random_state=0"
    ):
        one.minus(other)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("seed", [-5, 1 << 62, 1 << 70])
def test_any_whole_number_is_a_seed(name, seed):
    found = MEASURES[name](np.ones((1, 30)), random_state=seed)
    assert found.perplexity == pytest.approx(30, rel=1e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_counts_that_are_too_large_to_be_divided_are_refused(name, monkeypatch):
    counts = np.full((2, 30), 2.0)
    counts[1, 3] = 3e38
    monkeypatch.setitem(globals(), "CORPUS", from_matrix(counts))
    if name == "by type":
        assert MEASURES[name](np.ones((1, 30))).perplexity == pytest.approx(30, rel=1e-6)
        return
    with pytest.raises(InputError, match=r"times in one document, too often to divide .* at most 16,777,216"):
        MEASURES[name](np.ones((1, 30)))


COVERAGE = {
    "log-predictive": lambda corpus, **more: log_predictive(KNOWN, corpus, **more),
    "by halves, own": lambda corpus, **more: log_predictive(MODELS["vb"], corpus, inference="own", **more),
    "left-to-right": lambda corpus, **more: left_to_right(KNOWN, corpus, particles=10, **more),
    "held-out-records": lambda corpus, **more: held_out_records(KNOWN, corpus, **more),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COVERAGE)
def test_the_95_percent_interval_covers_the_truth(name):
    """Over 200 test sets of 100 documents each; the truth is the score of 40,000 other documents of the same model."""
    ask = COVERAGE[name]
    true = ask(from_matrix(KNOWN.documents(40_000, first=1_000_000).counts), client=False)
    covered = []
    for n in range(200):
        found = ask(from_matrix(KNOWN.documents(100, first=1000 + 100 * n).counts), client=False)
        covered.append(abs(found.value - true.value) < 1.96 * found.standard_error)
    print(
        f"{name}: {np.mean(covered):.1%} of 200 intervals cover {true.value:.4f} ± {true.standard_error:.4f}"
    )
    assert 0.90 <= np.mean(covered) <= 0.99


@pytest.mark.distributed
def test_a_dask_client_gives_the_same():
    from dask.distributed import Client

    asked = {"inference": "both"}
    expected = log_predictive(MODELS["cgs"], CORPUS, client=False, **asked)
    records = held_out_records(MODELS["ilr"], CORPUS, client=False)
    with Client(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
        found = log_predictive(MODELS["cgs"], CORPUS, client=client, **asked)
        again = held_out_records(MODELS["ilr"], CORPUS, client=client)
    np.testing.assert_array_equal(found.own.log_likelihood, expected.own.log_likelihood)
    np.testing.assert_array_equal(again.own.log_likelihood, records.own.log_likelihood)
