"""Tasks that somebody cancels end a run, which says so; the model is that of the updates before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bigtopic.estimators.lda import LDA
from bigtopic.learning.executors import choice, graph_tasks, graphs, sending, whole
from bigtopic.parallel import cluster
from bigtopic.parallel.results import Cancelled

pytestmark = [pytest.mark.distributed, pytest.mark.usefixtures("replicas_of_large_corpora")]

RUNS: dict[str, dict[str, Any]] = {
    "whole": {"method": "online-vb", "batch_size": 100},
    "graphs": {"method": "vb"},
    "replicas": {"method": "online-vb", "batch_size": 2, "replicas": 2, "replica_updates": 4},
}


def by_another_client(client: Any) -> None:
    """As the dashboard does, or a script: all tasks there are."""
    from dask.distributed import Client, Future

    with Client(client.scheduler.address, set_as_default=False) as other:
        keys = [key for keys in other.processing().values() for key in keys]
        other.cancel([Future(key, client=other) for key in keys if key.startswith("bt-")], force=True)
        other.sync(_a_moment)


def by_this_client(client: Any) -> None:
    from dask.distributed import Future

    keys = [key for keys in client.processing().values() for key in keys if key.startswith("bt-")]
    client.cancel([Future(key, client=client) for key in keys], force=True)


def by_a_restart(client: Any) -> None:
    client.restart(wait_for_workers=False)


async def _a_moment() -> None:
    import asyncio

    await asyncio.sleep(0.2)


@pytest.mark.parametrize("cancel", [by_another_client, by_this_client, by_a_restart])
@pytest.mark.parametrize("shared", [True, False], ids=["files", "sent"])
@pytest.mark.parametrize("name", RUNS)
def test_it_is_said_and_the_model_is_valid(name, shared, cancel, corpus, mortal_worker, monkeypatch):
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", -1.0 if name == "graphs" else 1e9)
    monkeypatch.setattr(graph_tasks, "TASK_SECONDS", 1e-9)
    if not shared:
        for module in (choice, graphs, sending, whole):
            monkeypatch.setattr(module, "shares_files", lambda *_: False)
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.1)
    begun = threading.Event()
    stop = threading.Thread(target=_when_busy, args=(mortal_worker, begun, cancel))
    stop.start()
    updates: list[int] = []

    def look(event: Any) -> None:
        updates.append(event.step)
        if event.step:
            begun.set()

    model = LDA(4, max_iter=100_000, client=mortal_worker, random_state=0, callbacks=[look], **RUNS[name])
    with pytest.raises(Cancelled, match="somebody cancelled the tasks"):
        model.fit(corpus)
    stop.join()
    assert max(updates) > 0 and np.isfinite(model.components_).all()
    mortal_worker.wait_for_workers(1, timeout=60)
    model.set_params(callbacks=[], max_iter=1).partial_fit(corpus)


def _when_busy(client: Any, begun: threading.Event, cancel: Callable[[Any], None]) -> None:
    """Cancel the tasks when some have begun after the first update."""
    begun.wait(60)
    for _ in range(200):
        time.sleep(0.02)
        if any(key.startswith("bt-") for keys in client.processing().values() for key in keys):
            cancel(client)
            return


def test_a_map_whose_tasks_are_cancelled(mortal_worker):
    def cancel() -> None:
        while not any(mortal_worker.processing().values()):
            time.sleep(0.05)
        by_another_client(mortal_worker)

    stop = threading.Thread(target=cancel)
    stop.start()
    with pytest.raises(Cancelled, match="somebody cancelled the tasks"):
        list(cluster.bounded_map(time.sleep, [3.0, 3.0], client=mortal_worker))
    stop.join()
