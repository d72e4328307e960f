"""The run and the params on their way to the tasks of a Dask client: sent, or shared in files; again after a loss.

Every key is new. Under a key of earlier data, data could be lost: a worker that was stopped for a while may read the
order to delete the earlier data after it has stored the later. Of keys, the scheduler remembers the last 100,000, which
take about 20 MB.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, TypeVar, cast

from bigtopic.learning import sharing
from bigtopic.learning.executors.base import AbleWorkers
from bigtopic.learning.executors.graph_tasks import placed
from bigtopic.learning.run import Run
from bigtopic.parallel import cluster, workers
from bigtopic.parallel.environment import check_workers
from bigtopic.parallel.shared_files import shares_files
from bigtopic.parallel.workers import new_name, task_key
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Overlay

__all__ = ["REPEATED", "Sender"]

Result = TypeVar("Result")

MOST_SPANS = 100
REPEATED = (cluster.LOST, sharing.AlreadyClaimed, sharing.OutOfSight)


class Sender:
    """The inputs of the tasks of one run, and their keys.

    Parameters
    ----------
    run : sent once, and again after a loss
    client : a `dask.distributed.Client`, or None for another Dask scheduler, whose tasks get the inputs themselves
    prefixes : of the keys of all tasks that the run may have

    Attributes
    ----------
    able : says which workers can hold the tasks
    """

    def __init__(self, run: Run, client: Any, prefixes: Sequence[str]) -> None:
        self._run = run
        self._client = client
        self._prefixes = prefixes
        self._run_future: Any = None
        self._held: list[Any] = []  # futures
        self._run_span, self._span, self._n_spans, self._pass_number = None, None, 0, -1
        self._name = new_name()
        self._count = 0
        self.able: AbleWorkers = _all
        if client is not None:
            check_workers(client)
            self._run_span = cluster.new_span("bigtopic")
        self.shares_files = client is None or shares_files(client, sharing.places())

    def run(self) -> Any:
        """The run as tasks get it: a future on a client, so that it travels once."""
        if self._client is None:
            return self._run
        if self._run_future is None:
            self._run_future = cluster.send(self._client, self._run)
        return self._run_future

    def begin_pass(self, number: int) -> None:
        """Let the tasks from here on belong to a pass: by their keys, and by a span, which Dask shows apart. A run has
        at most `MOST_SPANS`, because the scheduler keeps about 12 kB of each."""
        if self._client is None or number == self._pass_number:
            return
        self._pass_number = number
        if self._n_spans == MOST_SPANS:
            return
        self._n_spans += 1
        self._held.clear()
        with cluster.cluster_errors(self._client):
            self._client.sync(asyncio.sleep, 0)  # until they are released: a group of tasks stays in its span
            self._span = cluster.new_span(f"pass {number + 1}", self._run_span)
            with self.in_span():
                self._hold_groups()

    def in_span(self, **annotations: Any) -> AbstractContextManager[None]:
        """Tasks that are made in here belong to the span of the pass, and have these annotations."""
        import dask

        if self._span is not None:
            annotations["span"] = self._span
        return cast(AbstractContextManager[None], dask.annotate(**annotations))

    def _hold_groups(self) -> None:
        """Hold a task of each prefix during the pass, so that its group of tasks lasts as long. A group ends with its
        last task, which would be in each round, and the scheduler keeps kilobytes of every group that has ended
        (`distributed.spans`)."""
        for prefix in self._prefixes:
            key = f"{self.key(prefix)}-held"
            self._held.append(self._client.submit(bool, key=key, pure=False))

    def submit(
        self,
        prefix: str,
        work: Any,
        *arguments: Any,
        places: workers.Places,
        update: int | None = None,
        again: bool = True,
    ) -> Any:
        """The future of a task.

        Parameters
        ----------
        places : where it may run, see `places`
        update : number of the first update that it makes, for its key
        again : whether Dask may repeat it when it has failed
        """
        with self.in_span(**({} if again else {"retries": 0})):
            key = self.key(prefix, update)
            return self._client.submit(work, *arguments, key=key, pure=False, **places.options())

    def publish(self, arrays: Mapping[str, LazyArray | Overlay]) -> Any:
        """The arrays as tasks get them: in files, or sent where files cannot be written or found."""
        if self.shares_files and (published := sharing.publish(arrays)) is not None:
            return published
        self.shares_files = False
        return arrays if self._client is None else cluster.send(self._client, arrays)

    def threads(self) -> dict[str, int]:
        """Threads of each worker that tasks are for now, by address; none without a client."""
        if self._client is None:
            return {}
        there, places = self._client.nthreads(), self.places()
        able = places.preferred if places.only is None else places.only
        return there if able is None else {worker: there[worker] for worker in able if worker in there}

    def placed(self, n_tasks: int) -> list[str] | None:
        """A worker for each of some consecutive tasks, among those there are now; None for any, and where only some can
        run them (see `places`): Dask takes a worker for a preference, or for the only one."""
        threads = self.threads()
        return placed(n_tasks, threads) if threads and self.places().only is None else None

    def places(self) -> workers.Places:
        """Where tasks may run now."""
        return workers.places(self._client, self.able())

    def key(self, prefix: str, update: int | None = None) -> str:
        """A new key."""
        return task_key(prefix, self.name(update))

    def name(self, update: int | None = None) -> str:
        """A new name for the keys of a graph, which no other client makes. It begins with what they are for."""
        self._count += 1
        what = f"pass-{self._pass_number + 1}-" if self._pass_number >= 0 else ""
        return f"{what}{'' if update is None else f'update-{update}-'}{self._name}{self._count}"

    def repeated(self, work: Callable[[], Result]) -> Result:
        """The result of `work`, which is repeated when inputs of its tasks are lost with a worker.

        Raises
        ------
        ClusterError
            When that happens repeatedly, or the client is closed. Exceptions of tasks are raised unchanged.
        """
        with cluster.cluster_errors(self._client):
            if self._client is not None:
                check_workers(self._client)
            return cluster.repeated(partial(self._attempt, work), REPEATED)

    def _attempt(self, work: Callable[[], Result]) -> Result:
        try:
            return work()
        except REPEATED as error:
            self.lost()
            self.shares_files &= not isinstance(error, sharing.OutOfSight)
            raise

    def lost(self) -> None:
        """Something was lost with a worker: the run is sent again."""
        self._run_future = None

    def close(self) -> None:
        self._run_future, self._held = None, []


def _all() -> None:
    """No worker is preferred."""
