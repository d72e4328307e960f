"""Schedulers that die, and perhaps come back: a run ends with a valid model that is saved, or goes on."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import ClusterError
from bigtopic.learning.executors import choice, graph_tasks, whole
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.parallel import cluster, results

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts

pytestmark = [
    pytest.mark.distributed,
    pytest.mark.usefixtures("replicas_of_large_corpora"),
    pytest.mark.filterwarnings("ignore:the scheduler at .* is lost"),
    pytest.mark.filterwarnings("ignore:the Dask scheduler at .* has no worker"),
    pytest.mark.filterwarnings("ignore:replicas=2"),
]

SECONDS = 120  # that anything may take
PATIENCE = 20  # seconds that Dask's client tries to reach its scheduler again; 30 by default
RUNS: dict[str, dict[str, Any]] = {
    "whole": {"method": "online-vb", "batch_size": 100},
    "graphs": {"method": "vb", "tol": 0.0},
    "replicas": {"method": "online-vb", "batch_size": 2, "replicas": 2, "replica_updates": 4},
    "asynchronous": {"method": "sgs", "batch_size": 10, "asynchronous": True},
}


@pytest.fixture
def lost() -> Iterator[Any]:
    found = hosts.Apart()
    found.begin()
    yield found
    found.kill()


@contextmanager
def connected(lost: hosts.Apart) -> Iterator[Any]:
    from dask.distributed import Client

    end = time.monotonic() + SECONDS
    while True:
        try:
            client = Client(lost.address, set_as_default=False, timeout=PATIENCE)
            break
        except OSError:
            assert time.monotonic() < end, "no scheduler comes"
    try:
        client.wait_for_workers(2, timeout=SECONDS)
        yield client
    finally:
        client.close()


@pytest.fixture(params=RUNS)
def settings(request: Any, monkeypatch: Any) -> dict[str, Any]:
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", -1.0 if request.param == "graphs" else 1e9)
    monkeypatch.setattr(graph_tasks, "TASK_SECONDS", 1e-9)
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.1)
    return RUNS[request.param]


def after(step: int, work: Callable[[], None]) -> Callable[[Any], None]:
    """A callback that does something once so many updates are done."""
    done: list[int] = []

    def call(event: Any) -> None:
        if event.kind == "round" and event.step >= step and not done:
            done.append(event.step)
            work()

    return call


class Client:
    """A client that is in one state after the other, and stays in the last."""

    def __init__(self, *states: str) -> None:
        self._states = list(states)
        self.scheduler = SimpleNamespace(address="tcp://there:8786")

    @property
    def status(self) -> str:
        return self._states.pop(0) if len(self._states) > 1 else self._states[0]


@pytest.mark.parametrize(
    ("last", "says"), [("running", "workers die"), ("closed", "lost its scheduler .tcp://there:8786")]
)
def test_the_work_waits_while_dask_connects(last, says):
    lost = CancelledError()
    lost.reason = "scheduler-connection-lost"
    client = Client("connecting", "connecting", last)
    with pytest.raises(ClusterError, match=says), cluster.cluster_errors(client):
        with pytest.warns(match="tcp://there:8786 is lost, and"):
            results._refuse_cancelled(client, lost)
        raise lost  # which is repeated while the client runs


def test_what_a_failing_cluster_leaves_is_saved(corpus, tmp_path, monkeypatch):
    whole_run = ThreadExecutor.advance

    def fail(self, *arguments):
        yield from islice(whole_run(self, *arguments), 2)
        raise ClusterError("the scheduler is lost")

    fixed = {"method": "online-vb", "batch_size": 100, "max_iter": 3, "random_state": 0, "client": False}
    model, alone = bt.LDA(4, **fixed), bt.LDA(4, **fixed).fit(corpus)
    monkeypatch.setattr(ThreadExecutor, "advance", fail)
    said = r"lost; the model is valid, with the topics of 2 updates"
    with pytest.raises(ClusterError, match=f"{said}: call partial_fit"):
        model.fit(corpus)
    with pytest.raises(ClusterError, match=f"{said}, and saved: run the same again with resume=True"):
        model.fit(corpus, checkpoint=tmp_path / "run")
    monkeypatch.undo()
    assert bt.load_model(tmp_path / "run")._model.cursor.step == 2
    resumed = model.fit(corpus, checkpoint=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(resumed.components_, alone.components_)


@pytest.mark.slow
def test_a_run_whose_scheduler_is_lost_is_saved(settings, corpus, lost, tmp_path, caplog):
    """Its last line says how to go on; Dask prints no page of tracebacks; on threads it goes on to the same bits."""
    caplog.set_level(logging.WARNING)
    online = {"method": "online-cvb0", "max_iter": 40, "random_state": 0, "progress": False}
    fixed = {**online, **settings}
    checkpoint = bt.Checkpoint(tmp_path / "run", seconds=1000)
    with connected(lost) as client:
        model = bt.LDA(4, client=client, callbacks=[after(12, lost.kill)], **fixed)
        begun = time.monotonic()
        with pytest.raises(ClusterError, match=re.escape(lost.address)) as caught:
            model.fit(corpus, checkpoint=checkpoint)
        print(f"ended after {time.monotonic() - begun:.0f} s:", caught.value)
    assert re.search(r"model is valid, with the topics of \d+ updates.* and saved: run", str(caught.value))
    assert np.isfinite(model.components_).all() and caught.value.__cause__ is None
    assert not [record for record in caplog.records if record.exc_info], caplog.text
    saved = bt.load_model(tmp_path / "run")
    np.testing.assert_array_equal(saved.components_, model.components_)
    resumed = bt.LDA(4, client=False, n_threads=1, **fixed).fit(corpus, checkpoint=checkpoint, resume=True)
    assert resumed.n_iter_ == 40
    if not settings.get("asynchronous"):
        alone = bt.LDA(4, client=False, n_threads=1, **fixed).fit(corpus)
        np.testing.assert_array_equal(resumed.components_, alone.components_)


@pytest.mark.slow
def test_a_run_goes_on_when_its_scheduler_is_started_again(settings, corpus, lost, caplog):
    def restart() -> None:
        lost.kill()
        lost.begin()

    online = {"method": "online-cvb0", "max_iter": 40, "random_state": 0, "progress": False}
    fixed = {**online, **settings}
    with connected(lost) as client:
        model = bt.LDA(4, client=client, callbacks=[after(12, restart)], **fixed).fit(corpus)
    assert model.n_iter_ == 40
    if not settings.get("asynchronous"):
        alone = bt.LDA(4, client=False, n_threads=1, **fixed).fit(corpus)
        np.testing.assert_array_equal(model.components_, alone.components_)
