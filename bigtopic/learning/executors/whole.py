"""Short rounds on a Dask client: many in one task on one worker, which returns the params. It uses its own threads, or
as many as all workers have, where they share the driver's files. A round trip to a cluster costs more than one of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from bigtopic.learning import sharing
from bigtopic.learning.executors.base import (
    AbleWorkers,
    Executor,
    ExecutorSpec,
    MemoryOfRun,
    Until,
    Updates,
    before_failure,
)
from bigtopic.learning.executors.sending import REPEATED, Sender
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.learning.run import Run
from bigtopic.learning.stopping import uninterrupted
from bigtopic.parallel import cluster, results
from bigtopic.parallel.shared_files import shares_files
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.state.params import Params

__all__ = ["EXECUTOR", "PREFIX", "WholeExecutor", "worker_bytes"]

PREFIX = "bt-rounds"
CHUNK_SECONDS = 2.0
SECOND_OF_PARAMS = 1 << 24  # bytes of params for a second of work: sending params twice must pay


class WholeExecutor(Executor):
    """Runs rounds whole on one worker at a time. The rounds of a task are yielded together. They may be of several
    passes, unless the state of documents is on disk: `advance` returns before state of earlier passes is removed.

    Parameters
    ----------
    run : see `bigtopic.learning.run`
    client : a `dask.distributed.Client`
    sender : of another executor of the run, whose tasks may have the prefix `PREFIX`; its own unless given
    """

    def __init__(self, run: Run, client: Any, sender: Sender | None = None) -> None:
        super().__init__(run)
        self._n_rounds = run.plan.n_rounds
        self._one_pass = run.work.kernel.state == "run"
        self._client = client
        self._sender = sender or Sender(run, client, [PREFIX])
        self._shared: tuple[Params, Any] | None = None  # the last params, and the same shared

    def advance(self, params: Params, cursor: Cursor, until: Until) -> Updates:
        """See `Executor.advance`."""
        begun = time.perf_counter()
        later = 0 if self._one_pass else until.n_passes - 1
        left = later * self._n_rounds + cursor.rounds_left(self._n_rounds)
        left = left if until.max_rounds is None else min(left, until.max_rounds)
        while left > 0:
            seconds = max(CHUNK_SECONDS, params.nbytes / SECOND_OF_PARAMS)
            if until.max_seconds is not None:
                seconds = min(seconds, until.max_seconds - (time.perf_counter() - begun))
                if seconds <= 0:
                    return
            self._sender.begin_pass(cursor.pass_number)
            arrays, reports = self._chunk(params, cursor, left, seconds)
            moved: Params | None = None
            try:
                with uninterrupted():
                    moved = self._taken(params, arrays)
            except BaseException as failure:
                if moved is not None and reports:
                    yield from before_failure(moved, reports, failure)
                raise
            params = moved
            if reports:
                yield params, reports
            left -= len(reports)
            cursor = _at_next_round(cursor.after(reports), self._n_rounds)

    def _chunk(
        self, params: Params, cursor: Cursor, max_rounds: int, max_seconds: float
    ) -> tuple[Any, list[RoundReport]]:
        """The arrays that some rounds on one worker return, and their reports. Work lost with a worker is sent again;
        the driver's params stay unchanged."""

        def attempt() -> tuple[Any, list[RoundReport]]:
            try:
                return self._attempt(params, cursor, max_rounds, max_seconds)
            except REPEATED:
                self.release_params()
                raise

        return self._sender.repeated(attempt)

    def _attempt(
        self, params: Params, cursor: Cursor, max_rounds: int, max_seconds: float
    ) -> tuple[Any, list[RoundReport]]:
        shared, shares_files = self._share(params), self._sender.shares_files
        # On one machine the other workers wait for the one that has the rounds, so it has their threads too
        n_threads = cluster.threads_for_one(self._client) if shares_files else None
        arguments = self._sender.run(), shared, cursor, max_rounds, max_seconds, n_threads
        places = self._sender.places()
        again = not shares_files  # could not claim the arrays, and its error would hide the first one
        future = self._sender.submit(
            PREFIX, _run_rounds, *arguments, places=places, update=cursor.step + 1, again=again
        )
        returned: tuple[Any, list[RoundReport]] = results.result_of(self._client, future, places.only)
        return returned

    def _taken(self, params: Params, arrays: Any) -> Params:
        """The params that a worker returned, read into the memory of the given ones if they are in files."""
        if not isinstance(arrays, sharing.MappedArrays):
            self.release_params()
            return Params(arrays)
        params = Params(sharing.read_arrays(arrays, params.arrays))
        self._shared = params, arrays
        return params

    def _share(self, params: Params) -> Any:
        """As `Sender.publish`; these may be the params that a worker returned, and still be there."""
        if self._shared is None or self._shared[0] is not params:
            self.release_params()
            self._shared = params, self._sender.publish(params.arrays)
        return self._shared[1]

    def release_params(self) -> None:
        """Remove the files of the params."""
        if self._shared is not None and isinstance(self._shared[1], sharing.MappedArrays):
            self._shared[1].remove()
        self._shared = None

    def use_workers(self, able: AbleWorkers) -> None:
        """See `Executor.use_workers`."""
        self._sender.able = able

    def close(self) -> None:
        self._sender.close()
        self.release_params()


def _run_rounds(
    run: Run,
    shared: Any,
    cursor: Cursor,
    max_rounds: int,
    max_seconds: float,
    n_threads: int | None,
) -> tuple[Any, list[RoundReport]]:
    """The arrays after some rounds, in the files they came in or as they are, and the reports of the rounds."""
    mapped = isinstance(shared, sharing.MappedArrays)
    with ThreadExecutor(run, n_threads or cluster.threads_here()) as executor:
        executor.read_ahead(cursor)
        # an input of a task belongs to Dask
        params = Params(sharing.claim_arrays(shared)) if mapped else Params(shared).copy()
        reports = list(_over_passes(executor, run.plan.n_rounds, params, cursor, max_rounds, max_seconds))
    return sharing.return_arrays(shared, params.arrays) if mapped else params.arrays, reports


def _over_passes(
    executor: ThreadExecutor,
    n_rounds: int,
    params: Params,
    cursor: Cursor,
    max_rounds: int,
    max_seconds: float,
) -> Iterator[RoundReport]:
    """Rounds of this pass and the next ones, up to the limits."""
    end = time.perf_counter() + max_seconds
    done, before = 0, -1
    while before < done < max_rounds:
        before = done
        until = Until(max_rounds - done, end - time.perf_counter())
        for _, reports in executor.advance(params, cursor, until):
            yield from reports
            done += len(reports)
            cursor = cursor.after(reports)
        cursor = _at_next_round(cursor, n_rounds)


def _at_next_round(cursor: Cursor, n_rounds: int) -> Cursor:
    """The same place: where a pass ends, the start of the next one."""
    return cursor.next_pass() if cursor.round == n_rounds else cursor


def worker_bytes(memory: MemoryOfRun, client: Any, n_threads: int) -> int:
    """Whole rounds on its threads and the documents sent to it; where files are not shared, the params once more,
    because a task must not change its input."""
    if shares_files(client, sharing.places()):
        return memory.on_threads(cluster.threads_of(client), whole=True) + memory.of_documents()
    return memory.on_threads(n_threads, whole=True) + memory.of_documents() + memory.of_params()


EXECUTOR = ExecutorSpec(
    lambda run, client, n_threads: WholeExecutor(run, client),
    on_client=True,
    worker_bytes=worker_bytes,
    one_worker=True,
)
