"""Runs on graphs and clusters: keys, failures, workers that die, limits. That all executors give the same bits is a
conformance test."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from reference import serial

from bigtopic import methods as table
from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.errors import BigtopicWarning, CorpusDamaged
from bigtopic.estimators.lda import LDA
from bigtopic.learning import executors, sharing
from bigtopic.learning.executors import choice, whole
from bigtopic.learning.executors.base import Until
from bigtopic.learning.executors.graph_tasks import n_nodes, placed, remembering_graph, sum_graph
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.learning.new_run import make_run
from bigtopic.learning.reduce import cut
from bigtopic.learning.replicas.share import Share
from bigtopic.learning.run import Iteration, Run
from bigtopic.learning.stopping import Limits
from bigtopic.learning.tasks import ShareTask, SliceTask, nodes
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.parallel import cluster
from bigtopic.plan import exchanges
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.slices import Round, SliceRef
from bigtopic.state.new_model import new_model
from bigtopic.state.params import Params

pytestmark = pytest.mark.usefixtures("replicas_of_large_corpora")


def learn(
    method: str | Method, corpus: Corpus, executor: Any = None, n_passes: int = 2, **limits: Any
) -> Any:
    """A model of 4 topics; minibatches of 70 in slices of 9, so that trees, parts and last slices are uneven."""
    method = table.get(method)
    model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=5)
    batch_size = None if method.batch_size is None else 70
    train(
        model,
        corpus,
        Limits(n_passes, **limits),
        batch_size=batch_size,
        slice_size=9,
        n_threads=1,
        executor=executor,
    )
    return model


def bits(model: Any) -> tuple[bytes, bytes, bytes]:
    array = model.topic_words
    return array.raw.tobytes(), array.scale.tobytes(), array.sums.tobytes()


@pytest.fixture(scope="module")
def in_parts(corpus) -> Corpus:
    """The shared corpus in three parts of different sizes."""
    whole = corpus.read(order="stored")
    cuts = [0, 41, 170, 300]
    pairs = itertools.pairwise(cuts)
    parts = [MemoryPart(f"{a}-{b}", whole[a:b]) for a, b in pairs]
    return Corpus(parts, corpus.vocabulary)


@pytest.fixture(scope="module")
def many_slices(in_parts) -> tuple[Run, Params]:
    """One pass of `vb`, in more than 150 slices."""
    model = new_model(table.get("vb"), 4, in_parts.vocabulary, n_tokens=in_parts.n_tokens, seed=5)
    return make_run(model, in_parts, batch_size=None, slice_size=2, order="shuffled"), model.params


def after_a_round(executor: Any, params: Params) -> bytes:
    with executor:
        ((params, _),) = executor.advance(params.copy(), Cursor(), Until())
    return params["topic_words"].raw.tobytes()


def test_rounds_of_many_slices_give_the_same_bits(many_slices):
    run, params = many_slices
    ((expected, _),) = serial.learn(run, params, 1)
    makes = [lambda n=n: ThreadExecutor(run, n) for n in (1, 2, 5)]
    for make in [*makes, lambda: GraphExecutor(run, scheduler="threads")]:
        assert after_a_round(make(), params) == expected["topic_words"].raw.tobytes()


@pytest.mark.slow
@pytest.mark.distributed
def test_rounds_of_many_slices_give_the_same_bits_when_a_task_is_lost(many_slices, mortal_workers):
    run, params = many_slices
    ((expected, _),) = serial.learn(run, params, 1)
    bits = expected["topic_words"].raw.tobytes()
    assert after_a_round(GraphExecutor(run, mortal_workers), params) == bits
    ended = threading.Timer(
        0.05, lambda: os.kill(min(mortal_workers.run(os.getpid).values()), signal.SIGKILL)
    )
    ended.start()
    assert after_a_round(GraphExecutor(run, mortal_workers), params) == bits
    ended.join()


def test_a_long_round_is_several_tasks_for_each_thread_and_a_short_one_a_task():
    assert [n_nodes(threads, 1e4) for threads in (0, 1, 10)] == [32, 32, 40]
    assert [n_nodes(threads, 0.0) for threads in (0, 1, 10)] == [1, 1, 10]


def tasks_of(run: Run) -> list[SliceTask]:
    return [SliceTask(ref, Iteration(1)) for ref in next(run.plan.rounds(0)).slices]


def test_nodes_are_those_of_the_merge_tree_and_read_no_documents_of_each_other(many_slices):
    run, _ = many_slices
    tasks = tasks_of(run)
    for wanted in (1, 7, 1000):
        found = nodes(tasks, wanted)
        assert len(found) >= min(len(tasks), wanted)
        assert list(map(len, found)) == cut(len(tasks), len(found))
        assert [(one.ref.part, one.ref.start, one.ref.stop) for node in found for one in node] == [
            (one.ref.part, one.ref.start, one.ref.stop) for one in tasks
        ]
        read = [{one.ref.read_block for one in node} for node in found]
        assert sum(stop - start for blocks in read for _, start, stop in blocks) == run.plan.n_docs


def test_consecutive_tasks_are_for_the_same_worker():
    assert placed(8, {"b": 1, "a": 3}) == ["a"] * 6 + ["b"] * 2
    assert placed(2, {"a": 2, "b": 2}) == ["a", "b"]


def test_task_keys_stay_in_one_group_per_kind(in_parts):
    """A new key prefix per round would leak memory in the scheduler."""
    from dask.utils import key_split

    model = new_model(table.get("vb"), 4, in_parts.vocabulary, n_tokens=in_parts.n_tokens)
    run = make_run(model, in_parts, batch_size=None, slice_size=9, order="shuffled")
    names = set()
    for name in ("a", "b"):
        graph = sum_graph(run, nodes(tasks_of(run), 8), model.params.arrays, name=name)
        names |= {key_split(key) for key in graph.dask}
    assert {name for name in names if name.startswith("bt-")} == {"bt-estep", "bt-add"}
    assert len(names) <= 3


class _SecretRef(SliceRef):
    """A slice whose fields nobody may read."""

    def __getattribute__(self, name: str) -> Any:
        assert name not in ("part", "start", "stop"), "the graph of a round looks into its slices"
        return super().__getattribute__(name)


def test_graphs_do_not_look_into_their_slices():
    """Dask looks for tasks in the arguments of tasks; among millions of documents it took longer than the step."""
    ref = _SecretRef(0, 0, 9, 0, 9)
    share = Share([Round(0, (ref,), 9)], [Cursor(0, 0, 0)], 2)
    for task in (SliceTask(ref, Iteration(1)), ShareTask(share)):
        sum_graph("run", [(task,), (task,)], "params", "name")
        remembering_graph("run", [(task,), (task,)], "params", [], "name")


def test_document_order_changes_nothing_but_rounding_in_a_batch_method(synthetic):
    """Batch learning sees all documents at once: another order of them gives the same topics."""
    stored = from_matrix(synthetic.counts, shuffle=False)
    shuffled = from_matrix(synthetic.counts, shuffle=True, random_state=9)
    one, other = (learn("vb", docs, n_passes=3).topic_words.gather(None) for docs in (stored, shuffled))
    np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)


# ---------------------------------------------------------------- failures


class Damaged:
    """A part that cannot be read beyond some document."""

    def __init__(self, part: Any, first_bad: int) -> None:
        self._part, self._first_bad = part, first_bad
        self.n_docs, self.nnz, self.n_tokens = part.n_docs, part.nnz, part.n_tokens
        self.fingerprint = "damaged"
        self.entries, self.tokens = part.entries, part.tokens

    def read(self, start, stop):
        if stop > self._first_bad:
            raise CorpusDamaged("part 0: indices are missing")
        return self._part.read(start, stop)


def fails_soon(work: Callable[[], object]) -> BaseException:
    """What `work` raises, in a thread that may hang without hanging the tests."""
    raised: list[BaseException] = []

    def catch() -> None:
        try:
            work()
        except CorpusDamaged as error:
            raised.append(error)

    thread = threading.Thread(target=catch, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "the run hangs"
    return raised[0]


@pytest.mark.parametrize("batch_size", [5, None])
def test_a_damaged_part_ends_the_run_with_its_name(corpus, batch_size):
    """Two threads: neither waits for a read block that nobody reads any more."""
    broken = Corpus([Damaged(corpus.parts[0], 200)], corpus.vocabulary)
    model = new_model(table.get("online-cvb0"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    sizes = {"batch_size": batch_size, "slice_size": 2}
    raised = fails_soon(lambda: train(model, broken, Limits(1), order="stored", n_threads=2, **sizes))
    assert "part 0" in str(raised)


@pytest.mark.distributed
@pytest.mark.parametrize("mode", ["whole", "graphs"])
def test_a_damaged_part_ends_the_run_on_workers_with_its_name(mode, corpus, one_worker):
    """The first error is told, not what a second attempt meets."""
    broken = Corpus([Damaged(corpus.parts[0], 200)], corpus.vocabulary)
    with pytest.raises(CorpusDamaged, match="part 0"):
        learn("online-cvb0", broken, lambda run: executors.load(mode).make(run, one_worker, 1))


def test_a_failure_leaves_nobody_waiting_for_a_read_block_in_the_queue(corpus):
    """Slices wait for read blocks that the reading thread has not come to yet when another read block turns out to be
    damaged."""

    class Slow(Damaged):
        def read(self, start, stop):
            time.sleep(0.01)
            return super().read(start, stop)

    whole = corpus.read(order="stored")
    pieces = [MemoryPart(str(first), whole[first : first + 3]) for first in range(0, 180, 3)]
    parts = [Slow(part, 0 if number == 20 else 3) for number, part in enumerate(pieces)]
    model = new_model(table.get("vb"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    raised = fails_soon(lambda: train(model, Corpus(parts, corpus.vocabulary), Limits(1), n_threads=2))
    assert "part 0" in str(raised)


KERNEL_FILE = '''
"""CVB0 that ends its process when it first meets a document, once for each flag file that is there."""

import os
from dataclasses import replace
from pathlib import Path

from bigtopic.kernels.collapsed import cvb0


def run(docs, view, hyper, seed, state=None):
    flag = Path(hyper.options["flag"])
    if 77 in docs.rows and flag.exists():
        flag.unlink()
        os._exit(1)
    return cvb0.run(docs, view, hyper, seed, state)


KERNEL = replace(cvb0.KERNEL, name="dies", run=run, options={**cvb0.KERNEL.options, "flag": "none"})
'''


@pytest.fixture
def dying(tmp_path, toy) -> Method:
    """online-cvb0 whose worker dies in the middle of a task."""
    path = tmp_path / "dying_kernel.py"
    path.write_text(KERNEL_FILE)
    method = table.get("online-cvb0")
    return Method(
        **{
            **vars(method),
            "name": "dies",
            "kernel": toy(path).KERNEL,
            "options": {"flag": str(tmp_path / "flag")},
        }
    )


@pytest.mark.distributed
@pytest.mark.parametrize(
    ("cluster", "mode"),
    [
        ("mortal_worker", "whole"),
        ("mortal_workers", "graphs"),
        pytest.param("mortal_worker", "graphs", marks=pytest.mark.slow),
        pytest.param("mortal_workers", "whole", marks=pytest.mark.slow),
    ],
)
def test_a_worker_that_dies_in_a_task_changes_nothing(cluster, mode, dying, in_parts, tmp_path, request):
    client = request.getfixturevalue(cluster)
    client.upload_file(str(tmp_path / "dying_kernel.py"), load=False)
    alive = learn(dying, in_parts)
    (tmp_path / "flag").touch()
    model = learn(dying, in_parts, lambda run: executors.load(mode).make(run, client, 1))
    assert not (tmp_path / "flag").exists()
    assert bits(model) == bits(alive)


@pytest.mark.distributed
def test_a_worker_that_dies_with_a_replica_changes_nothing(dying, in_parts, tmp_path, mortal_workers):
    mortal_workers.upload_file(str(tmp_path / "dying_kernel.py"), load=False)
    settings = {"method": dying, "batch_size": 30, "max_iter": 4, "replicas": 2, "replica_updates": 2}

    def endanger(event):
        if event.kind == "round" and event.step == 30:
            (tmp_path / "flag").touch()

    alive = LDA(4, client=False, n_threads=1, **settings).fit(in_parts)
    model = LDA(4, client=mortal_workers, callbacks=[endanger], **settings).fit(in_parts)
    assert not (tmp_path / "flag").exists()
    assert bits(model._model) == bits(alive._model)


@pytest.mark.distributed
@pytest.mark.parametrize("mode", ["whole", "graphs"])
def test_a_run_travels_once(mode, in_parts, one_worker, monkeypatch):
    """With a corpus in memory it is large; there are ten rounds, each a task or a graph of its own."""
    sent, send = [], cluster.send
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 1e-9)
    monkeypatch.setattr(cluster, "send", lambda client, data: sent.append(type(data)) or send(client, data))
    model = learn("online-vb", in_parts, lambda run: executors.load(mode).make(run, one_worker, 1))
    assert model.cursor.step == 10 and sent == [Run]


@pytest.mark.costly
@pytest.mark.distributed
@pytest.mark.parametrize("mode", ["whole", "graphs"])
def test_workers_that_die_between_rounds_take_what_they_held(mode, in_parts, mortal_worker, monkeypatch):
    """The only worker is killed after two rounds, and with it the run and the params that were sent to it."""
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.01)
    killed = []

    def kill(event):
        if event.kind == "round" and event.step == 2:
            for pid in mortal_worker.run(os.getpid).values():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    alive = learn("online-cvb0", in_parts)
    model = learn(
        "online-cvb0",
        in_parts,
        lambda run: executors.load(mode).make(run, mortal_worker, 1),
        callbacks=[kill],
    )
    assert killed and bits(model) == bits(alive)


# ---------------------------------------------------------------- estimators and stores


@pytest.fixture(scope="module")
def stored(synthetic, tmp_path_factory) -> Corpus:
    """The shared documents as an ingested store of several small parts."""
    ingest = pytest.importorskip("bigtopic.ingestion.ingest")
    words = [f"w{i}" for i in range(80)]
    return ingest.ingest(synthetic.counts, str(tmp_path_factory.mktemp("store") / "c.zarr"), vocabulary=words)


@pytest.mark.distributed
def test_an_estimator_learns_and_infers_the_same_from_a_store(stored, one_worker, three_workers):
    def estimate(**settings):
        model = LDA(4, max_iter=2, batch_size=70, random_state=2, **settings).fit(stored)
        scores = model.score(stored), model.representative_documents(stored, 2)
        return model.components_.tobytes(), model.transform(stored).tobytes(), scores

    expected = estimate(n_threads=1, client=False)
    assert estimate(n_threads=2, client=False) == expected
    assert estimate(client=one_worker) == expected
    assert estimate(client=three_workers) == expected


@pytest.mark.distributed
def test_a_current_client_is_found_and_can_be_declined(corpus, one_worker, monkeypatch):
    used = []
    submit = type(one_worker).submit

    def spy(self, function, *args, **settings):
        used.append(function.__name__)
        return submit(self, function, *args, **settings)

    monkeypatch.setattr(type(one_worker), "submit", spy)
    with one_worker.as_current():
        model = LDA(4, method="online-cvb0", max_iter=1, client=False).fit(corpus)
        model.transform(corpus), model.score(corpus)
        assert not used
        LDA(4, method="online-cvb0", max_iter=1).fit(corpus)
        assert used


def bits_after(steps: int, corpus: Corpus) -> tuple[bytes, bytes, bytes]:
    """What one thread has learnt after so many updates."""

    def stop(event: Any) -> None:
        if event.kind == "round" and event.step == steps:
            signal.raise_signal(signal.SIGINT)

    return bits(learn("online-cvb0", corpus, n_passes=steps, callbacks=[stop]))


@pytest.mark.distributed
@pytest.mark.parametrize("mode", ["whole", "graphs"])
def test_an_interrupted_run_on_workers_stands_where_it_says(mode, in_parts, one_worker):
    """Rounds that were done together are reported one by one; params and cursor belong together all the same."""

    def interrupt(event: Any) -> None:
        if event.kind == "round" and event.step == 3:
            signal.raise_signal(signal.SIGINT)

    model = learn(
        "online-cvb0",
        in_parts,
        lambda run: executors.load(mode).make(run, one_worker, 1),
        4,
        callbacks=[interrupt],
    )
    assert 3 <= model.cursor.step < 20
    assert bits(model) == bits_after(model.cursor.step, in_parts)


@pytest.mark.distributed
def test_a_second_interrupt_comes_when_topics_and_cursor_have_moved(in_parts, one_worker, monkeypatch):
    """It is raised while the driver reads the topics that a worker returns, over its own."""
    read, n_read = sharing.read_arrays, itertools.count(1)

    def interrupted(*inputs):
        found = read(*inputs)
        for _ in range(2 * (next(n_read) == 2)):
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(sharing, "read_arrays", interrupted)
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.05)
    model = new_model(table.get("online-cvb0"), 4, in_parts.vocabulary, n_tokens=in_parts.n_tokens, seed=5)
    with pytest.raises(KeyboardInterrupt):
        train(model, in_parts, Limits(10_000), client=one_worker, batch_size=70, slice_size=9)
    assert next(n_read) == 3 and 0 < model.cursor.step < 50_000
    assert bits(model) == bits_after(model.cursor.step, in_parts)


@pytest.mark.distributed
@pytest.mark.parametrize("mode", ["whole", "graphs"])
def test_a_time_limit_on_workers_truncates(mode, in_parts, one_worker):
    model = learn(
        "online-cvb0",
        in_parts,
        lambda run: executors.load(mode).make(run, one_worker, 1),
        10_000,
        max_time=0.3,
    )
    assert 0 < model.cursor.step < 50_000
    assert bits(model) == bits_after(model.cursor.step, in_parts)


@pytest.mark.distributed
def test_workers_that_stay_idle_for_long_are_worth_a_warning(corpus, one_worker, three_workers, monkeypatch):
    monkeypatch.setattr(choice, "LONG_PASS_SECONDS", 0.0)
    with pytest.warns(BigtopicWarning, match="batch_size"):
        LDA(4, method="online-cvb0", max_iter=1, client=three_workers).fit(corpus)
    LDA(4, method="online-cvb0", max_iter=1, client=one_worker).fit(
        corpus
    )  # no worker is idle: warnings are errors here


@pytest.mark.slow
@pytest.mark.distributed
def test_a_long_pass_learns_the_same_on_a_cluster_without_being_told_to_divide(three_workers, monkeypatch):
    """Its replicas follow from its minibatches; four of them, so that these need not be many."""
    monkeypatch.setattr(exchanges, "REPLICAS", 4)
    begun: list[int] = []
    map_reduce = GraphExecutor.map_reduce

    def noted(self, rounds, arrays):
        begun.append(sum(isinstance(task, ShareTask) for task in rounds[0]))
        return map_reduce(self, rounds, arrays)

    monkeypatch.setattr(GraphExecutor, "map_reduce", noted)
    long = from_matrix(np.random.default_rng(0).poisson(1.0, (32 * 60, 12)))
    settings = {"batch_size": 1, "max_iter": 1, "random_state": 0, "progress": False}
    fitted = [LDA(4, client=client, n_threads=2, **settings).fit(long) for client in (three_workers, False)]
    assert set(begun[-5:]) == {4}
    assert fitted[0].components_.tobytes() == fitted[1].components_.tobytes()


@pytest.mark.slow
@pytest.mark.distributed
def test_short_rounds_before_replicas_begin_are_no_graphs(one_worker, corpus, monkeypatch):
    """Of a pass of 60 rounds, graphs make at most the one that is left at its end."""
    made: list[int] = []
    map_reduce = GraphExecutor.map_reduce

    def noted(self, rounds, arrays):
        made.extend(task.iteration.step for tasks in rounds for task in tasks if isinstance(task, SliceTask))
        return map_reduce(self, rounds, arrays)

    monkeypatch.setattr(GraphExecutor, "map_reduce", noted)
    settings = {"batch_size": 5, "max_iter": 1, "replicas": 3, "replica_updates": 2, "progress": False}
    fitted = [LDA(4, client=client, n_threads=1, **settings).fit(corpus) for client in (one_worker, False)]
    assert set(made) <= {60}
    assert fitted[0].components_.tobytes() == fitted[1].components_.tobytes()
