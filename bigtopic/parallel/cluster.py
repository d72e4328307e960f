"""Where work runs: threads of this process, or a Dask client. The only module that imports `dask.distributed`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import Thread
from typing import Any, TypeVar

from bigtopic.errors import ON_THREADS, BigtopicError, ClusterError, SettingError, argument, warn
from bigtopic.parallel import results, workers
from bigtopic.parallel.environment import check_workers
from bigtopic.parallel.workers import new_name, task_key
from bigtopic.support import buffers

__all__ = [
    "LOST",
    "check_holder",
    "cluster_errors",
    "computed_on",
    "dashboard_of",
    "default_threads",
    "held",
    "new_span",
    "on_events",
    "repeated",
    "resolve_client",
    "rest",
    "send",
    "this_worker",
    "threads_for_one",
    "threads_here",
    "threads_of",
]

PAUSES = 0.0, 0.5, 2.0, 8.0  # seconds before each further attempt: many workers may die within moments
CONNECT_SECONDS = 30  # for a scheduler to answer
GIVE_UP_SECONDS = 60
HELD_SECONDS = 1.0
RESTING_PART = 0.05  # of the memory limit of a worker
_TLS_FILES = {  # of a client, and the variables that set them
    name: "DASK_DISTRIBUTED__COMM__TLS__" + name.upper().replace("-", "_").replace(".", "__")
    for name in ("ca-file", "client.cert", "client.key")
}
LOST = CancelledError  # what a result raises when the data it needed died with a worker
_clients: dict[str, Any] = {}
Result = TypeVar("Result")


def default_threads() -> int:
    """Processors this process may use; in a Dask task 1, because its worker has other threads for other tasks."""
    if _in_task():
        return 1
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def resolve_client(client: Any = None) -> Any:
    """The client to use: the one given, `Client.current()` when there is one, else None (threads in process).

    `client=False` means threads even when a client is around. A string is a scheduler's address. A Dask task that gets
    a client leaves its worker's pool of threads: it will wait for tasks that may need this thread.

    Raises
    ------
    SettingError
        When it is something else, closed, a client of an event loop, which would have to be awaited, or an address
        with tls:// and this process has no certificate.
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
    client = _connected(client) if isinstance(client, str) else _checked(client)
    if _in_task():
        from dask.distributed import secede

        with suppress(KeyError):  # it has left, as in `worker_client`
            secede()
    return client


def dashboard_of(client: Any) -> str | None:
    """The address of a client's dashboard; None without one."""
    try:
        return None if client is None else client.dashboard_link or None
    except (
        KeyError
    ):  # the scheduler has none, or the address needs a variable of the environment that is not set
        return None


def _in_task() -> bool:
    """Whether this thread is at work on a Dask task, not on an actor, which has one thread."""
    if "distributed.worker" not in sys.modules:
        return False
    from distributed.utils import thread_state

    return hasattr(thread_state, "key") and not getattr(thread_state, "actor", False)


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
        if address.startswith("tls://"):
            _check_certificate(address)
            hint = (
                f"whether the authority in {_TLS_FILES['ca-file']} has signed the certificates of both sides"
            )
        else:
            hint = "which begins with tls:// if the cluster uses TLS"
        try:
            _wait_for_scheduler(address)
            known = _clients[address] = Client(address, set_as_default=False)
        except Warning:
            raise
        except Exception as error:  # Dask takes whatever answers for a scheduler
            raise ClusterError(
                f"{argument('client', address)}: no Dask scheduler answers there ({error}); check the address, {hint}, "
                f"or {ON_THREADS}"
            ) from error
    return known


def _check_certificate(address: str) -> None:
    """Refuse an address for which this process has no certificate, before Dask asks for an `ssl_context`."""
    import dask.config

    files = {name: dask.config.get(f"distributed.comm.tls.{name}") for name in _TLS_FILES}
    asked = argument("client", address)
    if files["ca-file"] is None or files["client.cert"] is None:
        raise SettingError(
            f"{asked}: TLS needs a certificate of the cluster; set {', '.join(_TLS_FILES.values())} to its files (PEM)"
        )
    for name, path in files.items():  # a text of several lines is the certificate itself
        if path is not None and "\n" not in path and not os.access(path, os.R_OK):
            raise SettingError(
                f"{asked}: {_TLS_FILES[name]} is {path!r}, which cannot be read; set it to a file of the cluster's "
                "certificate (PEM)"
            )


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


def computed_on(client: Any, source: Any) -> AbstractContextManager[None]:
    """Where Dask computes a source that is a collection: on this client. Nothing for None, and for other sources."""
    made = client is not None and hasattr(source, "__dask_graph__")
    return client.as_current() if made else nullcontext()


def check_holder(holder: Any, client: Any) -> None:
    """Raise SettingError for a client of another scheduler than the one that holds results."""
    held = getattr(holder, "scheduler", None)
    if held is not None and held.address != client.scheduler.address:
        raise SettingError(
            f"{argument('client')}: the scheduler at {held.address} holds results of this collection, and not the one "
            f"at {client.scheduler.address}; give {argument('client', False)}, or the client that computed them"
        )


def on_events(scheduler: Any, topic: str, function: Callable[[Any], None]) -> None:
    """Call a function in Dask's scheduler with the message of each event of a topic."""
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Listener(SchedulerPlugin):
        def log_event(self, topic_of_event: str, message: Any) -> None:
            if topic_of_event == topic:
                function(message)

    scheduler.add_plugin(Listener(), name=f"events of {topic}", idempotent=True)


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
    from distributed.scheduler import NoValidWorkerError, NoWorkerError

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
        if isinstance(error, (NoValidWorkerError, NoWorkerError)):
            raise workers.nobody_came(client, error) from error
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


def held(client: Any, value: Any) -> Any:
    """A value as `dask.delayed.Delayed`. A client sends it to its cluster now, once; a lost one is made again there."""
    import dask

    found = dask.delayed(value, pure=False, traverse=False)
    if client is None:
        return found
    check_workers(client)
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1PB"}):
        return client.persist(found, **workers.places(client).options())


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
        workers.addresses(client)
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


def threads_for_one(client: Any) -> int | None:
    """Threads for a task while all workers, on one machine, wait for it: as many as they have together; 1 if other
    tasks may be at work, because this is one of them; None, the threads of its worker, if annotations choose workers.
    """
    if _in_task():
        return 1
    return None if {"workers", "resources"} & workers.annotated().keys() else threads_of(client)


def new_span(name: str, outer: Any = None) -> Any:
    """The annotation of tasks of a new span, which Dask shows apart; in another span, or in the caller's."""
    import dask
    from dask.distributed import span

    with dask.annotate(span=outer) if outer else nullcontext(), span(name):
        return workers.annotated()["span"]


def rest() -> None:
    """At the end of parallel work: let unused memory rest, see `buffers.rest`; at the end of a Dask task no more than
    `RESTING_PART` of the worker's memory limit."""
    limit = None
    if "distributed" in sys.modules:
        with suppress(ValueError):  # not in a task
            limit = this_worker().memory_manager.memory_limit
    buffers.rest(int(limit * RESTING_PART) if limit else None)


def resting(function: Callable[..., Result], *arguments: Any) -> Result:
    """The result of a task; afterwards its memory rests."""
    try:
        return function(*arguments)
    finally:
        rest()
