"""An executor on processes of this machine, and a schedule of exchanges, written from the page on executors alone.

Where a script uses it, the script must guard its main part by `if __name__ == "__main__"`, as `multiprocessing` asks.
"""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from math import isqrt
from multiprocessing import get_context
from multiprocessing.context import BaseContext
from typing import Any
from uuid import uuid4

import cloudpickle

from bigtopic.learning.documents import Documents
from bigtopic.learning.executors.base import Arrays, MapReduceExecutor
from bigtopic.learning.reduce import Tree
from bigtopic.learning.remembering import InMemory, remembering
from bigtopic.learning.run import Run
from bigtopic.learning.tasks import Node, Place, SliceTask, Task, compute_node, nodes, plus
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import SliceRef
from bigtopic.state.documents.state_files import State

__all__ = ["ProcessExecutor", "Processes", "WarmUp"]

ATTEMPTS = 3  # at nodes whose process is lost each time
States = dict[SliceRef, State]


def _spawning() -> BaseContext:
    return get_context("spawn")  # a fork would inherit the locks of other threads


class Processes:
    """Processes of this machine, which executors may share. Each starts when it is first needed.

    n : how many
    context : says how they start, when the first one does
    """

    def __init__(self, n: int, context: Callable[[], BaseContext] = _spawning) -> None:
        self.n = n
        self._context = context
        self._pools: dict[int, ProcessPoolExecutor] = {}

    def __getitem__(self, number: int) -> ProcessPoolExecutor:
        """A process: a pool of one, which does what it is sent in turn."""
        if number not in self._pools:
            self._pools[number] = ProcessPoolExecutor(1, self._context(), _leave_interrupts_to_the_caller)
        return self._pools[number]

    def give_up(self, number: int) -> None:
        """Another process takes the place of one that was lost."""
        self._pools.pop(number).shutdown(wait=False)

    def close(self) -> None:
        """End them."""
        while self._pools:
            self._pools.popitem()[1].shutdown()


class ProcessExecutor(MapReduceExecutor):
    """Runs rounds on processes. Each gets the run once, and the params with every node of the merge tree.

    What a kernel remembers within a round travels with the nodes, so any process can do any of them again.

    Parameters
    ----------
    run : see `bigtopic.learning.run`
    processes : which this executor leaves running when it is closed
    """

    def __init__(self, run: Run, processes: Processes) -> None:
        super().__init__(run)
        self._processes = processes
        self._name = uuid4().hex  # of the run, in processes that may have several
        self._packed = b""
        self._informed: dict[int, ProcessPoolExecutor] = {}  # those that have the run
        self._states: States = {}  # as the last inner iteration left them

    def map_reduce(self, rounds: Sequence[Sequence[Task]], arrays: Arrays) -> list[Any]:
        """See `MapReduceExecutor.map_reduce`: of each round, only sums of nodes are kept, about one a process."""
        nodes_of = [nodes(tasks, -(-self._processes.n // len(rounds))) for tasks in rounds]
        sums = iter(self._sums([*chain.from_iterable(nodes_of)], pickle.dumps(dict(arrays))))
        return [_total(own, sums) for own in nodes_of]

    def _sums(self, nodes: Sequence[Node], arrays: bytes) -> list[Any]:
        """The sums of nodes; what was lost with a process is done again."""
        done: dict[int, tuple[Any, States]] = {}
        for _ in range(ATTEMPTS):
            left = [number for number in range(len(nodes)) if number not in done]
            futures = [self._send(number % self._processes.n, nodes[number], arrays) for number in left]
            try:
                wait(futures)
            finally:  # after Ctrl-C too: nobody may write the state of documents when this is over
                for future in futures:
                    future.cancel()
                wait(futures)
            lost = set[int]()
            for number, future in zip(left, futures, strict=True):
                try:
                    done[number] = future.result()
                except BrokenProcessPool:
                    lost.add(number % self._processes.n)
            if not lost:
                self._states = {ref: state for _, states in done.values() for ref, state in states.items()}
                return [done[number][0] for number in range(len(nodes))]
            for process in lost:
                self._processes.give_up(process)
        raise BrokenProcessPool(f"{ATTEMPTS} times, the process of a task ended before the task did")

    def _send(self, process: int, node: Node, arrays: bytes) -> Future[tuple[Any, States]]:
        pool, run = self._processes[process], b""
        if self._informed.get(process) is not pool:
            # the kernel may be a function that only cloudpickle takes
            run = self._packed = self._packed or cloudpickle.dumps(self.run)
            self._informed[process] = pool
        try:
            return pool.submit(_sum, self._name, run, node, self._states_before(node), arrays)
        except BrokenProcessPool as error:  # it was lost since the last node
            failed: Future[tuple[Any, States]] = Future()
            failed.set_exception(error)
            return failed

    def _states_before(self, node: Node) -> States:
        later = [task.ref for task in node if isinstance(task, SliceTask) and task.iteration.number > 1]
        return {ref: self._states[ref] for ref in later if ref in self._states}

    def close(self) -> None:
        """Let the processes forget the run."""
        while self._informed:
            _, pool = self._informed.popitem()
            with suppress(BrokenProcessPool, RuntimeError):  # it was lost, or closed
                pool.submit(_forget, self._name).result()
        self._states = {}


def _total(nodes: Sequence[Node], sums: Iterator[Any]) -> Any:
    """The sum of the nodes of a round, whose sums are the next ones."""
    tree = Tree(sum(map(len, nodes)), plus)
    for node in nodes:
        tree.push(next(sums), len(node))
    return tree.result()


# What follows is done by the processes.

_places: dict[str, Place] = {}  # of each run that this process has


def _leave_interrupts_to_the_caller() -> None:
    """Ctrl-C reaches every process of a terminal; the caller decides what becomes of a round."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _sum(name: str, run: bytes, node: Node, states: States, arrays: bytes) -> tuple[Any, States]:
    """The sum of a node whose state is written, and the states that live as long as a round.

    run : packed, unless this process has it
    """
    if run:
        _places[name] = _place(pickle.loads(run))
    place = _places[name]
    if isinstance(place.remembering, InMemory):
        place = replace(place, remembering=InMemory(states))
    total = compute_node(place, node, pickle.loads(arrays))
    return total, place.remembering.state if isinstance(place.remembering, InMemory) else {}


def _place(run: Run) -> Place:
    return Place(run, Documents(run, BlockReader(run.parts, ahead=0)), remembering(run.work))


def _forget(name: str) -> None:
    place = _places.pop(name, None)
    if place is not None:
        place.documents.close()
        place.remembering.close()


@dataclass(frozen=True)
class WarmUp:
    """A schedule: exchanges of 1, 2, 3, ... rounds, and then of `longest`, every second of which replicas share.

    Where the end of a pass cuts an exchange short, the next one has the rounds that it lacks, so all later ones begin
    after a multiple of `longest`: a schedule knows nothing but the number of updates.
    """

    longest: int

    def exchange(self, done: int) -> tuple[int, bool]:
        """See `bigtopic.plan.exchanges.Schedule`."""
        warm = (isqrt(8 * done + 1) + 1) // 2  # n after the 1 + 2 + ... + (n - 1) rounds of n - 1 exchanges
        if warm < self.longest:
            return warm, False
        number, inside = divmod(done, self.longest)
        return self.longest - inside, number % 2 == 1
