"""Results of tasks on a Dask client: waited for, with a look now and then whether their workers are there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from bigtopic.errors import ClusterError, warn
from bigtopic.parallel.workers import NO_WORKER, PAUSED, described

__all__ = ["result_of", "results_of", "wait_for"]

DONE_SECONDS = 0.003  # between two looks whether results are there
GONE_SECONDS = 2  # that results take before one looks whether their workers are there
LOOK_SECONDS = 10  # that a result takes before one looks whether there are workers for it
UNHEARD_SECONDS = 30  # without a heartbeat of a worker for whose results one waits, before a warning names it


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
        # By worker: the time of the last heartbeat, on the scheduler's clock, and since when that is the last, on ours
        self._heard: dict[str, tuple[float, float]] = {}
        self._told: set[str] = set()

    def look(self) -> tuple[str, str] | None:
        """Warn of workers that are silent; what the cluster lacks to do any work, and what to do about it."""
        found, now = described(self._client), time.monotonic()
        for address, worker in found.items():
            if self._heard.get(address, (None,))[0] != worker["last_seen"]:
                self._heard[address] = worker["last_seen"], now
            elif now - self._heard[address][1] > UNHEARD_SECONDS:
                self.tell(
                    address,
                    f"the Dask scheduler has not heard from worker {address} for {UNHEARD_SECONDS} seconds, and the "
                    "work may wait for it until the scheduler gives it up (Dask's setting "
                    "distributed.scheduler.worker-ttl): look at its machine",
                )
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


def _gathered(client: Any, futures: Sequence[Any], look: Callable[[], None]) -> list[Any]:
    """The results of tasks that are done, with a `look` now and then while they come."""
    gathering = client.sync(_begun, client, futures)
    try:
        while not client.sync(_done, gathering):
            look()
        return list(client.sync(_result, gathering))
    finally:
        client.loop.add_callback(gathering.cancel)  # which does nothing to one that is done


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


async def _begun(client: Any, futures: Sequence[Any]) -> asyncio.Future[Any]:
    """Begun once: large results may take long to come. One that a stopped worker has never does."""
    return asyncio.ensure_future(client.gather(list(futures), asynchronous=True))


async def _done(gathering: asyncio.Future[Any]) -> bool:
    await asyncio.wait([gathering], timeout=GONE_SECONDS)
    return gathering.done()


async def _result(gathering: asyncio.Future[Any]) -> Any:
    return await gathering


def _lack(found: Mapping[str, Mapping[str, Any]]) -> tuple[str, str] | None:
    """What a cluster of these workers lacks to do any work, and what to do about it."""
    if not found:
        return NO_WORKER
    return PAUSED if all(worker["status"] == "paused" for worker in found.values()) else None
