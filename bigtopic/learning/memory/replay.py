"""A simulation of memory: allocates and frees the arrays of a run's rounds, as sizes, by the rules of `buffers`.

Which thread finishes its slice next is not known in advance, so it is drawn at random. A thread's pool keeps what it
allocated until another thread needs it while it is not in use. A round of few slices needs, and begins, no more threads
than slices. The last slices of a round are replayed one by one, because then the most sums wait; those before them as
nodes of the merge tree.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bigtopic import buffers
from bigtopic.learning.reduce import LARGE, Tree, depth, left_half
from bigtopic.plan.delays import group_size
from bigtopic.plan.slices import SUBTREE
from bigtopic.types import Scratch

__all__ = ["Ledger", "Piece", "Rounds", "SliceSizes", "Sum", "most_sums"]

WAITING = 2  # slices that may be finished but not merged yet, besides one for each thread
_SUBTREES = 2  # replayed slice by slice, at least, and as many as keep all threads busy
_NODES = 64  # of the others, about
_SPREAD = 0.1  # relative, of the sizes of sums of as many documents
_HUGE = 1 << 22  # bytes from which on NumPy asks the system for huge pages
_HUGE_PAGE = 1 << 21


@dataclass(eq=False)
class Piece:
    """Memory for one array: `held` bytes allocated, of which `touched` are resident.

    used : an array is in it; kept : the pool keeps it for another array afterwards
    """

    held: int
    touched: int = 0
    used: bool = True
    kept: bool = True


class Ledger:
    """Counts resident bytes where each thread has a pool of memory.

    Attributes
    ----------
    peak : the largest number of bytes resident at once
    """

    def __init__(self, n_threads: int) -> None:
        self._pools: list[list[Piece]] = [[] for _ in range(n_threads)]
        self._now = 0
        self.peak = 0

    def take(self, size: float, thread: int | None, touched: float | None = None) -> Piece:
        """An array of `size` bytes, all or `touched` of them resident, from a thread's pool, or the system's (None)."""
        piece = self._fresh(int(size)) if thread is None else self._from_pool(int(size), thread)
        more = max(0, _resident(int(size if touched is None else touched), piece.held) - piece.touched)
        piece.touched += more
        piece.used = True
        self._now += more
        self.peak = max(self.peak, self._now)
        return piece

    def free(self, *pieces: Piece) -> None:
        """These arrays are no longer in use."""
        for piece in pieces:
            piece.used = False
            if not piece.kept:
                self._forget(piece)

    def _fresh(self, size: int) -> Piece:
        return Piece(size, kept=False)

    def _from_pool(self, size: int, thread: int) -> Piece:
        if size < buffers.SMALL:
            return self._fresh(size)
        own = self._pools[thread]
        piece = _taken([own], size) or _taken(self._pools, size) or Piece(buffers.room(size))
        own.append(piece)
        if len(own) > buffers.KEPT:
            last = own.pop(0)
            last.kept = False
            if not last.used:
                self._forget(last)
        return piece

    def _forget(self, piece: Piece) -> None:
        self._now -= piece.touched
        piece.touched = 0


def _taken(pools: Sequence[list[Piece]], size: int) -> Piece | None:
    """Take the smallest unused piece that fits out of its pool, as `buffers` does."""
    unused = [
        (piece, pool) for pool in pools for piece in pool if not piece.used and buffers.fits(size, piece.held)
    ]
    if not unused:
        return None
    piece, pool = min(unused, key=lambda one: one[0].held)
    pool.remove(piece)
    return piece


def _resident(touched: int, held: int) -> int:
    """Bytes that are resident when the first `touched` ones of an array's memory are: with huge pages, half a page more
    on average."""
    return min(held, touched + _HUGE_PAGE // 2) if held >= _HUGE and touched else touched


@dataclass(frozen=True)
class SliceSizes:
    """Arrays of one slice, bytes.

    Attributes
    ----------
    gathered : documents and rows of the params; freed when the kernel has returned
    passing : allocated from the system, and freed before the kernel runs
    scratch : of the kernel
    read, written : document state of an earlier pass, and of this one
    """

    gathered: Sequence[float]
    passing: float
    scratch: Scratch
    read: float = 0.0
    written: float = 0.0

    def n_bytes(self) -> float:
        """The sum."""
        arrays = *self.gathered, *self.scratch.pooled
        return sum(arrays) + self.passing + self.scratch.transient + self.read + self.written


@dataclass
class _AtWork:
    """What a slice of `n_docs` documents holds while the kernel runs.

    gathered : and what the kernel reads of earlier passes
    """

    n_docs: int
    gathered: list[Piece]
    transient: Piece
    pooled: list[Piece]
    written: list[Piece]


@dataclass
class Sum:
    """Statistics of some documents, one piece for each array."""

    n_docs: int
    pieces: list[Piece]


@dataclass
class Rounds:
    """Replays rounds on threads.

    Attributes
    ----------
    ledger : counts the memory
    n_threads : at least 1
    of_slice : documents of a slice -> sizes of its arrays
    stats : number of documents -> bytes of each array's statistics
    most : bytes of each array's statistics where they cover all rows
    rng : draws the thread that is next
    """

    ledger: Ledger
    n_threads: int
    of_slice: Callable[[int], SliceSizes]
    stats: Callable[[int], list[float]]
    most: list[float]
    rng: random.Random
    _thread: int = 0  # the one that merges now
    _unwritten: list[Piece] = field(default_factory=list)  # document state of the slice that finished last
    # Of delayed rounds: how many there were, those that are at work, and those whose statistics wait.
    _number: int = 0
    _busy: dict[int, tuple[int, _AtWork]] = field(default_factory=dict)
    _waiting: dict[int, Sum] = field(default_factory=dict)

    def round(self, slices: Sequence[int]) -> Sum:
        """The statistics of a round; `slices` has the number of documents of each slice."""
        tree: Tree = Tree(len(slices), self._add)
        done: dict[int, Sum] = {}
        busy: dict[int, tuple[int, _AtWork]] = {}
        merged = self._push_first(tree, slices)
        n_threads = min(self.n_threads, len(slices))
        # All threads begin by gathering.
        passing = [self.of_slice(n_docs).passing for n_docs in slices[merged : merged + n_threads]]
        self.ledger.free(*[self.ledger.take(size, None) for size in passing])
        for item, n_docs in enumerate(slices[merged:], merged):
            while len(busy) == n_threads or (busy and item - merged >= n_threads + WAITING):
                merged = self._finish(busy, done, tree, merged)
            thread = self.rng.choice([t for t in range(n_threads) if t not in busy])
            busy[thread] = item, self._begin(thread, n_docs, self._gather(thread, n_docs))
        while busy:
            merged = self._finish(busy, done, tree, merged)
        self.ledger.free(*self._unwritten)
        total: Sum = tree.result()
        return total

    def delayed(self, n_docs: int, delay: int) -> None:
        """A round of one slice that may miss `delay` updates. At most two groups of rounds, this one included, are at
        work or have statistics that wait."""
        if len(self._busy) == self.n_threads:
            self._finish_delayed()
        while len(self._busy) + len(self._waiting) >= 2 * group_size(delay):
            if not self._step():
                self._finish_delayed()
        thread = self.rng.choice([t for t in range(self.n_threads) if t not in self._busy])
        self._busy[thread] = self._number, self._begin(thread, n_docs, self._gather(thread, n_docs))
        self._number += 1

    def _step(self) -> bool:
        """Step by the oldest round, if its statistics are there."""
        oldest = self._number - len(self._busy) - len(self._waiting)
        if oldest not in self._waiting:
            return False
        self.ledger.free(*self._waiting.pop(oldest).pieces)
        return True

    def _finish_delayed(self) -> None:
        thread = self.rng.choice(sorted(self._busy))
        number, one = self._busy.pop(thread)
        self._waiting[number] = self._returned(thread, one)

    def _gather(self, thread: int, n_docs: int) -> list[Piece]:
        sizes = self.of_slice(n_docs)
        self.ledger.free(self.ledger.take(sizes.passing, None))
        return [self.ledger.take(size, thread) for size in sizes.gathered]

    def _begin(self, thread: int, n_docs: int, gathered: list[Piece]) -> _AtWork:
        sizes, take = self.of_slice(n_docs), self.ledger.take
        return _AtWork(
            n_docs,
            [*gathered, take(sizes.read, None)],
            take(sizes.scratch.transient, None),
            [take(size, thread) for size in sizes.scratch.pooled],
            [take(sizes.written, thread)] if sizes.written else [],
        )

    def _returned(self, thread: int, one: _AtWork) -> Sum:
        """The statistics, allocated where the kernel allocates its own arrays; then what the slice needed is freed, and
        its state is written when that of the slice before is."""
        self.ledger.free(one.transient)
        pool = thread if one.pooled or one.written else None
        stats = Sum(one.n_docs, [self.ledger.take(size, pool) for size in self.stats(one.n_docs)])
        self.ledger.free(*one.gathered, *one.pooled, *self._unwritten)
        self._unwritten = one.written
        return stats

    def _finish(
        self, busy: dict[int, tuple[int, _AtWork]], done: dict[int, Sum], tree: Tree, merged: int
    ) -> int:
        """One of the threads finishes its slice, and merges what can be merged."""
        self._thread = self.rng.choice(sorted(busy))
        item, one = busy.pop(self._thread)
        done[item] = self._returned(self._thread, one)
        while merged in done:
            tree.push(done.pop(merged))
            merged += 1
        return merged

    def _push_first(self, tree: Tree, slices: Sequence[int]) -> int:
        """Push the slices that are not replayed one by one, as nodes; their number."""
        one_by_one = SUBTREE * max(_SUBTREES, 1 + -(-self.n_threads // SUBTREE))
        first = max(0, len(slices) - one_by_one) // SUBTREE * SUBTREE
        done = 0
        for size in _nodes(len(slices), first, max(SUBTREE, len(slices) // _NODES)):
            n_docs = sum(slices[done : done + size])
            self._thread = self.rng.randrange(self.n_threads)
            tree.push(Sum(n_docs, [self._take_sum(one, one) for one in self.stats(n_docs)]), size)
            done += size
        return first

    def _add(self, a: Sum, b: Sum) -> Sum:
        """As `reduce.add`: memory for the rows of both, of which the rows of the union are touched."""
        n_docs = a.n_docs + b.n_docs
        both = zip(self.stats(a.n_docs), self.stats(b.n_docs), self.stats(n_docs), self.most, strict=True)
        pieces = [self._take_sum(min(one + other, most), union) for one, other, union, most in both]
        self.ledger.free(*a.pieces, *b.pieces)
        return Sum(n_docs, pieces)

    def _take_sum(self, size: float, touched: float) -> Piece:
        """Of sums about as large as `LARGE`, some are kept and some are not, since minibatches differ."""
        about = abs(size / LARGE - 1) < _SPREAD
        kept = self.rng.random() < 0.5 if about else size < LARGE
        return self.ledger.take(size, self._thread if kept else None, touched)


def _nodes(n_slices: int, first: int, most: int) -> list[int]:
    """Sizes of nodes, of at most `most` slices, that are together the first slices of a tree of `n_slices`."""
    if first == 0 or (first == n_slices and n_slices <= most):
        return [first] * (first > 0)
    left = left_half(n_slices)
    return _nodes(left, min(first, left), most) + _nodes(n_slices - left, max(0, first - left), most)


def most_sums(n_slices: int) -> int:
    """Sums in use at once, besides one for each thread: those waiting, one for each level of the tree, the round's, and
    those of a merge."""
    return WAITING + depth(n_slices) + 4
