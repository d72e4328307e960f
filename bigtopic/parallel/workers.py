"""The workers of a Dask client: their heartbeats, and answers to questions outside of tasks.

Keys of tasks and data are random, because Dask takes equal keys for the same task, whichever client they come from.
Their prefixes are few, because the scheduler remembers each for good.

What the caller asks of Dask's tasks (`dask.annotate`) holds for the tasks of this package: Dask adds annotations to
each task, and `Places` does not override them.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from inspect import signature
from statistics import median
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from bigtopic.errors import ON_THREADS, ClusterError, warn

__all__ = [
    "ANSWER_SECONDS",
    "NONE_CHOSEN",
    "NO_WORKER",
    "NO_WORKERS_SECONDS",
    "PAUSED",
    "Heartbeats",
    "Paces",
    "Places",
    "addresses",
    "ask",
    "chosen",
    "described",
    "fit_for_work",
    "look",
    "new_name",
    "no_workers",
    "nobody_came",
    "places",
    "silent",
    "task_key",
]

NO_WORKERS_SECONDS = 30  # without a worker that accepts work, or can run this package
RETRIES = 2  # of a task that fails
FIRST_WORKER_SECONDS = 2  # without a worker, before a warning
ANSWER_SECONDS = 30  # a worker that has just started imports what it needs for an answer
ALONE_SECONDS = 5  # for another answer
UNHEARD_SECONDS = 30  # without a heartbeat of a worker, before it is silent
# A worker is slow if each of its last `PACES` times is so many times that of the others, and longer than these seconds
PACES, SLOW, SLOW_SECONDS = 8, 4, 0.5
_NOBODY: Mapping[str, Any] = {}
# Errors of the workers that cannot answer, by client and address
_unfit: WeakKeyDictionary[Any, dict[str, Exception]] = WeakKeyDictionary()
_had_fit: WeakSet[Any] = WeakSet()  # clients of which a worker has answered
NO_WORKER = "no worker", "start workers, unless the cluster starts them itself"
NONE_CHOSEN = (
    "no worker that dask.annotate allows",
    "start one with these resources, or of this name or address (workers)",
)
_SAME_PACKAGES = "install the packages of this process, in the same versions, on every worker"
PAUSED = (
    "no worker that accepts work",
    "Dask pauses workers near their memory limit: give them more memory",
)


def addresses(client: Any) -> list[str]:
    """Addresses of the workers; waits for the first, and says so after `FIRST_WORKER_SECONDS`.

    It waits as long as Dask does for a task that no worker can do (`distributed.scheduler.no-workers-timeout`): by
    default without limit, because a cluster may start machines first.

    Raises
    ------
    ClusterError
        When there is none in that time.
    """
    if not client.nthreads():
        # A task, because adaptive clusters start workers for nothing else
        future = client.submit(bool, key=task_key("bt-hello", new_name()), pure=False)
        try:
            _wait_for_the_first(client, future)
        except Exception as error:
            if future.status != "error":
                raise
            raise nobody_came(client, error) from error
        finally:
            future.release()  # a traceback may keep it, and its result would keep a worker of an adaptive cluster
    return list(client.nthreads())


def _wait_for_the_first(client: Any, future: Any) -> None:
    """Wait until there is a worker that has done a task, or may be busy with tasks of other clients."""
    with suppress(TimeoutError):
        future.result(FIRST_WORKER_SECONDS)
        return
    warn(
        f"the Dask scheduler at {client.scheduler.address} has no worker yet; bigtopic waits for the first: "
        f"{NO_WORKER[1]}"
    )
    while not client.nthreads():
        with suppress(TimeoutError):
            future.result(1)


def nobody_came(client: Any, error: Exception) -> ClusterError:
    """The error for a task that Dask gave up because no worker could do it."""
    return ClusterError(
        f"the Dask scheduler at {client.scheduler.address} gave up waiting for a worker, as its setting "
        f"distributed.scheduler.no-workers-timeout says ({error}); {NO_WORKER[1]}, or {ON_THREADS}"
    )


def no_workers(client: Any) -> ClusterError:
    """The error for a cluster without workers, or with none that accepts work."""
    what, remedy = PAUSED if client.nthreads() else NO_WORKER
    return ClusterError(
        f"the Dask scheduler at {client.scheduler.address} has had {what} for {NO_WORKERS_SECONDS} seconds; "
        f"{remedy}, or {ON_THREADS}"
    )


def ask(
    client: Any, question: Callable[..., Any], *arguments: Any, known: Mapping[str, Any] = _NOBODY
) -> dict[str, Any]:
    """Answers of all workers to `question(*arguments)`, by address; those in `known` are not asked again.

    A worker that is silent, or too busy to answer for `ANSWER_SECONDS`, is left out: it does not delay the others. One
    that cannot answer, perhaps because this package is not installed there, is left out for good: a warning names it
    once, and it gets no tasks. A question may have an argument `dask_worker`: the worker that answers.

    Raises
    ------
    ClusterError
        When there are no workers, or none can answer; names one.
    """
    for seconds in (0.1, 0.5, 2.0, None):
        there = _fit_addresses(client)
        answers = {worker: known[worker] for worker in there if worker in known}
        if new := set(there) - known.keys():
            to_all = partial(client.run, _in_thread, question, arguments, on_error="return")
            answers |= client.sync(_in_time, to_all, sorted(new - look(client).silent), ANSWER_SECONDS)
        failed = {worker: answer for worker, answer in answers.items() if isinstance(answer, OSError)}
        for worker in failed:
            del answers[worker]
        if failed:
            look(client)  # which warns of silent workers
        # One that died may still be on the scheduler's list
        if seconds is None or all(isinstance(error, TimeoutError) for error in failed.values()):
            break
        time.sleep(seconds)
    return _without_unfit(client, answers)


class Places(NamedTuple):
    """Where a task may run.

    Attributes
    ----------
    preferred : addresses of the workers to prefer; None for any
    only : addresses of the workers that can run it, where some cannot; empty where Dask waits for one; None for any
    """

    preferred: Sequence[str] | None = None
    only: Sequence[str] | None = None

    def options(self) -> dict[str, Any]:
        """The same as Dask takes it, and further attempts at a task that fails."""
        own = {} if "retries" in annotated() else {"retries": RETRIES}
        if self.only is not None:
            return {**own, "workers": list(self.only), "allow_other_workers": False}
        return {**own, "workers": self.preferred, "allow_other_workers": self.preferred is not None}


def places(client: Any, preferred: Sequence[str] | None = None) -> Places:
    """Where a task may run now: on the `preferred` workers if possible, or on any that the caller has `chosen`. If none
    of these is there, Dask waits for one.

    Raises
    ------
    CancelledError
        As `fit_for_work`.
    """
    there, wanted = list(client.nthreads()), chosen(client)
    if wanted is None and _unfit.get(client, {}).keys().isdisjoint(there):
        return Places(preferred)
    fit = [worker for worker in fit_for_work(client, there) if wanted is None or worker in wanted]
    if not fit:
        return Places(only=())
    return Places(preferred, [worker for worker in fit if preferred is None or worker in preferred] or fit)


def chosen(client: Any) -> list[str] | None:
    """Addresses of the workers that `dask.annotate(workers=..., resources=...)` allows; None without these. Dask itself
    gives a task that prefers a worker to this worker, also if it does not have the resources."""
    annotations = annotated()
    names = () if annotations.get("allow_other_workers") else annotations.get("workers", ())
    needs = annotations.get("resources", {})
    if callable(names) or callable(needs) or not (names or needs):
        return None
    return [
        address
        for address, worker in described(client).items()
        if not names
        or not {address, address.rpartition("/")[2], str(worker["name"]), worker["host"]}.isdisjoint(names)
        if all(worker["resources"].get(resource, 0) >= amount for resource, amount in needs.items())
    ]


def annotated() -> dict[str, Any]:
    """The annotations that Dask adds to each task from here."""
    import dask

    return dict(dask.get_annotations())


def fit_for_work(client: Any, workers: Sequence[str]) -> list[str]:
    """The workers among these that can run this package.

    Raises
    ------
    CancelledError
        When there are workers, and none can: the ones that could are gone, with their data.
    """
    known = _unfit.get(client, {})
    fit = [worker for worker in workers if worker not in known]
    if workers and not fit:
        raise CancelledError("all workers that can run bigtopic are gone")
    return fit


def _fit_addresses(client: Any) -> list[str]:
    """Addresses of workers that can run this package, or have not been asked; waits for one, if there was one before.

    Raises
    ------
    ClusterError
        When there is none; names another one.
    """
    end = time.monotonic() + (NO_WORKERS_SECONDS if client in _had_fit else 0)
    while True:
        there = addresses(client)
        with suppress(CancelledError):
            return fit_for_work(client, there)
        if time.monotonic() > end:
            raise _none_is_fit(client, there)
        time.sleep(0.1)


def _none_is_fit(client: Any, workers: Sequence[str]) -> ClusterError:
    return ClusterError(
        f"{_cannot_run(workers[0], _unfit[client][workers[0]])}, and no other worker can; {_SAME_PACKAGES}"
    )


async def _in_time(ask: Callable[..., Any], workers: Sequence[str], seconds: float) -> dict[str, Any]:
    """The answers, asked together; of each worker alone if that takes too long. A `TimeoutError` stands for none."""
    try:
        return await asyncio.wait_for(ask(workers=workers), seconds) if workers else {}
    except TimeoutError as error:
        if len(workers) == 1:
            return {workers[0]: error}
    alone = await asyncio.gather(*(_in_time(ask, [worker], ALONE_SECONDS) for worker in workers))
    return {worker: answer for answers in alone for worker, answer in answers.items()}


async def _in_thread(
    question: Callable[..., Any], arguments: tuple[Any, ...], dask_worker: Any = None
) -> Any:
    """The answer; the worker stays in touch with its scheduler meanwhile."""
    named = {"dask_worker": dask_worker} if "dask_worker" in signature(question).parameters else {}
    return await asyncio.to_thread(question, *arguments, **named)


def _without_unfit(client: Any, answers: Mapping[str, Any]) -> dict[str, Any]:
    """The answers of workers that did not fail; warns of workers that failed, or raises if all did."""
    failed = {worker: answer for worker, answer in answers.items() if isinstance(answer, Exception)}
    _unfit.setdefault(client, {}).update(failed)
    if failed and len(failed) == len(answers):
        raise _none_is_fit(client, list(failed))
    _had_fit.add(client)
    for worker, error in failed.items():
        warn(f"{_cannot_run(worker, error)}, and is left out; {_SAME_PACKAGES}")
    return {worker: answer for worker, answer in answers.items() if worker not in failed}


def _cannot_run(worker: str, error: Exception) -> str:
    return f"worker {worker} cannot run bigtopic ({type(error).__name__}: {error})"


Description = Mapping[str, Mapping[str, Any]]


class Heartbeats:
    """The workers of a client at the last look.

    workers : the scheduler's report on each, by address
    silent : addresses of workers that it has not heard from for `UNHEARD_SECONDS`
    accepting : addresses of the others that accept work
    """

    def __init__(self) -> None:
        self.workers: Description = {}
        self.silent: frozenset[str] = frozenset()
        self.accepting: frozenset[str] = frozenset()
        self._answered = True
        # By address: the time of the last heartbeat, on the scheduler's clock, and since when it is the last, on ours
        self._last: dict[str, tuple[float, float]] = {}

    def update(self, client: Any) -> None:
        """Look again."""
        try:
            self.workers = described(client, UNHEARD_SECONDS)
        except TimeoutError:
            self._last.clear()  # the workers are not to blame
            if self._answered:
                self._answered = False
                warn(
                    f"the Dask scheduler at {client.scheduler.address} has not answered for {UNHEARD_SECONDS} seconds, "
                    "and the work waits for it: look at its machine"
                )
            return
        self._answered = True
        earlier, now = self._last, time.monotonic()
        heard = {address: worker["last_seen"] for address, worker in self.workers.items()}
        self._last = {
            address: earlier[address] if earlier.get(address, (None,))[0] == at else (at, now)
            for address, at in heard.items()
        }
        known = self.silent
        self.silent = frozenset(w for w, (_, since) in self._last.items() if now - since > UNHEARD_SECONDS)
        running = frozenset(w for w, worker in self.workers.items() if worker["status"] == "running")
        self.accepting = running - self.silent
        for address in sorted(self.silent - known):
            warn(
                f"the Dask scheduler has not heard from worker {address} for {UNHEARD_SECONDS} seconds, and the "
                "work may wait for it until the scheduler gives it up (Dask's setting "
                "distributed.scheduler.worker-ttl): look at its machine"
            )


_by_client: WeakKeyDictionary[Any, Heartbeats] = WeakKeyDictionary()


def look(client: Any) -> Heartbeats:
    """Ask the scheduler for its workers. Warns of each that has fallen silent, and of a scheduler that has."""
    heartbeats = _by_client.setdefault(client, Heartbeats())
    heartbeats.update(client)
    return heartbeats


def silent(client: Any) -> frozenset[str]:
    """Addresses of workers that are silent. Asks the scheduler only if some were at the last look."""
    known = _by_client.get(client)
    return look(client).silent if known and known.silent else frozenset()


def described(client: Any, seconds: float | None = None) -> Description:
    """The scheduler's report on each worker, by address; the last one, if it cannot be asked.

    Instead of `client.scheduler_info`, in whose answer there may be no workers: now and then the client itself asks
    without them, and the last answer counts.

    Raises
    ------
    TimeoutError
        When it does not answer for so long; by default, this waits.
    """
    try:
        found = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=seconds)
    except TimeoutError:
        raise
    except (AttributeError, OSError):  # the client is closed, or the scheduler is gone
        found = client.scheduler_info(n_workers=-1)
    by_address: Description = found["workers"]
    return by_address


def new_name() -> str:
    """A name that no other client makes: 64 random bits in 11 characters."""
    return secrets.token_urlsafe(8)


def task_key(prefix: str, name: str, number: int = 0) -> str:
    """The key of a task. The scheduler groups tasks by what stands before the number; of tasks with the same priority,
    it begins with the least key, so with the least number."""
    return f"{prefix}-{number:05}-{name}"


class Paces:
    """How long each worker takes for work of a kind."""

    def __init__(self) -> None:
        self._seconds: dict[str, deque[float]] = {}
        self._told: set[str] = set()

    def note(self, worker: str, seconds: float) -> None:
        """A worker has taken so long. Warns once of one that is always much slower than the others."""
        own = self._seconds.setdefault(worker, deque(maxlen=PACES))
        own.append(seconds)
        others = [median(found) for other, found in self._seconds.items() if other != worker]
        if worker in self._told or len(own) < PACES or not others:
            return
        if min(own) > max(SLOW_SECONDS, SLOW * (usual := median(others))):
            self._told.add(worker)
            warn(
                f"worker {worker} takes {median(own):.2g} seconds for what the others do in {usual:.2g}: look at its "
                "machine"
            )
