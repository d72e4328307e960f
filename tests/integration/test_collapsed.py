"""Collapsed methods on every executor, cut and continued: the same bits, and counts of what documents remember."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import log_predictive
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.learning.executors.whole import WholeExecutor
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model

sys.path.insert(0, str(Path(__file__).parent))

from collapsed import CGS, METHODS

N_COMPONENTS, N_PASSES = 4, 3
EXECUTORS = {
    "two threads": lambda run: ThreadExecutor(run, 2),
    "five threads": lambda run: ThreadExecutor(run, 5),
    "graph, sync": lambda run: GraphExecutor(run, scheduler="sync"),
    "graph, threads": lambda run: GraphExecutor(run, scheduler="threads"),
}


def interrupt(event: Any) -> None:
    """Ctrl-C in the middle of the second pass."""
    if event.kind == "round" and event.step == 7:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


pytestmark = pytest.mark.battery


@pytest.fixture(params=METHODS.values(), ids=METHODS)
def method(request) -> Method:
    return request.param


def learn(method: Method, corpus: Any, n_passes: int = N_PASSES, model: Any = None, **set: Any) -> TopicModel:
    model = model or new_model(method, N_COMPONENTS, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=3)
    sizes = {"batch_size": 70, "slice_size": 20, "n_threads": 1}
    callbacks = set.pop("callbacks", ())
    train(model, corpus, Limits(n_passes, callbacks=callbacks), **{**sizes, **set})
    return model


def bits(model: TopicModel) -> dict[str, bytes]:
    return {name: array.raw.tobytes() + array.sums.tobytes() for name, array in model.params.arrays.items()}


@pytest.fixture(scope="module")
def expected(corpus) -> Callable[[Method], dict[str, bytes]]:
    """What one thread learns; each is computed once."""
    known: dict[str, dict[str, bytes]] = {}

    def of(method: Method) -> dict[str, bytes]:
        if method.name not in known:
            known[method.name] = bits(learn(method, corpus))
        return known[method.name]

    return of


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS)
def test_every_executor_computes_the_same_bits(executor, method, corpus, expected):
    assert bits(learn(method, corpus, executor=executor)) == expected(method)


@pytest.mark.distributed
@pytest.mark.parametrize("executor", [WholeExecutor, GraphExecutor])
def test_workers_compute_them_too(executor, method, corpus, expected, three_workers):
    assert bits(learn(method, corpus, executor=lambda run: executor(run, three_workers))) == expected(method)


def test_a_run_that_is_cut_goes_on_to_the_same_bits(method, corpus, expected):
    model = learn(method, corpus, callbacks=[interrupt])
    assert model.cursor.inside_pass and model.cursor.pass_number == 1
    assert bits(learn(method, corpus, N_PASSES - 1, model)) == expected(method)


def test_a_run_resumes_from_its_checkpoint(method, corpus, tmp_path):
    settings = {"batch_size": 70, "max_iter": N_PASSES, "client": False, "n_threads": 1, "random_state": 3}
    plain = LDA(N_COMPONENTS, method=method, **settings).fit(corpus)
    LDA(N_COMPONENTS, method=method, callbacks=[interrupt], **settings).fit(
        corpus, checkpoint=tmp_path / "run"
    )
    resumed = LDA(N_COMPONENTS, method=method, **settings).fit(
        corpus, checkpoint=tmp_path / "run", resume=True
    )
    np.testing.assert_array_equal(resumed.components_, plain.components_)


def counted(model: TopicModel, corpus: Any) -> np.ndarray:
    """Expected counts of words in topics, from what is remembered of the documents."""
    found = np.zeros((len(corpus.vocabulary), N_COMPONENTS))
    for number, part in enumerate(corpus.parts):
        block, state = part.read(0, part.n_docs), model.remembered(number, 0, part.n_docs)
        if "labels" in state:
            tokens = np.repeat(block.words, block.counts.astype(int))
            for labels in state["labels"].T:
                np.add.at(found, (tokens, labels), 1 / state["labels"].shape[1])
        else:
            shares = state["shares"] / state["shares"].sum(axis=1, keepdims=True, dtype=float)
            np.add.at(found, block.words, block.counts[:, None] * shares)
    return found


def test_counts_are_those_of_what_is_remembered(method, corpus):
    """After every pass; slices know each other's changes late, and lose none."""
    model = None
    for _ in range(N_PASSES):
        model = learn(method, corpus, 1, model)
        statistics = model.topic_words.gather(None)[:, :N_COMPONENTS] - model.topic_words.prior
        np.testing.assert_allclose(statistics, counted(model, corpus), rtol=0, atol=1e-9)
        assert model.topic_words.totals().sum() == pytest.approx(corpus.n_tokens, rel=1e-12)
    if method.name == "cgs":
        assert (model.topic_words.raw == np.round(model.topic_words.raw)).all()


def test_it_learns(method, corpus):
    """Held-out words are far likelier than under the words' frequencies alone, by many standard errors."""
    held_in, held_out = corpus.split(100, random_state=1)
    model = LDA(N_COMPONENTS, method=method, max_iter=30, batch_size=40, client=False, random_state=0).fit(
        held_in
    )
    one_topic = log_predictive(LDA(1, method="vb", max_iter=1, client=False).fit(held_in), held_out)
    gain, error = log_predictive(model, held_out).minus(one_topic)
    assert gain > 10 * error > 0


def test_documents_of_weights_have_no_labels(corpus):
    counts = corpus.to_scipy() * 0.5
    with pytest.raises(SettingError, match=r"'labels'.*whole numbers"):
        LDA(N_COMPONENTS, method=CGS, client=False).fit(counts)


def test_one_replica_is_the_sampler(corpus, expected):
    assert bits(learn(replace(CGS, options={"replicas": 1}), corpus)) == expected(CGS)
