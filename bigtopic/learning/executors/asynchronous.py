"""Asynchronous updates: each minibatch learns on a copy of its rows, and moves the params as soon as its statistics
arrive (`learning.pushes`). Nothing waits for a slow worker.

The process of the run holds the params. It pulls the rows of a minibatch, whose documents a worker has read, and sends
them as the argument of a task, whose result is the push. As nothing else moves the params, each push is applied exactly
once: what is lost with a worker is computed again, and what comes from there later is not awaited.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, takewhile
from threading import current_thread
from typing import Any

import numpy as np

from bigtopic.learning import pushes
from bigtopic.learning.documents import keeps_all
from bigtopic.learning.executors.base import AbleWorkers, Executor, ExecutorSpec, Until, Updates, reported
from bigtopic.learning.executors.graph_tasks import Opaque
from bigtopic.learning.executors.sending import REPEATED, Sender
from bigtopic.learning.pushes import Minibatch, Push, Shape
from bigtopic.learning.rounds import step
from bigtopic.learning.run import Run
from bigtopic.learning.stopping import uninterrupted
from bigtopic.learning.tasks import read_alone, unpacked
from bigtopic.parallel import cluster, results, workers
from bigtopic.parallel.results import Arrivals
from bigtopic.plan.cursor import Arrival, Cursor, RoundReport
from bigtopic.plan.exchanges import PROMPT
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import Round
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params

__all__ = ["EXECUTOR", "AsynchronousExecutor", "Threads", "Workers"]

MOST_LOSSES = 4  # in a row, of each minibatch on its way
LOOK_SECONDS = 1.0  # between two looks at the workers of a client
PREFIXES = READ, ROWS, PUSH = "bt-read", "bt-rows", "bt-push"


@dataclass(eq=False)
class _Flight:
    """A minibatch on its way: it is read, pulled, and pushed.

    ids : the rows that it needs, once it is read
    pulled, n_bytes : updates before its pull, and bytes of the rows
    found : what it adds, once it is done
    """

    rnd: Round
    minibatch: Any
    rows: Any
    ids: Mapping[str, np.ndarray] | None = None
    pulled: int | None = None
    n_bytes: int = 0
    push: Any = None
    found: Push | None = None


class _Pass:
    """The minibatches of a pass that are on their way.

    Parameters
    ----------
    place, in_order : as of `AsynchronousExecutor`
    rounds : that are to be done
    shapes : of the params
    """

    def __init__(
        self, place: Threads | Workers, rounds: Iterator[Round], shapes: Mapping[str, Shape], in_order: bool
    ) -> None:
        self._place, self._rounds, self._shapes, self._in_order = place, rounds, shapes, in_order
        self._arrivals = Arrivals(place.client)
        self._flights: list[_Flight] = []  # in the order of their rounds
        self._landed: list[_Flight] = []  # in the order of arrival
        self._losses = 0  # since something arrived

    def read(self, n: int) -> None:
        """Let minibatches be read, until there are `n` on their way."""
        for rnd in islice(self._rounds, max(0, n - len(self._flights))):
            self._flights.append(self._begun(rnd))

    def _begun(self, rnd: Round) -> _Flight:
        minibatch, rows = self._place.read(rnd, self._shapes)
        flight = _Flight(rnd, minibatch, rows)
        self._arrivals.expect(rows, (flight, rows))
        return flight

    def to_pull(self, in_flight: int) -> list[_Flight]:
        """Those whose rows are to be copied now: whose documents are read, while fewer than `in_flight` are pulled."""
        waiting = [flight for flight in self._flights if flight.pulled is None]
        room = max(0, in_flight - len(self._flights) + len(waiting))
        if self._in_order:
            waiting = [*takewhile(lambda flight: flight.ids is not None, waiting)]
        return [flight for flight in waiting if flight.ids is not None][:room]

    def pull(self, flight: _Flight, params: Params, cursor: Cursor, n_updates: int) -> None:
        """Copy the rows of a minibatch, and let its push be computed."""
        assert flight.ids is not None
        arrays = pushes.pulled(params, flight.ids)
        flight.push = self._place.push(flight.minibatch, arrays, cursor)
        flight.pulled, flight.n_bytes = n_updates, sum(array.raw.nbytes for array in arrays.values())
        self._arrivals.expect(flight.push, (flight, flight.push))

    def drop_unpulled(self) -> None:
        """Begin nothing more."""
        self._rounds = iter(())
        self._flights = [flight for flight in self._flights if flight.pulled is not None]

    @property
    def is_over(self) -> bool:
        return not self._flights

    def wait(self) -> None:
        """Wait until something has been read or pushed. What is lost begins anew, unless nothing arrives between."""
        flight, future = self._arrivals.next()
        if flight not in self._flights or future is not (flight.push or flight.rows):
            return  # of an earlier attempt
        try:
            found = self._place.result(future)
        except REPEATED:
            self._losses += 1
            if self._losses > MOST_LOSSES * len(self._flights):
                raise
            self._flights[self._flights.index(flight)] = self._begun(flight.rnd)
            return
        self._losses = 0
        if flight.push is None:
            flight.ids = found
        else:
            flight.found = found
            self._landed.append(flight)

    def next(self, n_updates: int, in_flight: int, staleness: int | None) -> _Flight | None:
        """A push that may move the params now, if one has arrived: the first that makes no other one more stale than
        allowed; in order, the one that was pulled first, when as many as possible are in flight."""
        pulled = sorted((f for f in self._flights if f.pulled is not None), key=lambda f: f.pulled or 0)
        full = len(pulled) == min(in_flight, len(self._flights))
        for flight in self._landed:
            others = [n_updates - (other.pulled or 0) for other in pulled if other is not flight]
            # each of them must be able to land after those that were pulled before it
            fits = staleness is None or all(missed + i < staleness for i, missed in enumerate(others))
            if fits and (not self._in_order or (full and flight is pulled[0])):
                self._landed.remove(flight)
                self._flights.remove(flight)
                return flight
        return None

    def clear(self) -> None:
        """Forget what is on its way: it is done again."""
        flights, self._flights = self._flights, []
        self._place.forget(
            [f for flight in flights for f in (flight.push, flight.rows, flight.minibatch) if f]
        )


class AsynchronousExecutor(Executor):
    """Each push moves the params when it arrives. With one in flight, the bits are the same as of rounds done one
    after the other; else every round of a pass is done exactly once, in some order.

    Parameters
    ----------
    run : see `bigtopic.learning.run`
    place : `Threads` or `Workers`
    in_flight : minibatches between pull and push, at most; None for as many as keep the place busy
    staleness : updates between the pull and the push of a minibatch, at most; None for no bound, as in the paper
    in_order : pushes move the params in the order of their pulls, so that each but the first ones misses exactly
        `in_flight` - 1 updates, and the bits do not depend on who is faster: for experiments
    """

    def __init__(
        self,
        run: Run,
        place: Threads | Workers,
        in_flight: int | None = None,
        staleness: int | None = None,
        in_order: bool = False,
    ) -> None:
        super().__init__(run)
        self._place, self._staleness = place, staleness
        self._in_flight, self._in_order = in_flight, in_order or in_flight == 1 or staleness == 0

    def advance(self, params: Params, cursor: Cursor, until: Until) -> Updates:
        """See `Executor.advance`."""
        end = None if until.max_seconds is None else time.perf_counter() + until.max_seconds
        rounds = self.run.plan.rounds(cursor.pass_number, cursor.round, cursor.ahead)
        rounds = islice(rounds, until.max_rounds)
        if isinstance(self._place, Workers):
            self._place.sender.begin_pass(cursor.pass_number)
        here, current = cursor, _Pass(self._place, rounds, pushes.shapes_of(params), self._in_order)
        try:
            while True:
                with cluster.cluster_errors(self._place.client):
                    in_flight = self._most(here.step)
                    if end is not None and time.perf_counter() >= end:
                        current.drop_unpulled()
                    current.read(in_flight + pushes.READ_AHEAD)
                    for flight in current.to_pull(in_flight):
                        begun = replace(here, round=flight.rnd.number, ahead=())
                        current.pull(flight, params, begun, here.step)
                    if current.is_over:
                        return
                    landed = current.next(here.step, in_flight, self._staleness)
                    if landed is None:
                        current.wait()
                        continue
                reports: list[RoundReport] = []
                apply = partial(self._apply, params, landed, here, in_flight, reports)
                yield from reported(params, reports, apply)
                here = replace(here, step=here.step + 1)
        finally:
            current.clear()

    def _most(self, n_updates: int) -> int:
        """Minibatches in flight after some updates, at most; one at the beginning, when topics change much."""
        most = self._in_flight or self._place.in_flight()
        most = most if self._staleness is None else min(most, self._staleness + 1)
        return 1 if n_updates < PROMPT else most

    def _apply(
        self, params: Params, flight: _Flight, here: Cursor, in_flight: int, reports: list[RoundReport]
    ) -> None:
        """Move the params by a push; when that fails, the report says whether it was done."""
        push = flight.found
        assert push is not None and flight.pulled is not None
        cursor, missed = replace(here, round=flight.rnd.number, ahead=()), here.step - flight.pulled
        largest = 1.0 / in_flight  # so that what may be added to the same params is at most a whole step
        arrival = Arrival(missed, push.worker, push.seconds / push.n_threads, flight.n_bytes + push.n_bytes)
        with uninterrupted():
            report = step(
                params, cursor, unpacked(push.stats, params.arrays), self.run.settings, largest, missed
            )
            reports.append(replace(report, arrival=arrival))

    def use_workers(self, able: AbleWorkers) -> None:
        """See `Executor.use_workers`."""
        if isinstance(self._place, Workers):
            self._place.sender.able = able

    def close(self) -> None:
        self._place.close()


class Threads:
    """Where minibatches are read and pushes computed: threads of this process.

    Parameters
    ----------
    run : see `bigtopic.learning.run`
    n_threads : that compute at once
    """

    client = None

    def __init__(self, run: Run, n_threads: int) -> None:
        self._run, self._n_threads = run, n_threads
        self._reader = BlockReader(run.parts, keep_all=keeps_all(run.plan))
        self._pool = ThreadPoolExecutor(n_threads, thread_name_prefix="bigtopic")

    def in_flight(self) -> int:
        """How many minibatches keep it busy now."""
        return self._n_threads

    def read(self, rnd: Round, shapes: Mapping[str, Shape]) -> tuple[Any, Any]:
        """The futures of a minibatch, and of the rows that it needs. The minibatch stays where it is read."""
        minibatch = self._pool.submit(pushes.read_minibatch, self._run, rnd, shapes, self._reader.block)
        return minibatch, minibatch

    def push(self, minibatch: Any, arrays: Mapping[str, LazyArray], cursor: Cursor) -> Any:
        """The future of a push."""
        return self._pool.submit(pushes.pushed, self._run, minibatch.result(), arrays, cursor, _this_thread)

    def result(self, future: Future[Any]) -> Any:
        """The result of a future that is done. Raises one of REPEATED when it is lost."""
        found = future.result()
        return found.ids if isinstance(found, Minibatch) else found

    def forget(self, futures: list[Any]) -> None:
        """These are not needed any more. When it returns, nothing writes the state of documents."""
        for future in futures:
            future.cancel()
        wait(futures)

    def close(self) -> None:
        """Release threads and data."""
        self._pool.shutdown(cancel_futures=True)
        self._reader.close()
        cluster.rest()


def _this_thread() -> tuple[str, int]:
    return current_thread().name, 1


class Workers:
    """The same on workers of a Dask client.

    Parameters
    ----------
    run : see `bigtopic.learning.run`
    client : a `dask.distributed.Client`
    """

    def __init__(self, run: Run, client: Any) -> None:
        self.client, self.sender, self._paces = client, Sender(run, client, PREFIXES), workers.Paces()
        self._waits = run.work.kernel.state == "run"
        self._look_after, self._places, self._in_flight = 0.0, workers.Places(), 1

    def in_flight(self) -> int:
        """See `Threads`: one more than threads on each worker, so that the next rows come while it computes."""
        self._look()
        return self._in_flight

    def _look(self) -> workers.Places:
        """Where tasks may run. The scheduler is asked now and then, not for every task."""
        if (now := time.monotonic()) >= self._look_after:
            threads = self.sender.threads()
            self._places, self._in_flight = self.sender.places(), max(1, sum(threads.values()) + len(threads))
            self._look_after = now + LOOK_SECONDS
        return self._places

    def read(self, rnd: Round, shapes: Mapping[str, Shape]) -> tuple[Any, Any]:
        """See `Threads`."""
        alone = replace(rnd, slices=read_alone(rnd.slices))
        minibatch = self._submit(READ, _read, self.sender.run(), alone, shapes)
        return minibatch, self._submit(ROWS, _ids, minibatch)

    def push(self, minibatch: Any, arrays: Mapping[str, LazyArray], cursor: Cursor) -> Any:
        """See `Threads`."""
        arguments = self.sender.run(), minibatch, Opaque(arrays), cursor
        return self._submit(PUSH, _push, *arguments, update=cursor.step + 1)

    def _submit(self, prefix: str, work: Any, *arguments: Any, update: int | None = None) -> Any:
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):  # rows may be many
            return self.sender.submit(prefix, work, *arguments, update=update, places=self._look())

    def result(self, future: Any) -> Any:
        """See `Threads`."""
        try:
            found = results.result_of(self.client, future, self._look().only)
        except REPEATED:
            self.sender.lost()
            self._look_after = 0.0
            raise
        if isinstance(found, Push):
            self._paces.note(found.worker, found.seconds)
        return found

    def forget(self, futures: list[Any]) -> None:
        """See `Threads`."""
        if self._waits:
            results.wait_for(futures, cluster.GIVE_UP_SECONDS)
        if self.client.status == "running":
            for future in futures:
                future.cancel()

    def close(self) -> None:
        """See `Threads`."""
        self.sender.close()


def _read(run: Run, rnd: Round, shapes: Mapping[str, Shape]) -> Minibatch:
    return pushes.read_minibatch(run, rnd, shapes, BlockReader(run.parts, ahead=0).block)


def _ids(minibatch: Minibatch) -> Mapping[str, np.ndarray]:
    return minibatch.ids


def _push(run: Run, minibatch: Minibatch, arrays: Opaque[Any], cursor: Cursor) -> Push:
    return pushes.pushed(run, minibatch, arrays.content, cursor, _this_worker)


def _this_worker() -> tuple[str, int]:
    worker = cluster.this_worker()
    return str(worker.address), worker.state.nthreads


EXECUTOR = ExecutorSpec(
    lambda run, client, n_threads: AsynchronousExecutor(
        run,
        Threads(run, n_threads) if client is None else Workers(run, client),
        staleness=run.settings.staleness,
    ),
    on_client=True,
    synchronous=False,
    worker_bytes=lambda memory, client, n_threads: memory.of_pushes(n_threads),
)
