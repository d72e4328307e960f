"""How far a cluster of simulated workers speeds up `vb` and replicas, at PubMed's shape, and what saturates first.

Real are the scheduler, which is a process of its own; the driver, this process, with its executor, its graphs and its
steps on params of the real size; the workers' side of Dask; and all messages. The workers' tasks sleep, for seconds
that real tasks of this machine take, and their results only say their size (see `simulated`). Params and sums also take
the seconds of two hops between driver and workers, through the scheduler.

The simulated workers share a process. So that its processor time does not count, each round is done at two speeds:
all sleeps are stretched, by a factor and by twice the factor. By how much a round becomes longer is the critical path
of the sleeps, with every wait that Dask's decisions cause. To it, each worker's own share of the processor time is
added, and in a round of `vb` that of scheduler and driver, as if none of it overlapped with tasks; by how much that
grows is the work of idle processes, and does not count. Workers begin the next exchange of replicas before scheduler
and driver are done with the last one: these count only where they take longer than the workers.
Efficiency is the seconds of the tasks alone, on one worker, without any sums, over workers times seconds of a round.

`--check N` compares real processes with the simulation: their tasks sleep, too, but return statistics of the real size
for 16 topics, which are sent, added and moved.

    python -m tests.benchmarks simulate [--kinds vb,64x8] [--topics 100,1000] [--workers 8,32,64] [--rate 1250]
    python -m tests.benchmarks simulate --check 2,4,8
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import results
import simulated
from rounds import started, worked
from simulated import Costs, Sized
from simulated_costs import BATCH_SIZE, N_DOCS, N_ENTRIES, N_TOKENS, N_WORDS, made_run, measured_costs, shape

from bigtopic.learning.executors import among_workers, graphs, sending
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.replicas import Changes
from bigtopic.parallel import cluster as parallel
from bigtopic.types import AxisStats, Stats

SECONDS = 4.0  # of a round, roughly, at the lesser stretch
CHECK_TOPICS, CHECK_SECONDS = 16, 5.0
TRANSFERS = 15  # of all params, that a round waits for, roughly
ROUNDS = 2  # that count, at each stretch
EXCHANGES = 2  # that count together as a round: few, since a pass ends with a small one
GAP = 0.5  # seconds after which this process was not merely busy, but stopped
HEAD = (
    "what", "K", "workers", "seconds", "efficiency", "critical path, s", "of it tasks, s", "scheduler, s", "driver, s",
    "a worker sends",
)  # fmt: skip


class Found(NamedTuple):
    """What a round takes, in seconds.

    path : the critical path of the sleeps; scheduler, driver, worker : processor time, of one worker
    work : of the tasks of one worker; sent : bytes of a worker, as a multiple of those of the params
    ahead : whether workers have the next tasks before scheduler and driver are done with these
    """

    path: float
    scheduler: float
    driver: float
    worker: float
    work: float
    sent: float
    ahead: bool

    @property
    def seconds(self) -> float:
        if self.ahead:
            return max(self.path + self.worker, self.scheduler, self.driver)
        return self.path + self.scheduler + self.driver + self.worker


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default="vb,64x8,64x128", help="vb, or replicas x updates")
    parser.add_argument("--topics", default="100")
    parser.add_argument("--workers", default="2,4,8,16,32,64")
    parser.add_argument("--rate", type=float, default=1250, help="of the network, megabytes a second")
    parser.add_argument("--curves", action="store_true", help="draw the curve into docs/images/")
    parser.add_argument(
        "--check", metavar="WORKERS", help="compare so many real processes with as many simulated"
    )
    results.add_option(parser)
    given = parser.parse_args()
    if given.check:
        return check(given)
    found: dict[tuple[str, int, int], Found] = {}
    for n_topics in map(int, given.topics.split(",")):
        costs = measured_costs(n_topics, 1e-6 / given.rate)
        print(n_topics, replace(costs, documents=None, rows=None), flush=True)
        for kind in given.kinds.split(","):
            for n_workers in map(int, given.workers.split(",")):
                one = found[kind, n_topics, n_workers] = simulate(kind, n_topics, costs, n_workers)
                print(*row((kind, n_topics, n_workers), one), sep="; ", flush=True)
    caption = (
        f"{N_DOCS:,} documents, {N_WORDS:,} words, {N_ENTRIES:,} entries; a round of `vb`, and an exchange of replicas "
        f"x updates of {BATCH_SIZE} documents; {given.rate:,.0f} MB/s between any two"
    )
    figures = [(*key, *one) for key, one in found.items()]
    picture = draw(found) if given.curves else None
    results.report(
        given, "simulate", caption, [HEAD, *(row(*one) for one in found.items())], figures, picture
    )


def settings_of(kind: str) -> tuple[str, dict[str, int]]:
    """Method, and numbers of replicas and updates."""
    if kind == "vb":
        return "vb", {}
    n_replicas, n_updates = map(int, kind.split("x"))
    return "online-cvb0", {"replicas": n_replicas, "replica_updates": n_updates}


def simulate(kind: str, n_topics: int, costs: Costs, n_workers: int) -> Found:
    """A round, or an exchange, on so many simulated workers."""
    _, replicas = settings_of(kind)
    work = N_DOCS * costs.estep
    if replicas:
        work = replicas["replicas"] * replicas["replica_updates"] * BATCH_SIZE * costs.replica
    stretch = SECONDS / (work / n_workers + TRANSFERS * costs.params * costs.byte)
    at = [replace(costs, stretch=factor * stretch) for factor in (1, 2)]
    slow, slower = learn(kind, n_topics, at, n_workers)
    path, *grown = slower - slow
    # Of processor time, what grows is what idle processes do
    scheduler, driver, workers = np.maximum(slow[1:4] - grown[:3], 0.0)
    sent = slower[4] / n_workers / costs.params
    return Found(
        path / stretch, scheduler, driver, workers / n_workers, work / n_workers, sent, bool(replicas)
    )


def learn(kind: str, n_topics: int, at: list[Costs], n_workers: int, real: bool = False) -> list[np.ndarray]:
    """The least of some rounds at each of these costs, see `Watch`; on real processes, if `real`."""
    method, replicas = settings_of(kind)
    run, params, cursor = made_run(method, n_topics, shape(), replicas)
    samples = []
    with cluster(n_workers, real) as (client, processes), Driver(at[0], real) as driver:
        watch = Watch(client, processes)
        with GraphExecutor(run, client) as executor:
            rounds = watched(executor, watch, params, cursor)
            for costs in at:
                driver.costs = costs
                client.run(simulated.use, costs)
                if not samples:
                    next(rounds)  # which compiles, and sends the run
                samples.append(np.min(list(islice(rounds, ROUNDS)), axis=0))
        watch.over = True
    return samples


def watched(executor: Any, watch: Watch, params: Any, cursor: Any) -> Iterator[np.ndarray]:
    """What rounds take, one after the other, without those in which this process was stopped. Exchanges, which overlap,
    count from the end of the first one of a pass to that of the last one of `EXCHANGES` more."""
    replicas = executor._run.plan.replicas > 1

    def advance(n_rounds: int) -> None:
        nonlocal params, cursor
        for _ in range(n_rounds):
            for updated, reports in executor.advance(params, cursor, max_rounds=1):
                params, cursor = updated, cursor.after(reports)

    while True:
        advance(int(replicas))
        with watch:
            advance(n := EXCHANGES if replicas else 1)
        cursor = cursor.next_pass()
        if not watch.stopped:
            yield watch.sample / n


def check(given: argparse.Namespace) -> None:
    """Rounds of `vb` on real processes whose tasks sleep, next to the simulation of the same."""
    rows = [("workers", "real processes, s", "simulated, s", "tasks, s")]
    costs = measured_costs(CHECK_TOPICS, 1e-6 / given.rate)
    for n_workers in map(int, given.check.split(",")):
        own = replace(costs, estep=CHECK_SECONDS * n_workers / N_DOCS)
        (real,) = learn("vb", CHECK_TOPICS, [own], n_workers, real=True)
        one = simulate("vb", CHECK_TOPICS, own, n_workers)
        rows.append((f"{n_workers}", f"{real[0]:.2f}", f"{one.seconds:.2f}", f"{one.work:.2f}"))
        print(*rows[-1], *one, sep="; ", flush=True)
    caption = (
        f"A round of `vb` whose tasks sleep, K = {CHECK_TOPICS}, {N_WORDS:,} words, {given.rate:,.0f} MB/s"
    )
    results.report(given, "simulate-check", caption, rows, rows[1:])


@contextmanager
def cluster(n_workers: int, real: bool) -> Iterator[tuple[Any, list[int]]]:
    """Client of workers that sleep; the processes of scheduler and workers. Real ones have a process each."""
    from dask.distributed import Client

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        known = f"{folder}/scheduler.json"
        scheduler = stack.enter_context(started("dask_scheduler", "--scheduler-file", known, "--port", "0"))
        processes = [scheduler.pid]
        for _ in range(n_workers if real else 1):
            command = [sys.executable, simulated.__file__, known, "0" if real else str(n_workers)]
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            processes.append(process.pid)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        with Client(scheduler_file=known, set_as_default=False, timeout=120) as client:
            client.wait_for_workers(n_workers, timeout=300)
            yield client, processes


class Driver:
    """This process as a driver of workers that share no files with it. Where these are simulated, what it sends and
    gets takes two hops, and what it gets is of the real size."""

    def __init__(self, costs: Costs, real: bool) -> None:
        self.costs, self._real = costs, real
        self._ids = np.arange(N_WORDS, dtype=np.int32)
        self._values = np.full((N_WORDS, costs.bytes_of_row // 4), 0.01, np.float32)
        self._send, self._result_of = parallel.send, graphs.result_of

    def __enter__(self) -> Driver:
        self._stack = ExitStack()
        changed: list[tuple[Any, str, Any]] = [(sending, "shares_files", lambda *_: False)]
        if not self._real:
            changed += [
                (parallel, "send", self.send),
                (graphs, "result_of", self.result_of),
                (among_workers, "whole", self.whole),
            ]
        for one in changed:
            self._stack.enter_context(mock.patch.object(*one))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def send(self, client: Any, data: Any) -> Any:
        """Params travel to the scheduler, and from there to a worker."""
        if isinstance(data, dict):
            n_bytes = sum(array.raw.nbytes for array in data.values())
            self.costs.sleep(2 * n_bytes * self.costs.byte)
            data = Sized(n_bytes)
        return self._send(client, data)

    def result_of(self, client: Any, future: Any) -> Any:
        """Sums travel from a worker, which sleeps for that, to the scheduler, and from there."""
        result = self._result_of(client, future)
        if not isinstance(result, Sized):
            return result
        self.costs.sleep(result.n_bytes * self.costs.byte)
        return Stats(self._rows(result.n_bytes), result.n_docs, float(N_TOKENS), result.info)

    def whole(self, sums: list[Sized]) -> Changes | Stats:
        """The same for the rows that each worker has added: changes, if they come with reports."""
        n_bytes = sum(one.n_bytes for one in sums)
        self.costs.sleep(n_bytes * self.costs.byte)
        reports = tuple(report for one in sums for report in one.reports)
        if not reports:
            return Stats(self._rows(n_bytes), sums[0].n_docs, float(N_TOKENS))
        return Changes(self._rows(n_bytes), {"topic_words": np.zeros(self._values.shape[1])}, reports)

    def _rows(self, n_bytes: int) -> dict[str, AxisStats]:
        n_rows = n_bytes // self.costs.bytes_of_row
        return {"topic_words": AxisStats(self._ids[:n_rows], self._values[:n_rows])}


class Watch:
    """Seconds of what is inside `with`; processor seconds of scheduler, driver and workers; bytes that workers sent.

    Attributes
    ----------
    stopped : whether this process was stopped meanwhile
    over : set when there is nothing more to watch
    """

    def __init__(self, client: Any, processes: list[int]) -> None:
        self._client, self._processes = client, processes
        self._one = list(client.nthreads())[:1]
        self._last = time.monotonic()
        self.stopped = self.over = False
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while not self.over:
            now = time.monotonic()
            self.stopped |= now - self._last > GAP
            self._last = now
            time.sleep(GAP / 10)

    def _now(self) -> np.ndarray:
        scheduler, *workers = map(worked, self._processes)
        (sent,) = self._client.run(simulated.all_sent, workers=self._one).values()
        return np.array([time.perf_counter(), scheduler, time.process_time(), sum(workers), sent])

    def __enter__(self) -> None:
        self._before, self.stopped = self._now(), False

    def __exit__(self, *_: object) -> None:
        self.sample = self._now() - self._before


def row(key: tuple[str, int, int], one: Found) -> tuple[str, ...]:
    """A line of the table."""
    kind, n_topics, n_workers = key
    return (
        kind, f"{n_topics}", f"{n_workers}", f"{one.seconds:.2f}", f"{one.work / one.seconds:.0%}", f"{one.path:.2f}",
        f"{one.work:.2f}", f"{one.scheduler:.2f}", f"{one.driver:.2f}", f"{one.sent:.2f} P",
    )  # fmt: skip


def draw(found: dict[tuple[str, int, int], Found]) -> str:
    """Efficiency against workers; the path of the picture below docs/."""
    from plots import canvas, label, save

    figure, axes = canvas(figsize=(8, 4.5))
    for kind, n_topics in dict.fromkeys(key[:2] for key in found):
        line = {n: one.work / one.seconds for (*what, n), one in found.items() if what == [kind, n_topics]}
        (drawn,) = axes.plot(list(line), list(line.values()), "o-", markersize=4)
        label(axes, f"{kind}, K = {n_topics}", max(line), line[max(line)], drawn.get_color())
    axes.set(xscale="log", xlabel="workers", ylabel="efficiency", ylim=(0, 1.05))
    axes.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
    axes.margins(x=0.25)
    return save(figure, "simulate")


if __name__ == "__main__":
    main()
