"""What tasks on the workers of a Dask client hand to each other, without the scheduler.

A task offers pieces in its worker's mailbox. Tasks on other workers ask that worker for them, and wait until they are
there. Pieces belong to a numbered collective of a series, in which all these tasks take part at the same time. No task
waits forever for one who does not come: its worker may be gone, have other work on all its threads, or have given up.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from bigtopic.errors import ClusterError
from bigtopic.parallel.cluster import as_sent, this_worker

__all__ = ["ARRIVAL_SECONDS", "Absent", "Mailbox", "abort", "mailbox"]

ARRIVAL_SECONDS = 20.0  # within which a worker must begin its task, once another has asked it for a piece
TELLING_SECONDS = 2.0  # that the driver waits for workers to confirm an abort
KEPT_SERIES = 100  # whose end a worker remembers
_HANDLER = "bigtopic_piece"

CollectiveName = tuple[str, int]
Key = tuple[CollectiveName, Hashable]  # of a piece


class Absent(ClusterError):
    """A worker takes no part in a collective, or has left it."""


class Mailbox:
    """The mailbox of a worker; its methods are for tasks, except `give` and `abort`."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker
        self._loop = worker.loop.asyncio_loop
        # All that follows is only used on this loop
        self._pieces: dict[Key, tuple[Any, int]] = {}
        self._offered: dict[Key, asyncio.Event] = {}  # those that others wait for
        self._asking: dict[str, set[asyncio.Task[Any]]] = {}  # by series
        self._joined: dict[str, int] = {}  # the latest collective of a series
        self._aborted: OrderedDict[str, None] = OrderedDict()
        self._joining = asyncio.Event()

    @property
    def address(self) -> str:
        """Of the worker."""
        return str(self._worker.address)

    def join(self, collective: CollectiveName) -> None:
        """Those who ask for pieces of this collective wait from now on."""
        self._on_loop(self._join, collective)

    def offer(self, collective: CollectiveName, pieces: Mapping[Hashable, Any], times: int = 1) -> None:
        """Each of these pieces will be asked for so many times, and is then forgotten."""
        if times:
            self._on_loop(self._offer, collective, pieces, times)

    def leave(self, series: str) -> None:
        """End the collectives of a series, on this worker."""
        self._on_loop(self.abort, series)

    def has_ended(self, series: str) -> bool:
        """Whether the collectives of a series have ended, on this worker."""
        return series in self._aborted

    def collect(
        self,
        collective: CollectiveName,
        wanted: Sequence[tuple[str, Hashable]],
        meanwhile: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int, Any]]:
        """Ask other workers for pieces, each by its address and name.

        Parameters
        ----------
        meanwhile : does a little other work while no piece has come, again and again until it returns False

        Returns
        -------
        iterator of (int, piece)
            Each with its place among those that are wanted, in the order in which they come.

        Raises
        ------
        Absent
            From the iterator, when a worker is not there, or has left.
        """
        asked: SimpleQueue[tuple[int, asyncio.Task[Any]]] = SimpleQueue()
        self._on_loop(self._collect, collective, wanted, asked)
        come = (_next(asked, meanwhile) for _ in wanted)
        return ((i, _piece(asking, wanted[i][0])) for i, asking in come)

    def _collect(
        self, collective: CollectiveName, wanted: Sequence[tuple[str, Hashable]], asked: Any
    ) -> None:
        asking = [self._loop.create_task(self._ask(collective, *one)) for one in wanted]
        for i, one in enumerate(asking):
            one.add_done_callback(partial(self._asked, collective[0], asked, i))
        self._asking.setdefault(collective[0], set()).update(asking)
        if collective[0] in self._aborted:
            self._stop_asking(collective[0])

    def _asked(self, series: str, asked: Any, i: int, asking: asyncio.Task[Any]) -> None:
        self._asking.get(series, set()).discard(asking)
        _ = asking.cancelled() or asking.exception()  # or it is logged, if another one has failed before
        asked.put((i, asking))

    def _stop_asking(self, series: str) -> None:
        """A worker that is stopped never answers, and closes no connection."""
        for asking in self._asking.pop(series, ()):
            asking.cancel()

    async def _ask(self, collective: CollectiveName, address: str, name: Hashable) -> Any:
        try:
            answer = await getattr(self._worker.rpc(address), _HANDLER)(collective=collective, name=name)
        except OSError as error:
            raise Absent(f"worker {address} does not answer") from error
        if not isinstance(answer, dict) or "piece" not in answer:
            raise Absent(f"worker {address} does not take part")
        return answer["piece"]

    async def give(self, collective: Sequence[Any], name: Hashable) -> dict[str, Any]:
        """The answer to another worker that asks for a piece: without one where this worker does not take part."""
        series, number = collective
        with suppress(TimeoutError):
            async with asyncio.timeout(ARRIVAL_SECONDS):
                while not self._has_come(series, number):
                    await self._joining.wait()
        if not self._has_come(series, number):
            return {}
        key = (series, number), tuple(name) if isinstance(name, list) else name
        if key not in self._pieces and series not in self._aborted:
            await self._offered.setdefault(key, asyncio.Event()).wait()
        if key not in self._pieces:
            return {}
        piece, times = self._pieces.pop(key)
        if times > 1:
            self._pieces[key] = piece, times - 1
        return {"piece": as_sent(piece)}

    def _has_come(self, series: str, number: int) -> bool:
        return self._joined.get(series, -1) >= number or series in self._aborted

    def _join(self, collective: CollectiveName) -> None:
        series, number = collective
        self._joined[series] = max(number, self._joined.get(series, number))
        self._wake()

    def _offer(self, collective: CollectiveName, pieces: Mapping[Hashable, Any], times: int) -> None:
        if collective[0] in self._aborted:
            return
        for name, piece in pieces.items():
            self._pieces[collective, name] = piece, times
            if (event := self._offered.pop((collective, name), None)) is not None:
                event.set()

    def abort(self, series: str) -> None:
        """Give nothing to this series any more, and expect nothing; on the worker's loop."""
        self._aborted[series] = None
        if len(self._aborted) > KEPT_SERIES:
            self._aborted.popitem(last=False)
        self._joined.pop(series, None)
        self._pieces = {key: piece for key, piece in self._pieces.items() if key[0][0] != series}
        for key in [key for key in self._offered if key[0][0] == series]:
            self._offered.pop(key).set()
        self._stop_asking(series)
        self._wake()

    def _wake(self) -> None:
        self._joining.set()
        self._joining = asyncio.Event()

    def _on_loop(self, function: Any, *arguments: Any) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)


def _next(asked: SimpleQueue[Any], meanwhile: Callable[[], bool]) -> Any:
    while True:
        with suppress(Empty):
            return asked.get_nowait()
        if not meanwhile():
            return asked.get()


def _piece(asking: asyncio.Task[Any], address: str) -> Any:
    if asking.cancelled():
        raise Absent(f"worker {address} has not answered before the end")
    return asking.result()


def mailbox(worker: Any = None) -> Mailbox:
    """That of this worker, which others can ask from now on; the same one for all tasks."""
    worker = worker or this_worker()
    give = worker.handlers.get(_HANDLER)
    if give is None:
        give = worker.handlers.setdefault(_HANDLER, Mailbox(worker).give)
    found: Mailbox = give.__self__
    return found


def abort(client: Any, series: str) -> None:
    """End the collectives of a series on all workers; those that are stopped, or gone, are left out."""
    client.sync(_abort, client, series)


async def _abort(client: Any, series: str) -> None:
    with suppress(OSError, TimeoutError):
        telling = client.run(_abort_here, series, on_error="ignore")
        await asyncio.wait_for(telling, TELLING_SECONDS)


async def _abort_here(series: str, dask_worker: Any = None) -> None:
    mailbox(dask_worker).abort(series)
