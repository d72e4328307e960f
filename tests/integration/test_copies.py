"""Replicas on workers that share no files learn from copies of the params: the same bits, whoever joins, dies or
forgets, and the params travel to each worker once."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bigtopic.learning.all_reduce import collectives, copies, direct
from bigtopic.learning.executors.among_workers import AmongWorkers
from bigtopic.learning.executors.copy_futures import CopyFutures
from bigtopic.parallel.mailbox import mailbox

from bigtopic import methods as table
from bigtopic.corpus.store import Corpus
from bigtopic.learning.executors import among_workers, choice, sending
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.parallel import mailbox as mailboxes
from bigtopic.state.new_model import new_model

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts
from reference.follower import bits

pytestmark = [pytest.mark.distributed, pytest.mark.usefixtures("replicas_of_large_corpora")]


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """Params are sent, even to workers that see the files of this process."""
    for module in (sending, choice):
        monkeypatch.setattr(module, "shares_files", lambda *_: False)


@pytest.fixture
def travels(monkeypatch) -> list[Any]:
    """Whom params are sent to for exchanges: a list of workers, or None for any."""
    found: list[Any] = []
    give, send = CopyFutures._give, AmongWorkers._as_graph
    monkeypatch.setattr(CopyFutures, "_give", lambda self, *a: found.append(a[0]) or give(self, *a))
    monkeypatch.setattr(AmongWorkers, "_as_graph", lambda self, *a: found.append(None) or send(self, *a))
    return found


def learn(corpus: Corpus, client: Any = None, then: Callable[[], Any] = lambda: None) -> str:
    """Bits after two passes of 60 updates; `then` is called after an exchange, near update 50."""
    called: list[int] = []

    def call(event: Any) -> None:
        if event.kind == "round" and event.step >= 50 and not called:
            called.append(event.step)
            then()

    model = new_model(table.get("online-cvb0"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
    limits, sizes = Limits(2, callbacks=[call]), {"batch_size": 5, "replicas": 3, "replica_updates": 2}
    train(model, corpus, limits, client=client, n_threads=1, **sizes)
    assert called
    return bits(model.params)


def forget() -> None:
    copies._copies.clear()


def wait_until(found: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not found():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture(scope="module")
def expected(corpus) -> str:
    return learn(corpus)


def test_the_params_travel_to_each_worker_once(corpus, expected, other_address, travels):
    assert learn(corpus, other_address) == expected
    assert [sorted(workers) for workers in travels] == [sorted(other_address.nthreads())]


def test_workers_forget_their_copies_at_the_end(corpus, expected, other_address):
    def n_copies() -> int:
        return len(copies._copies)

    kept: list[int] = []
    assert learn(corpus, other_address, lambda: kept.extend(other_address.run(n_copies).values())) == expected
    assert kept == [1, 1, 1, 1]
    wait_until(lambda: not any(other_address.run(n_copies).values()))


def test_a_worker_that_joins_is_the_only_one_to_get_them(corpus, expected, travels):
    with hosts.scheduler() as client, ExitStack() as late:
        late.enter_context(hosts.worker(client))
        first = list(client.nthreads())
        assert learn(corpus, client, lambda: late.enter_context(hosts.worker(client))) == expected
        joined = [worker for worker in client.nthreads() if worker not in first]
        assert travels == [first, joined] and len(joined) == 1


def in_third_exchange(monkeypatch, then: Callable[[], Any]) -> None:
    """Call `then` when the driver has begun to wait for the third exchange."""
    begun, called = AmongWorkers._begin_or_take_ahead, []

    def first(self: Any, segment: Any) -> Any:
        found = begun(self, segment)
        called.append(found)
        if len(called) == 3:
            then()
        return found

    monkeypatch.setattr(AmongWorkers, "_begin_or_take_ahead", first)


def test_a_worker_that_joins_in_an_exchange_takes_part_in_a_later_one(corpus, expected, travels, monkeypatch):
    with hosts.scheduler() as client, ExitStack() as late:
        late.enter_context(hosts.worker(client))
        in_third_exchange(monkeypatch, lambda: late.enter_context(hosts.worker(client)))
        assert learn(corpus, client) == expected
        assert [workers and len(workers) for workers in travels] == [1, 1]


def test_a_part_that_another_worker_does_has_the_exchange_repeated(corpus, expected, travels, monkeypatch):
    """As when an idle worker takes the task."""
    graph_of, calls = among_workers.collective_graph, []

    def misplaced(run: Any, collective: Any, name: str) -> Any:
        calls.append(collective)
        if len(calls) == 3:
            collective = replace(collective, workers=("tcp://127.0.0.2:1", *collective.workers[1:]))
        return graph_of(run, collective, name)

    monkeypatch.setattr(among_workers, "collective_graph", misplaced)
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "2s")
    with hosts.scheduler() as client, hosts.worker(client), hosts.worker(client):
        assert learn(corpus, client) == expected
        assert len(travels[0]) == 2 and None in travels


def test_a_worker_that_dies_between_exchanges(corpus, expected, travels):
    with hosts.scheduler() as client, hosts.worker(client), hosts.worker(client) as other:
        assert learn(corpus, client, other.kill) == expected
        assert len(travels) <= 3 and len(travels[0]) == 2


def test_a_worker_that_dies_when_others_have_moved(corpus, expected, travels, monkeypatch):
    """What it had must be computed from params that are gone; the next exchange has copies again."""
    with hosts.scheduler() as client, hosts.worker(client), hosts.worker(client) as other:

        def die() -> None:
            client.run(forget)
            other.kill()
            wait_until(lambda: len(client.nthreads()) == 1)

        in_third_exchange(monkeypatch, die)
        assert learn(corpus, client) == expected
        assert [workers and len(workers) for workers in travels] == [2, None, 1]


@pytest.mark.slow
def test_a_worker_that_is_stopped_holds_up_the_others_until_it_is_given_up(
    corpus, expected, travels, monkeypatch
):
    """The scheduler gives it up after a while; nothing closes its connections."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "4s")
    with hosts.scheduler() as client, hosts.worker(client), hosts.worker(client) as other:
        in_third_exchange(monkeypatch, lambda: os.kill(other.pid, signal.SIGSTOP))
        assert learn(corpus, client) == expected
        assert [workers and len(workers) for workers in travels] == [2, None, 1]


def test_an_exchange_that_was_begun_ahead_of_an_interrupt_leaves_nothing(corpus, expected, other_address):
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(corpus, other_address, interrupt)
    assert learn(corpus, other_address) == expected
    wait_until(lambda: not any(other_address.run(n_pieces).values()))


def n_pieces(dask_worker: Any) -> int:
    return len(mailbox(dask_worker)._pieces)


def test_workers_that_add_up_in_groups_learn_the_same_bits(corpus, expected, other_address, travels):
    with hosts.in_groups(other_address):
        assert learn(corpus, other_address) == expected
    assert len(travels) == 1


def wait_for_documents() -> None:
    """On this worker, pieces come when all is prepared that can be, and what tasks take of it is counted."""
    usual, take = mailboxes._next, collectives.take_ahead

    def later(asked: Any, meanwhile: Callable[[], bool]) -> Any:
        while meanwhile():
            pass
        return usual(asked, meanwhile)

    def count(*asked: Any) -> Any:
        found = take(*asked)
        counts.append([bool(one.ids) for one in found or ()])
        return found

    counts: list[list[bool]] = []
    mailboxes._next, collectives.take_ahead = later, count
    collectives.undo = usual, take, counts  # type: ignore[attr-defined]


def wait_for_nothing() -> list[list[bool]]:
    mailboxes._next, collectives.take_ahead, counts = collectives.undo  # type: ignore[attr-defined]
    del collectives.undo
    return counts


def test_a_worker_that_waits_prepares_documents_for_as_many_tasks_as_it_has_threads(corpus, expected):
    """Three replicas on two workers: one has two, of which it prepares the first."""
    with hosts.scheduler() as client, hosts.worker(client), hosts.worker(client):
        client.run(wait_for_documents)
        assert learn(corpus, client) == expected
        counts = client.run(wait_for_nothing).values()
    assert {tuple(one) for taken in counts for one in taken} == {(), (True,), (True, False)}


def fail_once() -> None:
    """On this worker, the next document that is prepared ahead cannot be."""
    usual = direct._prepare_some

    def fail(documents: Any, arrays: Any) -> bool:
        if not documents:
            return False
        direct._prepare_some = usual
        raise OSError("no disk")

    direct._prepare_some = fail


def may_fail() -> bool:
    return direct._prepare_some.__name__ == "fail"


def test_documents_that_cannot_be_prepared_ahead_are_prepared_again(corpus, expected, other_address):
    """The exchange in which a worker wanted to do so is made again."""
    workers = sorted(other_address.nthreads())[:1]
    other_address.run(fail_once, workers=workers)
    assert learn(corpus, other_address) == expected
    assert not any(other_address.run(may_fail, workers=workers).values())


def test_all_workers_die_between_exchanges(corpus, expected, mortal_workers, travels):
    def kill() -> None:
        for pid in mortal_workers.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)

    assert learn(corpus, mortal_workers, kill) == expected
    assert len(travels) > 1


def test_workers_that_lose_their_copies_are_not_given_any_more(corpus, expected, other_address, travels):
    assert learn(corpus, other_address, lambda: other_address.run(forget)) == expected
    assert len(travels[0]) == 4 and set(map(str, travels[1:])) == {"None"} and len(travels) > 3


def test_workers_of_which_one_is_too_small_have_no_copies(
    corpus, expected, other_address, travels, monkeypatch
):
    able = sorted(other_address.nthreads())[:3]
    monkeypatch.setattr(
        GraphExecutor, "use_workers", lambda self, _: setattr(self._sender, "able", lambda: able)
    )
    assert learn(corpus, other_address) == expected
    assert set(travels) == {None}
