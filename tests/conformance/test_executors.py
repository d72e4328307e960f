"""What every executor promises (`executors.base.Executor`), for every method of the table and every toy."""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bigtopic import methods as table
from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError
from bigtopic.learning import executors
from bigtopic.learning.executors import sending
from bigtopic.learning.executors.base import Executor, Until
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.new_run import make_run, with_document_state
from bigtopic.learning.run import Run
from bigtopic.methods import Method
from bigtopic.plan import exchanges
from bigtopic.plan.cursor import Cursor
from bigtopic.state.axes import axes_of
from bigtopic.state.documents.state_files import StateFiles
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "integration"))

import hosts
import machines
import toys
from conformance.newcomer import Processes, ProcessExecutor
from reference import serial
from reference.follower import Follower, Truth, bits

pytestmark = pytest.mark.usefixtures("replicas_of_large_corpora")


def get(name: str) -> Method:
    """A method of the table, with at most 3 inner iterations unless a rule ends them; one of them is burn-in."""
    method = table.get(name)
    if not isinstance(method.inner, int) or method.inner == 1:
        return method
    few = {"burn_in": 1} if "burn_in" in method.options else {}
    return replace(method, inner=3, options={**method.options, **few})


AVERAGED = {
    f"{name}-averaged": replace(get(name), average=0.6) for name in ("online-cvb0", "g-oem++", "cgs", "lds")
}
# Those that interpolate, averaged; add; have inner iterations and document state of a round, or of a run and authors.
REPLICATED = {
    f"{method.name}-replicas": replace(method, name=f"{method.name}-replicas")
    for method in (
        replace(get("online-cvb0"), average=0.6),
        get("streaming-vb"),
        replace(get("v-oem++"), inner=2),
        get("author-cgs"),
    )
}
METHODS = {name: get(name) for name in table.names()} | toys.METHODS | AVERAGED | REPLICATED
# One of each kind that executors tell apart: all documents at once, minibatches, delayed updates, inner iterations, and
# document state of a round or of a run; means; and replicas.
KINDS = ["vb", "online-ope", "online-cvb0", "svb", "v-oem++", "cgs", "labels", "stopping", *AVERAGED]
KINDS += ["online-cvb0-replicas", "author-cgs-replicas"]
CUT_ON_CLUSTERS = [name for name in KINDS if name not in AVERAGED or name == "online-cvb0-averaged"]
TWICE_ON_CLUSTERS = ["online-cvb0", *REPLICATED]  # their second pass is unlike the first
ON_ONE_WORKER = ["vb", "online-cvb0", "v-oem++", "labels", "online-cvb0-replicas"]
SYNCHRONOUS = [name for name in executors.names() if executors.load(name).synchronous]
CLIENTS = [name for name in SYNCHRONOUS if executors.load(name).on_client]
N_PASSES, CUTS, N_AUTHORS = 2, [0, 17, 61, 120], 6

Make = Callable[[Run], Executor]


def in_process() -> Iterator[tuple[str, Make]]:
    """Every executor that needs no client, with some numbers of threads; graphs under other schedulers; one of
    processes, which all runs share."""
    for name in SYNCHRONOUS:
        for n_threads in (1, 2, 5):
            if name not in CLIENTS:
                make = executors.load(name).make
                yield f"{name}, {n_threads}", lambda run, m=make, n=n_threads: m(run, None, n)
    for scheduler in ("sync", "threads"):
        yield f"graphs, {scheduler}", lambda run, s=scheduler: GraphExecutor(run, scheduler=s)
    processes = Processes(2, hosts.forks)
    yield "newcomer, 2", lambda run: ProcessExecutor(run, processes)


MAKES = dict(in_process())


@pytest.fixture(params=MAKES.values(), ids=MAKES.keys())
def make(request) -> Make:
    return request.param


@pytest.fixture(autouse=True, scope="module")
def exchanges_of_a_large_corpus() -> Iterator[None]:
    """Twelve rounds begin from the same params."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchanges, "ROUNDS", 1)
        yield


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def documents(corpus) -> Corpus:
    """Some documents in three parts of different sizes, each of one or two authors."""
    rng = np.random.default_rng(0)
    whole, n_docs = corpus.read(order="stored"), CUTS[-1]
    n_writers = rng.integers(1, 3, n_docs)
    writers = [np.sort(rng.choice(N_AUTHORS, n, replace=False)) for n in n_writers]
    block = replace(
        whole[:n_docs],
        author_indptr=np.concatenate([[0], np.cumsum(n_writers)]),
        authors=np.concatenate(writers).astype(np.int32),
    )
    parts = [MemoryPart(f"{first}-{last}", block[first:last]) for first, last in pairwise(CUTS)]
    # so many words that their params reach workers in files; those of authors do not
    words, names = ([f"{kind}{i}" for i in range(n)] for kind, n in (("w", 400), ("author ", N_AUTHORS)))
    return Corpus(parts, Vocabulary(words), author_vocabulary=Vocabulary(names))


def sizes(method: Method) -> tuple[int | None, int | None]:
    """Documents of an update and of a slice: one pass of 24 slices; of 24 updates in exchanges; or of four."""
    if method.batch_size is None:
        return None, 5
    return (5, None) if method.name in ("online-cvb0", "online-author-cvb0", *REPLICATED) else (35, 9)


def begin(method: Method, documents: Corpus) -> tuple[Run, TopicModel]:
    """A run, and the model that it begins with, which keeps what documents remember."""
    axes = axes_of(method.model, documents)
    model = new_model(method, toys.n_components(method), axes, n_tokens=documents.n_tokens, seed=3)
    batch_size, slice_size = sizes(method)
    run = make_run(
        model,
        documents,
        batch_size=batch_size,
        slice_size=slice_size,
        order="shuffled",
        max_iter=N_PASSES,
        replicas=3 if method.name in REPLICATED else 1,
        replica_updates=2,
    )
    return with_document_state(run, model, documents), model


@pytest.fixture(scope="module")
def truth(documents) -> Callable[[str], Truth]:
    """By method; each is computed once."""
    known: dict[str, Truth] = {}

    def of(name: str) -> Truth:
        if name not in known:
            run, model = begin(METHODS[name], documents)
            known[name] = Truth.of(model.params, serial.learn(run, model.params, N_PASSES))
        return known[name]

    return of


def follower(
    name: str, run: Run, model: TopicModel, truth: Callable[[str], Truth], n_passes: int = N_PASSES
) -> Follower:
    return Follower(truth(name), model.params, run.plan.n_rounds, n_passes)


def cuts(run: Run, pass_number: int) -> set[int]:
    """Rounds of a pass before which it may be cut."""
    return {exchange.rounds[0].number for exchange in run.plan.exchanges(pass_number)}


def check_all(
    name: str,
    run: Run,
    model: TopicModel,
    make: Make,
    truth: Callable[[str], Truth],
    n_passes: int = N_PASSES,
) -> None:
    here = follower(name, run, model, truth, n_passes)
    with make(run) as executor:
        while here.passes_left:
            assert here.advance(executor) > 0
    assert here.done == n_passes * run.plan.n_rounds


def check_cuts(
    name: str,
    run: Run,
    model: TopicModel,
    make: Make,
    truth: Callable[[str], Truth],
    n_passes: int = N_PASSES,
) -> None:
    here, draw = follower(name, run, model, truth, n_passes), random.Random(name)
    while here.passes_left:
        with make(run) as executor:
            for _ in range(draw.randint(1, 3)):
                wanted, pass_number = draw.randint(1, 4), here.cursor.pass_number
                n_done = here.advance(executor, wanted) if here.passes_left else wanted
                assert n_done >= wanted or here.cursor.pass_number > pass_number
                assert here.cursor.round in cuts(run, here.cursor.pass_number)


@pytest.mark.parametrize("name", METHODS)
def test_every_yield_is_that_of_the_plain_loop(name, make, documents, truth):
    """Params and reports, over several passes."""
    check_all(name, *begin(METHODS[name], documents), make, truth)


def test_every_yield_of_a_run_that_is_cut_is_that_of_the_plain_loop(kind, make, documents, truth):
    """Cut again and again, it goes on elsewhere."""
    check_cuts(kind, *begin(METHODS[kind], documents), make, truth)


def on_clusters(executor: str) -> list[str]:
    """Names of the methods; of minibatches, graphs do only those that are cut, because that is slow."""
    chosen = [name for name in METHODS if METHODS[name].batch_size is None or name in CUT_ON_CLUSTERS]
    return chosen if executor == "graphs" else list(METHODS)


@pytest.mark.slow
@pytest.mark.distributed
@pytest.mark.parametrize("executor", CLIENTS)
def test_every_method_on_a_cluster(executor, documents, truth, three_workers, tmp_path):
    """Of most methods one pass; by default one of each kind, see below."""
    load = executors.load(executor)
    three_workers.upload_file(toys.packed(tmp_path), load=False)
    for name in on_clusters(executor):
        run, model = begin(METHODS[name], documents)
        n_passes = N_PASSES if run.work.kernel.state == "run" else 1
        check_all(name, run, model, lambda run: load.make(run, three_workers, 1), truth, n_passes)


@pytest.mark.costly(2)
@pytest.mark.distributed
@pytest.mark.parametrize("executor", CLIENTS)
@pytest.mark.parametrize("cluster", ["one_worker", "three_workers"])
def test_on_clusters_too(cluster, executor, documents, truth, request, tmp_path):
    """Of most methods one pass; on three workers, kinds of methods are cut, one of those that average."""
    client, load = request.getfixturevalue(cluster), executors.load(executor)
    client.upload_file(toys.packed(tmp_path), load=False)

    def make(run: Run) -> Executor:
        return load.make(run, client, 1)

    for name in ON_ONE_WORKER:
        run, model = begin(METHODS[name], documents)
        check_all(name, run, model, make, truth, N_PASSES if run.work.kernel.state == "run" else 1)
    for name in CUT_ON_CLUSTERS if cluster == "three_workers" else ():
        run, model = begin(METHODS[name], documents)
        twice = run.work.kernel.state == "run" or name in TWICE_ON_CLUSTERS
        check_cuts(name, run, model, make, truth, N_PASSES if twice else 1)


@pytest.mark.distributed
def test_replicas_on_workers_that_share_no_files(documents, truth, three_workers, tmp_path, monkeypatch):
    """They learn from copies of the params; those that remember documents are cut."""
    monkeypatch.setattr(sending, "shares_files", lambda *_: False)
    for name in REPLICATED:
        run, model = begin(METHODS[name], documents)
        check = check_cuts if run.work.kernel.state == "run" else check_all
        check(name, run, model, lambda run: GraphExecutor(run, three_workers), truth)


@pytest.mark.slow
@pytest.mark.distributed
@pytest.mark.skipif(hosts.why_no_networks() is not None, reason=hosts.why_no_networks() or "")
@pytest.mark.parametrize("executor", CLIENTS)
def test_on_hosts_too(executor, documents, truth, tmp_path, monkeypatch):
    """Every method on one, two and four hosts, which share a folder for document state, and nothing else."""
    load = executors.load(executor)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with machines.cluster(tmp_path) as there:
        for n_hosts in (1, 2, 4):
            for host in there.hosts[len(there.running) : n_hosts]:
                there.start(host)
            for name in on_clusters(executor):
                run, model = begin(METHODS[name], documents)
                n_passes = N_PASSES if run.work.kernel.state == "run" else 1
                check_all(name, run, model, lambda run: load.make(run, there.client, 1), truth, n_passes)


def test_who_stops_iterating_goes_on_from_there(kind, make, documents, truth):
    run, model = begin(METHODS[kind], documents)
    here = follower(kind, run, model, truth)
    with make(run) as executor:
        here.advance(executor, most=2)
        assert 0 < here.done < len(here.truth.reports)
        assert here.advance(executor, 1) > 0


def test_no_time_is_no_round(kind, make, documents, truth):
    run, model = begin(METHODS[kind], documents)
    with make(run) as executor:
        assert not list(executor.advance(model.params, Cursor(), Until(max_seconds=0.0, n_passes=N_PASSES)))
    assert bits(model.params) == truth(kind).bits[0]


def test_state_is_written_before_the_update_is_yielded(make, documents, monkeypatch):
    """Writing is slow, and there are several slices; processes of an executor of its own are not looked into."""
    write, unwritten = StateFiles.write, set[int]()

    def slow(self: StateFiles, *given: Any) -> None:
        unwritten.add(threading.get_ident())
        time.sleep(0.005)
        write(self, *given)
        unwritten.remove(threading.get_ident())

    monkeypatch.setattr(StateFiles, "write", slow)
    run, model = begin(METHODS["labels"], documents)
    with make(run) as executor:
        for _ in executor.advance(model.params, Cursor(), Until()):
            assert not unwritten


class Broken(Exception):
    pass


def breaking(run: Run, number: int) -> Run:
    """The same run, whose kernel fails in a round of the first pass."""
    ref = next(run.plan.rounds(0, number)).slices[-1]
    row = run.parts[ref.part].read(ref.start, ref.stop).rows[0]
    usual = run.work.kernel.run

    def breaks(docs: Any, *more: Any) -> Any:
        if row in docs.rows:
            raise Broken(f"round {number}")
        return usual(docs, *more)

    return replace(run, work=replace(run.work, kernel=replace(run.work.kernel, run=breaks)))


@pytest.mark.parametrize("number", [0, 13])
def test_a_failure_comes_after_the_rounds_before_it(number, kind, make, documents, truth):
    """Those of its exchange are lost with it."""
    run, model = begin(METHODS[kind], documents)
    number = min(number, run.plan.n_rounds - 1)
    run, here = breaking(run, number), follower(kind, run, model, truth)
    with make(run) as executor:
        with pytest.raises(Broken, match=f"round {number}"):
            here.advance(executor)
        executor.close()
    assert number - run.plan.concurrent <= here.done <= number
    assert bits(here.params) == here.truth.bits[here.done]


@pytest.mark.costly(2)
@pytest.mark.distributed
@pytest.mark.parametrize("executor", CLIENTS)
def test_a_failure_on_a_worker_leaves_what_was_yielded(executor, documents, truth, one_worker):
    """Rounds that were done together with the one that fails may be lost."""
    for name in ON_ONE_WORKER:
        run, model = begin(METHODS[name], documents)
        number = min(3, run.plan.n_rounds - 1)
        run, here = breaking(run, number), follower(name, run, model, truth)
        with executors.load(executor).make(run, one_worker, 1) as made:
            with pytest.raises(Broken, match=f"round {number}"):
                here.advance(made)
            made.close()
        assert here.done <= number and bits(here.params) == here.truth.bits[here.done]


@pytest.mark.parametrize("name", ["vb", "labels"])
def test_closing_twice_does_no_harm(name, make, documents, truth):
    """Nor without a round. The params stay as they are, and no thread stays."""
    run, model = begin(METHODS[name], documents)
    executor, here, unused = make(run), follower(name, run, model, truth), make(run)
    assert here.advance(executor, 1) > 0
    for made in (executor, executor, unused):
        made.close()
        assert bits(here.params) == here.truth.bits[here.done]
    for thread in threading.enumerate():
        if thread.name.startswith("bigtopic"):
            thread.join(timeout=60)
            assert not thread.is_alive(), thread.name


def test_an_executor_that_is_not_there_is_named_with_those_that_are():
    assert {"graphs", "threads", "whole"} <= set(executors.names())
    with pytest.raises(SettingError, match=r"no executor 'elsewhere'; there are: .*graphs.*threads"):
        executors.load("elsewhere")
