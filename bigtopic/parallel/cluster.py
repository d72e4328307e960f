"""Where work runs: threads of this process, or a Dask client. The only module that imports `dask.distributed`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, count, islice
from threading import Thread
from typing import Any, TypeVar

from bigtopic.errors import ON_THREADS, BigtopicError, ClusterError, SettingError, argument, warn
from bigtopic.parallel import results, workers
from bigtopic.parallel.environment import check_workers
from bigtopic.parallel.workers import new_name, task_key
from bigtopic.support import buffers
from bigtopic.support.pools import Pool

__all__ = [
    "LOST",
    "bounded_map",
    "cluster_errors",
    "default_threads",
    "repeated",
    "resolve_client",
    "rest",
    "send",
    "this_worker",
    "threads_here",
    "threads_of",
]

PAUSES = 0.0, 0.5, 2.0, 8.0  # seconds before each further attempt: many workers may die within moments
CONNECT_SECONDS = 30  # for a scheduler to answer
GIVE_UP_SECONDS = 60
HELD_SECONDS = 1.0
RESTING_PART = 0.05  # of the memory limit of a worker
LOST = CancelledError  # what a result raises when the data it needed died with a worker
_clients: dict[str, Any] = {}
Result = TypeVar("Result")


def default_threads() -> int:
    """Processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def resolve_client(client: Any = None) -> Any:
    """The client to use: the one given, `Client.current()` when there is one, else None (threads in process).

    `client=False` means threads even when a client is around. A string is a scheduler's address.

    Raises
    ------
    SettingError
        When it is something else, closed, or a client of an event loop, which would have to be awaited.
    ClusterError
        When no scheduler answers at the address.
    """
    if client is False:
        return None
    if client is None:
        # Nobody made a client if the package was never imported; importing it costs half a second.
        if "distributed" not in sys.modules:
            return None
        from dask.distributed import Client

        try:
            client = Client.current()
        except ValueError:
            return None
    return _connected(client) if isinstance(client, str) else _checked(client)


def _checked(client: Any) -> Any:
    if not hasattr(client, "scatter"):
        raise SettingError(
            f"{argument('client', client)}: must be a Dask client, a scheduler's address, None for the current "
            "client, or False for threads"
        )
    if client.asynchronous:
        raise SettingError(
            f"{argument('client', client)} is asynchronous: every call of it would have to be awaited; give "
            f"Client(..., asynchronous=False), the address of its scheduler, or {ON_THREADS}"
        )
    if client.status in ("closing", "closed"):
        raise SettingError(f"{argument('client', client)} is closed: make a new one, or {ON_THREADS}")
    return client


def _connected(address: str) -> Any:
    """One client for each address, for this process' life; it does not become the current one."""
    from dask.distributed import Client

    if ":" not in address:
        raise SettingError(
            f"{argument('client', address)}: must be a Dask client or a scheduler's address, as tcp://host:8786"
        )
    known = _clients.get(address)
    if known is None or known.status != "running":
        try:
            _wait_for_scheduler(address)
            known = _clients[address] = Client(address, set_as_default=False)
        except Warning:
            raise
        except Exception as error:  # Dask takes whatever answers for a scheduler
            raise ClusterError(
                f"{argument('client', address)}: no Dask scheduler answers there ({error}); check the address, or "
                f"{ON_THREADS}"
            ) from error
    return known


def _wait_for_scheduler(address: str) -> None:
    """Wait until the scheduler answers, before a client is made: where something accepts connections but stays silent,
    a client waits forever, prints, and delays the end of the process by a minute."""
    answer: Future[Any] = Future()
    Thread(target=_ask_for_identity, args=(address, answer), daemon=True).start()
    with suppress(TimeoutError):
        answer.exception(workers.FIRST_WORKER_SECONDS)
    if not answer.done():
        warn(
            f"the Dask scheduler at {address} has not answered yet; bigtopic waits up to {CONNECT_SECONDS} seconds "
            "for it"
        )
    try:
        kind = answer.result(CONNECT_SECONDS)["type"]
    except TimeoutError as error:
        raise OSError(f"no answer for {CONNECT_SECONDS} seconds") from error
    if kind != "Scheduler":
        raise ValueError(f"a {kind.lower()} answers")


def _ask_for_identity(address: str, answer: Future[Any]) -> None:
    try:
        answer.set_result(asyncio.run(asyncio.wait_for(_identity(address), CONNECT_SECONDS)))
    except BaseException as error:
        answer.set_exception(error)


async def _identity(address: str) -> Any:
    from distributed.comm import connect
    from distributed.security import Security

    comm = await connect(address, deserialize=False, **Security().get_connection_args("client"))
    try:
        await comm.write({"op": "identity", "reply": True})
        return await comm.read()
    finally:
        comm.abort()


@contextmanager
def cluster_errors(client: Any) -> Iterator[None]:
    """Re-raise failures of the cluster as ClusterError; `client` is None where there is no cluster.

    Raises
    ------
    ClusterError
        When the client is closed or has lost its scheduler, or workers die repeatedly.
    """
    if client is None:
        yield
        return
    from dask.distributed import KilledWorker

    scheduler = getattr(client.scheduler, "address", None)  # a client that is closed has none
    try:
        yield
    except BigtopicError:
        raise
    except Exception as error:
        if client.status != "running":
            raise ClusterError(
                f"the Dask client was closed, or lost its scheduler ({scheduler}), before the work was done; start a "
                f"scheduler and connect again, or {ON_THREADS}"
            ) from None  # tasks are cancelled then, which says no more
        if isinstance(error, (LOST, KilledWorker)):
            raise ClusterError(
                f"workers die repeatedly in the middle of tasks ({error or 'what they held is lost'}); see their "
                "logs, they may have too little memory"
            ) from error
        raise


def repeated(
    work: Callable[[], Result],
    failures: tuple[type[BaseException], ...],
    before_again: Callable[[], None] = lambda: None,
) -> Result:
    """The result of `work`, which is retried after one of these failures, at most `len(PAUSES)` times."""
    for seconds in PAUSES:
        with suppress(*failures):
            return work()
        time.sleep(seconds)
        before_again()
    return work()


def bounded_map(
    function: Callable[..., Any],
    items: Iterable[Any],
    *,
    shared: tuple[Any, ...] = (),
    client: Any = None,
    n_threads: int = 1,
    n_in_flight: int | None = None,
) -> Iterator[Any]:
    """Results of `function(*shared, item)` in the order of the items, at most `n_in_flight` being computed or waiting.

    `items` is consumed no further ahead than that, which bounds memory. The default is twice the workers' threads.
    `shared` travels to a cluster once, and again when it was lost with a worker.
    """
    task = partial(function, *shared)
    if client is not None:
        with cluster_errors(client):
            yield from _ClientMap(function, shared, client).results(
                items, n_in_flight or 2 * threads_of(client)
            )
    elif n_threads <= 1:
        yield from map(task, items)
    else:
        yield from _map_on_threads(task, items, n_threads, n_in_flight or 2 * n_threads)


def _map_on_threads(
    function: Callable[[Any], Any], items: Iterable[Any], n_threads: int, n_in_flight: int
) -> Iterator[Any]:
    items = iter(items)
    first = list(islice(items, 2))
    if len(first) < 2:
        yield from map(function, first)  # one item alone is not worth a thread
        return
    waiting: deque[Any] = deque()
    try:
        with Pool(n_threads, "bigtopic") as pool:
            for item in chain(first, items):
                waiting.append(pool.submit(function, item))
                if len(waiting) >= n_in_flight:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    finally:
        rest()


class _ClientMap:
    """The map on a Dask client: items in flight with their futures, oldest first."""

    def __init__(self, function: Callable[..., Any], shared: tuple[Any, ...], client: Any) -> None:
        check_workers(client)
        self._function, self._shared, self._client = function, shared, client
        self._name = new_name()
        self._numbers = count()
        self._sent = self._send()
        self._waiting: deque[tuple[Any, Any, workers.Places]] = deque()

    def results(self, items: Iterable[Any], n_in_flight: int) -> Iterator[Any]:
        try:
            for item in items:
                self._waiting.append((item, *self._submit(item)))
                if len(self._waiting) >= n_in_flight:
                    yield self._oldest()
            while self._waiting:
                yield self._oldest()
        finally:
            if self._waiting and self._client.status == "running":  # else there is nobody to tell
                self._give_up([future for _, future, _ in self._waiting])

    def _give_up(self, futures: list[Any]) -> None:
        """Wait for tasks that have begun, which Dask cannot stop, so that they write nothing after this call."""
        results.wait_for(futures, GIVE_UP_SECONDS)
        for future in futures:
            future.cancel()

    def _send(self) -> tuple[Any, ...]:
        return tuple(send(self._client, value) for value in self._shared)

    def _submit(self, item: Any) -> tuple[Any, workers.Places]:
        check_workers(self._client)
        # the same prefix for all maps: the scheduler remembers each for good
        key = task_key("bt-map", self._name, next(self._numbers))
        places = workers.places(self._client)
        options = {"key": key, "pure": False, "retries": 2, **places.options()}
        return self._client.submit(_resting, self._function, *self._sent, item, **options), places

    def _oldest(self) -> Any:
        result = repeated(self._result, (LOST,), self._begin_again)
        self._waiting.popleft()
        return result

    def _result(self) -> Any:
        _, future, places = self._waiting[0]
        return results.result_of(self._client, future, places.only)

    def _begin_again(self) -> None:
        self._sent = self._send()
        self._waiting = deque((item, *self._submit(item)) for item, *_ in self._waiting)


def send(client: Any, data: Any) -> Any:
    """A future of `data` on some worker; retried, because one that just died may still be on the scheduler's list.

    Raises
    ------
    ClusterError
        When no worker comes, or none can be reached.
    """
    key = task_key("bt-sent", new_name())
    failure: OSError | None = None
    for seconds in (0.0, 0.1, 0.5, 2.0):
        time.sleep(seconds)
        # Adaptive clusters start workers for tasks, not for data, and retire workers without a task
        task = None if client.nthreads() and failure is None else _held(client)
        try:
            return results.sent(client, key, data, workers.NO_WORKERS_SECONDS / 4)
        except OSError as error:
            failure = error
        finally:
            del task
    if isinstance(failure, TimeoutError):
        raise workers.no_workers(client)
    raise ClusterError(
        f"the Dask scheduler at {client.scheduler.address} cannot reach its workers ({failure}): see their logs, and "
        "whether they have just died"
    ) from failure


def _held(client: Any) -> Any:
    """The future of a task that keeps a worker busy until data has reached it."""
    return client.submit(time.sleep, HELD_SECONDS, key=task_key("bt-hello", new_name()), pure=False)


def threads_here() -> int:
    """Threads of the Dask worker this runs on; processors of the machine when this is not a worker."""
    try:
        from dask.distributed import get_worker

        return int(get_worker().state.nthreads)
    except (ImportError, ValueError):
        return default_threads()


def this_worker() -> Any:
    """The Dask worker whose task this is."""
    from dask.distributed import get_worker

    return get_worker()


def threads_of(client: Any) -> int:
    """Threads that the workers of a cluster have together."""
    return max(1, sum(client.nthreads().values()))


def rest() -> None:
    """At the end of parallel work: let unused memory rest, see `buffers.rest`; at the end of a Dask task no more than
    `RESTING_PART` of the worker's memory limit."""
    limit = None
    if "distributed" in sys.modules:
        with suppress(ValueError):  # not in a task
            limit = this_worker().memory_manager.memory_limit
    buffers.rest(int(limit * RESTING_PART) if limit else None)


def _resting(function: Callable[..., Result], *arguments: Any) -> Result:
    """The result of a task; afterwards its memory rests."""
    try:
        return function(*arguments)
    finally:
        rest()
