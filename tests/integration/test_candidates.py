"""Models with so many topics that documents visit candidates: the same bits however they are learned."""

from __future__ import annotations

import os
import pickle
import signal
from typing import Any

import numpy as np
import pytest

import bigtopic as bt
from bigtopic import methods as table
from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError
from bigtopic.learning import executors, new_run
from bigtopic.learning.executors import choice, sending, whole
from bigtopic.learning.executors.asynchronous import AsynchronousExecutor, Threads
from bigtopic.learning.executors.base import Until
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.new_run import make_run
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.plan import exchanges
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.exchanges import ONE_BY_ONE
from bigtopic.state import new_model
from bigtopic.state.model import TopicModel
from bigtopic.state.sparse import _kernels
from bigtopic.state.sparse.array import SparseArray

# Exchanges of several updates, and several passes
SETTINGS: dict[str, Any] = {
    "n_components": 140,
    "method": "sparse-cvb0",
    "batch_size": 10,
    "max_iter": 3,
    "random_state": 3,
    "progress": False,
}


@pytest.fixture(scope="module")
def corpus():
    return bt.from_matrix(lda_corpus(900, 400, 10, random_state=1).counts)


@pytest.fixture(scope="module")
def topics(corpus):
    return bt.LDA(**SETTINGS, client=False, n_threads=1).fit(corpus).get_topics()


def test_documents_do_not_visit_all_topics(corpus, topics):
    model = bt.LDA(**SETTINGS, client=False, n_threads=1, options={"candidates": 35}).fit(corpus)
    assert np.abs(model.get_topics() - topics).max() > 1e-3


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads(n_threads, corpus, topics):
    model = bt.LDA(**SETTINGS, client=False, n_threads=n_threads).fit(corpus)
    np.testing.assert_array_equal(model.get_topics(), topics)


@pytest.mark.distributed
def test_workers(corpus, topics, three_workers):
    model = bt.LDA(**SETTINGS, client=three_workers).fit(corpus)
    np.testing.assert_array_equal(model.get_topics(), topics)


def test_a_run_that_is_resumed(corpus, topics, tmp_path):
    def stop(event):
        if event.kind == "round" and event.step > 120:
            raise KeyboardInterrupt

    often = bt.Checkpoint(tmp_path / "run", rounds=20)
    with pytest.raises(KeyboardInterrupt):
        bt.LDA(**SETTINGS, client=False, callbacks=[stop]).fit(corpus, checkpoint=often)
    resumed = bt.LDA(**SETTINGS, client=False).fit(corpus, checkpoint=often, resume=True)
    np.testing.assert_array_equal(resumed.get_topics(), topics)


def test_a_stored_model_infers_the_same(corpus, topics, tmp_path):
    model = bt.LDA(**SETTINGS, client=False).fit(corpus)
    model.save(tmp_path / "model.zarr")
    stored = bt.load_model(tmp_path / "model.zarr")
    np.testing.assert_array_equal(stored.get_topics(), topics)
    np.testing.assert_array_equal(stored.transform(corpus[:20]), model.transform(corpus[:20]))


# ---------------------------------------------------------------- params of sparse rows

MODES = ["whole", "graphs"]
# passes, documents of an update, and of a slice
SIZES = {"updates that begin from the same params": (1, 3, 3), "updates of many slices": (2, 100, 9)}
Bits = tuple[bytes, ...]

sparse_rows = pytest.mark.usefixtures("many_topics")
sizes = pytest.mark.parametrize("size", SIZES)


@pytest.fixture
def many_topics(monkeypatch) -> None:
    """Models made here are as those of thousands of topics. Workers get them as they are."""
    monkeypatch.setattr(new_model, "SPARSE_FROM", 8)


@pytest.fixture(scope="module")
def expected(corpus) -> dict[str, Bits]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new_model, "SPARSE_FROM", 8)
        return {size: learn(corpus, size) for size in SIZES}


def new(corpus: Any) -> TopicModel:
    return new_model.new_model(
        table.get("sparse-cvb0"), 140, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=5
    )


def learn(corpus: Any, size: str, executor: Any = None, **limits: Any) -> Bits:
    model, (n_passes, batch_size, slice_size) = new(corpus), SIZES[size]
    train(
        model,
        corpus,
        Limits(n_passes, **limits),
        batch_size=batch_size,
        slice_size=slice_size,
        n_threads=1,
        executor=executor,
    )
    return bits(model)


def bits(model: TopicModel) -> Bits:
    array = model.topic_words
    assert isinstance(array, SparseArray)
    return array.gather(None).tobytes(), array.totals().tobytes(), pickle.dumps(array.dropped)


def on(mode: str, client: Any = None, n_threads: int = 1) -> Any:
    return lambda run: executors.load(mode).make(run, client, n_threads)


@sparse_rows
def test_updates_of_few_documents_begin_from_the_same_params(corpus):
    run = make_run(new(corpus), corpus, batch_size=3, slice_size=3, order="shuffled")
    assert run.plan.concurrent == 4 and run.plan.replicas == 1


@sparse_rows
def test_the_statistics_of_an_exchange_are_as_large_as_candidates_make_them(corpus, monkeypatch):
    """Those that remain, and not all topics."""
    n_bytes = 8 * 8 * corpus.nnz / corpus.n_docs * 3
    monkeypatch.setattr(exchanges, "BYTES", 4 * n_bytes)
    assert make_run(new(corpus), corpus, batch_size=3, slice_size=3, order="shuffled").plan.concurrent == 4
    monkeypatch.setattr(exchanges, "BYTES", 3.9 * n_bytes)
    assert make_run(new(corpus), corpus, batch_size=3, slice_size=3, order="shuffled").plan.concurrent == 1


@sparse_rows
@sizes
@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_on_sparse_rows(n_threads, size, corpus, expected):
    assert learn(corpus, size, on("threads", n_threads=n_threads)) == expected[size]


@sparse_rows
@sizes
def test_graphs_on_sparse_rows(size, corpus, expected):
    assert learn(corpus, size, lambda run: GraphExecutor(run, scheduler="threads")) == expected[size]


@sparse_rows
@sizes
@pytest.mark.distributed
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shares_files", [True, False], ids=["files", "sent"])
def test_workers_on_sparse_rows(mode, shares_files, size, corpus, expected, three_workers, monkeypatch):
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.1)
    monkeypatch.setattr(sending, "shares_files", lambda *_: shares_files)
    n_signatures = len(_kernels.add_rows.signatures)
    assert learn(corpus, size, on(mode, three_workers)) == expected[size]
    assert len(_kernels.add_rows.signatures) == n_signatures  # statistics of workers are as those made here


@sparse_rows
@pytest.mark.distributed
@pytest.mark.parametrize("mode", MODES)
def test_workers_without_the_files_of_sparse_rows(mode, corpus, expected, other_host):
    size = "updates of many slices"
    assert learn(corpus, size, on(mode, other_host)) == expected[size]


@sparse_rows
@pytest.mark.slow
@pytest.mark.distributed
@pytest.mark.parametrize("mode", MODES)
def test_workers_that_die_with_sparse_rows(mode, corpus, expected, mortal_workers, monkeypatch):
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.05)
    size, killed = "updates that begin from the same params", []

    def kill(event: Any) -> None:
        if event.kind == "round" and event.step > 100 and not killed:
            killed.extend(mortal_workers.run(os.getpid).values())
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    assert learn(corpus, size, on(mode, mortal_workers), callbacks=[kill]) == expected[size]
    assert len(killed) == 3


@sparse_rows
@pytest.mark.distributed
def test_a_sparse_model_infers_the_same_on_workers(corpus, three_workers):
    model = bt.LDA(**{**SETTINGS, "max_iter": 1}, client=False).fit(corpus)
    topics = model.transform(corpus)
    np.testing.assert_array_equal(model.set_params(client=three_workers).transform(corpus), topics)


# ---------------------------------------------------------------- asynchronous runs, and replicas


@sparse_rows
def test_one_sparse_minibatch_in_flight_gives_the_bits_of_updates_one_by_one(corpus):
    found = []
    for settings, make in (
        ({"schedule": ONE_BY_ONE}, on("threads")),
        ({"asynchronous": True}, lambda run: AsynchronousExecutor(run, Threads(run, 1), in_flight=1)),
    ):
        model = new(corpus)
        run = make_run(model, corpus, batch_size=20, slice_size=9, order="shuffled", **settings)
        with make(run) as executor:
            for _ in executor.advance(model.params, Cursor(), Until()):
                pass  # both move these params
        found.append(bits(model))
    assert found[0] == found[1]


@sparse_rows
@pytest.mark.distributed
def test_asynchronous_workers_learn_sparse_rows(corpus, three_workers):
    settings = {**SETTINGS, "max_iter": 2}
    expected = bt.LDA(**settings, client=False).fit(corpus).score(corpus)
    model = bt.LDA(**settings, client=three_workers, asynchronous=True).fit(corpus)
    assert model.n_batch_iter_ == 180
    assert model.score(corpus) == pytest.approx(expected, rel=0.02)


@sparse_rows
def test_models_of_so_many_topics_have_no_replicas(corpus):
    with pytest.raises(
        SettingError, match=r"replicas=2: models of so many topics \(140\) have no .*; leave replicas out"
    ):
        bt.LDA(**SETTINGS, replicas=2).fit(corpus)


@sparse_rows
def test_long_runs_of_so_many_topics_have_no_replicas_by_default(corpus, monkeypatch):
    monkeypatch.setattr(new_run, "replicas_of_corpus", lambda *_: (32, 8))
    run = make_run(new(corpus), corpus, batch_size=10, slice_size=None, order="shuffled")
    assert run.plan.replicas == 1


@sparse_rows
def test_the_forecast_of_a_round_counts_candidates(corpus):
    """Not all topics."""
    for options, n_candidates in (({}, 8), ({"candidates": 4}, 4), ({"candidates": 16, "kept": 32}, 16)):
        model = new(corpus)
        model.options.update(options)
        run = make_run(model, corpus, batch_size=10, slice_size=None, order="shuffled")
        per_entry = choice.round_seconds(run) / (10 * corpus.nnz / corpus.n_docs)
        assert per_entry == pytest.approx(n_candidates * choice.NANOSECONDS_PER_CANDIDATE * 1e-9)
