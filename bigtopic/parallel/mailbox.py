"""What tasks on the workers of a Dask client hand to each other, without the scheduler.

A task offers pieces in its worker's mailbox. Tasks on other workers ask that worker for them, and wait until they are
there. Pieces belong to a numbered meeting of a group, which all these tasks attend at the same time. No task waits
forever for one who does not come: its worker may be gone, have other work on all its threads, or have given up.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from bigtopic.errors import ClusterError
from bigtopic.parallel.cluster import as_sent, this_worker

__all__ = ["ARRIVAL_SECONDS", "Absent", "Mailbox", "dissolve", "mailbox"]

ARRIVAL_SECONDS = 20.0  # that a worker has for its other tasks, once one that has come asks for it
TELLING_SECONDS = 2.0  # that the driver waits for workers which it tells that all is over
KEPT_GROUPS = 100  # whose end a worker remembers
_HANDLER = "bigtopic_piece"

MeetingName = tuple[str, int]


class Absent(ClusterError):
    """A worker does not attend a meeting, or has left it."""


class Mailbox:
    """The mailbox of a worker; its methods are for tasks, except `give`."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._loop = worker.loop.asyncio_loop
        # All that follows is only used on this loop
        self._pieces: dict[tuple[MeetingName, Hashable], tuple[Any, int]] = {}
        self._attended: dict[str, int] = {}  # the latest meeting of a group
        self._dissolved: OrderedDict[str, None] = OrderedDict()
        self._changed = asyncio.Event()

    @property
    def address(self) -> str:
        """Of the worker."""
        return str(self._worker.address)

    def attend(self, meeting: MeetingName) -> None:
        """Those who ask for pieces of this meeting wait from now on."""
        self._on_loop(self._attend, meeting)

    def offer(self, meeting: MeetingName, pieces: Mapping[Hashable, Any], times: int = 1) -> None:
        """Each of these pieces will be asked for so many times, and is then forgotten."""
        if times:
            self._on_loop(self._offer, meeting, pieces, times)

    def leave(self, group: str) -> None:
        """End the meetings of a group, on this worker."""
        self._on_loop(self.dissolve, group)

    def has_ended(self, group: str) -> bool:
        """Whether the meetings of a group have ended, on this worker."""
        return group in self._dissolved

    def collect(self, meeting: MeetingName, wanted: Sequence[tuple[str, Hashable]]) -> list[Any]:
        """Pieces of other workers, each by its address and name, when all of them are there.

        Raises
        ------
        Absent
            When a worker is not there, or has left.
        """
        asking = self._collect(meeting, wanted)
        return asyncio.run_coroutine_threadsafe(asking, self._loop).result()

    async def _collect(self, meeting: MeetingName, wanted: Sequence[tuple[str, Hashable]]) -> list[Any]:
        return list(await asyncio.gather(*(self._ask(meeting, *one) for one in wanted)))

    async def _ask(self, meeting: MeetingName, address: str, name: Hashable) -> Any:
        asking = asyncio.ensure_future(
            getattr(self._worker.rpc(address), _HANDLER)(meeting=meeting, name=name)
        )
        leaving = asyncio.ensure_future(self._until(lambda: meeting[0] in self._dissolved))
        try:  # a worker that is stopped never answers, and closes no connection
            await asyncio.wait((asking, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                raise Absent(f"worker {address} has not answered before the end")
            answer = asking.result()
        except OSError as error:
            raise Absent(f"worker {address} does not answer") from error
        finally:
            asking.cancel()
            leaving.cancel()
        if not isinstance(answer, dict) or "piece" not in answer:
            raise Absent(f"worker {address} does not attend")
        return answer["piece"]

    async def give(self, meeting: Sequence[Any], name: Hashable) -> dict[str, Any]:
        """The answer to another worker that asks for a piece: without one where this worker does not attend."""
        group, number = meeting
        with suppress(TimeoutError):
            await asyncio.wait_for(self._until(lambda: self._has_come(group, number)), ARRIVAL_SECONDS)
        if not self._has_come(group, number):
            return {}
        key = (group, number), tuple(name) if isinstance(name, list) else name
        await self._until(lambda: key in self._pieces or group in self._dissolved)
        if key not in self._pieces:
            return {}
        piece, times = self._pieces.pop(key)
        if times > 1:
            self._pieces[key] = piece, times - 1
        return {"piece": as_sent(piece)}

    def _has_come(self, group: str, number: int) -> bool:
        return self._attended.get(group, -1) >= number or group in self._dissolved

    async def _until(self, there: Any) -> None:
        while not there():
            await self._changed.wait()

    def _attend(self, meeting: MeetingName) -> None:
        group, number = meeting
        self._attended[group] = max(number, self._attended.get(group, number))
        self._wake()

    def _offer(self, meeting: MeetingName, pieces: Mapping[Hashable, Any], times: int) -> None:
        if meeting[0] not in self._dissolved:
            self._pieces.update({(meeting, name): (piece, times) for name, piece in pieces.items()})
            self._wake()

    def dissolve(self, group: str) -> None:
        """Give nothing to this group any more; on the worker's loop."""
        self._dissolved[group] = None
        if len(self._dissolved) > KEPT_GROUPS:
            self._dissolved.popitem(last=False)
        self._attended.pop(group, None)
        self._pieces = {key: piece for key, piece in self._pieces.items() if key[0][0] != group}
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    def _on_loop(self, function: Any, *arguments: Any) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)


def mailbox(worker: Any = None) -> Mailbox:
    """That of this worker, which others can ask from now on; the same one for all tasks."""
    worker = worker or this_worker()
    give = worker.handlers.get(_HANDLER)
    if give is None:
        give = worker.handlers.setdefault(_HANDLER, Mailbox(worker).give)
    found: Mailbox = give.__self__
    return found


def dissolve(client: Any, group: str) -> None:
    """End the meetings of a group on all workers; those that are stopped, or gone, are left out."""
    client.sync(_dissolve, client, group)


async def _dissolve(client: Any, group: str) -> None:
    with suppress(OSError, TimeoutError):
        telling = client.run(_dissolve_here, group, on_error="ignore")
        await asyncio.wait_for(telling, TELLING_SECONDS)


async def _dissolve_here(group: str, dask_worker: Any = None) -> None:
    mailbox(dask_worker).dissolve(group)
