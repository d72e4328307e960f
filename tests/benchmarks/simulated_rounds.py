"""Rounds and exchanges on simulated workers, or on real processes, and what each takes: see `simulate`."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import simulated
from pairs import Gaps, Noise, Sample, machine
from rounds import started, worked
from simulated import Costs, Sized
from simulated_costs import N_TOKENS, N_WORDS, made_run, shape

from bigtopic.learning.executors import among_workers, graphs, sending
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.replicas.changes import Changes
from bigtopic.parallel import cluster as parallel
from bigtopic.parallel import results as task_results
from bigtopic.types import AxisStats, Stats

__all__ = ["rounds"]

PATIENCE = 60.0  # seconds for sums to come, before the driver looks who is gone and asks for them again


@contextmanager
def rounds(
    method: str, n_topics: int, replicas: dict[str, int], costs: Costs, n_workers: int, real: bool = False
) -> Iterator[Callable[[Costs], Sample]]:
    """In this context, what is yielded makes a round at given costs, see `Watch`; on real processes, if `real`.

    Exchanges overlap: they count from the end of one to that of the next one. Before, there is one that has begun at
    other costs, and one that may have begun late, because workers had to wait for the driver. The last exchange of a
    pass is small, and none of the next pass begins before its end.
    """
    run, params, cursor = made_run(method, n_topics, shape(), replicas)
    of_a_sample = 3 * math.prod(replicas.values()) if replicas else 1  # updates
    with cluster(n_workers, real) as (client, processes), Driver(costs, real) as driver:
        watch = Watch(client, processes)
        with GraphExecutor(run, client) as executor:

            def advance() -> None:
                nonlocal params, cursor
                for updated, reports in executor.advance(params, cursor, max_rounds=1):
                    params, cursor = updated, cursor.after(reports)

            def sample(costs: Costs) -> Sample:
                nonlocal cursor
                if run.plan.n_rounds - cursor.round < of_a_sample:
                    client.run(simulated.use, replace(costs, stretch=1.0))
                    driver.costs = replace(costs, stretch=1.0)
                    while cursor.round < run.plan.n_rounds:
                        advance()
                    cursor = cursor.next_pass()
                driver.costs = costs
                client.run(simulated.use, costs)
                with watch:
                    for _ in range(2 if replicas else 0):
                        advance()
                    watch.start()
                    advance()
                return watch.sample

            sample(replace(costs, stretch=1.0))  # which compiles, and sends run and params
            yield sample


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
        self._results_of = among_workers.results_of

    def __enter__(self) -> Driver:
        self._stack = ExitStack()
        changed: list[tuple[Any, str, Any]] = [(sending, "shares_files", lambda *_: False)]
        if not self._real:
            changed += [
                (task_results, "GONE_SECONDS", PATIENCE),
                (parallel, "send", self.send),
                (graphs, "result_of", self.result_of),
                (among_workers, "results_of", self.results_of),
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

    def results_of(self, client: Any, futures: Any, addresses: Any) -> list[Any]:
        """The same for the rows that each worker has added: changes, if they come with reports."""
        sums = self._results_of(client, futures, addresses)
        self.costs.sleep(sum(one.n_bytes for one in sums) * self.costs.byte)
        nothing = {"topic_words": np.zeros(self._values.shape[1])}
        return [
            Changes(self._rows(one.n_bytes, i, len(sums)), nothing, nothing, one.reports)
            if one.reports
            else Stats(self._rows(one.n_bytes, i, len(sums)), one.n_docs, float(N_TOKENS))
            for i, one in enumerate(sums)
        ]

    def _rows(self, n_bytes: int, place: int = 0, n_places: int = 1) -> dict[str, AxisStats]:
        ids = self._ids[place : n_places * (n_bytes // self.costs.bytes_of_row) : n_places]
        return {"topic_words": AxisStats(ids, self._values[: len(ids)])}


class Watch:
    """What is inside `with` takes from `start` on: seconds; processor seconds of scheduler, driver and workers. Then
    the bytes that workers sent to each other, and the share of the worker with the most work; and what disturbed it."""

    def __init__(self, client: Any, processes: list[int]) -> None:
        self._client, self._processes = client, processes
        # Those that are simulated share a process
        self._ones = list(client.nthreads())[: len(processes) - 1]
        self._gaps = Gaps()

    def _now(self) -> np.ndarray:
        now, driver = time.perf_counter(), time.process_time()
        scheduler, *workers = map(worked, self._processes)
        busy, stolen = machine()
        others = busy + stolen - scheduler - driver - sum(workers)
        return np.array([now, scheduler, driver, sum(workers), others])

    def _stopped(self) -> float:
        return max(self._gaps.take(), *self._ask(simulated.longest_gap))

    def _ask(self, question: Callable[[], float]) -> list[float]:
        return list(self._client.run(question, workers=self._ones).values())

    def __enter__(self) -> None:
        self._stopped()

    def start(self) -> None:
        """What was before does not count, but as a disturbance."""
        self._before = self._now()

    def __exit__(self, *_: object) -> None:
        *figures, others = self._now() - self._before
        noise = Noise(max(0.0, others) / figures[0], self._stopped())
        most = [max(self._ask(one)) for one in (simulated.most_sent, simulated.most_done)]
        self.sample = Sample(np.array([*figures, *most]), noise)
