"""Where work runs: order and bounds of what is in flight, clients that are found, given, or named by address."""

from __future__ import annotations

import asyncio
import functools
import operator
import os
import signal
import threading
import time

import numpy as np
import pytest

from bigtopic.errors import SettingError
from bigtopic.parallel import cluster, mapping


def test_results_come_in_the_order_of_the_items():
    def work(item):
        time.sleep(0.002 * (item % 3))
        return item * item

    for n_threads in (1, 2, 5):
        assert list(mapping.bounded_map(work, range(20), n_threads=n_threads)) == [i * i for i in range(20)]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_items_are_taken_no_further_ahead_than_the_window(n_threads):
    taken, done = [0], [0]

    def items():
        for i in range(50):
            taken[0] += 1
            yield i

    for _ in mapping.bounded_map(lambda item: item, items(), n_threads=n_threads, n_in_flight=4):
        done[0] += 1
        assert taken[0] - done[0] <= 4
    assert done[0] == 50


def test_a_failure_is_raised_in_its_turn_and_ends_the_work():
    begun = []

    def work(item):
        begun.append(item)
        if item == 5:
            raise ValueError("five")
        return item

    results = mapping.bounded_map(work, range(1000), n_threads=2, n_in_flight=4)
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="five"):
        next(results)
    assert len(begun) < 20


def test_leaving_early_leaves_nothing_running():
    before = threading.active_count()
    for result in mapping.bounded_map(lambda item: item, range(1000), n_threads=2):
        if result == 3:
            break
    deadline = time.time() + 5
    while threading.active_count() > before and time.time() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


def test_without_a_client_work_is_done_in_threads():
    assert cluster.resolve_client(False) is None
    assert cluster.resolve_client(None) is None
    assert cluster.default_threads() >= 1


@pytest.mark.distributed
def test_a_client_is_found_given_or_named(one_worker):
    assert cluster.resolve_client(one_worker) is one_worker
    assert cluster.resolve_client(None) is None  # it is nobody's default
    with one_worker.as_current():
        assert cluster.resolve_client(None) is one_worker
        assert cluster.resolve_client(False) is None
    address = one_worker.scheduler.address
    named = cluster.resolve_client(address)
    try:
        assert named is cluster.resolve_client(address)  # one connection, however often it is asked for
        assert cluster.resolve_client(None) is None
    finally:
        named.close()
    again = cluster.resolve_client(address)
    assert again is not named and again.status == "running"
    again.close()


@pytest.mark.distributed
def test_a_client_that_would_have_to_be_awaited_is_refused(one_worker):
    from dask.distributed import Client

    async def work(with_default):
        async with Client(one_worker.scheduler.address, asynchronous=True, set_as_default=False) as client:
            with client.as_current(), pytest.raises(SettingError, match="asynchronous"):
                cluster.resolve_client(None if with_default else client)

    for with_default in (False, True):
        asyncio.run(work(with_default))


@pytest.mark.distributed
def test_what_is_no_client_is_refused(one_worker):
    for client in (True, 7, "localhost", one_worker.cluster):
        with pytest.raises(SettingError, match="must be a Dask client"):
            cluster.resolve_client(client)


@pytest.mark.distributed
def test_a_map_on_a_client_is_a_map(three_workers):
    assert list(mapping.bounded_map(np.sqrt, range(9), client=three_workers, n_in_flight=3)) == [
        i**0.5 for i in range(9)
    ]
    with pytest.raises(TypeError):
        list(mapping.bounded_map(len, [1], client=three_workers))


@pytest.mark.distributed
def test_what_is_shared_is_sent_again_when_it_died_with_its_worker(mortal_workers):
    results = mapping.bounded_map(
        operator.add, range(30), shared=(100,), client=mortal_workers, n_in_flight=5
    )
    found = [next(results)]
    for pid in mortal_workers.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    assert found + list(results) == list(range(100, 130))


@pytest.mark.parametrize("n_losses", [0, 2, 3])
def test_work_that_is_lost_is_done_again_after_pauses(n_losses, monkeypatch):
    """Ever longer ones: workers that die within moments of each other, in as many attempts, must not end a run."""
    monkeypatch.setattr(cluster, "PAUSES", (0.0, 0.1))
    begun, prepared = [], []

    def work():
        begun.append(time.monotonic())
        if len(begun) <= n_losses:
            raise cluster.LOST
        return "done"

    def call():
        return cluster.repeated(work, (cluster.LOST,), lambda: prepared.append(None))

    if n_losses == 3:
        with pytest.raises(cluster.LOST):
            call()
    else:
        assert call() == "done"
    assert len(begun) == min(1 + n_losses, 3) and len(prepared) == len(begun) - 1
    assert n_losses == 0 or begun[2] - begun[1] >= 0.1


def test_what_is_no_loss_is_not_done_again():
    begun = []
    with pytest.raises(ZeroDivisionError):
        cluster.repeated(lambda: begun.append(1) or 1 / 0, (cluster.LOST,))
    assert len(begun) == 1


def write_late(item, folder):
    time.sleep(0.3)
    (folder / str(item)).touch()


@pytest.mark.distributed
def test_what_is_given_up_writes_nothing_afterwards(three_workers, tmp_path):
    def items():
        yield from range(3)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(
            mapping.bounded_map(functools.partial(write_late, folder=tmp_path), items(), client=three_workers)
        )
    before = sorted(tmp_path.iterdir())
    time.sleep(1.0)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.distributed
def test_the_dashboard_of_a_client_by_address():
    """Dask's own property fails where its setting names a variable that is not set."""
    import dask
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as one,
        Client(one.scheduler_address, set_as_default=False) as client,
    ):
        assert cluster.dashboard_of(client) == client.dashboard_link != ""
        with dask.config.set({"distributed.dashboard.link": "https://{NOT_A_VARIABLE}/status"}):
            assert cluster.dashboard_of(client) is None
    assert cluster.dashboard_of(None) is None
