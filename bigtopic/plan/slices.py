"""Slices: the documents of one kernel call; and how corpus and settings determine passes, minibatches and slices.

A *minibatch* is the documents of one update; a *slice*, the documents of one kernel call; a *read block*, the documents
read from the store at once (several slices, about a million entries). All three are ranges of positions, fixed by the
corpus and the settings alone, never by the executor. A pass permutes read blocks, and minibatches inside a read block.

Consecutive minibatches that begin from the same params are an *exchange*, see `exchanges`.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np

from bigtopic.corpus.order import mix
from bigtopic.plan import _kernels
from bigtopic.plan.cursor import START, Cursor
from bigtopic.plan.exchanges import (
    PROMPT,
    REPLICA_UPDATES,
    UNDIVIDED,
    Schedule,
    UsualSchedule,
    divided,
    exchanges_of,
)
from bigtopic.support import buffers
from bigtopic.types import Block, Docs

__all__ = [
    "READ_BLOCK_SLICES",
    "Exchange",
    "Plan",
    "Round",
    "SliceRef",
    "ascending",
    "lookup_table",
    "make_docs",
    "tokens_of",
]

SLICE_ENTRIES = 1 << 16
READ_BLOCK_SLICES = 16  # of a minibatch that is larger than a read block
READ_BLOCK_ENTRIES = SLICE_ENTRIES * READ_BLOCK_SLICES
# A minibatch of so many documents, or entries, has at least two slices, unless each slice is to be a minibatch.
SHARED_DOCS = 2000
SHARED_ENTRIES = 2 * SLICE_ENTRIES
NO_MAP = np.zeros(0, np.int32)

_scratch = threading.local()


@dataclass(frozen=True)
class SliceRef:
    """Documents start:stop of a part, and the read block they are read with.

    rest : the documents of the next parts, where a slice does not end with the part
    """

    part: int
    start: int
    stop: int
    read_block_start: int
    read_block_stop: int
    rest: tuple[SliceRef, ...] = ()

    @property
    def pieces(self) -> tuple[SliceRef, ...]:
        """The documents of a slice by part."""
        return (self, *self.rest)

    @property
    def n_docs(self) -> int:
        """Documents of the slice, the rest included."""
        return sum(piece.stop - piece.start for piece in self.pieces)

    @property
    def read_block(self) -> tuple[int, int, int]:
        return self.part, self.read_block_start, self.read_block_stop


@dataclass(frozen=True)
class Round:
    """One minibatch: its number inside the pass and its slices in order."""

    number: int
    slices: tuple[SliceRef, ...]
    n_docs: int


@dataclass(frozen=True)
class Exchange:
    """Consecutive rounds that begin from the same params.

    shares : the rounds of each share
    copies : whether each share learns on a copy of the rows that it needs; else a share is one round
    """

    rounds: Sequence[Round]
    shares: Sequence[Sequence[Round]]
    copies: bool


class Plan:
    """The rounds of every pass over a corpus.

    Parameters
    ----------
    part_docs : documents in each part
    entries_per_doc : mean number of distinct words of a document; sizes the read blocks
    batch_size : largest number of documents per update; None for all. A pass is divided evenly, because an update of
        few documents has the same weight as one of many, and a short last one would undo what was learned
    slice_size : largest number of documents per kernel call; None for half a minibatch (if rounds are concurrent, all
        of it), at most about 65 000 entries. If it is less than `batch_size`, a minibatch of at least 2000 documents,
        or 131 072 entries, is also divided in half, for two threads
    concurrent : rounds of an exchange without replicas, at most, see `exchanges`; taken as 1 when a minibatch has
        several slices, which keep the threads busy anyway
    shuffled : permute read blocks and minibatches in each pass; otherwise follow the stored order
    seed : seed of the permutation
    replicas : copies of the params that learn side by side
    replica_updates : rounds of each in an exchange, at most
    undivided_rounds : rounds of a run before replicas begin
    whole_minibatches : each minibatch is one slice, whatever `slice_size` is and wherever parts end
    begin : where the run begins; earlier passes may have had other numbers of rounds
    schedule : of exchanges, in place of the usual one of `concurrent`, `replicas` and what follows

    Attributes
    ----------
    settings : the arguments but `begin` and `schedule`, as JSON values: `Plan(**plan.settings)` has the same rounds
    n_rounds : of a pass
    read_block_docs : approximate number of documents of a read block
    """

    def __init__(
        self,
        part_docs: Sequence[int],
        entries_per_doc: float,
        batch_size: int | None,
        slice_size: int | None,
        *,
        concurrent: int = 1,
        shuffled: bool = True,
        seed: int = 0,
        replicas: int = 1,
        replica_updates: int = REPLICA_UPDATES,
        undivided_rounds: int = UNDIVIDED,
        whole_minibatches: bool = False,
        begin: Cursor = START,
        schedule: Schedule | None = None,
    ) -> None:
        self.settings: dict[str, Any] = {
            "part_docs": [int(n) for n in part_docs],
            "entries_per_doc": float(entries_per_doc),
            "batch_size": None if batch_size is None else int(batch_size),
            "slice_size": None if slice_size is None else int(slice_size),
            "shuffled": shuffled,
            "seed": seed,
        }
        if concurrent > 1:
            self.settings["concurrent"] = concurrent
        if replicas > 1:
            self.settings |= {
                "replicas": replicas,
                "replica_updates": replica_updates,
                "undivided_rounds": undivided_rounds,
            }
        if whole_minibatches:
            self.settings["whole_minibatches"] = True
        self.offsets = np.concatenate([[0], np.cumsum(np.asarray(part_docs, np.int64))])
        self.n_docs = int(self.offsets[-1])
        self.entries_per_doc = entries_per_doc
        self.batch_size = min(batch_size or self.n_docs, max(self.n_docs, 1))
        slice_docs = max(64, int(SLICE_ENTRIES / max(entries_per_doc, 1.0)))
        self._half = -(-self.batch_size // 2)
        self.slice_size = slice_size or min(
            slice_docs, max(1, self.batch_size if concurrent > 1 else self._half)
        )
        shared = self.batch_size >= SHARED_DOCS or self.batch_size * entries_per_doc >= SHARED_ENTRIES
        if shared and slice_size and (batch_size is None or slice_size < batch_size):
            self.slice_size = min(slice_size, self._half)
        if whole_minibatches:
            self.slice_size = self._half = self.batch_size
        self.whole_minibatches = whole_minibatches
        self.concurrent = concurrent if self.slice_size >= self.batch_size else 1
        self.n_rounds = -(-self.n_docs // self.batch_size)
        self._ends: list[int] = self.offsets[1:].tolist()
        self.shuffled, self.seed = shuffled, seed
        self.replicas = replicas if self.n_rounds > 1 else 1  # a single round is not divided
        self.replica_updates = replica_updates
        self.undivided_rounds = undivided_rounds
        if schedule is None:
            schedule = UsualSchedule(self.concurrent, self.replicas, replica_updates, undivided_rounds)
        self.schedule = schedule
        self._begin = begin
        self._exchanges: dict[int, tuple[list[int], list[tuple[range, bool]]]] = {}  # of the last pass
        # A read block holds whole minibatches, or, of a minibatch larger than a read block, some of its slices.
        least = self.batch_size if whole_minibatches else 1
        self.read_block_docs = max(least, int(READ_BLOCK_ENTRIES / max(entries_per_doc, 1.0)))
        self.batches_per_read_block = max(1, self.read_block_docs // self.batch_size)

    def rounds(self, pass_number: int, start: int = 0, done: Collection[int] = ()) -> Iterator[Round]:
        """The rounds of a pass, numbered from 0, from the `start`-th on, except those whose numbers are `done`."""
        before = self._begin.updates_before(pass_number, self.n_rounds)
        for number, minibatch in enumerate(self._order(pass_number)[start:].tolist(), start):
            if number not in done:
                alone = self.concurrent > 1 and before + number < PROMPT
                yield self._round(number, minibatch, self._half if alone else self.slice_size)

    def exchanges(self, pass_number: int, start: int = 0, done: Collection[int] = ()) -> Iterator[Exchange]:
        """The same rounds, in exchanges."""
        for (_, copies), grouped in groupby(
            self.rounds(pass_number, start, done), lambda rnd: self._exchange(pass_number, rnd.number)
        ):
            rounds = list(grouped)
            copies = copies and len(rounds) > 1
            yield Exchange(rounds, divided(rounds, self.replicas if copies else len(rounds)), copies)

    def may_cut(self, pass_number: int, number: int) -> bool:
        """Whether an exchange starts with this round, or a pass ends before it: the number may be `n_rounds`."""
        inside = 0 < number < self.n_rounds
        return not inside or self._exchange(pass_number, number)[0].start == number

    def _exchange(self, pass_number: int, number: int) -> tuple[range, bool]:
        """The rounds of the exchange that a round belongs to, and whether replicas share them."""
        if pass_number not in self._exchanges:
            before = self._begin.updates_before(pass_number, self.n_rounds)
            found = list(exchanges_of(self.schedule, before, self.n_rounds, self.replicas))
            self._exchanges = {pass_number: ([rounds.start for rounds, _ in found], found)}
        starts, found = self._exchanges[pass_number]
        return found[bisect_right(starts, number) - 1]

    def _start(self, minibatch: int) -> int:
        """The first position of a minibatch, or the end of the last one; sizes differ by one document at most."""
        return minibatch * self.n_docs // max(1, self.n_rounds)

    def _order(self, pass_number: int) -> np.ndarray:
        if not self.shuffled or self.n_rounds < 2:
            return np.arange(self.n_rounds)
        return _shuffled(self.n_rounds, self.batches_per_read_block, self.seed, pass_number)

    def _round(self, number: int, minibatch: int, slice_size: int) -> Round:
        first, last = self._start(minibatch), self._start(minibatch + 1)
        slices = tuple(self._slices(minibatch, first, last, slice_size))
        if self.whole_minibatches:
            slices = (replace(slices[0], rest=slices[1:]),)
        return Round(number, slices, last - first)

    def _slices(self, minibatch: int, first: int, last: int, slice_size: int) -> Iterator[SliceRef]:
        several = self.slice_size * READ_BLOCK_SLICES
        large = self.batch_size > several
        read_block = minibatch // self.batches_per_read_block
        position = first
        while position < last:
            part = bisect_right(self._ends, position)
            begin, end = self._ends[part - 1] if part else 0, self._ends[part]
            if large:
                read_block_first = first + (position - first) // several * several
                read_block_last = min(read_block_first + several, last, end)
            else:
                read_block_first = self._start(read_block * self.batches_per_read_block)
                following = min((read_block + 1) * self.batches_per_read_block, self.n_rounds)
                read_block_last = min(self._start(following), end)
            next_cut = first + ((position - first) // slice_size + 1) * slice_size
            stop = min(next_cut, read_block_last, last)
            yield SliceRef(
                part,
                position - begin,
                stop - begin,
                max(read_block_first, begin) - begin,
                read_block_last - begin,
            )
            position = stop


@lru_cache(maxsize=2)
def _shuffled(n_rounds: int, batches_per_read_block: int, seed: int, pass_number: int) -> np.ndarray:
    """The order of the minibatches of a pass; replicas ask for it in each exchange."""
    minibatches = np.arange(n_rounds)
    read_block = minibatches // batches_per_read_block
    read_block_key = _mix(read_block.astype(np.uint64), seed, 2 * pass_number)
    own_key = _mix(minibatches.astype(np.uint64), seed, 2 * pass_number + 1)
    order = np.lexsort((own_key, read_block, read_block_key))
    order.flags.writeable = False
    return order


def _mix(values: np.ndarray, seed: int, stream: int) -> np.ndarray:
    """64 well-mixed bits per value (two rounds of `mix`), for permutations that no library version can change."""
    mask = (1 << 64) - 1
    start = np.uint64((seed * 0x9E3779B97F4A7C15 + stream * 0xD1342543DE82EF95 + 0x2545F4914F6CDD1D) & mask)
    return mix(mix(values * np.uint64(0x9E3779B97F4A7C15) + start))


def lookup_table(size: int) -> np.ndarray:
    """This thread's table of -1, at least `size` long; callers that write to it restore the -1."""
    table: Any = getattr(_scratch, "table", None)
    if table is None or len(table) < size:
        table = np.full(size, -1, np.int32)
        _scratch.table = table
    return table


def make_docs(
    block: Block,
    n_words: int,
    id_map: np.ndarray | None = None,
    n_authors: int = 0,
    author_map: np.ndarray | None = None,
    *,
    in_order: bool = True,
) -> tuple[Docs, dict[str, np.ndarray | None]]:
    """Documents with ids local to the slice, and for each axis on which documents have ids, the ids they stand for.

    Parameters
    ----------
    block : documents with corpus ids
    n_words, n_authors : sizes of the corpus' axes; there may be more authors
    id_map, author_map : int32, corpus id to the params' id, -1 for words and authors that the params do not know;
        they are dropped
    in_order : whether the ids of a document get the order of the params' ids. What a kernel finds may depend on the
        order, and the corpus' ids on the other documents that were read with this one.
    """
    words, counts = block.words, block.counts
    order = ascending(block.indptr, words, id_map) if in_order and id_map is not None else None
    if order is not None:
        words, counts = words[order], counts[order]
    indptr, words, counts, ids = _compact(block.indptr, words, counts, n_words, id_map)
    axes: dict[str, np.ndarray | None] = {"word": ids, "column": ids, "row": block.rows.astype(np.int32)}
    if block.author_indptr is None or block.authors is None:
        axes["author"] = np.empty(0, np.int32)
        return Docs(indptr, words, counts, block.rows, len(ids)), axes
    ones = np.ones(len(block.authors), np.float32)
    n_authors = max(n_authors, int(block.authors.max(initial=-1)) + 1)
    author_indptr, authors, _, author_ids = _compact(
        block.author_indptr, block.authors, ones, n_authors, author_map
    )
    axes["author"] = author_ids
    docs = Docs(indptr, words, counts, block.rows, len(ids), author_indptr, authors, len(author_ids))
    return docs, axes


def tokens_of(docs: Docs) -> float:
    """The sum of the counts."""
    return float(_kernels.n_tokens(docs.counts))


def _compact(
    indptr: np.ndarray, ids: np.ndarray, counts: np.ndarray, size: int, id_map: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    nnz = len(ids)
    out_indptr = np.empty(len(indptr), np.int64)
    out_ids = buffers.empty(nnz, np.int32)
    out_counts = buffers.empty(nnz, np.float32)
    distinct = buffers.empty(min(nnz, max(size, 1)), np.int32)
    table = lookup_table(size)
    mapping = NO_MAP if id_map is None else id_map
    n_ids, kept = _kernels.compact(
        indptr, ids, counts, mapping, table, out_indptr, out_ids, out_counts, distinct
    )
    return out_indptr, out_ids[:kept], out_counts[:kept], distinct[:n_ids].copy()


def ascending(indptr: np.ndarray, ids: np.ndarray, id_map: np.ndarray | None) -> np.ndarray | None:
    """Positions that sort the ids of each document by what `id_map` maps them to; None where they are sorted."""
    mapped = ids if id_map is None else id_map[ids]
    documents = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if not ((np.diff(mapped) < 0) & (np.diff(documents) == 0)).any():
        return None
    return np.lexsort((mapped, documents))
