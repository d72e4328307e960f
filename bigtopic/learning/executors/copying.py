"""Copies of the params on the workers of a Dask client, as the driver knows them.

The params are sent to a worker when it first takes part in an exchange. From there on, its copy is moved by a task of
the graph that adds the changes of an exchange. The driver holds a future of each copy, so a worker forgets its copy
when the driver is gone.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from bigtopic.learning.copies import Version, after, hold, move, version_of
from bigtopic.learning.executors.sending import Sender
from bigtopic.learning.replicas import Changes
from bigtopic.parallel import cluster
from bigtopic.parallel.keys import task_key
from bigtopic.parallel.workers import result_of
from bigtopic.state.params import Params

__all__ = ["PREFIXES", "Copies"]

PREFIXES = ("bt-copy", "bt-move", "bt-moved")  # of the keys of its tasks


class Copies:
    """The copies of one run.

    Parameters
    ----------
    sender : of the run
    client : a `dask.distributed.Client`, or None, where there are no copies
    """

    def __init__(self, sender: Sender, client: Any) -> None:
        self._sender = sender
        self._client = client
        self._useful = client is not None
        self.drop()

    def drop(self) -> None:
        """Let the workers forget their copies."""
        self._params: Params | None = None
        self._version = Version("", 0)
        self._held: dict[str, Any] = {}  # by worker
        self._moved: Any = None

    def are_useful(self) -> bool:
        """Whether workers cannot read files instead, and all of them can hold copies."""
        return self._useful and not self._sender.shares_files and self._sender.able() is None

    def blame(self) -> None:
        """A worker was behind. If none has joined or died, some lose their copies, as those do that are short of
        memory, and would lose them again."""
        self._useful = self._sender.threads().keys() != self._held.keys()

    def at(self, params: Params, n_updates: int) -> Version:
        """The version that these params are, once every worker has it."""
        if self._moved is not None:
            result_of(self._client, self._moved)
            self._moved = None
        if params is not self._params or n_updates != self._version.n_updates:
            self.drop()
            self._params, self._version = params, Version(uuid4().hex, n_updates)
        there = self._sender.threads()
        self._held = {w: one for w, one in self._held.items() if w in there and one.status == "finished"}
        if new := [worker for worker in there if worker not in self._held]:
            self._give(new, params)
        return self._version

    def _give(self, workers: list[str], params: Params) -> None:
        sent = cluster.send(self._client, params.without_means().arrays)
        for worker in workers:
            self._held[worker] = self._submit(hold, self._version, sent, worker=worker)
        for worker in workers:
            result_of(self._client, self._submit(version_of, self._held[worker], worker=worker))

    def _submit(self, function: Any, *arguments: Any, worker: str) -> Any:
        key, where = self._sender.key("bt-copy"), {"workers": [worker], "allow_other_workers": True}
        return self._client.submit(function, *arguments, key=key, pure=False, **where)

    def moves(self, run: Any, changes: Any, name: str) -> Any:
        """The end of the tasks that move all copies by the changes of an exchange: a `Delayed`, as `changes` is.

        For the other arguments see `exchanges.replica_graph`.
        """
        from dask import annotate, delayed

        move_one, end, moves = delayed(move, pure=False), delayed(_end, pure=False), []
        for number, worker in enumerate(self._held):
            with annotate(workers=[worker], allow_other_workers=True):
                key = task_key("bt-move", name, number)
                moves.append(move_one(run, self._version, changes, dask_key_name=key))
        return end(moves, dask_key_name=task_key("bt-moved", name))

    def moving(self, moved: Any, changes: Changes) -> None:
        """The copies move by these changes, as the driver's params do; `moved` is a future of the end of that."""
        self._moved, self._version = moved, after(self._version, changes)


def _end(moves: list[None]) -> None:
    """All copies have moved."""
