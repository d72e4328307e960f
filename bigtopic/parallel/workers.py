"""Questions to the workers of a Dask client, answered outside their tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import Any

from bigtopic.errors import ClusterError, warn
from bigtopic.parallel.keys import new_name, task_key

__all__ = [
    "ANSWER_SECONDS",
    "LOOK_SECONDS",
    "NO_WORKERS_SECONDS",
    "addresses",
    "ask",
    "described",
    "no_workers",
    "result_of",
    "results_of",
    "wait_for",
]

NO_WORKERS_SECONDS = 30
SILENT_SECONDS = 2  # without a worker, before a warning says what is waited for
ANSWER_SECONDS = 30  # a worker that has just started imports what it needs for an answer
DONE_SECONDS = 0.003  # between two looks whether results are there
GONE_SECONDS = 2  # that results take before one looks whether their workers are there
LOOK_SECONDS = 10  # that a result takes before one looks whether there are workers for it
_NOBODY: Mapping[str, Any] = {}
_NO_WORKER = "no worker", "start workers"
_PAUSED = (
    "no worker that accepts work",
    "Dask pauses workers near their memory limit: give them more memory",
)


def addresses(client: Any) -> list[str]:
    """Addresses of the workers; waits for the first, and warns where it takes longer than `SILENT_SECONDS`.

    Raises
    ------
    ClusterError
        When there is still none after `NO_WORKERS_SECONDS`.
    """
    if not client.nthreads():
        # A task, because clusters that adapt start workers for nothing else
        future = client.submit(bool, key=task_key("bt-hello", new_name()), pure=False)
        wait_for([future], min(SILENT_SECONDS, NO_WORKERS_SECONDS))
        if future.status == "pending" and SILENT_SECONDS < NO_WORKERS_SECONDS:
            what, remedy = _NO_WORKER
            warn(
                f"the Dask scheduler at {client.scheduler.address} has {what}; bigtopic waits {NO_WORKERS_SECONDS} "
                f"seconds for the first: {remedy}"
            )
        try:
            future.result(NO_WORKERS_SECONDS)
        except TimeoutError as error:
            raise no_workers(client) from error
    return list(client.nthreads())


def no_workers(client: Any) -> ClusterError:
    """The error for a cluster without workers, or with none that accepts work."""
    what, remedy = _PAUSED if client.nthreads() else _NO_WORKER
    return ClusterError(
        f"the Dask scheduler at {client.scheduler.address} has had {what} for {NO_WORKERS_SECONDS} seconds; "
        f"{remedy}, or pass client=False to run on threads"
    )


def result_of(client: Any, future: Any) -> Any:
    """The result of a future. Warns once where it waits for workers, because all are gone or paused."""
    seconds: float | None = LOOK_SECONDS
    while True:
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():  # by now, or because its task raised that
                return future.result()
        if lack := _lack(client):
            what, remedy = lack
            warn(
                f"the Dask scheduler at {client.scheduler.address} has {what}; the work goes on when there is one: "
                f"{remedy}",
            )
            seconds = None


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
    _wait_for(client, futures, workers)
    gathering = client.sync(_begun, client, futures)
    try:
        while not client.sync(_done, gathering):
            _refuse_missing(client, workers)
        return list(client.sync(_result, gathering))
    finally:
        client.loop.add_callback(gathering.cancel)  # which does nothing to one that is done


def _wait_for(client: Any, futures: Sequence[Any], workers: Sequence[str]) -> None:
    """Wait until all are done, or one failed. First, because a `gather` that is given up while they are at work leaves
    waits of its own behind, which fail aloud. By looking, as `wait_for` does."""
    begun = time.monotonic()
    looks = begun + GONE_SECONDS
    while not _are_over({future.status for future in futures}):
        time.sleep(DONE_SECONDS)
        if time.monotonic() > looks:
            _refuse_missing(client, workers)
            if time.monotonic() > begun + LOOK_SECONDS and (lack := _lack(client)):
                raise ClusterError(f"the Dask scheduler has {lack[0]}")
            looks = time.monotonic() + GONE_SECONDS


def _are_over(states: Set[str]) -> bool:
    """Whether all tasks are done, or one failed, given what is said of them."""
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


def _lack(client: Any) -> tuple[str, str] | None:
    """What the cluster lacks to do any work, and what to do about it."""
    found = described(client)
    if not found:
        return _NO_WORKER
    return _PAUSED if all(worker["status"] == "paused" for worker in found.values()) else None


def described(client: Any) -> Mapping[str, Mapping[str, Any]]:
    """What the scheduler tells of each worker, by address; what it told last, if it cannot be asked.

    Instead of `client.scheduler_info`, in whose answer there may be no workers: now and then the client itself asks
    without them, and the last answer counts.
    """
    try:
        found = client.sync(client.scheduler.identity, n_workers=-1)
    except (AttributeError, OSError):  # the client is closed, or the scheduler is gone
        found = client.scheduler_info(n_workers=-1)
    by_address: Mapping[str, Mapping[str, Any]] = found["workers"]
    return by_address


def ask(
    client: Any, question: Callable[..., Any], *arguments: Any, known: Mapping[str, Any] = _NOBODY
) -> dict[str, Any]:
    """Answers of all workers to `question(*arguments)`, by address; those in `known` are not asked again.

    A worker that is stopped, or too busy to answer for `ANSWER_SECONDS`, is left out: it does not delay the others.

    Raises
    ------
    ClusterError
        When there are no workers, or one cannot answer; names it.
    """
    for seconds in (0.1, 0.5, 2.0, None):
        there = addresses(client)
        answers = {worker: known[worker] for worker in there if worker in known}
        if new := [worker for worker in there if worker not in known]:
            to_all = partial(client.run, _in_thread, question, arguments, on_error="return")
            answers |= client.sync(_in_time, to_all, new)
        silent = {worker: answer for worker, answer in answers.items() if isinstance(answer, OSError)}
        for worker in silent:
            del answers[worker]
        # One that died may still be on the scheduler's list
        if seconds is None or all(isinstance(error, TimeoutError) for error in silent.values()):
            break
        time.sleep(seconds)
    _refuse_failures(answers)
    return answers


async def _in_time(ask: Callable[..., Any], workers: Sequence[str]) -> dict[str, Any]:
    """The answers, asked together; of each worker alone if that takes too long. A `TimeoutError` stands for none."""
    try:
        return await asyncio.wait_for(ask(workers=workers), ANSWER_SECONDS)
    except TimeoutError as error:
        if len(workers) == 1:
            return {workers[0]: error}
    alone = await asyncio.gather(*(_in_time(ask, [worker]) for worker in workers))
    return {worker: answer for answers in alone for worker, answer in answers.items()}


async def _in_thread(question: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The answer; the worker stays in touch with its scheduler meanwhile."""
    return await asyncio.to_thread(question, *arguments)


def _refuse_failures(answers: Mapping[str, Any]) -> None:
    for worker, answer in answers.items():
        if isinstance(answer, Exception):
            raise ClusterError(
                f"worker {worker} cannot run bigtopic ({type(answer).__name__}: {answer}); install the packages of "
                "this process, in the same versions, on every worker"
            ) from answer
