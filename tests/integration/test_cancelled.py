"""Tasks that are cancelled end a run, which says so; the model is that of the updates before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product
from typing import Any

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.estimators.lda import LDA
from bigtopic.learning.executors import choice, graph_tasks, graphs, sending, whole
from bigtopic.parallel import mapping
from bigtopic.parallel.results import Cancelled

pytestmark = [pytest.mark.distributed, pytest.mark.usefixtures("replicas_of_large_corpora")]

RUNS: dict[str, dict[str, Any]] = {
    "whole": {"method": "online-vb", "batch_size": 100},
    "graphs": {"method": "vb", "tol": 0.0},
    "replicas": {"method": "online-vb", "batch_size": 2, "replicas": 2, "replica_updates": 4},
    "asynchronous": {"method": "dsgs", "batch_size": 50},
}


def _cancel_at_work(dask_scheduler: Any) -> None:
    """What the scheduler does when a client, or a script on its side, cancels what is at work."""
    keys = [
        key for key, task in dask_scheduler.tasks.items() if task.state == "processing" and task.who_wants
    ]
    for client in list(dask_scheduler.clients):
        if keys and client != "fire-and-forget":
            options = {"force": True, "reason": None, "msg": None}
            dask_scheduler.stimulus_cancel(keys, client, **options)
            return


def by_others(client: Any) -> None:
    client.run_on_scheduler(_cancel_at_work)


def by_this_client(client: Any) -> None:
    from dask.distributed import Future

    keys = [key for keys in client.processing().values() for key in keys if key in client.futures]
    client.cancel([Future(key, client=client) for key in keys])


def by_a_restart(client: Any) -> None:
    if any(client.processing().values()):
        client.restart(timeout=60)


QUICK = ("whole", True, by_others), ("graphs", False, by_others)  # the others take a minute
CASES = [
    pytest.param(*case, marks=[] if case in QUICK else pytest.mark.slow)
    for case in product(RUNS, (True, False), (by_others, by_this_client, by_a_restart))
]


@pytest.mark.filterwarnings("ignore:replicas=2")
@pytest.mark.parametrize(("name", "shared", "cancel"), CASES)
def test_it_is_said_and_the_model_is_valid(name, shared, cancel, corpus, mortal_worker, monkeypatch):
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", -1.0 if name == "graphs" else 1e9)
    monkeypatch.setattr(graph_tasks, "TASK_SECONDS", 1e-9)
    if not shared:
        for module in (choice, graphs, sending, whole):
            monkeypatch.setattr(module, "shares_files", lambda *_: False)
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.1)
    updates: list[int] = []
    model = LDA(
        4,
        max_iter=100_000,
        max_time=60.0,
        client=mortal_worker,
        random_state=0,
        callbacks=[lambda event: updates.append(event.step)],
        **RUNS[name],
    )
    ends = pytest.raises(Cancelled, match="tasks of this work were cancelled")
    with _cancelling(lambda: any(updates) and cancel(mortal_worker)), ends:
        model.fit(corpus)
    assert max(updates) > 0 and np.isfinite(model.components_).all()
    mortal_worker.wait_for_workers(1, timeout=60)
    model.set_params(callbacks=[], max_iter=1).partial_fit(corpus)


@contextmanager
def _cancelling(cancel: Callable[[], Any]) -> Iterator[None]:
    """Cancel again and again meanwhile: a task may just be over."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(0.05):
            with suppress(OSError, AttributeError):  # while the cluster restarts
                cancel()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_map_whose_tasks_are_cancelled(one_worker):
    with (
        _cancelling(lambda: by_others(one_worker)),
        pytest.raises(Cancelled, match="tasks of this work were cancelled"),
    ):
        list(mapping.bounded_map(time.sleep, [3.0, 3.0], client=one_worker))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["transform", "evaluate", "ingest"])
def test_other_work_whose_tasks_are_cancelled(name, corpus, one_worker, tmp_path, monkeypatch):
    """An ingest leaves the store as it was."""
    texts = ["a boat on the river", "the choir at the opera"] * 20
    before = bt.ingest(texts, tmp_path / "texts.zarr", client=False, max_df=1.0)
    model = LDA(4, method="online-cvb0", max_iter=1, batch_size=100, client=one_worker).fit(corpus)
    work: dict[str, Callable[[], Any]] = {
        "transform": lambda: model.transform(corpus),
        "evaluate": lambda: bt.evaluate.log_predictive(model, corpus, client=one_worker),
        "ingest": lambda: bt.ingest(texts, before.url, client=one_worker, overwrite=True, max_df=1.0),
    }
    monkeypatch.setattr(mapping, "resting", _slowly)
    with (
        _cancelling(lambda: by_others(one_worker)),
        pytest.raises(Cancelled, match="tasks of this work were cancelled"),
    ):
        work[name]()
    after = bt.open_corpus(before.url)
    assert after.fingerprint == before.fingerprint and after.verify()


def _slowly(function: Callable[..., Any], *arguments: Any) -> Any:
    time.sleep(1.0)
    return function(*arguments)


@pytest.mark.slow
def test_the_run_resumes_from_its_checkpoint(corpus, one_worker, tmp_path, monkeypatch):
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.1)
    updates: list[int] = []
    settings = {"method": "online-vb", "batch_size": 100, "max_iter": 400, "random_state": 0}
    checkpoint = bt.Checkpoint(tmp_path / "run", rounds=1)
    model = LDA(4, client=one_worker, callbacks=[lambda event: updates.append(event.step)], **settings)
    ends = pytest.raises(Cancelled, match="tasks of this work were cancelled")
    with _cancelling(lambda: any(updates) and by_others(one_worker)), ends:
        model.fit(corpus, checkpoint=checkpoint)
    resumed = LDA(4, client=one_worker, **settings).fit(corpus, checkpoint=checkpoint, resume=True)
    undisturbed = LDA(4, client=False, n_threads=1, **settings).fit(corpus)
    np.testing.assert_array_equal(resumed.components_, undisturbed.components_)
