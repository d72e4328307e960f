"""Drivers of clusters are killed: the next one resumes the run, and gets the topics of one thread, to the last bit."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import bigtopic as bt
from bigtopic.learning.executors import choice, whole

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts
from machines import KINDS, N_TOPICS, bits, cluster, documents

pytestmark = [
    pytest.mark.slow,
    pytest.mark.distributed,
    pytest.mark.skipif(hosts.why_no_networks() is not None, reason=hosts.why_no_networks() or ""),
]
SECONDS = 300  # that anything may take
N_KILLS = 2
PASSES = 2 * N_KILLS + 1
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
