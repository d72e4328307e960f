"""A function of many items, on threads or on the workers of a Dask client, with results in the order of the items."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, count, islice
from typing import Any, TypeVar

from bigtopic.parallel import results, workers
from bigtopic.parallel.cluster import (
    GIVE_UP_SECONDS,
    LOST,
    cluster_errors,
    repeated,
    rest,
    resting,
    send,
    threads_of,
)
from bigtopic.parallel.environment import check_workers
from bigtopic.parallel.workers import new_name, task_key
from bigtopic.support.pools import Pool

__all__ = ["bounded_map", "graph_map"]

Result = TypeVar("Result")


def bounded_map(
    function: Callable[..., Any],
    items: Iterable[Any],
    *,
    shared: tuple[Any, ...] = (),
    client: Any = None,
    n_threads: int = 1,
    n_in_flight: int | None = None,
    name: str = "bt-map",
) -> Iterator[Any]:
    """Results of `function(*shared, item)` in the order of the items, at most `n_in_flight` being computed or waiting.

    `items` is consumed no further ahead than that, which bounds memory. The default is twice the workers' threads.
    `shared` travels to a cluster once, and again when it was lost with a worker. `name` is what Dask's dashboard shows:
    one of a few, because the scheduler remembers each for good.
    """
    task = partial(function, *shared)
    if client is not None:
        with cluster_errors(client):
            yield from _ClientMap(function, shared, client, name).results(
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

    def __init__(
        self, function: Callable[..., Any], shared: tuple[Any, ...], client: Any, prefix: str
    ) -> None:
        check_workers(client)
        self._function, self._shared, self._client, self._prefix = function, shared, client, prefix
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
        """Wait for tasks that have begun, which Dask cannot stop, so that they write nothing after this call; and for
        those that are next, but not where no worker can do them."""
        states = results.states_of(self._client, futures)
        results.wait_for([f for f in futures if states.get(f.key) != "no-worker"], GIVE_UP_SECONDS)
        for future in futures:
            future.cancel()

    def _send(self) -> tuple[Any, ...]:
        return tuple(send(self._client, value) for value in self._shared)

    def _submit(self, item: Any) -> tuple[Any, workers.Places]:
        check_workers(self._client)
        key = task_key(self._prefix, self._name, next(self._numbers))
        places = workers.places(self._client)
        options = {"key": key, "pure": False, **places.options()}
        return self._client.submit(resting, self._function, *self._sent, item, **options), places

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


def graph_map(
    function: Callable[[Any, Any], Result], items: Sequence[Any], values: Sequence[Any], client: Any
) -> Iterator[Result]:
    """Results of `function(item, value)`, in the order of the items, for values that Dask has yet to compute. One graph
    computes them all: the scheduler sees what they share and begin with. Workers keep results until it is their turn.
    """
    from dask import delayed

    with cluster_errors(client):
        check_workers(client)
        places, name = workers.places(client), new_name()
        shared = delayed(partial(resting, function), pure=False)  # travels once to each worker
        tasks = [  # Dask begins with the greatest key
            delayed(partial(_called, item), pure=False)(
                shared, value, dask_key_name=task_key("bt-map", name, len(items) - i)
            )
            for i, (item, value) in enumerate(zip(items, values, strict=True))
        ]
        waiting = deque(client.compute(tasks, **places.options()))
        try:
            while waiting:
                yield results.result_of(client, waiting[0], places.only)
                waiting.popleft()
        finally:
            if waiting and client.status == "running":
                client.cancel(list(waiting))
                end = (
                    time.monotonic() + GIVE_UP_SECONDS
                )  # of those that have begun, as in `_ClientMap._give_up`
                while time.monotonic() < end and any(workers.ask(client, _executes, name).values()):
                    time.sleep(results.DONE_SECONDS)


def _executes(name: str, dask_worker: Any) -> bool:
    """Whether a worker executes a task with this in its key, perhaps a cancelled one."""
    return any(name in str(task.key) for task in list(dask_worker.state.executing))


def _called(item: Any, function: Callable[[Any, Any], Result], value: Any) -> Result:
    return function(item, value)
