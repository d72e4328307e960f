"""Results of tasks on a Dask client, and data on its way to workers: waited for, with a look now and then whether the
workers are there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from bigtopic.errors import ClusterError, warn
from bigtopic.parallel.workers import NO_WORKER, PAUSED, described

__all__ = ["Sending", "result_of", "results_of", "wait_for"]

DONE_SECONDS = 0.003  # between two looks whether results are there
GONE_SECONDS = 2  # that results take before one looks whether their workers are there
LOOK_SECONDS = 10  # that a result takes before one looks whether there are workers for it
UNHEARD_SECONDS = 30  # without a heartbeat of a worker, while one waits, before a warning names it

# By client and worker: the time of the last heartbeat, on the scheduler's clock, and since when it is the last, on ours
_heard: WeakKeyDictionary[Any, dict[str, tuple[float, float]]] = WeakKeyDictionary()


def result_of(client: Any, future: Any) -> Any:
    """The result of a future. Warns once where it waits for workers: when all are gone or paused, or one is silent."""
    watch = _Watch(client)

    def look() -> None:
        if lack := watch.look():
            what, remedy = lack
            watch.tell(
                what,
                f"the Dask scheduler at {client.scheduler.address} has {what}; the work goes on when there is one: "
                f"{remedy}",
            )

    while True:
        try:
            return future.result(LOOK_SECONDS)
        except TimeoutError:
            if future.status == "finished":
                return _gathered(client, [future], look)[0]
            if future.done():  # its task may have raised that
                return future.result()
        look()


class _Watch:
    """Looks at the workers while one waits for their results, and tells everything once."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._heard = _heard.setdefault(client, {})
        self._told: set[str] = set()
        # At the last look: workers that are silent, and while there are some, the others
        self.silent: set[str] = set()
        self.others: set[str] = set()

    def look(self) -> tuple[str, str] | None:
        """Warn of workers that are silent; what the cluster lacks to do any work, and what to do about it."""
        found, now = described(self._client), time.monotonic()
        self.silent = set()
        for address, worker in found.items():
            if self._heard.get(address, (None,))[0] != worker["last_seen"]:
                self._heard[address] = worker["last_seen"], now
            elif now - self._heard[address][1] > UNHEARD_SECONDS:
                self.silent.add(address)
                self.tell(
                    address,
                    f"the Dask scheduler has not heard from worker {address} for {UNHEARD_SECONDS} seconds, and the "
                    "work may wait for it until the scheduler gives it up (Dask's setting "
                    "distributed.scheduler.worker-ttl): look at its machine",
                )
        self.others = found.keys() - self.silent if self.silent else set()
        return _lack(found)

    def tell(self, what: str, message: str) -> None:
        """Warn of this, if it has not been told."""
        if what not in self._told:
            self._told.add(what)
            warn(message)


def wait_for(futures: Sequence[Any], seconds: float) -> None:
    """Wait until all are done or failed, or so long. By looking, because `distributed.wait` needs a current client, and
    making one current changes Dask's settings for all threads."""
    end = time.monotonic() + seconds
    while any(future.status == "pending" for future in futures) and time.monotonic() < end:
        time.sleep(DONE_SECONDS)


def results_of(client: Any, futures: Sequence[Any], workers: Sequence[str]) -> list[Any]:
    """The results of tasks that wait for each other, each on one of these workers.

    Raises
    ------
    ClusterError
        When a worker is gone, since the others may wait for it; or when all are paused, and may not have begun.
    """
    watch = _Watch(client)
    _wait_until_over(client, futures, workers, watch)

    def look() -> None:
        _refuse_missing(client, workers)
        watch.look()

    return _gathered(client, futures, look)


class Sending:
    """Data on its way to a worker, which may fall silent: then it is sent to another."""

    def __init__(self, client: Any, key: str, data: Any) -> None:
        # Of a bare dict, Dask would take the keys for names of data, and the same names mean the same data
        self._client, self._key, self._data = client, key, {key: data}
        self._watch = _Watch(client)

    def future(self, seconds: float) -> Any:
        """The future of the data, on a worker that Dask chooses; waits so long for the first. Warns of silent workers.

        Raises
        ------
        OSError
            When the worker is gone, or silent while others are not; a `TimeoutError` when there is none.
        """
        if self._watch.silent:
            self._watch.look()  # others may have gone or come
        known, others = self._watch.silent, list(self._watch.others)

        def look() -> None:
            self._watch.look()
            if self._watch.others and not self._watch.silent <= known:
                raise ConnectionError("a worker is silent")

        where: dict[str, Any] = {"workers": others or None, "hash": False, "timeout": seconds}
        begin = partial(self._client.scatter, self._data, asynchronous=True, **where)
        try:
            return _waited(self._client, begin, look)[self._key]
        except KeyError as error:
            raise ConnectionError("a worker is gone") from error


def _gathered(client: Any, futures: Sequence[Any], look: Callable[[], None]) -> list[Any]:
    """The results of tasks that are done, with a `look` now and then while they come."""
    return list(_waited(client, partial(client.gather, list(futures), asynchronous=True), look))


def _waited(client: Any, begin: Callable[[], Awaitable[Any]], look: Callable[[], None]) -> Any:
    """What comes of what the client begins in its event loop, with a `look` now and then meanwhile. Begun once: large
    data may take long to come, or to go. What a stopped worker has, or is to have, never does."""
    begun = client.sync(_begun, begin)
    try:
        while not client.sync(_done, begun):
            look()
        return client.sync(_result, begun)
    finally:
        client.loop.add_callback(begun.cancel)  # which does nothing to what is done


def _wait_until_over(client: Any, futures: Sequence[Any], workers: Sequence[str], watch: _Watch) -> None:
    """Wait until all are done, or one failed. Before a `gather`: one that is given up while they are at work leaves
    waits of its own behind, which fail aloud. By looking, as `wait_for` does."""
    begun = time.monotonic()
    looks = begun + GONE_SECONDS
    while not _are_over({future.status for future in futures}):
        time.sleep(DONE_SECONDS)
        if time.monotonic() > looks:
            _refuse_missing(client, workers)
            if (lack := watch.look()) and time.monotonic() > begun + LOOK_SECONDS:
                raise ClusterError(f"the Dask scheduler has {lack[0]}")
            looks = time.monotonic() + GONE_SECONDS


def _are_over(states: Set[str]) -> bool:
    """Whether all tasks have finished, or one has failed; `states` are the statuses of their futures."""
    return "pending" not in states or bool(states - {"pending", "finished"})


def _refuse_missing(client: Any, workers: Sequence[str]) -> None:
    if gone := sorted(set(workers) - set(client.nthreads())):
        raise ClusterError(f"worker {gone[0]} is gone")


async def _begun(begin: Callable[[], Awaitable[Any]]) -> asyncio.Future[Any]:
    return asyncio.ensure_future(begin())


async def _done(begun: asyncio.Future[Any]) -> bool:
    await asyncio.wait([begun], timeout=GONE_SECONDS)
    return begun.done()


async def _result(begun: asyncio.Future[Any]) -> Any:
    return await begun


def _lack(found: Mapping[str, Mapping[str, Any]]) -> tuple[str, str] | None:
    """What a cluster of these workers lacks to do any work, and what to do about it."""
    if not found:
        return NO_WORKER
    # One that is paused ends the tasks it has begun
    return PAUSED if all(w["status"] == "paused" and not _tasks_begun(w) for w in found.values()) else None


def _tasks_begun(worker: Mapping[str, Any]) -> int:
    counts = worker["metrics"].get("task_counts", {})
    return int(counts.get("executing", 0) + counts.get("long-running", 0))
