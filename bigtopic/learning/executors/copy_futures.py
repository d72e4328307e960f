"""Copies of the params on the workers of a Dask client, as the driver knows them.

The params are sent to a worker when it first takes part in an exchange or a long round. From there on, its copy is
moved by its tasks, see `learning.all_reduce.direct`. The driver holds a future of each copy, so a worker forgets its
copy when the driver is gone.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from bigtopic.learning.all_reduce.copies import Version, after, hold
from bigtopic.learning.executors.sending import Sender
from bigtopic.parallel import cluster
from bigtopic.parallel.mailbox import abort, mailbox
from bigtopic.parallel.results import result_of
from bigtopic.parallel.workers import Places
from bigtopic.state.params import Params

__all__ = ["PREFIXES", "CopyFutures"]

PREFIXES = ("bt-copy",)  # of the keys of its tasks
FAILURES_ALLOWED = 8  # of workers that are behind


class CopyFutures:
    """The copies of one run.

    Parameters
    ----------
    sender : of the run
    client : a `dask.distributed.Client`, or None, where there are no copies

    Attributes
    ----------
    version : of the copies, when all that has begun is done
    """

    def __init__(self, sender: Sender, client: Any) -> None:
        self._sender = sender
        self._client = client
        self._useful = client is not None
        self._failures_left = FAILURES_ALLOWED
        self._params: Params | None = None
        self.version = Version("", 0)
        self._held: dict[str, Any] = {}  # by worker

    def drop(self) -> None:
        """Let the workers forget their copies, and end what they are making."""
        if self._held and self._client.status == "running":
            abort(self._client, self.version.name)
        self._params, self.version, self._held = None, Version("", 0), {}

    def are_useful(self) -> bool:
        """Whether workers cannot read files instead, and all of them can hold copies."""
        useful = self._useful and not self._sender.shares_files and self._sender.places() == Places()
        return useful and bool(self._sender.threads())

    def record_failure(self) -> None:
        """Count a failure. If no worker has joined or died, one has lost its copy, probably for lack of memory, and
        would lose it again: copies are then given up. So they are after `FAILURES_ALLOWED`: they may be why workers
        die."""
        self._failures_left -= 1
        self._useful = self._failures_left > 0 and self._sender.threads().keys() != self._held.keys()

    def ensure(self, params: Params, n_updates: int) -> Version:
        """Give a copy of these params to every worker that has none; their version."""
        if not self.match(params, n_updates):
            self.drop()
            self._params, self.version = params, Version(uuid4().hex, n_updates)
        there = self._sender.threads()
        self._held = {w: one for w, one in self._held.items() if w in there and one.status == "finished"}
        if new := [worker for worker in there if worker not in self._held]:
            self._give(new, params)
        return self.version

    def match(self, params: Params, n_updates: int) -> bool:
        """Whether the copies are copies of these params."""
        return params is self._params and n_updates == self.version.n_updates

    def threads(self) -> dict[str, int]:
        """Threads of each worker that has a copy."""
        return {worker: n for worker, n in self._sender.threads().items() if worker in self._held}

    def are_complete(self) -> bool:
        """Whether every worker has a copy."""
        return self._sender.threads().keys() == self._held.keys()

    def _give(self, workers: list[str], params: Params) -> None:
        sent = cluster.send(self._client, params.without_means().arrays)
        for worker in workers:
            self._held[worker] = self._submit(hold, self.version, sent, worker=worker)
        for worker in workers:
            ready = self._submit(_is_ready, self._held[worker], self._sender.run(), worker=worker)
            result_of(self._client, ready)

    def _submit(self, function: Any, *arguments: Any, worker: str) -> Any:
        key, where = self._sender.key("bt-copy"), {"workers": [worker], "allow_other_workers": True}
        return self._client.submit(function, *arguments, key=key, pure=False, **where)

    def advance(self, n_updates: int) -> None:
        """The copies move by so many updates, as the driver's params will."""
        self.version = after(self.version, n_updates)


def _is_ready(copy: Any, run: Any) -> None:
    """The copy, which does not travel, and the run are there, and the worker can be asked for pieces."""
    mailbox()
