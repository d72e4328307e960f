"""Dask pauses a worker near its memory limit, and no task comes to it then. A run that fits leaves none paused."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.learning import sharing
from bigtopic.learning.executors import choice, graph_tasks, graphs, sending, whole
from bigtopic.learning.memory import estimate
from bigtopic.support import buffers

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts

pytestmark = [pytest.mark.distributed, pytest.mark.usefixtures("replicas_of_large_corpora")]

MEGABYTE = 10**6
# What a run is, by the executor that it has; and where workers share no files with this process
RUNS: dict[str, dict[str, Any]] = {
    "whole": {"method": "online-vb", "batch_size": 200},
    "whole, of labels": {"method": "cgs", "batch_size": 200},
    "graphs": {"method": "vb"},
    "graphs, of labels": {"method": "cgs"},
    "replicas": {"method": "online-vb", "batch_size": 50, "replicas": 2, "replica_updates": 4},
}


def counts(n_docs: int, n_words: int) -> Any:
    """Documents of about 100 words, which are as frequent as words are."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, n_words + 1)
    rows = np.repeat(np.arange(n_docs), rng.poisson(100, n_docs) + 1)
    words = rng.choice(n_words, len(rows), p=frequency / frequency.sum())
    return sparse.csr_matrix((np.ones(len(rows), np.int32), (rows, words)), (n_docs, n_words))


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, bool], dict[str, Any]]:
    """Let runs have an executor, with shared files or without; the settings of a run that has it."""

    def choose(name: str, shared: bool) -> dict[str, Any]:
        monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", -1.0 if name.startswith("graphs") else 1e9)
        monkeypatch.setattr(graph_tasks, "TASK_SECONDS", 1e-9)
        if not shared:
            for module in (choice, graphs, sending, whole):
                monkeypatch.setattr(module, "shares_files", lambda *_: False)
        return RUNS[name]

    return choose


@contextmanager
def workers(n_workers: int, memory_limit: int) -> Iterator[Any]:
    """Client of some worker processes that Dask pauses, and does not end."""
    import dask
    from dask.distributed import Client, LocalCluster

    settings = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.memory.terminate": False}),
        LocalCluster(n_workers=n_workers, memory_limit=memory_limit, **settings) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def left(dask_worker: Any) -> tuple[int, int]:
    """Bytes that rest in this process, and versions of params that it maps."""
    buffers._collect()
    return sum(piece.nbytes for piece in [*buffers._unused, *buffers._resting]), len(sharing._mapped)


def all_gave_back(client: Any, before: dict[str, tuple[int, int]], seconds: float = 10.0) -> bool:
    """Whether, after a moment, nothing more rests on any worker than before, which other tests may hold."""

    def more() -> bool:
        found = client.run(left)
        return any(np.greater(own, before.get(worker, (0, 0))).any() for worker, own in found.items())

    end = time.monotonic() + seconds
    while (resting := more()) and time.monotonic() < end:
        time.sleep(0.05)
    return not resting


@pytest.mark.parametrize("shared", [True, False], ids=["files", "sent"])
@pytest.mark.parametrize("name", RUNS)
def test_nothing_rests_on_a_worker_after_a_run(name, shared, executor, three_workers):
    settings, before = executor(name, shared), three_workers.run(left)
    LDA(40, max_iter=2, client=three_workers, **settings).fit(counts(800, 3000))
    assert all_gave_back(three_workers, before)


def test_nothing_rests_after_a_run_that_fails(executor, three_workers):
    def fail(event: Any) -> None:
        if event.kind == "pass":
            raise ZeroDivisionError

    before = three_workers.run(left)
    with pytest.raises(ZeroDivisionError):
        LDA(40, max_iter=3, client=three_workers, callbacks=[fail], **executor("graphs", True)).fit(
            counts(800, 3000)
        )
    assert all_gave_back(three_workers, before)


@pytest.mark.parametrize("name", ["auto", "online-vb"])
def test_nothing_rests_after_topics_of_documents(name, three_workers):
    documents, before = counts(800, 3000), three_workers.run(left)
    model = LDA(40, method=name, max_iter=1, client=False).fit(documents)
    model.set_params(client=three_workers).transform(documents)
    assert all_gave_back(three_workers, before)


@pytest.fixture(scope="module")
def limited() -> Iterator[Any]:
    """Client of a worker of 4 GB."""
    with workers(1, 4000 * MEGABYTE) as client:
        yield client


def test_little_rests_between_the_tasks_of_a_map(limited):
    from bigtopic.parallel import mapping

    list(mapping.bounded_map(_takes, [300 * MEGABYTE], client=limited))
    ((resting, _),) = limited.run(left).values()
    assert resting == 0  # a piece of 375 MB is more than a twentieth
    list(mapping.bounded_map(_takes, [100 * MEGABYTE], client=limited))
    ((resting, _),) = limited.run(left).values()
    assert 100 * MEGABYTE <= resting <= 200 * MEGABYTE
    limited.run(buffers.give_back)


def _takes(n_bytes: int) -> int:
    return int(buffers.zeros(n_bytes, np.uint8)[0])


def test_what_a_worker_holds_counts(limited):
    """The memory of its process, except for results, which Dask writes to the disk; and the error says so."""

    def held() -> int:
        return next(iter(estimate.memory_of_workers(limited, {}).values())).held

    held()
    before = held()
    assert before > 100 * MEGABYTE  # what is imported
    future = limited.submit(bytes, 300 * MEGABYTE, pure=False)
    future.result()
    assert held() < before + 100 * MEGABYTE
    del future
    limited.run(_hold, 3200 * MEGABYTE // 8)
    try:
        # Dask itself has paused it, and still it is asked
        assert held() > before + 3000 * MEGABYTE
        said = r"it uses 80% before Dask pauses it: its process holds 3\.\d+ GB already"
        with pytest.raises(SettingError, match=said):
            LDA(4, max_iter=1, client=limited).fit(counts(50, 100))
    finally:
        limited.run(_hold, 0)


def _hold(n: int) -> None:
    """As another library might, until the next call."""
    sys.modules["held"] = np.ones(n)  # type: ignore[assignment]


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False], ids=["files", "sent"])
@pytest.mark.parametrize("name", RUNS)
def test_a_worker_takes_tasks_after_every_executor(name, shared, executor):
    """With 1.2 times the memory that the estimate asks for."""
    settings, documents = executor(name, shared), counts(3000, 30_000)
    model = LDA(500, max_iter=1, **settings)
    with workers(2, 260 * MEGABYTE) as client, pytest.raises(SettingError) as refused:
        model.set_params(client=client).fit(documents)
    asked = re.search(r"a larger memory_limit \((\d+\.\d\d) GB or more\)", str(refused.value))
    assert asked is not None
    with workers(2, int(1.2 * float(asked[1]) * 1e9)) as client:
        for _ in range(3):
            model.set_params(client=client).fit(documents)
            there = list(client.nthreads())
            found = [client.submit(_one, workers=[worker], pure=False) for worker in there]
            assert [future.result(10) for future in found] == [1, 1]
        assert all_gave_back(client, {})


def _one() -> int:
    return 1


@pytest.mark.slow
def test_twenty_runs_one_after_another():
    documents = counts(3000, 30_000)
    with workers(2, 700 * MEGABYTE) as client:
        for _ in range(20):
            LDA(1000, method="online-cvb0", max_iter=1, client=client).fit(documents)
            assert client.submit(_one, pure=False).result(10) == 1


@pytest.mark.slow
def test_what_a_killed_driver_leaves_is_given_back():
    """Dask releases what a client has that is gone; so the run ends on the workers, too."""
    with workers(1, 4000 * MEGABYTE) as client:
        process = hosts.forks().Process(target=_drive, args=(client.scheduler.address,))
        process.start()
        while not any(map(any, client.run(left).values())):
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert all_gave_back(client, {}, 60.0)


def _drive(address: str) -> None:
    LDA(300, max_iter=10_000, client=address, method="online-vb").fit(counts(1000, 10_000))
