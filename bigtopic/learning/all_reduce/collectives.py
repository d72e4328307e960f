"""What workers make among themselves (`learning.all_reduce.direct`): an exchange of replicas, or a long round."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, islice, pairwise

from bigtopic.learning.all_reduce.copies import after, take_ahead
from bigtopic.learning.all_reduce.direct import Collective, NodeTask
from bigtopic.learning.all_reduce.rows import joined_rows
from bigtopic.learning.executors.graph_tasks import node_stats_alone, node_tasks
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.reduce import add
from bigtopic.learning.replicas.changes import Changes, add_changes, joined
from bigtopic.learning.replicas.documents import ShareDocuments
from bigtopic.learning.replicas.share import Share, changes_of, share_documents
from bigtopic.learning.rounds import iteration_of, moved_arrays, step
from bigtopic.plan import exchanges
from bigtopic.plan.reading import BlockReader
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
from bigtopic.types import Stats

__all__ = ["Exchange", "LongRound"]


@dataclass(frozen=True)
class Exchange(Collective):
    """An exchange of replicas, which are the leaves of the tree.

    Attributes
    ----------
    n_rounds : consecutive ones, of all replicas
    """

    n_rounds: int

    @property
    def n_updates(self) -> int:
        return self.n_rounds

    def tasks(self, run: Run, rank: int, arrays: Mapping[str, LazyArray]) -> list[NodeTask]:
        shares = self._shares(run, rank)
        documents = take_ahead(self.version, (self, rank)) or self._documents(run, shares)
        return [
            (1, partial(changes_of, run, share, own, arrays))
            for share, own in zip(shares, documents, strict=True)
        ]

    def ahead(self, run: Run, rank: int) -> tuple[Hashable, list[ShareDocuments]]:
        first = self.first.later(self.n_rounds)
        n_rounds, n_replicas = run.plan.exchange_at(first.pass_number, first.round)
        if n_replicas != self.bounds[-1]:
            return None, []
        following = replace(self, version=after(self.version, self.n_updates), first=first, n_rounds=n_rounds)
        return (following, rank), following._documents(run, following._shares(run, rank))

    def _documents(self, run: Run, shares: list[Share]) -> list[ShareDocuments]:
        read = BlockReader(run.parts, ahead=0).block
        return [share_documents(run, share, read) for share in shares]

    def _shares(self, run: Run, rank: int) -> list[Share]:
        """Those of the replicas of a worker."""
        replicas = slice(*self.bounds[rank : rank + 2])
        mine = exchanges.divided(range(self.n_rounds), self.bounds[-1])[replicas]
        if not mine:
            return []
        start, stop = mine[0][0], mine[-1][-1] + 1
        rounds = list(islice(run.plan.rounds(self.first.pass_number, self.first.round + start), stop - start))
        return [
            Share([rounds[i - start] for i in own], [self.first.later(i) for i in own], self.n_rounds)
            for own in mine
        ]

    def plus(self, a: Changes, b: Changes) -> Changes:
        return joined(a, b)

    def moved(self, run: Run) -> Collection[str]:
        return moved_arrays(run.settings.schemes)

    def move(self, run: Run, params: Params, parts: Iterable[Changes]) -> None:
        add_changes(params, parts)


@dataclass(frozen=True)
class LongRound(Collective):
    """A round of many slices, which are the leaves of the tree.

    Attributes
    ----------
    n_nodes : as for `graph_tasks.node_tasks`
    """

    n_nodes: int

    @property
    def n_updates(self) -> int:
        return 1

    def tasks(self, run: Run, rank: int, arrays: Mapping[str, LazyArray]) -> list[NodeTask]:
        (rnd,) = islice(run.plan.rounds(self.first.pass_number, self.first.round), 1)
        iteration = iteration_of(self.first, 1, run.settings)
        tasks, first, last = node_tasks(rnd.slices, self.n_nodes), *self.bounds[rank : rank + 2]
        ends = pairwise(accumulate(map(len, tasks), initial=0))
        return [
            (len(task), partial(node_stats_alone, run, task, arrays, iteration))
            for task, (start, stop) in zip(tasks, ends, strict=True)
            if first <= start and stop <= last
        ]

    def plus(self, a: Stats, b: Stats) -> Stats:
        return add(a, b)

    def moved(self, run: Run) -> Collection[str]:
        return [*moved_arrays(run.settings.schemes), *run.settings.prior_schemes]

    def move(self, run: Run, params: Params, parts: Iterable[Stats]) -> None:
        step(params, self.first, joined_rows(list(parts)), replace(run.settings, average=0.0))
