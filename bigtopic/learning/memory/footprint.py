"""The memory of a run, from corpus, settings and params; T is the number of threads.

    run      = params + lookups + index + prepared + state + peak of a replay of its first rounds
    params   = sum over arrays of rows x columns x itemsize + priors x 8
    lookups  = T x words x 4; authors, if there are more of them
    index    = documents x 16, in whole chunks, of the parts of a store that are open, and documents x 8 of one of them
    prepared = all slices, without views, see below, for several passes over a small corpus
    state    = rows x bytes of a row: of two inner iterations of the minibatch ("round"), less what a slice at work
               writes, which is scratch; or of a slice that is read ahead, or of all slices if that is little ("run";
               those at work, and the one that is not written yet, are in the replay)

    worker   = documents + index + 2 x params, or the rows of them that a minibatch reads from files + T x (words x 4 +
               read blocks + peak of a replay of a task) + sums x stats(minibatch) + state, of "run" for each thread,
               for tasks of a graph on a Dask worker; documents that are prepared ahead of a task are those of its
               replay, as many at a time; its documents are those that are in memory and sent, not read from
               a store; the sums are one for each thread, one that travels, and one for each level of the tree above its
               tasks

A replay (`replay`) allocates and frees these arrays in the order of the run, by the rules of `buffers`:

    reading  = (entries + a chunk) x 8 + documents x 16 for each read block: all of a small corpus, else those kept and
               the next one; none where the corpus is in memory
    slice    = documents x 36 + entries x 8 + distinct words x 4; with a delay, one more for each thread, gathered ahead
    joined   = entries x 8 + documents x 16, where parts end in a slice that is a whole minibatch
    view     = rows(slice) x columns x itemsize, for each array the kernel reads
    stats    = rows(slice) x (columns x itemsize + 4), for each array it returns; and their sums, one for each level of
               the merge tree, and those of two groups of delayed minibatches; of a crew, in one array for each group
    scratch  = as the kernel declares
    averaged = rows(minibatch) x columns x 24, where a mean follows the step
    inner    = rows(minibatch) x columns x 24 for each step over provisional params, of which 8 stay for the inner
               iteration; rows(slice) x columns x 24 where a slice reads them
    share    = documents x 36 + entries x 8 + (distinct words + those of its slices + words) x 4, which a worker may
               prepare ahead, and rows(share) x (columns x itemsize + 4), for each replica that is at work, and what one
               of its updates needs; and sums of as many bytes a row
    crew     = groups at work x rows(group) x columns x 4 + (groups at work + 1) x entries(group) x 4
               + T x (rows(slice) x columns x 4 + entries(slice) x 8 + 64 KB + 2 x scratch)
               + rounds(segment) x ((columns + columns of the tables) x 8 + 2 KB) + 0.5 MB, in place of slice, view,
               stats and scratch, for rounds that threads of compiled code do; see `crew_sizes` for the largest group
               and slice. Scratch counts twice because memory grows with the documents, and the former stays unused
    compared = the topics at the beginning and at the end of a pass, rows x columns x 4 each

where rows(n) is that of `expected_rows`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.learning.executors.among_workers import makes_rounds
from bigtopic.learning.executors.choice import begins_whole
from bigtopic.learning.executors.documents import keeps_all
from bigtopic.learning.executors.forecast import round_seconds
from bigtopic.learning.executors.graph_tasks import n_tasks
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.memory.replay import Ledger, Piece, Reading, Rounds, Sum, most_sums
from bigtopic.learning.memory.sizes import Sizes
from bigtopic.learning.putting_off import LEAST_DELAY
from bigtopic.learning.reduce import cut, depth
from bigtopic.plan import reading
from bigtopic.plan.delays import GROWTH, PROMPT, TURNS, groups_of
from bigtopic.plan.exchanges import divided, largest_exchange
from bigtopic.state.params import Params

__all__ = ["Footprint"]

_ROUNDS = 8  # replayed for each thread, at most; fewer once so many in a row have not raised the peak
_ORDERS = 4  # orders of the threads that are tried; the largest peak counts


class Footprint:
    """Memory of a run; the arguments are those of `Sizes`."""

    def __init__(self, run: Run, params: Params, axes: Mapping[str, Vocabulary]) -> None:
        self._run = run
        self._sizes = Sizes(run, params, axes)

    @property
    def has_whole_rounds(self) -> bool:
        """Whether one worker does the rounds before replicas begin."""
        return begins_whole(self._run)

    def on_threads(self, n_threads: int, compares: bool = False, whole: bool = False) -> int:
        """Bytes of the whole run on threads of one process; `whole` are rounds that one worker does, which no replicas
        share, in one order of the threads only."""
        n_orders = _ORDERS if n_threads > 1 and not whole else 1
        rounds = max(self._peak(n_threads, compares, seed, whole) for seed in range(n_orders))
        return int(self._always(n_threads) + rounds)

    def at_most(self, n_threads: int, compares: bool = False) -> float:
        """An upper bound of `on_threads` that needs no replay: twice what can be in use at once, because pieces are
        larger than their arrays, and pieces of other sizes may be unused."""
        sizes, slices = self._sizes, self._minibatch()
        round_docs, n_slices = sum(slices), len(slices) + len(self._run.parts)
        one = sizes.of_slice(min(self._run.plan.slice_size, round_docs))
        # A merge takes memory for the rows of both.
        sums = [
            min(2 * stats, most)
            for stats, most in zip(sizes.stats(round_docs), sizes.all_rows(), strict=True)
        ]
        moved = 2 * 24 * sum(sizes.moved_entries(round_docs)) + sizes.averaged(round_docs)
        # With a delay, threads gather one slice ahead.
        in_use = (
            (2 * n_threads if self._run.plan.delay else n_threads + 1) * one.n_bytes()
            + moved
            + 2 * compares * sizes.topics()
        )
        in_use += (n_threads + most_sums(n_slices) + self._run.plan.delay) * sum(sums)
        in_use += (sizes.kept_read_blocks() + 1) * sum(sizes.read_block(sizes.read_block_docs))
        return self._always(n_threads) + 2 * (in_use + self._exchanged(n_threads)) + self._crew(n_threads)

    def _exchanged(self, n_threads: int) -> float:
        """All that replicas can have in use at once."""
        if not (shares := self._shares()):
            return 0.0
        share = self._sizes.of_share(max(shares))
        sums = n_threads + most_sums(len(shares))
        return n_threads * share.n_bytes() + sums * sum(self._sizes.all_changes())

    def _crew(self, n_threads: int) -> float:
        """All that a crew can have in use at once, and what it reads."""
        plan, sizes = self._run.plan, self._sizes
        delay = plan.delay
        if not sizes.may_crew or delay < LEAST_DELAY:
            return 0.0
        crew = sizes.of_crew(self._slice_docs(), groups_of(TURNS * (delay + 1), GROWTH * delay, delay))
        read_blocks = crew.n_docs / sizes.read_block_docs + 1
        return crew.at_most(n_threads) + read_blocks * sum(sizes.read_block(sizes.read_block_docs))

    def _slice_docs(self) -> int:
        """Documents of a slice of a round with a delay."""
        return min(self._run.plan.slice_size, self._run.plan.batch_size)

    def _always(self, n_threads: int) -> float:
        """Params, lookups, the index of the documents, their slices and their state."""
        sizes = self._sizes
        documents = sizes.index() + sizes.prepared() + sizes.state(whole=True)
        return sizes.params() + n_threads * sizes.lookup() + documents

    def _peak(self, n_threads: int, compares: bool, seed: int, whole: bool) -> int:
        """Largest number of bytes resident at once in a replay."""
        ledger = Ledger()
        before = [ledger.take(self._sizes.topics())] if compares else []
        if self._run.plan.n_docs:
            self._replay(self._rounds(ledger, n_threads, seed, self._reading()), n_threads)
            if not whole:
                self._replay_exchanges(ledger, n_threads)
        ledger.free(*before, *[ledger.take(self._sizes.topics()) for _ in before])
        return ledger.peak

    def of_params(self) -> int:
        """Bytes of the params."""
        return self._sizes.params()

    def of_documents(self) -> int:
        """Bytes of the documents that are sent to workers, since they are in memory and not in a store."""
        return self._sizes.documents()

    def of_task(self, n_slices: int) -> int:
        """Bytes of one task of the graphs executor (a node of the merge tree, on one thread), without the params."""
        return int(self._sizes.index() + self._task(n_slices) + self._sizes.state())

    def of_tasks(self, n_threads: int, mapped: bool, all_threads: int) -> int:
        """Bytes of a worker that does tasks of the graphs executor, its params `mapped` or sent.

        It has two versions of the params. For each thread there is the memory of a task and of a sum; other sums wait
        for those of later tasks, and one travels. Workers that share no files may add the sums among themselves: then
        there is one for each node of the tree, instead, and the total is collected.
        """
        sizes, slices, state = self._sizes, self._minibatch(), self._sizes.state()
        params = sizes.read(sum(slices)) if mapped else sizes.params()
        tasks = cut(len(slices), n_tasks(all_threads, round_seconds(self._run)))
        own = -(-len(tasks) * n_threads // max(n_threads, all_threads))
        n_sums, total = n_threads + depth(own) + 1, sum(sizes.stats(sum(slices)))
        if not mapped and makes_rounds(self._run):
            n_sums += depth(own) + 1
        if shares := self._shares():
            total = max(total, sum(sizes.changes(sum(shares))))
        shared = self.of_documents() + sizes.index() + 2 * params + n_sums * total
        all_state = state if self._run.work.kernel.state == "round" else n_threads * state
        return int(shared + all_state + n_threads * self._task(tasks[0]))

    def _task(self, n_slices: int) -> float:
        """Bytes of a task without what is remembered of documents."""
        ledger, slices, shares = Ledger(), self._minibatch()[:n_slices], sorted(self._shares())[-2:]
        self._rounds(ledger, 1).round(slices)
        if shares:
            self._exchanges(ledger, 1).round(shares)
        return self._sizes.lookup() + self._read_by_task(max([sum(slices), *shares])) + ledger.peak

    def _read_by_task(self, n_docs: int) -> float:
        """The read blocks that a task of so many documents has in memory."""
        one = max(1, min(n_docs, self._sizes.read_block_docs))
        return min(reading.KEPT + 1, -(-n_docs // one)) * sum(self._sizes.read_block(one))

    def _rounds(self, ledger: Ledger, n_threads: int, seed: int = 0, blocks: Reading | None = None) -> Rounds:
        sizes = self._sizes
        return Rounds(
            ledger,
            n_threads,
            cache(sizes.of_slice),
            cache(sizes.stats),
            sizes.all_rows(),
            random.Random(seed),
            blocks,
        )

    def _reading(self) -> Reading | None:
        """The reading of the corpus by threads of one process."""
        n_docs = self._sizes.read_block_docs
        arrays = self._sizes.read_block(n_docs)
        return (
            Reading(n_docs, arrays, self._sizes.kept_read_blocks(), keeps_all(self._run.plan))
            if arrays
            else None
        )

    def _replay(self, rounds: Rounds, n_threads: int) -> None:
        """Replay the first rounds: those without delay, those in which parts end, and those with delay."""
        plan = self._run.plan
        total = self._run.settings.n_steps or plan.n_rounds
        ledger, most = rounds.ledger, _ROUNDS * n_threads
        prompt = min(total, PROMPT) if plan.delay else min(total, most)
        for _ in _until_level(ledger, prompt):
            ledger.free(*self._iterations(rounds, self._minibatch()).pieces)
        cut = [] if plan.delay else plan.cut_minibatches()[:_ROUNDS]
        for _ in _until_level(ledger, most if cut else 0):
            for slices in cut:
                ledger.free(*self._iterations(rounds, slices).pieces)
        n_rounds = min(total - prompt, plan.n_rounds) if plan.delay else 0
        if n_rounds > 0:
            self._replay_delayed(rounds, n_rounds, most)

    def _replay_delayed(self, rounds: Rounds, n_rounds: int, most: int) -> None:
        plan, sizes = self._run.plan, self._sizes
        groups, n_docs = groups_of(n_rounds, PROMPT, plan.delay), self._slice_docs()
        if sizes.may_crew and groups.most_missed >= LEAST_DELAY:
            rounds.crew(sizes.of_crew(n_docs, groups), n_docs, min(n_rounds, most))
            return
        group = max(groups.sizes)
        for _ in _until_level(
            rounds.ledger, min(n_rounds, most + 2 * groups.most_missed), groups.most_missed
        ):
            rounds.delayed(n_docs, group, groups.at_work)
        rounds.settle()

    def _replay_exchanges(self, ledger: Ledger, n_threads: int) -> None:
        rounds, shares = self._exchanges(ledger, n_threads), self._shares()
        for _ in _until_level(ledger, _ROUNDS if shares else 0):
            ledger.free(*rounds.round(shares).pieces)

    def _exchanges(self, ledger: Ledger, n_threads: int) -> Rounds:
        """Replays exchanges as if they were rounds, and shares their slices."""
        sizes = self._sizes
        own = cache(sizes.of_share), cache(sizes.changes), sizes.all_changes()
        return Rounds(ledger, n_threads, *own, random.Random(0))

    def _shares(self) -> list[int]:
        """Documents of each replica in the largest exchange; none without replicas."""
        plan, n_steps = self._run.plan, self._run.settings.n_steps
        if plan.replicas == 1:
            return []
        n_rounds = min(plan.replicas * plan.replica_updates, plan.n_rounds)
        if n_steps is not None:
            largest = largest_exchange(n_steps, plan.replicas)
            n_rounds = min(n_rounds, largest) if n_steps > plan.undivided_rounds else 0
        if n_rounds < 2:
            return []
        return [len(share) * plan.batch_size for share in divided(range(n_rounds), plan.replicas)]

    def _minibatch(self) -> list[int]:
        """Documents in each slice of one of the first rounds."""
        plan = self._run.plan
        n_docs = -(-plan.n_docs // max(1, plan.n_rounds))
        size = -(-n_docs // 2) if plan.delay and not plan.whole_minibatches else plan.slice_size
        return [size] * (n_docs // size) + [n_docs % size] * (n_docs % size > 0)

    def _iterations(self, rounds: Rounds, slices: list[int]) -> Sum:
        """One round and its step; of its inner iterations at most three, since later ones need no more memory."""
        fresh, free, n_docs = rounds.ledger.fresh, rounds.ledger.free, sum(slices)
        stats = rounds.round(slices)
        overlays: list[Piece] = []
        for _ in range(0 if self._run.settings.one_iteration else 2):
            moved = self._sizes.moved_entries(n_docs)
            free(*[fresh(24 * n) for n in moved])
            kept = [fresh(8 * n) for n in moved]
            free(*overlays, *stats.pieces)
            overlays, stats = kept, rounds.round(slices)
        free(fresh(self._sizes.averaged(n_docs)), *overlays)
        return stats


def _until_level(ledger: Ledger, most: int, delay: int = 0) -> Iterator[None]:
    """So many rounds at most; fewer where the last `_ROUNDS` of them, besides the delay, have not raised the peak."""
    peak, level = -1, 0
    for _ in range(most):
        if level == _ROUNDS + delay:
            return
        yield
        level = level + 1 if ledger.peak == peak else 0
        peak = ledger.peak
