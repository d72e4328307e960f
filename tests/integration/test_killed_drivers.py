"""Drivers of clusters are killed: the next one resumes the run, and gets the topics of one thread, to the last bit."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

import bigtopic as bt
from bigtopic.learning.executors import choice, whole
from bigtopic.plan import exchanges

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts
from machines import KINDS, N_TOPICS, bits, cluster, documents

pytestmark = [pytest.mark.slow, pytest.mark.distributed]
SECONDS = 300  # that anything may take
N_KILLS = 2
PASSES = 2 * N_KILLS + 1
MOMENTS = 20  # at which drivers of small runs are killed
SMALL: dict[str, dict[str, Any]] = {
    "default": {"batch_size": 50},
    "vb": {"method": "vb", "tol": 0.0},
    "cgs": {"method": "cgs", "batch_size": 50},
    "replicas": {"method": "cgs", "batch_size": 5, "replicas": 2, "replica_updates": 4},
    "asynchronous": {"method": "streaming-ope", "batch_size": 20, "asynchronous": True},
    "asynchronous, of labels": {"method": "cgs", "batch_size": 20, "asynchronous": True},
}
DRIVER = """
import sys
sys.path[:0] = {paths!r}
from test_killed_drivers import resume, stays
resume(**{settings!r}, callbacks=[stays(after={passes})])
"""


def estimator(kind: str, client: Any, callbacks: Sequence[Callable[[Any], None]] = ()) -> Any:
    method, settings, _ = KINDS[kind]
    where = {"client": client, "n_threads": 1, "progress": False, "random_state": 3, "callbacks": callbacks}
    return bt.LDA(N_TOPICS, method=method, max_iter=PASSES, **settings, **where)


def resume(
    kind: str, corpus: str, checkpoint: str, client: Any, callbacks: Sequence[Callable[[Any], None]] = ()
) -> Any:
    """The fit, which saves a version wherever it can be cut."""
    choice.LONG_ROUND_SECONDS = 0.0 if KINDS[kind][2] == "graphs" else 1e9
    whole.CHUNK_SECONDS = 0.2
    saved = bt.Checkpoint(checkpoint, seconds=0, keep=2)
    return estimator(kind, client, callbacks).fit(bt.open_corpus(corpus), checkpoint=saved, resume=True)


def stays(after: int) -> Callable[[Any], None]:
    """A callback that waits for the kill after so many passes."""

    def stay(event: Any) -> None:
        if event.pass_number >= after:
            time.sleep(SECONDS)

    return stay


@pytest.mark.skipif(hosts.why_no_networks() is not None, reason=hosts.why_no_networks() or "")
@pytest.mark.parametrize("kind", KINDS)
def test_drivers_that_are_killed(kind, tmp_path, monkeypatch):
    """Workers go on for a while with what a killed driver has left them, as the next one begins on more hosts."""
    for module, constant in ((choice, "LONG_ROUND_SECONDS"), (whole, "CHUNK_SECONDS")):
        monkeypatch.setattr(module, constant, getattr(module, constant))  # `resume` changes them
    stored, checkpoint = tmp_path / "corpus.zarr", tmp_path / "run.ckpt"
    bt.ingest(documents(), stored, client=False, progress=False)
    alone = estimator(kind, False).fit(bt.open_corpus(stored))
    run, draw = {"kind": kind, "corpus": str(stored), "checkpoint": str(checkpoint)}, random.Random(7)
    with cluster(tmp_path) as machines:
        for number, host in enumerate(machines.hosts[:N_KILLS], 1):
            machines.start(host)
            settings = run | {"client": machines.client.scheduler.address}
            begin_and_kill(settings, 2 * number, draw.uniform(0.0, 1.0))
        resumed = resume(client=machines.client, **run)
    assert resumed.n_iter_ == alone.n_iter_ == PASSES
    assert bits(resumed._model) == bits(alone._model)


def begin_and_kill(settings: dict[str, Any], passes: int, seconds: float) -> None:
    """Kill a driver so long after it has saved its first version; it goes no further than so many passes."""
    paths, checkpoint = [str(Path(__file__).parent), *sys.path], Path(settings["checkpoint"])
    before = set(checkpoint.glob("step-*/zarr.json"))
    code = DRIVER.format(paths=paths, settings=settings, passes=passes)
    with subprocess.Popen([sys.executable, "-c", code]) as driver:
        try:
            end = time.monotonic() + SECONDS
            while before.issuperset(checkpoint.glob("step-*/zarr.json")):
                assert driver.poll() is None and time.monotonic() < end, "the driver saves nothing"
                time.sleep(0.01)
            time.sleep(seconds)
            assert driver.poll() is None, "the driver has ended by itself"
        finally:
            driver.kill()


def small(run: str, corpus: Any, client: Any, checkpoint: Path | None = None, **settings: Any) -> Any:
    """A fit of 2 passes for each moment."""
    fixed = {
        "max_iter": 2 * MOMENTS + 1,
        "random_state": 3,
        "progress": False,
        "n_threads": 1,
        "client": client,
    }
    model = bt.LDA(4, **SMALL[run], **fixed, **settings)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "replicas=2")
        patch.setattr(choice, "LONG_ROUND_SECONDS", -1.0 if run == "vb" else 1e9)
        patch.setattr(whole, "CHUNK_SECONDS", 0.05)
        patch.setattr(exchanges, "ENTRIES_PER_WORD", 0)
        saved = None if checkpoint is None else bt.Checkpoint(checkpoint, seconds=0, keep=2)
        return model.fit(corpus, checkpoint=saved, resume=saved is not None)


def drive(run: str, corpus: Path, address: str, checkpoint: Path, passes: int, seconds: float) -> None:
    """Kill this process so long after the run has begun, which goes no further than so many passes."""
    begun: list[Any] = []

    def dies(event: Any) -> None:
        if not begun:
            begun.append(event)
            Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()

    small(run, bt.open_corpus(corpus), address, checkpoint, callbacks=[dies, stays(passes)])


@pytest.mark.parametrize("run", SMALL)
def test_twenty_drivers_are_killed(run, corpus, tmp_path):
    """Synchronous methods get the bits of an undisturbed run; asynchronous ones apply each minibatch once."""
    stored, checkpoint, draw = tmp_path / "corpus.zarr", tmp_path / "run.ckpt", random.Random(11)
    stored_corpus = bt.ingest(corpus, stored, client=False, progress=False)
    alone = small(run, stored_corpus, False)
    apart, steps = hosts.Apart(), []
    apart.begin()
    try:
        for moment in range(1, MOMENTS + 1):
            arguments = (run, stored, apart.address, checkpoint, 2 * moment, draw.uniform(0.0, 0.5))
            driver = hosts.forks().Process(target=drive, args=arguments, daemon=True)
            driver.start()
            driver.join(SECONDS)
            assert driver.exitcode == -signal.SIGKILL
            versions = sorted(path.parent.name for path in checkpoint.glob("step-*/zarr.json"))
            steps.append(int(versions[-1].removeprefix("step-")) if versions else 0)
        resumed = small(run, stored_corpus, apart.address, checkpoint)
    finally:
        apart.kill()
    print(f"{run}: updates in the checkpoint after each kill: {steps}")
    assert steps == sorted(steps) and steps[-1] > 0
    assert resumed._model.cursor == alone._model.cursor
    if "asynchronous" in run:
        masses = [float(model._model.topic_words.totals().sum()) for model in (resumed, alone)]
        assert masses[0] == pytest.approx(masses[1], rel=1e-5)
    else:
        assert bits(resumed._model) == bits(alone._model)
