"""Questions to the workers of a Dask client, answered outside their tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from bigtopic.errors import ClusterError, warn
from bigtopic.parallel import heartbeats
from bigtopic.parallel.keys import new_name, task_key

__all__ = [
    "ANSWER_SECONDS",
    "NO_WORKER",
    "NO_WORKERS_SECONDS",
    "PAUSED",
    "addresses",
    "ask",
    "no_workers",
]

NO_WORKERS_SECONDS = 30
FIRST_WORKER_SECONDS = 2  # without a worker, before a warning says what is waited for
ANSWER_SECONDS = 30  # a worker that has just started imports what it needs for an answer
ALONE_SECONDS = 5  # for another answer
_NOBODY: Mapping[str, Any] = {}
NO_WORKER = "no worker", "start workers, unless the cluster starts them itself"
PAUSED = (
    "no worker that accepts work",
    "Dask pauses workers near their memory limit: give them more memory",
)


def addresses(client: Any) -> list[str]:
    """Addresses of the workers; waits for the first, and says so after `FIRST_WORKER_SECONDS`.

    Raises
    ------
    ClusterError
        When there is still none after `NO_WORKERS_SECONDS`.
    """
    if not client.nthreads():
        # A task, because clusters that adapt start workers for nothing else
        future = client.submit(bool, key=task_key("bt-hello", new_name()), pure=False)
        try:
            _wait_for_the_first(client, future)
        except TimeoutError as error:
            if not client.nthreads():  # one that has come may be busy with tasks of other clients
                raise no_workers(client) from error
    return list(client.nthreads())


def _wait_for_the_first(client: Any, future: Any) -> None:
    """Wait until a worker has done a task."""
    silent = min(FIRST_WORKER_SECONDS, NO_WORKERS_SECONDS)
    with suppress(TimeoutError):
        future.result(silent)
        return
    if left := NO_WORKERS_SECONDS - silent:
        warn(
            f"the Dask scheduler at {client.scheduler.address} has no worker yet; bigtopic waits up to "
            f"{NO_WORKERS_SECONDS} seconds for the first: {NO_WORKER[1]}"
        )
    future.result(left)


def no_workers(client: Any) -> ClusterError:
    """The error for a cluster without workers, or with none that accepts work."""
    what, remedy = PAUSED if client.nthreads() else NO_WORKER
    return ClusterError(
        f"the Dask scheduler at {client.scheduler.address} has had {what} for {NO_WORKERS_SECONDS} seconds; "
        f"{remedy}, or pass client=False to run on threads"
    )


def ask(
    client: Any, question: Callable[..., Any], *arguments: Any, known: Mapping[str, Any] = _NOBODY
) -> dict[str, Any]:
    """Answers of all workers to `question(*arguments)`, by address; those in `known` are not asked again.

    A worker that is silent, or too busy to answer for `ANSWER_SECONDS`, is left out: it does not delay the others.

    Raises
    ------
    ClusterError
        When there are no workers, or one cannot answer; names it.
    """
    for seconds in (0.1, 0.5, 2.0, None):
        there = addresses(client)
        answers = {worker: known[worker] for worker in there if worker in known}
        if new := set(there) - known.keys():
            to_all = partial(client.run, _in_thread, question, arguments, on_error="return")
            answers |= client.sync(
                _in_time, to_all, sorted(new - heartbeats.look(client).silent), ANSWER_SECONDS
            )
        failed = {worker: answer for worker, answer in answers.items() if isinstance(answer, OSError)}
        for worker in failed:
            del answers[worker]
        if failed:
            heartbeats.look(client)  # which warns of those that are silent
        # One that died may still be on the scheduler's list
        if seconds is None or all(isinstance(error, TimeoutError) for error in failed.values()):
            break
        time.sleep(seconds)
    _refuse_failures(answers)
    return answers


async def _in_time(ask: Callable[..., Any], workers: Sequence[str], seconds: float) -> dict[str, Any]:
    """The answers, asked together; of each worker alone if that takes too long. A `TimeoutError` stands for none."""
    try:
        return await asyncio.wait_for(ask(workers=workers), seconds) if workers else {}
    except TimeoutError as error:
        if len(workers) == 1:
            return {workers[0]: error}
    alone = await asyncio.gather(*(_in_time(ask, [worker], ALONE_SECONDS) for worker in workers))
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
