"""Rounds of many slices, made by workers that share no files among themselves: the same bits as on threads, and the
params travel to each worker once."""

from __future__ import annotations

import os
import signal
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bigtopic.learning.all_reduce import copies
from bigtopic.learning.all_reduce.rows import joined_rows, split_rows
from bigtopic.learning.executors.copy_futures import CopyFutures

from bigtopic import methods as table
from bigtopic.corpus.store import Corpus
from bigtopic.learning.executors import among_workers, choice, graph_tasks, sending
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.methods.learned_priors import learning
from bigtopic.plan.slices import LONG_ROUND
from bigtopic.state.new_model import new_model
from bigtopic.types import AxisStats, Stats

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts
from reference.follower import bits

pytestmark = pytest.mark.distributed

PASSES = 4


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Params are sent, even to workers that see the files of this process; short rounds are divided, too."""
    for module in (sending, choice):
        monkeypatch.setattr(module, "shares_files", lambda *_: False)
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", -1.0)
    monkeypatch.setattr(graph_tasks, "TASK_SECONDS", 1e-9)


@pytest.fixture
def travels(monkeypatch) -> list[Any]:
    """Whom params are sent to: a list of workers, or None for a graph."""
    found: list[Any] = []
    give, graph = CopyFutures._give, GraphExecutor.map_reduce
    monkeypatch.setattr(CopyFutures, "_give", lambda self, *a: found.append(a[0]) or give(self, *a))
    monkeypatch.setattr(GraphExecutor, "map_reduce", lambda self, *a: found.append(None) or graph(self, *a))
    return found


def learn(
    corpus: Corpus,
    client: Any = None,
    method: str | Method = "vb",
    then: Callable[[], Any] = lambda: None,
    **sizes: Any,
) -> str:
    """Bits after some passes of 60 slices; `then` is called after the second."""

    def call(event: Any) -> None:
        if event.kind == "pass" and event.pass_number == 2:
            then()

    method = table.get(method) if isinstance(method, str) else method
    model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    sizes = {"slice_size": 5} | sizes
    train(model, corpus, Limits(PASSES, callbacks=[call]), client=client, n_threads=1, **sizes)
    assert model.cursor.step >= PASSES
    return bits(model.params)


@pytest.fixture(scope="module")
def expected(corpus) -> str:
    return learn(corpus)


def test_the_params_travel_to_each_worker_once(corpus, expected, other_address, travels):
    assert learn(corpus, other_address) == expected
    assert [sorted(workers) for workers in travels] == [sorted(other_address.nthreads())]


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("cvb", id="cvb"),
        pytest.param("ilr", id="ilr"),
        pytest.param("cgs", id="cgs"),
        pytest.param(learning(table.get("vb"), "asymmetric", "symmetric"), id="learned priors"),
        pytest.param(replace(table.get("vb"), average=0.5), id="average"),
    ],
)
def test_methods(corpus, other_address, method, travels):
    assert learn(corpus, other_address, method) == learn(corpus, method=method)
    assert len(travels) == 1


def test_large_minibatches(corpus, other_address, travels):
    sizes = {"method": "online-vb", "batch_size": -(-corpus.n_docs // 2), "slice_size": 3}
    assert learn(corpus, other_address, **sizes) == learn(corpus, **sizes)
    assert len(travels) == 1


def test_rounds_of_few_slices_are_graphs(corpus, other_address, travels):
    few = -(-corpus.n_docs // (LONG_ROUND - 1))
    assert learn(corpus, other_address, slice_size=few) == learn(corpus, slice_size=few)
    assert travels == [None] * PASSES


def test_a_worker_that_joins_is_the_only_one_to_get_them(corpus, expected, travels):
    with hosts.scheduler() as client, ExitStack() as late:
        late.enter_context(hosts.worker(client))
        first = list(client.nthreads())
        assert learn(corpus, client, then=lambda: late.enter_context(hosts.worker(client))) == expected
        joined = [worker for worker in client.nthreads() if worker not in first]
        assert travels == [first, joined] and len(joined) == 1


def test_a_worker_that_dies_between_passes(corpus, expected, travels):
    with hosts.scheduler() as client, hosts.worker(client), hosts.worker(client) as other:
        assert learn(corpus, client, then=other.kill) == expected
        assert len(travels[0]) == 2


@pytest.mark.parametrize("method", ["vb", "ilr"])
@pytest.mark.parametrize("end", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)])
def test_a_worker_that_ends_in_a_round(corpus, travels, monkeypatch, end, method):
    expected = learn(corpus, method=method)
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "4s")
    with hosts.scheduler() as client, hosts.worker(client), hosts.worker(client) as other:
        advance = CopyFutures.advance

        def first(self: Any, n_updates: int) -> None:
            advance(self, n_updates)
            if self.version.n_updates == 3:
                os.kill(other.pid, end)

        monkeypatch.setattr(CopyFutures, "advance", first)
        begun = time.monotonic()
        assert learn(corpus, client, method) == expected
        assert time.monotonic() - begun < 100
        assert len(travels[0]) == 2


def test_workers_that_lose_their_copies_are_not_given_any_more(corpus, expected, other_address, travels):
    def forget() -> None:
        copies._copies.clear()

    assert learn(corpus, other_address, then=lambda: other_address.run(forget)) == expected
    assert len(travels[0]) == 4 and travels[1:] == [None] * 2


def test_copies_that_cannot_be_given_are_not_needed(corpus, expected, other_address, travels, monkeypatch):
    def fail(self: Any, *_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(CopyFutures, "_give", fail)
    assert learn(corpus, other_address) == expected
    assert travels == [None] * PASSES


def test_an_interrupt_in_a_round(corpus, expected, other_address, monkeypatch):
    advance = CopyFutures.advance

    def interrupt(self: Any, n_updates: int) -> None:
        advance(self, n_updates)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(CopyFutures, "advance", interrupt)
        with pytest.raises(KeyboardInterrupt):
            learn(corpus, other_address)
    assert learn(corpus, other_address) == expected


def test_workers_that_add_up_in_groups_learn_the_same_bits(corpus, expected, other_address, travels):
    with hosts.in_groups(other_address):
        assert learn(corpus, other_address) == expected
    assert len(travels) == 1


def test_more_workers_than_slices_are_for(corpus, other_address, monkeypatch):
    """Some have nothing to do."""
    monkeypatch.setattr(among_workers, "n_tasks", lambda *_: 2)
    assert learn(corpus, other_address) == learn(corpus)


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 1, 0, 3]])
def test_parts_are_together_the_whole(order):
    rng = np.random.default_rng(0)
    rows = AxisStats(rng.permutation(50).astype(np.int32)[:37], rng.random((37, 16)))
    one = Stats({"topics": rows, "prior": AxisStats(None, rng.random((1, 16)))}, 7, 21.5, {"bound": -3.0})
    split = list(split_rows([(1, one)], order))
    assert [(i, len(part)) for i, part in split] == [(i, 1) for i in order]
    for i, ((_, part),) in split:
        assert np.all(part.arrays["topics"].ids % 4 == i)
    found = joined_rows([part for _, ((_, part),) in split])
    order = np.argsort(rows.ids)
    assert np.array_equal(found.arrays["topics"].ids, rows.ids[order])
    assert np.array_equal(found.arrays["topics"].values, rows.values[order])
    assert found.arrays["prior"].ids is None
    assert np.array_equal(found.arrays["prior"].values, one.arrays["prior"].values)
    assert (found.n_docs, found.n_tokens, found.info) == (7, 21.5, {"bound": -3.0})


def test_nodes_are_let_go_as_they_are_divided():
    nodes = [
        (size, Stats({"topics": AxisStats(np.arange(9), np.full((9, 16), size))}, 7, 21.5))
        for size in (2, 1, 1)
    ]
    values = [weakref.ref(one.arrays["topics"].values) for _, one in nodes]
    made = split_rows(nodes, [1, 2, 0])
    i, part = next(made)
    assert i == 1 and [size for size, _ in part] == [2, 1, 1]
    assert [one() is None for one in values] == [True, True, False]
    assert [i for i, _ in made] == [2, 0] and values[2]() is None
