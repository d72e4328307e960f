"""What users of Dask expect: annotations, spans, names, fits inside tasks, and releases of keys hold for every kind of
work."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from dask.utils import key_split

import bigtopic as bt
from bigtopic.errors import BigtopicWarning
from bigtopic.estimators.lda import LDA
from bigtopic.learning.executors import choice, graph_tasks, sending, whole
from bigtopic.learning.memory import estimate
from bigtopic.parallel import cluster, results, workers
from bigtopic.parallel.results import Cancelled

pytestmark = pytest.mark.distributed

RUNS: dict[str, dict[str, Any]] = {
    "whole": {"method": "online-vb", "batch_size": 100},
    "graphs": {"method": "vb", "tol": 0.0},
    "asynchronous": {"method": "dsgs", "batch_size": 50},
}
TASKS = {
    "whole": {"bt-rounds"},
    "graphs": {"bt-estep", "bt-add"},
    "asynchronous": {"bt-read", "bt-rows", "bt-push"},
    "transform": {"bt-infer"},
    "evaluate": {"bt-measure"},
    "ingest": {"bt-ingest"},
}


@pytest.fixture
def learn(corpus: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., LDA]:
    """Learn in one of the three ways."""
    monkeypatch.setattr(graph_tasks, "TASK_SECONDS", 1e-9)

    def fit(name: str, client: Any, **more: Any) -> LDA:
        monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", -1.0 if name == "graphs" else 1e9)
        settings = {"max_iter": 2, "random_state": 0, **RUNS[name], **more}
        return LDA(4, client=client, **settings).fit(corpus)

    return fit


@pytest.fixture(scope="module")
def learned(corpus: Any) -> LDA:
    return LDA(4, method="online-vb", max_iter=1, batch_size=100, client=False, n_threads=1).fit(corpus)


@pytest.fixture
def work(corpus: Any, learned: LDA, learn: Callable[..., LDA], tmp_path: Path) -> Callable[..., Any]:
    """Every kind of work on a client, by name."""

    def do(name: str, client: Any) -> Any:
        if name in RUNS:
            return learn(name, client)
        if name == "ingest":
            texts = ["a boat on the river", "the choir at the opera"] * 20
            return bt.ingest(texts, tmp_path / "texts.zarr", client=client, overwrite=True)
        if name == "evaluate":
            return bt.evaluate.log_predictive(learned, corpus, client=client)
        return learned.set_params(client=client).transform(corpus)

    return do


@contextmanager
def recording(client: Any) -> Iterator[dict[str, Any]]:
    """The tasks of this package that begin meanwhile: the scheduler's state of each, and the name of its worker."""
    from distributed.diagnostics.plugin import SchedulerPlugin

    found: dict[str, Any] = {}
    scheduler = client.cluster.scheduler

    class Recorder(SchedulerPlugin):
        name = "bigtopic-recorder"

        def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
            if finish == "processing" and str(key).startswith("bt-"):
                task = scheduler.tasks[key]
                found[key] = task, task.processing_on.name

    client.sync(_add, scheduler, Recorder())
    try:
        yield found
    finally:
        client.sync(_remove, scheduler, Recorder.name)


async def _add(scheduler: Any, plugin: Any) -> None:
    scheduler.add_plugin(plugin)


async def _remove(scheduler: Any, name: str) -> None:
    scheduler.remove_plugin(name)


async def _give(n: int, dask_worker: Any) -> None:
    await dask_worker.set_resources(PRESS=n)


@pytest.fixture
def press(three_workers: Any) -> Iterator[tuple[Any, str]]:
    """The client of three workers, and the name of the one that has a resource."""
    there = workers.described(three_workers)
    address = sorted(there)[1]
    three_workers.run(_give, 1, workers=[address])
    yield three_workers, there[address]["name"]
    three_workers.run(_give, 0, workers=[address])


LIKE_TRANSFORM = "evaluate", "ingest"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LIKE_TRANSFORM)) for name in TASKS]
)
def test_annotations_reach_every_task(name, work, press):
    client, owner = press
    with recording(client) as found:
        with dask.annotate(resources={"PRESS": 1}, priority=7, retries=5):
            work(name, client)
        learned = dict(found)
        found.clear()
        with dask.annotate(workers=[owner]):
            work(name, client)
    for key, (task, on) in learned.items():
        assert (on, task.priority[0], task.resource_restrictions) == (owner, -7, {"PRESS": 1})
        # A task that has claimed the topics must not be repeated
        assert task.annotations["retries"] == (0 if name == "whole" and "held" not in key else 5)
    assert {key_split(key) for key in learned} == {key_split(key) for key in found} == TASKS[name]
    assert {on for _, on in found.values()} == {owner}


def test_preferred_workers_are_a_preference(three_workers):
    there = list(three_workers.nthreads())
    with dask.annotate(workers=there[:1], allow_other_workers=True):
        assert workers.places(three_workers) == workers.Places()
    with dask.annotate(workers=there[:2]):
        assert workers.places(three_workers, there[1:]).only == there[1:2]


def test_the_memory_of_workers_that_are_not_chosen_does_not_matter(three_workers, monkeypatch):
    there = {
        address: {**worker, "memory_limit": 10}
        for address, worker in workers.described(three_workers).items()
    }
    monkeypatch.setattr(workers, "described", lambda *_: there)
    with dask.annotate(workers=list(there)[:1]):
        assert list(estimate.memory_of_workers(three_workers, {})) == list(there)[:1]


@pytest.mark.parametrize("name", ["graphs", "transform"])
def test_work_that_no_worker_may_do_waits_and_says_so(name, work, three_workers, monkeypatch):
    monkeypatch.setattr(results, "LOOK_SECONDS", 0.3)
    with (
        dask.annotate(resources={"PRINTER": 1}),
        pytest.raises(BigtopicWarning, match=r"no worker that dask.annotate allows; the work goes on"),
    ):
        work(name, three_workers)


def test_every_pass_is_a_span_and_its_tasks_say_so(learn, three_workers, monkeypatch):
    monkeypatch.setattr(sending, "MOST_SPANS", 2)
    gc.collect()  # a group of tasks of an earlier run would keep its span
    with recording(three_workers) as found:
        learn("graphs", three_workers, max_iter=3)
    keys = [key for key in found if key.startswith("bt-estep") and "held" not in key]
    assert {key.split("-", 3)[3].rpartition("-")[0][:15] for key in keys} >= {
        f"pass-{n}-update-{n}" for n in (1, 2, 3)
    }
    names = {task.annotations["span"]["name"] for task, _ in found.values()}
    assert names == {("bigtopic", "pass 1"), ("bigtopic", "pass 2")}  # the last one is for all that follow


def _fit_in_a_task(size: int, corpus: Any) -> tuple[bytes, int]:
    from dask.distributed import get_client

    model = LDA(size, method="online-vb", max_iter=2, random_state=0, client=get_client()).fit(corpus)
    return model.components_.tobytes(), cluster.default_threads()


def test_fits_in_tasks_of_the_only_thread(corpus, one_worker):
    found = one_worker.gather(one_worker.map(_fit_in_a_task, [3, 4], corpus=corpus, pure=False))
    settings = {"method": "online-vb", "max_iter": 2, "random_state": 0, "client": False}
    assert [bits for bits, _ in found] == [
        LDA(size, **settings).fit(corpus).components_.tobytes() for size in (3, 4)
    ]
    assert [n_threads for _, n_threads in found] == [1, 1]


def _release(dask_scheduler: Any) -> None:
    """What the scheduler does for a client that needs no results any more; the client is not told."""
    for name, client in list(dask_scheduler.clients.items()):
        keys = [task.key for task in client.wants_what if task.state == "processing"]
        dask_scheduler.client_releases_keys(keys, name)


@pytest.mark.parametrize(
    "name", ["whole", *(pytest.param(name, marks=pytest.mark.slow) for name in ("graphs", "asynchronous"))]
)
def test_keys_that_are_released_end_the_fit(name, learn, one_worker, monkeypatch):
    monkeypatch.setattr(results, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.5)
    updates: list[int] = []

    def release(event: Any) -> None:
        updates.append(event.step)
        threading.Timer(0.1, one_worker.run_on_scheduler, [_release]).start()

    with pytest.raises(Cancelled, match=r"released for this client.*call partial_fit"):
        learn(name, one_worker, max_iter=100_000, max_time=60.0, callbacks=[release])
    assert updates
    time.sleep(0.3)  # for the last timer


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the Dask scheduler at .* has no worker yet; bigtopic waits for the first")
@pytest.mark.parametrize("name", RUNS)
def test_an_adaptive_cluster_starts_from_none_and_ends_with_none(name, learn):
    from dask.distributed import Client, LocalCluster

    settings = {"n_workers": 0, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**settings) as made, Client(made, set_as_default=False) as client:
        made.adapt(minimum=0, maximum=2, interval="500ms")
        for _ in range(2):  # the second time, the first workers are gone
            found = learn(name, client, max_iter=20)
            assert client.nthreads()
            if name != "asynchronous":
                expected = learn(name, False, max_iter=20, n_threads=1)
                np.testing.assert_array_equal(found.components_, expected.components_)
            while client.nthreads():
                time.sleep(0.1)


@pytest.mark.slow
def test_a_performance_report_shows_the_rounds(learn, three_workers, tmp_path):
    pytest.importorskip("bokeh")
    from dask.distributed import performance_report

    with three_workers.as_current(), performance_report(tmp_path / "fit.html"):
        learn("graphs", three_workers)
    assert "bt-estep" in (tmp_path / "fit.html").read_text()
