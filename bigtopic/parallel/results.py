"""Wait for results of tasks on a Dask client, and for data on its way to workers, and watch the workers meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakSet

from bigtopic.errors import ClusterError, warn
from bigtopic.parallel import workers
from bigtopic.parallel.workers import NO_WORKER, NONE_CHOSEN, PAUSED, fit_for_work, new_name, task_key

__all__ = ["Arrivals", "Cancelled", "result_of", "sent", "states_of", "wait_for"]

# Seconds between two looks: at the statuses of futures; at the workers, while data are sent, and while a result is
# awaited.
DONE_SECONDS, GONE_SECONDS, LOOK_SECONDS = 0.003, 2, 10
# Why Dask itself cancels tasks
LOSSES = "lost dependencies", "already forgotten", "scheduler-connection-lost"
NO_REASON = "unknown"  # of `Client.cancel`, and of Dask where a result is lost with all that it was made of
CANCEL_SECONDS = 60  # since somebody cancelled tasks, for which a task without a reason may be one of them
_turns = count()


class Cancelled(ClusterError):
    """A user or a program cancelled the tasks that the work waits for, so they are not repeated."""


def result_of(client: Any, future: Any, only: Sequence[str] | None = None) -> Any:
    """The result of a future. Warns once where it waits for workers: when all are gone or paused, or one is silent.

    Parameters
    ----------
    only : addresses of the workers that can do its task; None for any

    Raises
    ------
    Cancelled
        When a user or a program cancelled its task.
    CancelledError
        When what its task needs is lost, or all workers that can do it are gone.
    """
    watch = _Watch(client)

    def look() -> None:
        if only and future.status == "pending" and not set(only) & client.nthreads().keys():
            raise CancelledError("the workers that can run bigtopic are gone")
        watch.tell_of_lack([future])

    with _failures_released(client, [future]):
        while True:
            try:
                return future.result(LOOK_SECONDS)
            except TimeoutError:
                if future.status == "finished":
                    return _gathered(client, [future], look)[0]
                if future.done():  # its task may have raised that
                    return future.result()
            look()


@contextmanager
def _failures_released(client: Any, futures: Sequence[Any]) -> Iterator[None]:
    """Release failed futures if one fails: a client keeps their exceptions, whose frames keep future and topics. Raises
    `Cancelled` if a user or a program cancelled them."""
    try:
        yield
    except BaseException as error:
        for future in futures:
            if future.status not in ("pending", "finished"):
                future.release()
        if isinstance(error, CancelledError):
            _refuse_cancelled(client, error)
        raise


def _refuse_cancelled(client: Any, error: CancelledError) -> None:
    """Raise `Cancelled` if a person or a program cancelled the task, and not Dask. If its scheduler is lost, wait while
    Dask tries to reach it: the work is then repeated there, or has lost its client."""
    if client.status == "connecting":
        warn(
            f"the scheduler at {client.scheduler.address} is lost, and Dask's client tries to reach it again"
        )
    while client.status == "connecting":
        time.sleep(DONE_SECONDS)
    reason = getattr(error, "reason", LOSSES[0])
    lost = reason in LOSSES or (reason == NO_REASON and not _cancelled_recently(client))
    if client.status == "running" and not lost:
        how = (
            "the cluster was restarted"
            if reason == "scheduler-restart"
            else "by Client.cancel, from any process"
        )
        raise _cancelled(client, how) from error


def _cancelled(client: Any, how: str) -> Cancelled:
    return Cancelled(
        f"the tasks of this work were cancelled on the Dask scheduler at {client.scheduler.address} ({how})"
    )


def _cancelled_recently(client: Any) -> bool:
    """Whether a client asked the scheduler to cancel tasks, in the last seconds of what the scheduler remembers."""
    events = [event for topic in client.get_events().values() for event in topic]
    newest = max((when for when, _ in events), default=0.0)
    asked = (when for when, what in events if isinstance(what, Mapping) and what.get("action") == "cancel")
    return any(newest - when < CANCEL_SECONDS for when in asked)


class _Watch:
    """Watches the workers while results are awaited, and warns of everything once."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._told: set[str] = set()
        # Tasks that the scheduler did not know at a look, and a later task: once it knows that one, it has read them
        self._unknown: set[Any] = set()
        self._later: Any = None

    def look(self) -> tuple[str, str] | None:
        """What the cluster lacks to do any work, and what to do about it. Warns of silent workers."""
        found = workers.look(self._client).workers
        return _lack(found) or (NONE_CHOSEN if workers.chosen(self._client) == [] else None)

    def tell_of_lack(self, futures: Iterable[Any]) -> None:
        """Warn of what the cluster lacks to do any work, if it has not been told.

        Raises
        ------
        Cancelled
            When the scheduler has forgotten the task of a future: then nothing tells the client that there will be no
            result.
        """
        what, remedy = self.look() or ("", "")
        self._refuse_forgotten([future for future in futures if future.status == "pending"])
        if what and what not in self._told:
            self._told.add(what)
            warn(
                f"the Dask scheduler at {self._client.scheduler.address} has {what}; the work goes on when there is "
                f"one: {remedy}"
            )

    def _refuse_forgotten(self, pending: Sequence[Any]) -> None:
        """Raise `Cancelled` if the scheduler does not know a task that it has known. Large arguments of tasks may be on
        their way to it for long, but it reads what a client sends in order."""
        later = self._later
        states = states_of(self._client, pending if later is None else [*pending, later])
        unknown = {future.key for future in pending if states.get(future.key, "") is None}
        if later is None:
            if unknown:
                self._unknown = unknown
                self._later = self._client.submit(bool, key=task_key("bt-hello", new_name()), pure=False)
        elif later.done() or states.get(later.key):
            if unknown & self._unknown:
                raise _cancelled(self._client, "released for this client by its scheduler")
            self._unknown, self._later = set(), None


class Arrivals:
    """What is done, in the order in which it is, and a watch over the workers meanwhile.

    Parameters
    ----------
    client : whose futures are awaited; None for futures of a pool of threads
    """

    def __init__(self, client: Any = None) -> None:
        self._watch = None if client is None else _Watch(client)
        self._done: SimpleQueue[Any] = SimpleQueue()
        self._expected: WeakSet[Any] = WeakSet()

    def expect(self, future: Any, what: Any) -> None:
        """Report `what` when the future is done, failed or cancelled."""
        self._expected.add(future)
        future.add_done_callback(lambda _: self._done.put(what))

    def next(self) -> Any:
        """Wait for the next one. Warns once where it waits for workers: all are gone or paused, or one is silent.
        Raises `Cancelled` where the scheduler has forgotten a task."""
        while True:
            with suppress(Empty):
                return self._done.get(timeout=LOOK_SECONDS)
            if self._watch is not None:
                self._watch.tell_of_lack(self._expected)


def states_of(client: Any, futures: Sequence[Any]) -> dict[Any, str | None]:
    """The scheduler's state of each task, None for one that it does not know; {} if it cannot be asked."""
    with suppress(OSError, AttributeError):  # it does not answer, or is gone
        ask, keys = client.scheduler.get_task_status, [future.key for future in futures]
        return dict(client.sync(ask, keys=keys, callback_timeout=workers.UNHEARD_SECONDS))
    return {}


def wait_for(futures: Sequence[Any], seconds: float) -> None:
    """Wait until all are done or failed, or so long. By looking, because `distributed.wait` needs a current client, and
    making one current changes Dask's settings for all threads."""
    end = time.monotonic() + seconds
    while any(future.status == "pending" for future in futures) and time.monotonic() < end:
        time.sleep(DONE_SECONDS)


def sent(client: Any, key: str, data: Any, seconds: float) -> Any:
    """The future of data on a worker, a silent one only if all are. Waits `seconds` for the first worker, and warns of
    silent ones.

    Raises
    ------
    OSError
        When the worker is gone, or a `TimeoutError` when no worker accepts work.
    """
    while True:
        with suppress(_Silent):
            return _sent_to(client, _next_worker(client), key, data, seconds)


class _Silent(Exception):
    """The worker that data are sent to is silent or unknown, and another one accepts work."""


def _next_worker(client: Any) -> str | None:
    """The worker whose turn it is, or None without any."""
    there = set(client.sync(client.scheduler.ncores_running, workers=None))
    able = sorted(set(fit_for_work(client, list(there))) - workers.silent(client) or there)
    return able[next(_turns) % len(able)] if able else None


def _sent_to(client: Any, worker: str | None, key: str, data: Any, seconds: float) -> Any:
    def look() -> None:
        found = workers.look(client)
        if found.silent and found.accepting and (worker is None or worker in found.silent):
            raise _Silent

    # Of a bare dict, Dask would take the keys for names of data, and the same names mean the same data
    where = {"workers": None if worker is None else [worker], "hash": False, "timeout": seconds}
    begin = partial(client.scatter, {key: data}, asynchronous=True, **where)
    try:
        # Not cancelled: the scheduler would send on, and keep for this client what a worker takes when it is back
        return _waited(client, begin, look)[key]
    except KeyError as error:
        raise ConnectionError(f"worker {worker} is gone") from error


def _gathered(client: Any, futures: Sequence[Any], look: Callable[[], None]) -> list[Any]:
    """The results of tasks that are done, with a `look` now and then while they come."""
    begin = partial(client.gather, list(futures), asynchronous=True)
    return list(_waited(client, begin, look, cancelled=True))


def _waited(
    client: Any, begin: Callable[[], Awaitable[Any]], look: Callable[[], None], cancelled: bool = False
) -> Any:
    """The result of what `begin` starts in the client's event loop, with a `look` now and then meanwhile, because data
    from or to a stopped worker never arrive. It is started once, because large data take long. If a look raises, it
    goes on, or is cancelled."""

    async def started() -> Any:
        return await begin()

    coming = asyncio.run_coroutine_threadsafe(started(), client.loop.asyncio_loop)
    try:
        while not wait([coming], GONE_SECONDS).done:
            look()
        return coming.result()
    finally:
        if cancelled:
            coming.cancel()  # no effect once it is done


def _lack(found: Mapping[str, Mapping[str, Any]]) -> tuple[str, str] | None:
    """What a cluster of these workers lacks to do any work, and what to do about it."""
    if not found:
        return NO_WORKER
    # A paused worker finishes the tasks that it has begun
    return PAUSED if all(w["status"] == "paused" and not _tasks_begun(w) for w in found.values()) else None


def _tasks_begun(worker: Mapping[str, Any]) -> int:
    counts = worker["metrics"].get("task_counts", {})
    return int(counts.get("executing", 0) + counts.get("long-running", 0))
