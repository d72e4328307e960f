"""Hosts come, die and lose touch while a cluster learns: its topics are those of one thread, to the last bit."""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
import pytest

from bigtopic.learning import executors
from bigtopic.learning.executors import whole
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.parallel import workers
from bigtopic.state.new_model import new_model

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts
from machines import KINDS, N_TOPICS, Machines, bits, cluster, documents

pytestmark = [
    pytest.mark.slow,
    pytest.mark.distributed,
    pytest.mark.skipif(hosts.why_no_networks() is not None, reason=hosts.why_no_networks() or ""),
    # A host that starts again, or is cut off, may take longer than users are kept waiting without a word.
    pytest.mark.filterwarnings("ignore:the Dask scheduler at .* has no worker"),
    pytest.mark.filterwarnings("ignore:the Dask scheduler has not heard from"),
]
SECONDS = 300  # that anything may take
# How many hosts there are, and how many of them die at each of ten moments.
DEATHS = {1: [1, 1], 2: [1, 2, 1], 4: [1, 1, 1, 1, 1]}


@pytest.fixture(params=KINDS)
def kind(request: Any) -> str:
    return request.param


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with cluster(tmp_path) as made:
        yield made


@pytest.fixture(autouse=True)
def short_tasks_and_long_patience(monkeypatch: Any) -> None:
    monkeypatch.setattr(whole, "CHUNK_SECONDS", 0.2)
    monkeypatch.setattr(workers, "NO_WORKERS_SECONDS", SECONDS)


@pytest.fixture(autouse=True)
def heeds_interrupts() -> Iterator[None]:
    """Also in the background of a shell, where Ctrl-C is ignored."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


class Rounds:
    """A callback that knows when a round was done."""

    def __init__(self) -> None:
        self._done = threading.Event()

    def __call__(self, event: Any) -> None:
        if event.kind == "round":
            self._done.set()

    def wait(self) -> None:
        """Until another round was done."""
        self._done.clear()
        assert self._done.wait(SECONDS), "no round comes to an end"


def learn(kind: str, client: Any, *callbacks: Callable[[Any], None]) -> Any:
    """A model that learns until a callback interrupts it."""
    method, settings, mode = KINDS[kind]
    words = documents().vocabulary
    model = new_model(method, N_TOPICS, words, n_tokens=documents().n_tokens, seed=5)
    executor = None if client is None else lambda run: executors.load(mode).make(run, client, 1)
    limits = Limits(100_000, callbacks=list(callbacks))
    train(model, documents(), limits, n_threads=1, executor=executor, **settings)
    return model


def learn_meanwhile(kind: str, machines: Machines, work: Callable[[Rounds], None]) -> Any:
    """A model that learns on the machines until `work` is done."""
    rounds = Rounds()
    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        done = pool.submit(work, rounds)
        patch.setattr(tempfile, "tempdir", str(machines.shared))  # where the state of documents is
        try:
            return learn(kind, machines.client, rounds, ends_with(done))
        finally:
            done.result()


def ends_with(done: Future[None]) -> Callable[[Any], None]:
    """A callback that presses Ctrl-C when something is done: once, since the second one ends a run in the middle."""
    pressed: list[int] = []

    def interrupt(event: Any) -> None:
        if event.kind == "round" and done.done() and not pressed:
            pressed.append(event.step)
            signal.raise_signal(signal.SIGINT)

    return interrupt


def check(model: Any, kind: str) -> None:
    """One thread learns the same in as many updates."""
    last = model.cursor.step

    def interrupt(event: Any) -> None:
        if event.kind == "round" and event.step == last:
            signal.raise_signal(signal.SIGINT)

    alone = learn(kind, None, interrupt)
    assert alone.cursor == model.cursor and last > 0
    assert bits(alone) == bits(model)


def test_hosts_that_come_and_die(kind, machines):
    """None when the run begins; then one, two and four, of which some die at random moments and start again."""
    draw = random.Random(0)

    def come_and_die(rounds: Rounds) -> None:
        for n_hosts, deaths in DEATHS.items():
            for host in machines.hosts[len(machines.running) : n_hosts]:
                machines.start(host)
            for n_dying in deaths:
                rounds.wait()  # a cluster gives up when workers die repeatedly in one round
                time.sleep(draw.uniform(0.0, 0.5))
                dying = draw.sample(list(machines.running), n_dying)
                for change in (machines.kill, machines.start):
                    for host in dying:
                        change(host)
        rounds.wait()

    check(learn_meanwhile(kind, machines, come_and_die), kind)


@pytest.mark.parametrize("kind", ["batches", "short rounds", "state of a run"])
def test_a_host_that_is_cut_off(kind, machines):
    """It computes on, and writes what it remembers, but nobody hears of it; nothing says that it is gone."""

    def cut(rounds: Rounds) -> None:
        for host in machines.hosts[:2]:
            machines.start(host)
        rounds.wait()
        hosts.unplug(machines.hosts[0])
        end = time.monotonic() + SECONDS
        while len(machines.client.nthreads()) > 1:
            assert time.monotonic() < end
            time.sleep(0.1)
        rounds.wait()

    with dask.config.set({"distributed.comm.timeouts.tcp": "11s"}):  # the least that Dask allows
        check(learn_meanwhile(kind, machines, cut), kind)


CUT_SECONDS = 60


@pytest.mark.parametrize("kind", ["batches", "short rounds", "replicas"])
def test_a_link_that_is_cut_for_a_minute(kind, machines):
    """Longer than Dask waits for an answer, with its own settings; then the link heals, and its worker begins again."""

    def cut(rounds: Rounds) -> None:
        for host in machines.hosts[:2]:
            machines.start(host)
        rounds.wait()
        hosts.unplug(machines.hosts[0])
        last, longest = (begun := time.monotonic()), 0.0
        while last < begun + CUT_SECONDS:
            rounds.wait()
            last, longest = (now := time.monotonic()), max(longest, now - last)
        hosts.plug(machines.hosts[0])
        rounds.wait()
        print(f"{kind}: no round for {longest:.0f} s, while a link was cut for {CUT_SECONDS} s")
        machines.kill(machines.hosts[0])
        machines.start(machines.hosts[0])
        rounds.wait()

    check(learn_meanwhile(kind, machines, cut), kind)
