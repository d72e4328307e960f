"""Workers that do not answer hold up nobody; what becomes of a cluster is told in words."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import threading
import time
import warnings
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import dask
import pytest
from distributed import Event

from bigtopic.errors import BigtopicWarning, ClusterError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.learning.executors import choice, whole
from bigtopic.parallel import cluster, environment, mapping, results, workers

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts

pytestmark = pytest.mark.distributed


def test_workers_are_known_while_the_client_asks_for_other_things(one_worker, monkeypatch):
    asks = one_worker._update_scheduler_info

    async def asks_twice(n_workers=0):
        await asks(n_workers)
        await asks()  # as the client does every two seconds, in between

    monkeypatch.setattr(one_worker, "_update_scheduler_info", asks_twice)
    assert workers.described(one_worker).keys() == one_worker.nthreads().keys()


@pytest.fixture
def stopped(monkeypatch):
    """Client of two workers of which one is stopped, with a connection to it that is open."""
    with hosts.scheduler() as client, hosts.worker(client), hosts.worker(client) as process:
        assert len(workers.ask(client, os.getpid)) == 2
        monkeypatch.setattr(workers, "ANSWER_SECONDS", 1.0)
        os.kill(process.pid, signal.SIGSTOP)
        yield client, process


def test_a_worker_that_does_not_answer_is_left_out(stopped, monkeypatch):
    client, process = stopped
    monkeypatch.setattr(workers, "ALONE_SECONDS", 0.5)
    monkeypatch.setattr(workers, "UNHEARD_SECONDS", 1.2)
    with pytest.warns(BigtopicWarning, match="has not heard from worker") as told:
        answers = workers.ask(client, os.getpid)
    assert len(told) == 1
    assert len(answers) == 1 and process.pid not in answers.values()
    monkeypatch.setattr(workers, "ANSWER_SECONDS", 60.0)
    begun = time.monotonic()
    assert workers.ask(client, os.getpid, known=answers) == answers  # it is silent, so it is not asked
    assert time.monotonic() - begun < 30
    os.kill(process.pid, signal.SIGCONT)
    while workers.look(client).silent:
        time.sleep(0.1)
    assert process.pid in workers.ask(client, os.getpid, known=answers).values()


@pytest.mark.slow
def test_a_run_does_not_wait_for_it_again_and_again(stopped, monkeypatch):
    client, _ = stopped
    monkeypatch.setattr(environment, "SECONDS", 0.0)
    environment.check_workers(client)
    monkeypatch.setattr(type(client), "run", None)
    environment.check_workers(client)


@pytest.fixture
def closing():
    """A client of its own, of one worker, and what it is closed by."""
    from dask.distributed import Client

    with hosts.scheduler() as first, hosts.worker(first), ExitStack() as stack:
        yield stack.enter_context(Client(first.scheduler.address, set_as_default=False))


def _wait_at(gate, number):
    gate.wait(30)
    return number


def test_a_worker_that_is_paused_in_the_middle_of_a_task_ends_it(closing, monkeypatch):
    from distributed.core import Status

    def pause(dask_worker):
        dask_worker.status = Status.paused

    monkeypatch.setattr(results, "GONE_SECONDS", 0.3)
    monkeypatch.setattr(results, "LOOK_SECONDS", 0.3)
    gate = Event(client=closing)
    future = closing.submit(_wait_at, gate, 7, pure=False)
    there = list(closing.nthreads())
    while not workers.described(closing)[there[0]]["metrics"].get("task_counts", {}).get("executing"):
        time.sleep(0.1)  # until the worker's next heartbeat
    closing.run(pause)
    opening = threading.Timer(3.0, gate.set)
    opening.start()
    # A warning would be an error
    assert results.result_of(closing, future) == 7
    opening.join()


@pytest.mark.parametrize("long_round_seconds", [60.0, -1.0], ids=["whole", "graph"])
def test_a_client_that_is_closed_in_the_middle_of_a_fit(long_round_seconds, corpus, closing, monkeypatch):
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.01)
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", long_round_seconds)

    def close(event):
        if event.kind == "round" and event.step == 2:
            closing.close()

    model = LDA(4, method="vb", max_iter=50, client=closing, callbacks=[close])
    with pytest.raises(ClusterError, match="was closed"):
        model.fit(corpus)
    with pytest.raises(SettingError, match="is closed"):
        model.fit(corpus)


@pytest.mark.parametrize("long_round_seconds", [60.0, -1.0], ids=["whole", "graph"])
def test_a_fit_that_waits_because_all_workers_are_paused_says_so(
    long_round_seconds, corpus, closing, monkeypatch
):
    from distributed.core import Status

    def pause(dask_worker):
        dask_worker.status = Status.paused

    def pause_all(event):
        if event.kind == "round" and event.step == 2:
            closing.run(pause)

    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.01)
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", long_round_seconds)
    monkeypatch.setattr(results, "LOOK_SECONDS", 1.0)
    model = LDA(4, method="vb", max_iter=50, client=closing, callbacks=[pause_all])
    with pytest.raises(
        BigtopicWarning, match=r"has no worker that accepts work; the work goes on when there is"
    ):
        model.fit(corpus)


def test_a_result_that_waits_because_all_workers_are_gone_says_so(monkeypatch):
    monkeypatch.setattr(results, "LOOK_SECONDS", 0.5)
    with hosts.scheduler() as client:
        with hosts.worker(client):
            assert results.result_of(client, client.submit(abs, -3)) == 3
        with pytest.warns(BigtopicWarning, match="has no worker; the work goes on when there is one: start"):
            joining = threading.Timer(1.0, lambda: stack.enter_context(hosts.worker(client)))
            with ExitStack() as stack:
                joining.start()
                assert results.result_of(client, client.submit(abs, -4)) == 4
                joining.join()


def test_a_task_that_is_long_on_its_way_to_the_scheduler_is_not_taken_for_forgotten(one_worker, monkeypatch):
    """As large arguments are."""
    monkeypatch.setattr(results, "LOOK_SECONDS", 0.1)
    send = one_worker.scheduler_comm.send
    later = partial(one_worker.loop.call_later, 0.8, send)
    monkeypatch.setattr(one_worker.scheduler_comm, "send", later)
    assert results.result_of(one_worker, one_worker.submit(abs, -6, pure=False)) == 6


@pytest.fixture
def impatient(stopped, monkeypatch):
    """The same, and the address of the worker that is stopped, of which one hears soon."""
    monkeypatch.setattr(results, "LOOK_SECONDS", 0.3)
    monkeypatch.setattr(results, "GONE_SECONDS", 0.3)
    client, process = stopped
    (answering,) = workers.ask(client, os.getpid)
    (silent,) = client.nthreads().keys() - {answering}
    monkeypatch.setattr(workers, "UNHEARD_SECONDS", 1.5)
    return client, process, silent


def test_a_result_that_waits_for_a_silent_worker_says_so(impatient):
    client, process, silent = impatient
    future = client.submit(abs, -5, workers=[silent], pure=False)
    going_on = threading.Timer(4.0, os.kill, [process.pid, signal.SIGCONT])
    going_on.start()
    with pytest.warns(BigtopicWarning, match=f"has not heard from worker {silent} for 1.5 seconds") as told:
        assert results.result_of(client, future) == 5
    assert len(told) == 1  # once, and nothing of the worker that is well
    going_on.join()


@pytest.mark.slow
def test_a_result_that_a_silent_worker_keeps_says_so(impatient):
    client, process, silent = impatient
    os.kill(process.pid, signal.SIGCONT)
    future = client.submit(bytes, 10, workers=[silent], pure=False)
    results.wait_for([future], 30)
    os.kill(process.pid, signal.SIGSTOP)
    going_on = threading.Timer(4.0, os.kill, [process.pid, signal.SIGCONT])
    going_on.start()
    with pytest.warns(BigtopicWarning, match=f"has not heard from worker {silent} for 1.5 seconds"):
        assert results.result_of(client, future) == bytes(10)
    going_on.join()


def test_data_do_not_wait_for_a_silent_worker(impatient, monkeypatch):
    client, _, silent = impatient
    with pytest.warns(BigtopicWarning, match=f"has not heard from worker {silent} for 1.5 seconds") as told:
        futures = [cluster.send(client, {"number": i}) for i in range(2)]  # one of them is for each worker
    assert len(told) == 1
    monkeypatch.setattr(
        results, "GONE_SECONDS", 30.0
    )  # what is sent to the silent worker would now take so long
    begun = time.monotonic()
    futures += [cluster.send(client, {"number": i}) for i in range(2, 6)]
    assert time.monotonic() - begun < 20
    assert [results.result_of(client, future)["number"] for future in futures] == [*range(6)]


@pytest.mark.slow
def test_nothing_is_left_of_data_that_a_silent_worker_takes_after_all(impatient):
    client, process, silent = impatient
    with pytest.warns(BigtopicWarning, match="has not heard"):
        futures = [cluster.send(client, bytes(1000)) for _ in range(2)]
    assert [len(results.result_of(client, future)) for future in futures] == [1000, 1000]
    del futures
    os.kill(process.pid, signal.SIGCONT)
    assert client.submit(abs, -1, workers=[silent], pure=False).result(30) == 1
    _wait_for_none(lambda: client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)))


@pytest.mark.slow
def test_data_are_sent_to_a_worker_that_joins_when_all_others_are_silent(impatient):
    client, _, silent = impatient
    (other,) = set(client.run(os.getpid, workers=list(client.nthreads().keys() - {silent})).values())
    os.kill(other, signal.SIGSTOP)
    with ExitStack() as stack:
        joining = threading.Timer(4.0, lambda: stack.enter_context(hosts.worker(client)))
        joining.start()
        with pytest.warns(BigtopicWarning, match="has not heard"):
            future = cluster.send(client, 5)
        joining.join()
        assert results.result_of(client, future) == 5


@pytest.mark.slow
def test_only_the_worker_that_data_are_for_holds_them_up(impatient, monkeypatch):
    client, _, silent = impatient
    (well,) = client.nthreads().keys() - {silent}
    monkeypatch.setattr(results, "_next_worker", lambda client: well)
    scatter = type(client)._scatter

    async def slow(self, *arguments, **options):
        await asyncio.sleep(4)
        return await scatter(self, *arguments, **options)

    monkeypatch.setattr(type(client), "_scatter", slow)
    with pytest.warns(BigtopicWarning, match="has not heard") as told:
        assert results.result_of(client, cluster.send(client, 6)) == 6
    assert len(told) == 1


def test_a_scheduler_that_does_not_answer_is_told_once(one_worker, monkeypatch):
    monkeypatch.setattr(workers, "UNHEARD_SECONDS", 0.2)

    async def late(**_):
        await asyncio.sleep(30)

    with monkeypatch.context() as patched:
        patched.setattr(one_worker.scheduler, "identity", late, raising=False)
        with pytest.warns(BigtopicWarning, match="has not answered for 0.2 seconds") as told:
            workers.look(one_worker)
            workers.look(one_worker)
        assert len(told) == 1
    assert workers.look(one_worker).workers.keys() == one_worker.nthreads().keys()


def test_nothing_is_left_of_a_task_that_failed(closing):
    data = closing.scatter({"bt-data": 1}, hash=False)["bt-data"]

    def wait(data):
        future = closing.submit(_fail, data, pure=False)
        results.result_of(closing, future)

    with pytest.raises(ValueError, match="no number"):
        wait(data)
    del data
    _wait_for_none(lambda: closing.futures)


def _wait_for_none(left):
    for _ in range(100):
        gc.collect()
        if not (found := left()):
            break
        time.sleep(0.1)
    assert not found


def _fail(data):
    raise ValueError("no number")


@pytest.mark.slow
def test_data_on_their_way_to_silent_workers_alone_say_so(impatient):
    client, process, silent = impatient
    (other,) = set(client.run(os.getpid, workers=list(client.nthreads().keys() - {silent})).values())
    os.kill(other, signal.SIGSTOP)

    def go_on():
        for pid in (process.pid, other):
            os.kill(pid, signal.SIGCONT)

    going_on = threading.Timer(4.0, go_on)
    going_on.start()
    with pytest.warns(BigtopicWarning, match="has not heard from worker") as told:
        future = cluster.send(client, {"number": 3})
    assert len(told) == 2
    assert results.result_of(client, future) == {"number": 3}
    going_on.join()


def test_a_first_worker_that_is_busy_is_a_worker(monkeypatch):
    monkeypatch.setattr(workers, "FIRST_WORKER_SECONDS", 0.2)
    with hosts.scheduler() as client, ExitStack() as stack:
        others = client.submit(time.sleep, 6, pure=False, priority=10)
        joining = threading.Timer(0.5, lambda: stack.enter_context(hosts.worker(client)))
        joining.start()
        with pytest.warns(BigtopicWarning, match="has no worker yet"):
            assert len(workers.addresses(client)) == 1
        joining.join()
        del others


def test_a_fit_that_waits_for_the_first_worker_says_so(corpus, monkeypatch):
    monkeypatch.setattr(workers, "FIRST_WORKER_SECONDS", 0.2)
    with hosts.scheduler() as client, ExitStack() as stack:
        joining = threading.Timer(1.0, lambda: stack.enter_context(hosts.worker(client)))
        joining.start()
        with pytest.warns(BigtopicWarning, match="has no worker yet; bigtopic waits for the first: start"):
            LDA(4, method="online-cvb0", max_iter=1, client=client).fit(corpus)
        joining.join()


def test_a_task_that_ends_by_a_timeout_of_its_own(closing):
    def late():
        raise TimeoutError("of the task")

    with pytest.raises(TimeoutError, match="of the task"):
        results.result_of(closing, closing.submit(late))


def test_a_client_that_is_closed_in_the_middle_of_a_map(closing):
    def items():
        yield from range(5)
        closing.close()
        yield 5

    with pytest.raises(ClusterError, match="was closed"):
        list(mapping.bounded_map(abs, items(), client=closing))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp:127.0.0.1:port"])
def test_an_address_where_nobody_answers(address):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(ClusterError, match="no Dask scheduler answers"),
    ):
        cluster.resolve_client(address)


def test_an_address_where_something_else_answers(closing):
    (worker,) = closing.nthreads()
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers there \(a worker answers\)"):
        cluster.resolve_client(worker)
    with pytest.raises(ClusterError, match="no Dask scheduler answers there"):
        cluster.resolve_client(worker.replace("tcp://", "http://"))


@pytest.mark.parametrize("answers", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 4])
def test_an_address_where_something_listens(answers, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.5)
    monkeypatch.setattr(workers, "FIRST_WORKER_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        threading.Thread(target=_listen, args=(server, answers), daemon=True).start()
        with pytest.raises(ClusterError, match="no Dask scheduler answers there"):
            cluster.resolve_client(f"tcp://127.0.0.1:{server.getsockname()[1]}")
    texts = [str(warning.message) for warning in told if warning.category is BigtopicWarning]
    assert len(texts) == (not answers)
    assert all("has not answered yet; bigtopic waits up to 1.5 seconds" in text for text in texts)


def _listen(server, answers):
    connection, _ = server.accept()
    with connection, suppress(OSError):
        connection.sendall(answers)
        while connection.recv(1024):  # until it is closed
            pass


def test_tasks_that_kill_their_workers(mortal_workers):
    with pytest.raises(ClusterError, match="workers die repeatedly"):
        list(mapping.bounded_map(os._exit, [1], client=mortal_workers))


def test_a_worker_that_is_always_slow_is_named_once():
    paces = workers.Paces()
    with pytest.warns(
        BigtopicWarning, match=r"^worker c takes 2 seconds for what the others do in 0\.2:"
    ) as told:
        for _ in range(workers.PACES + 3):
            for worker, seconds in (("a", 0.1), ("b", 0.3), ("c", 2.0)):
                paces.note(worker, seconds)
    assert len(told) == 1


@pytest.mark.parametrize("seconds", [(1.0, 3.9), (0.001, 0.09), (1.0,)])
def test_workers_that_differ_little_or_take_no_time_are_not_named(seconds):
    paces = workers.Paces()
    for _ in range(workers.PACES):
        for worker, own in enumerate(seconds):
            paces.note(str(worker), own)
    paces.note("0", 100.0)  # once
