"""Simulated workers: many of Dask's workers in one process, whose tasks sleep and whose results only say their size.

A worker has a thread, an address and a network card of its own. Real are the worker's state, its messages, and what it
fetches from whom. A task sleeps the seconds that it would compute; a result carries its size and the documents it
covers, in place of the rows. Before a result leaves, the cards of sender and receiver are both busy for its bytes.

    python simulated.py SCHEDULER_FILE WORKERS      the process of the workers
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
from bigtopic.learning.all_reduce import collectives, copies, direct
from distributed import Worker
from pairs import Gaps

from bigtopic.learning import reduce
from bigtopic.learning.executors import graphs
from bigtopic.parallel import mailbox
from bigtopic.plan.cursor import RoundReport
from bigtopic.types import AxisStats, Stats

__all__ = [
    "Costs",
    "Sized",
    "longest_gap",
    "most_done",
    "most_sent",
    "replace_tasks",
    "sleeping_node",
    "sleeping_node_stats",
    "use",
]


@dataclass(frozen=True)
class Costs:
    """What sleeps take, in seconds of a real worker.

    Attributes
    ----------
    bytes_of_row : of the params
    dense : the share of these that is not padding, and travels between workers
    documents, rows : how many distinct words, and so rows, so many documents have; increasing
    estep, replica : for a document of a round, and of a replica's updates
    prepare : of the latter, before the updates, which a worker can do while it waits for others
    add : for a byte of a sum
    divide, join : for a byte of what becomes parts for all workers, and of the whole that parts become
    copy, move : for a byte of the params that are copied, and that are moved
    byte : for a byte on the network
    tasks, stretch : how much longer E-steps and updates sleep, and all else
    """

    bytes_of_row: int
    dense: float
    documents: np.ndarray
    rows: np.ndarray
    estep: float
    replica: float
    prepare: float
    add: float
    divide: float
    join: float
    copy: float
    move: float
    byte: float
    tasks: float = 1.0
    stretch: float = 1.0

    @property
    def params(self) -> int:
        """Bytes of the params."""
        return int(self.rows[-1]) * self.bytes_of_row

    def size(self, n_docs: float) -> int:
        """Bytes of what so many documents change."""
        return int(np.interp(n_docs, self.documents, self.rows)) * self.bytes_of_row

    def sleep(self, seconds: float) -> None:
        time.sleep(self.stretch * seconds)

    def work(self, n_docs: int, seconds: float) -> None:
        """Sleep for so many seconds a document, in which a worker can do nothing else."""
        _done[threading.get_ident()] += n_docs
        time.sleep(self.tasks * n_docs * seconds)


@dataclass(frozen=True)
class Sized:
    """In place of statistics, changes or params: how large they would be; `n_parts` of them have all rows."""

    n_bytes: int
    n_docs: int = 0
    reports: tuple[RoundReport, ...] = ()
    n_parts: int = 1
    info: Mapping[str, float] = field(default_factory=dict)

    def __sizeof__(self) -> int:
        return self.n_bytes


class _Copy(copies.Copy):
    def __sizeof__(self) -> int:
        return _costs.params


_costs: Costs
# When a card will have sent, or got, what it has to
_free: defaultdict[tuple[str, str], float] = defaultdict(float)
_sent: Counter[Any] = Counter()  # bytes, by collective
_gaps = Gaps()
_done: Counter[int] = Counter()  # documents, by thread


def use(costs: Costs) -> None:
    """Take these from now on."""
    global _costs
    _costs = costs
    _done.clear()
    _sent.clear()


def most_done() -> float:
    """The share of the documents that the worker with the most has done, since costs changed."""
    return max(_done.values()) / sum(_done.values())


def most_sent() -> int:
    """Bytes that the workers have sent to each other in the collective with most, since costs changed."""
    return max(_sent.values(), default=0)


def longest_gap() -> float:
    """The longest time in which this process did not run, since that was last asked for."""
    return _gaps.take()


def replace_tasks() -> None:
    """In this process, tasks find these functions by the names of those that compute."""
    for where, name, function in replacements():
        setattr(where, name, function)


def replacements() -> list[tuple[Any, str, Any]]:
    """Where a function is, its name, and what takes its place."""
    return [
        (graphs, "_node", _node),
        (reduce, "add", _joined),
        (collectives, "add", _joined),
        (collectives, "joined", _joined),
        (collectives, "share_documents", _Documents),
        (collectives, "changes_of", _changes),
        (collectives, "node_stats_alone", _node_stats),
        (direct, "split_rows", _parts),
        (direct, "begin_move", _begin_move),
        (collectives.Exchange, "move", _add_parts),
        (collectives.LongRound, "move", _move),
        (copies, "hold", _hold),
        (mailbox.Mailbox, "_ask", _ask),
    ]


def _node(run: Any, task: Any, shared: Any, iteration: Any, mark: str = "") -> Sized:
    return replace(_node_stats(run, task.content, shared, iteration), info={mark: 1.0})


def _node_stats(run: Any, refs: Any, arrays: Any, iteration: Any) -> Sized:
    n_docs = sum(ref.stop - ref.start for ref in refs)
    _costs.work(n_docs, _costs.estep)
    return Sized(_costs.size(n_docs), n_docs)


def sleeping_node(run: Any, task: Any, shared: Any, iteration: Any, mark: str = "") -> Stats:
    """As `_node`, with statistics of the real size."""
    return replace(sleeping_node_stats(run, task.content, shared, iteration), info={mark: 1.0})


def sleeping_node_stats(run: Any, refs: Any, arrays: Any, iteration: Any) -> Stats:
    """As `_node_stats`, with statistics of the real size."""
    n_docs = _node_stats(run, refs, arrays, iteration).n_docs
    n_columns = _costs.bytes_of_row // 4
    n_rows = _costs.size(n_docs) // _costs.bytes_of_row
    values = np.ones((n_rows, n_columns), np.float32)
    rows = {"topic_words": AxisStats(np.arange(n_rows, dtype=np.int32), values)}
    return Stats(rows, n_docs, 1.0)


class _Documents:
    """In place of the documents of a share."""

    def __init__(self, run: Any, share: Any, read: Any) -> None:
        self._left = [rnd.n_docs for rnd in share.rounds]

    def prepare_some(self, arrays: Any) -> bool:
        if self._left:
            _costs.sleep(self._left.pop() * _costs.prepare)
        return bool(self._left)


def _changes(run: Any, share: Any, documents: _Documents, arrays: Any) -> Sized:
    while documents.prepare_some(arrays):
        pass
    n_docs = sum(rnd.n_docs for rnd in share.rounds)
    _costs.work(n_docs, _costs.replica - _costs.prepare)
    reports = tuple(RoundReport(cursor, 0, 0.0, {}) for cursor in share.cursors)
    return Sized(_costs.size(n_docs), n_docs, reports)


def _joined(a: Sized, b: Sized) -> Sized:
    n_docs = a.n_docs + b.n_docs
    info = Counter(a.info) + Counter(b.info)
    total = Sized(_costs.size(n_docs) // a.n_parts, n_docs, a.reports + b.reports, a.n_parts, info)
    _costs.sleep(total.n_bytes * _costs.add)
    return total


def _parts(nodes: Any, places: Sequence[int], *_: Any) -> Iterator[tuple[int, list[tuple[int, Sized]]]]:
    n = len(places)
    part = [(size, Sized(one.n_bytes // n, one.n_docs, (), n * one.n_parts)) for size, one in nodes]
    nodes.clear()
    for place in places:
        _costs.sleep(sum(one.n_bytes for _, one in part) * _costs.divide)
        yield place, part


def _hold(version: copies.Version, arrays: Sized) -> copies.Copy:
    """Workers of a process have one copy together."""
    with copies._changed:
        return copies._copies.setdefault(version.name, _Copy(version, {}))


def _begin_move(version: copies.Version, names: Any) -> Any:
    _costs.sleep(_costs.params * _costs.copy)
    return SimpleNamespace(arrays={})


def _add_parts(collective: Any, run: Any, params: Any, parts: Iterable[Sized]) -> None:
    for part in parts:
        _costs.sleep(part.n_bytes * _costs.move)


def _move(collective: Any, run: Any, params: Any, parts: Iterable[Sized]) -> None:
    n_bytes = sum(part.n_bytes for part in parts)
    _costs.sleep(n_bytes * _costs.join + _costs.params * _costs.move)


_ask_at_once = mailbox.Mailbox._ask


async def _ask(box: mailbox.Mailbox, collective: Any, address: str, name: Any) -> Any:
    """A piece, which is nodes or sums, takes time to travel."""
    piece = await _ask_at_once(box, collective, address, name)
    n_bytes = sum(one.n_bytes if isinstance(one, Sized) else one[1].n_bytes for one in piece)
    n_bytes = int(n_bytes * _costs.dense)
    _sent[collective] += n_bytes
    await _travel(n_bytes, address, box.address)
    return piece


async def _travel(n_bytes: int, sender: str, receiver: str) -> None:
    """Wait as long as bytes take, after all that the card of the sender has to send, and that of the receiver to get.
    Both go on with other bytes where one is slower."""
    now = time.monotonic()
    for card in (("from", sender), ("to", receiver)):
        _free[card] = max(now, _free[card]) + _costs.stretch * n_bytes * _costs.byte
    end = max(_free["from", sender], _free["to", receiver])
    await asyncio.sleep(end - now)


class NetworkedWorker(Worker):
    """A worker whose results take time to leave."""

    async def get_data(
        self, comm: Any, keys: Collection[Any], who: str | None = None, serializers: Any = None
    ) -> Any:
        n_bytes = sum(self.state.tasks[key].nbytes or 0 for key in keys if key in self.data)
        slow = _Slow(comm, n_bytes, self.address, who or "scheduler")
        return await super().get_data(slow, keys, who, serializers)


class _Slow:
    """A connection that is as fast as the two cards are at the moment."""

    def __init__(self, comm: Any, n_bytes: int, sender: str, receiver: str) -> None:
        self._comm, self._travelling = comm, (n_bytes, sender, receiver)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._comm, name)

    async def write(self, *arguments: Any, **settings: Any) -> Any:
        await _travel(*self._travelling)
        return await self._comm.write(*arguments, **settings)


async def serve(scheduler_file: str, n_workers: int) -> None:
    """The workers, until the scheduler is gone. Each has an address of its own, because Dask lets workers of one
    address send more at a time. For 0, one real worker, but that its E-steps sleep."""
    # Tasks of the driver are found in the module that it imports, not in `__main__`
    import simulated

    # Of so many workers in a process, these would take most of its processor time
    off = {f"distributed.{name}.enabled": False for name in ("worker.profile", "admin.system-monitor.gil")}
    dask.config.set(off | {"distributed.admin.system-monitor.interval": "1h"})
    settings: dict[str, Any] = {
        "scheduler_file": scheduler_file,
        "nthreads": 1,
        "memory_limit": 0,
        "dashboard": False,
    }
    if n_workers:
        simulated.replace_tasks()
        hosts = [f"127.0.1.{number}" for number in range(1, n_workers + 1)]
        workers = [simulated.NetworkedWorker(host=host, **settings) for host in hosts]
    else:
        graphs._node = simulated.sleeping_node
        collectives.node_stats_alone = simulated.sleeping_node_stats
        workers = [Worker(**settings)]
    await asyncio.gather(*workers)
    await asyncio.gather(*(worker.finished() for worker in workers))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
