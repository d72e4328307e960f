"""Sums that workers make among themselves: in one stage or two, along the tree of the work, each asking few others."""

from __future__ import annotations

import sys
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from threading import Condition
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bigtopic.learning.all_reduce import direct
from bigtopic.learning.all_reduce.copies import Version
from bigtopic.learning.all_reduce.direct import Collective, NodeTask, stages_of
from bigtopic.learning.all_reduce.rows import joined_rows

from bigtopic.learning.reduce import add
from bigtopic.plan.cursor import START
from bigtopic.types import AxisStats, Stats

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.serial import total

N_ROWS, N_COLUMNS = 60, 13  # of the latter there are 16, with padding


def some_stats(rng: np.random.Generator) -> Stats:
    """Float32 values of very different sizes: any change in the order of adding shows in the bits."""
    ids = rng.permutation(N_ROWS)[:30].astype(np.int32)
    values = (rng.random((30, 16)) * 10.0 ** rng.integers(-4, 5, (30, 16))).astype(np.float32)
    values[:, N_COLUMNS:] = 0
    joint = AxisStats(None, rng.random((1, 16)).astype(np.float32))
    return Stats({"words": AxisStats(ids, values), "joint": joint}, 1, 1.0)


def bits(stats: Stats) -> Any:
    words = stats.arrays["words"]
    order = np.argsort(words.ids)
    return words.ids[order].tobytes(), words.values[order].tobytes(), stats.arrays["joint"].values.tobytes()


@dataclass(frozen=True)
class Sums(Collective):
    """A collective that adds up these, and moves nothing."""

    stats: Sequence[Stats]

    n_updates = 1

    def tasks(self, run: Any, number: int, arrays: Any) -> list[NodeTask]:
        return [(1, lambda one=one: one) for one in self.stats[slice(*self.bounds[number : number + 2])]]

    def plus(self, a: Stats, b: Stats) -> Stats:
        return add(a, b)

    def moved(self, run: Any) -> list[str]:
        return []

    def move(self, run: Any, params: Any, total: Any) -> None:
        raise AssertionError


class Network:
    """Mailboxes of threads; pieces are forgotten when all have asked for them."""

    def __init__(self) -> None:
        self.pieces: dict[Any, tuple[Any, int]] = {}
        self.asked: Counter[str] = Counter()
        self.widths: set[int] = set()  # of the rows that travel
        self.changed = Condition()


@dataclass
class Box:
    """The mailbox of a thread."""

    network: Network
    address: str

    def join(self, collective: Any) -> None:
        pass

    def has_ended(self, group: str) -> bool:
        return False

    def offer(self, collective: Any, pieces: Mapping[Hashable, Any], times: int = 1) -> None:
        with self.network.changed:
            for name, piece in pieces.items():
                assert (self.address, name) not in self.network.pieces
                sums = [one[-1] if isinstance(one, tuple) else one for one in piece]
                self.network.widths |= {one.arrays["words"].values.shape[1] for one in sums}
                if times:
                    self.network.pieces[self.address, name] = piece, times
            self.network.changed.notify_all()

    def collect(
        self, collective: Any, wanted: Sequence[tuple[str, Hashable]], meanwhile: Callable[[], bool]
    ) -> Iterator[tuple[int, Any]]:
        self.network.asked[self.address] += len(wanted)
        return ((i, self._taken(key)) for i, key in enumerate(wanted))

    def _taken(self, key: tuple[str, Hashable]) -> Any:
        with self.network.changed:
            assert self.network.changed.wait_for(lambda: key in self.network.pieces, 30)
            piece, times = self.network.pieces.pop(key)
            if times > 1:
                self.network.pieces[key] = piece, times - 1
            return piece


@pytest.mark.parametrize(
    ("n_workers", "n_asked"),
    [(1, 0), (2, 2), (3, 4), (15, 28), (16, 12), (17, 32), (18, 14), (20, 14), (32, 20), (64, 28)],
)
@pytest.mark.parametrize("n_leaves", ["few", "uneven", "even"])
def test_each_row_is_added_once_along_the_tree(n_workers, n_asked, n_leaves, monkeypatch):
    """Whatever the number of workers; some may have no leaves."""
    rng = np.random.default_rng(n_workers)
    of_each = {"few": [i % 3 == 1 or n_workers == 1 for i in range(n_workers)], "even": [2] * n_workers}
    leaves = of_each.get(n_leaves, [*rng.integers(0, 4, n_workers - 1), 1])
    stats = [some_stats(rng) for _ in range(sum(leaves))]
    addresses, network = tuple(f"worker {i}" for i in range(n_workers)), Network()
    collective = Sums(
        Version("sums", 0), addresses, tuple(accumulate(map(int, leaves), initial=0)), START, stats
    )
    monkeypatch.setattr(
        direct, "arrays_in_turn", lambda *_: nullcontext({"words": SimpleNamespace(n_components=N_COLUMNS)})
    )
    monkeypatch.setattr(direct, "begin_move", lambda *_: None)

    def part(number: int) -> Stats:
        return direct._part(None, collective, number, Box(network, addresses[number]))

    with ThreadPoolExecutor(n_workers) as pool:
        found = list(pool.map(part, range(n_workers)))
    assert not network.pieces and network.widths <= {N_COLUMNS}
    assert bits(joined_rows(found)) == bits(total(stats))
    assert {one.arrays["words"].values.shape[1] for one in found} == {N_COLUMNS}
    assert sum(len(one.arrays["words"].ids) for one in found) == len(joined_rows(found).arrays["words"].ids)
    assert set(map(network.asked.__getitem__, addresses)) == {n_asked}


def test_a_worker_of_each_stage_asks_another_one_first():
    """So no worker is asked by all others at a time."""
    bounds = range(65)
    for which in (0, 1):
        first = []
        for rank in range(64):
            stage = stages_of(bounds, rank)[which]
            assert stage.workers[stage.place] == rank
            first.append(stage.workers[stage.others()[0]])
        assert sorted(first) == list(range(64))


class Documents:
    """Of a task."""


@pytest.mark.parametrize("n_threads", [1, 2])
def test_documents_of_tasks_that_are_done_are_let_go(n_threads, monkeypatch):
    """A worker may have many more replicas than threads."""
    monkeypatch.setattr(direct, "threads_here", lambda: n_threads)
    alive: weakref.WeakSet[Documents] = weakref.WeakSet()
    left: list[int] = []

    def work(documents: Documents) -> int:
        left.append(len(alive))
        return 1

    def tasks(*given: Any) -> list[tuple[int, Any]]:
        made = [Documents() for _ in range(32)]
        alive.update(made)
        return [(1, partial(work, one)) for one in made]

    collective = SimpleNamespace(version=Version("own", 0), bounds=[0, 32], plus=int.__add__, tasks=tasks)
    box = SimpleNamespace(has_ended=lambda name: False)
    assert list(direct._nodes(None, collective, 0, {}, box)) == [(32, 32)]
    assert left[0] > 28 and left[-1] <= 2 * n_threads + 2
