"""The Dask executor. Short rounds run whole, many in one task on one worker; long rounds are graphs of E-step tasks and
their reduction, the driver owning the params and doing the step. The sums are those of the threads, bit for bit.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from bigtopic.errors import BigtopicWarning
from bigtopic.runtime import cluster, sharing
from bigtopic.runtime.cluster import ATTEMPTS, LOST
from bigtopic.runtime.environment import check_workers
from bigtopic.runtime.estep import Turn, estep_group
from bigtopic.runtime.params import LazyArray, Overlay, Params
from bigtopic.runtime.reading import UnitReader
from bigtopic.runtime.reduce import WINDOW, Tree, add
from bigtopic.runtime.rounds import Cursor, RoundReport, run_stretch
from bigtopic.runtime.shared_files import shares_files
from bigtopic.runtime.slices import SUBTREE, Round, SliceRef
from bigtopic.runtime.threads import Run, ThreadExecutor, by_stretches
from bigtopic.types import Stats

__all__ = ["GraphExecutor", "round_graph"]

LONG_ROUND_SECONDS = 0.3
LONG_PASS_SECONDS = 30.0
CHUNK_SECONDS = 2.0
SECOND_OF_PARAMS = 1 << 24  # bytes of params for a second of work: what travels twice must be worth the way
NANOSECONDS_PER_ENTRY = 0.4  # a distinct word, a topic, an iteration; only decides where rounds run


class GraphExecutor:
    """Runs rounds on a Dask client, or under another Dask scheduler.

    Parameters
    ----------
    run : as for `ThreadExecutor`
    client : a `dask.distributed.Client`, or None with `scheduler`
    scheduler : name of a Dask scheduler ("threads", "sync", ...) to use instead of a client; long rounds only
    mode : "whole" or "graph" to force where rounds run; None decides by their estimated length
    """

    def __init__(
        self, run: Run, client: Any = None, *, scheduler: str | None = None, mode: str | None = None
    ) -> None:
        self._run = run
        self._client = client
        self._scheduler = scheduler
        self._name = uuid4().hex
        self._count = 0
        self._run_future: Any = None
        self._shared: tuple[Params, Any] | None = None  # the last params of whole rounds, and the same shared
        if client is not None:
            check_workers(client)
        self._shares_files = client is None or shares_files(client, sharing.places())
        long = _round_seconds(run) > LONG_ROUND_SECONDS
        self._whole = mode == "whole" if mode else client is not None and not long
        if self._whole and mode is None:
            _warn_of_idle_workers(run, client, self._shares_files)

    def advance(
        self,
        params: Params,
        cursor: Cursor,
        max_rounds: int | None = None,
        max_seconds: float | None = None,
        n_passes: int = 1,
    ) -> Iterator[tuple[Params, list[RoundReport]]]:
        """As `ThreadExecutor.advance`; rounds that ran whole on a worker are yielded together, and may be of several
        passes."""
        if self._whole:
            rounds = self._advance_whole(params, cursor, max_rounds, max_seconds, n_passes)
        else:
            stretches = self._run.plan.stretches(cursor.epoch, cursor.round)
            rounds = by_stretches(stretches, params, cursor, max_rounds, max_seconds, self._stretch)
        with cluster.failures_told(self._client):
            yield from rounds

    def close(self) -> None:
        self._run_future = None
        self._drop_shared()

    def __enter__(self) -> GraphExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _advance_whole(
        self,
        params: Params,
        cursor: Cursor,
        max_rounds: int | None,
        max_seconds: float | None,
        n_passes: int,
    ) -> Iterator[tuple[Params, list[RoundReport]]]:
        begun = time.perf_counter()
        n_rounds = self._run.plan.n_rounds
        left = n_passes * n_rounds - cursor.round
        left = left if max_rounds is None else min(left, max_rounds)
        while left > 0:
            seconds = max(CHUNK_SECONDS, params.nbytes / SECOND_OF_PARAMS)
            if max_seconds is not None:
                seconds = min(seconds, max_seconds - (time.perf_counter() - begun))
                if seconds <= 0:
                    return
            params, reports = self._chunk(params, cursor, left, seconds)
            if reports:
                yield params, reports
            done = len(reports)
            left -= done
            passes, number = divmod(cursor.round + done, n_rounds)
            cursor = Cursor(cursor.epoch + passes, number, cursor.step + done)

    def _chunk(
        self, params: Params, cursor: Cursor, max_rounds: int, max_seconds: float
    ) -> tuple[Params, list[RoundReport]]:
        """Some rounds on one worker. What is lost with a worker is sent again; the driver's params are untouched."""
        check_workers(self._client)
        for attempt in range(ATTEMPTS):
            shared = self._share_params(params)
            # On one machine the other workers wait for the one that has the rounds, so it has their threads too
            n_threads = cluster.threads_of(self._client) if self._shares_files else None
            limits = cursor, max_rounds, max_seconds, n_threads
            # Who claims arrays twice hides why the first time failed
            retries = 0 if self._shares_files else 2
            try:
                future = self._client.submit(
                    _run_rounds,
                    self._run,
                    shared,
                    *limits,
                    key=self._key("bt-rounds"),
                    pure=False,
                    retries=retries,
                )
                arrays, reports = future.result()
                if not isinstance(arrays, sharing.MappedArrays):
                    self._drop_shared()
                    return Params(arrays), reports
                params = Params(sharing.read_arrays(arrays, params.arrays))
                self._shared = params, arrays
                return params, reports
            except (LOST, sharing.AlreadyClaimed, sharing.OutOfSight) as error:
                self._drop_shared()
                self._shares_files &= not isinstance(error, sharing.OutOfSight)
                if attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError

    def _stretch(
        self, params: Params, stretch: list[Round], cursor: Cursor, reports: list[RoundReport]
    ) -> None:
        rounds = run_stretch(
            params, stretch, cursor, self._run.settings, self.map_reduce, self._run.plan.delay
        )
        reports.extend(rounds)  # one at a time: those before a failure are there

    def map_reduce(self, rnd: Round, arrays: Mapping[str, LazyArray | Overlay], turn: Turn) -> Stats:
        """The statistics of a round at these arrays: a graph per window of slices, two windows in flight."""
        if self._client is not None:
            check_workers(self._client)
        for attempt in range(ATTEMPTS):
            shared: Any = self._share(arrays)
            try:
                return self._reduce_windows(rnd, shared, turn)
            except (LOST, sharing.OutOfSight) as error:
                self._run_future = None
                self._shares_files &= not isinstance(error, sharing.OutOfSight)
                if attempt == ATTEMPTS - 1:
                    raise
            finally:
                if isinstance(shared, sharing.MappedArrays):
                    shared.remove()
        raise AssertionError

    def _reduce_windows(self, rnd: Round, shared: Any, turn: Turn) -> Stats:
        tree = Tree()
        waiting: deque[Any] = deque()
        size = SUBTREE * WINDOW
        for first in range(0, len(rnd.slices), size):
            graph = round_graph(
                self._context(), rnd.slices[first : first + size], shared, turn, name=self._key("window")[1]
            )
            if self._client is None:
                tree.push_window(graph.compute(scheduler=self._scheduler))
                continue
            waiting.append(self._client.compute(graph, retries=2))
            if len(waiting) == 2:
                tree.push_window(waiting.popleft().result())
        while waiting:
            tree.push_window(waiting.popleft().result())
        result = tree.result()
        assert result is not None
        return result

    def _share_params(self, params: Params) -> Any:
        """As `_share`; these may be the params that a worker returned, and still be there."""
        if self._shared is None or self._shared[0] is not params:
            self._drop_shared()
            self._shared = params, self._share(params.arrays)
        return self._shared[1]

    def _drop_shared(self) -> None:
        if self._shared is not None and isinstance(self._shared[1], sharing.MappedArrays):
            self._shared[1].remove()
        self._shared = None

    def _share(self, arrays: Mapping[str, LazyArray | Overlay]) -> Any:
        """The arrays as tasks get them: in files, or sent from where these cannot be written, or found."""
        if self._shares_files and (published := sharing.publish(arrays)) is not None:
            return published
        self._shares_files = False
        return arrays if self._client is None else cluster.send(self._client, arrays)

    def _context(self) -> Any:
        """The run as the tasks get it: a future on a client, so that it travels once."""
        if self._client is None:
            return self._run
        if self._run_future is None:
            self._run_future = cluster.send(self._client, self._run)
        return self._run_future

    def _key(self, prefix: str) -> tuple[str, str]:
        self._count += 1
        return prefix, f"{self._name}-{self._count}"


def round_graph(run: Any, slices: Sequence[SliceRef], shared: Any, turn: Turn, name: str) -> Any:
    """The graph of a window of slices: one task per subtree, added from left to right.

    Parameters
    ----------
    run : a `Run`, or a future of one
    slices : at most `SUBTREE` x `WINDOW` consecutive slices of a round
    shared : params as `sharing.publish` gives them, the arrays themselves, or a future of them
    turn : seed and epochs
    name : unique among the graphs of all clients, because Dask takes equal keys for the same task. Keys are
        ("bt-estep", name, i) and ("bt-add", name, i)

    Returns
    -------
    dask.delayed.Delayed
        Of `Stats`.
    """
    from dask import delayed

    estep = delayed(_subtree, pure=False)
    merge = delayed(add, pure=False)
    total = None
    for i, first in enumerate(range(0, len(slices), SUBTREE)):
        group = tuple(slices[first : first + SUBTREE])
        stats = estep(run, group, shared, turn, dask_key_name=("bt-estep", name, i))
        total = stats if total is None else merge(total, stats, dask_key_name=("bt-add", name, i))
    return total


def _subtree(run: Run, slices: Sequence[SliceRef], shared: Any, turn: Turn) -> Stats | None:
    reader = UnitReader(run.parts, ahead=0)
    return estep_group(slices, reader.block, sharing.load_arrays(shared), run.work, turn)


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
        for _, reports in executor.advance(params, cursor, max_rounds - done, end - time.perf_counter()):
            yield from reports
            done += len(reports)
            cursor = replace(cursor, round=cursor.round + len(reports), step=cursor.step + len(reports))
        if cursor.round == n_rounds:
            cursor = Cursor(cursor.epoch + 1, 0, cursor.step)


def _round_seconds(run: Run) -> float:
    """A rough forecast of one core's time for one round."""
    iterations = run.work.kernel.options.get("max_doc_update_iter", 20)
    entries = run.plan.batch_size * run.plan.entries_per_doc
    return entries * run.work.hyper.n_components * iterations * NANOSECONDS_PER_ENTRY * 1e-9


def _warn_of_idle_workers(run: Run, client: Any, one_machine: bool) -> None:
    """Say which setting would use the whole cluster, when a long pass is about to run on one of its workers."""
    workers, busy = len(client.nthreads()), 1
    if one_machine:
        workers, busy = cluster.threads_of(client), 1 + run.plan.delay
    seconds = _round_seconds(run)
    if workers > busy and seconds * run.plan.n_rounds > LONG_PASS_SECONDS:
        warnings.warn(
            f"minibatches of {run.plan.batch_size} documents take about {seconds * 1000:.0f} ms, too short to spread "
            f"over {workers} workers, so they keep {busy} of them busy; choose a larger batch_size (about "
            f"{int(run.plan.batch_size * workers / max(seconds, 1e-9)):,} documents keep all busy) or method='vb'",
            BigtopicWarning,
            stacklevel=2,
        )
