"""The arrays of a run's rounds one after another, as sizes: what they keep resident where `buffers` hands out memory.

Which thread has the next slice done nobody knows: it is drawn by chance. What a thread's pool has handed out it keeps,
so a run of many slices comes to hold, in every thread, what any of them needs. Of several draws, the one
that needs most counts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bigtopic import buffers
from bigtopic.runtime.reduce import WINDOW, Tree
from bigtopic.runtime.slices import SUBTREE
from bigtopic.types import Scratch

__all__ = ["Ledger", "Piece", "Rounds", "SliceSizes", "Sum"]

WAITING = 2  # slices that may be done, beside one for each thread, before their statistics are merged
_SLICES = 2 * SUBTREE  # that are followed one by one; of further ones subtrees, and windows
_WINDOWS = 3


@dataclass(eq=False)
class Piece:
    """Memory for one array. `held` bytes are taken, `touched` are resident."""

    held: int
    touched: int = 0
    used: bool = True
    kept: bool = True


class Ledger:
    """What is resident now, and at most, where each thread has a pool of memory.

    Attributes
    ----------
    peak : bytes
    """

    def __init__(self, n_threads: int) -> None:
        self._pools: list[list[Piece]] = [[] for _ in range(n_threads)]
        self._now = 0
        self.peak = 0

    def take(self, size: float, thread: int | None, touched: float | None = None) -> Piece:
        """An array of `size` bytes from a thread's pool, or from the system for None."""
        piece = self._fresh(int(size)) if thread is None else self._from_pool(int(size), self._pools[thread])
        more = max(0, int(size if touched is None else touched) - piece.touched)
        piece.touched += more
        piece.used = True
        self._now += more
        self.peak = max(self.peak, self._now)
        return piece

    def free(self, *pieces: Piece) -> None:
        """Nobody refers to these any more."""
        for piece in pieces:
            piece.used = False
            if not piece.kept:
                self._forget(piece)

    def _fresh(self, size: int) -> Piece:
        return Piece(size, kept=False)

    def _from_pool(self, size: int, pool: list[Piece]) -> Piece:
        if size < buffers.SMALL:
            return self._fresh(size)
        unused = [piece for piece in pool if not piece.used and buffers.fits(size, piece.held)]
        if unused:
            return min(unused, key=lambda piece: piece.held)
        pool.insert(0, Piece(buffers.room(size)))
        for piece in pool[buffers.KEPT :]:
            piece.kept = False
            if not piece.used:
                self._forget(piece)
        del pool[buffers.KEPT :]
        return pool[0]

    def _forget(self, piece: Piece) -> None:
        self._now -= piece.touched
        piece.touched = 0


@dataclass(frozen=True)
class SliceSizes:
    """Arrays of one slice, bytes.

    Attributes
    ----------
    gathered : documents and rows of the params; gone when the kernel has run
    passing : from the system, gone before the kernel runs
    scratch : of the kernel
    """

    gathered: Sequence[float]
    passing: float
    scratch: Scratch


@dataclass
class Sum:
    """Statistics of some documents; `pieces` has one for each array."""

    n_docs: int
    pieces: list[Piece]


@dataclass
class Rounds:
    """Replays rounds on threads.

    Attributes
    ----------
    ledger : to write to
    n_threads : that work
    of_slice : of so many documents
    stats : bytes of the statistics of so many documents, by array
    most : bytes of each array's statistics of all rows
    chance : draws the thread that is next
    """

    ledger: Ledger
    n_threads: int
    of_slice: Callable[[int], SliceSizes]
    stats: Callable[[int], list[float]]
    most: list[float]
    chance: random.Random
    _thread: int = 0  # that adds now

    def round(self, slices: Sequence[int]) -> Sum:
        """The statistics of slices of so many documents."""
        tree: Tree = Tree(self._add)
        done: dict[int, Sum] = {}
        busy: dict[int, tuple[int, int, list[Piece], list[Piece]]] = {}
        merged = 0
        for item, n_docs in enumerate(slices[:_SLICES]):
            while len(busy) == self.n_threads or (busy and item - merged >= self.n_threads + WAITING):
                merged = self._finish(busy, done, tree, merged)
            thread = self.chance.choice([t for t in range(self.n_threads) if t not in busy])
            busy[thread] = item, n_docs, self._gather(thread, n_docs), self._scratch(thread, n_docs)
        while busy:
            merged = self._finish(busy, done, tree, merged)
        self._push_rest(tree, slices[_SLICES:])
        return tree.result()

    def delayed(self, n_docs: int, waiting: Sum | None) -> Sum:
        """A round of one slice. The step of the one before waits until this one is gathered; another thread does it
        while the kernel runs."""
        thread = self.chance.randrange(self.n_threads)
        gathered = self._gather(thread, n_docs)
        if waiting is not None and self.n_threads == 1:
            self.ledger.free(*waiting.pieces)
        scratch = self._scratch(thread, n_docs)
        stats = self._returned(thread, n_docs, gathered, scratch)
        if waiting is not None and self.n_threads > 1:
            self.ledger.free(*waiting.pieces)
        return stats

    def _gather(self, thread: int, n_docs: int) -> list[Piece]:
        sizes = self.of_slice(n_docs)
        self.ledger.free(self.ledger.take(sizes.passing, None))
        return [self.ledger.take(size, thread) for size in sizes.gathered]

    def _scratch(self, thread: int, n_docs: int) -> list[Piece]:
        scratch = self.of_slice(n_docs).scratch
        return [
            self.ledger.take(scratch.passing, None),
            *(self.ledger.take(n, thread) for n in scratch.pooled),
        ]

    def _returned(self, thread: int, n_docs: int, gathered: list[Piece], scratch: list[Piece]) -> Sum:
        """The statistics, from where the kernel has its own arrays."""
        passing, *pooled = scratch
        self.ledger.free(passing)
        pool = thread if pooled else None
        stats = Sum(n_docs, [self.ledger.take(size, pool) for size in self.stats(n_docs)])
        self.ledger.free(*gathered, *pooled)
        return stats

    def _finish(
        self,
        busy: dict[int, tuple[int, int, list[Piece], list[Piece]]],
        done: dict[int, Sum],
        tree: Tree,
        merged: int,
    ) -> int:
        """One of the threads ends its slice and merges what is next."""
        self._thread = self.chance.choice(sorted(busy))
        item, n_docs, gathered, scratch = busy.pop(self._thread)
        done[item] = self._returned(self._thread, n_docs, gathered, scratch)
        while merged in done:
            tree.push(done.pop(merged))
            merged += 1
        return merged

    def _push_rest(self, tree: Tree, slices: Sequence[int]) -> None:
        """Complete subtrees of the first window, and some further windows; all are of about the same size."""
        n_subtrees = -(-len(slices) // SUBTREE)
        in_window = min(n_subtrees, WINDOW - _SLICES // SUBTREE)
        for push, number, size in (
            (tree.push_subtree, in_window, SUBTREE),
            (tree.push_window, min(_WINDOWS, -(-(n_subtrees - in_window) // WINDOW)), SUBTREE * WINDOW),
        ):
            for _ in range(number):
                n_docs = sum(slices[:size])
                self._thread = self.chance.randrange(self.n_threads)
                push(Sum(n_docs, [self.ledger.take(one, self._thread) for one in self.stats(n_docs)]))

    def _add(self, a: Sum, b: Sum) -> Sum:
        """As `reduce.add`: memory for the rows of both, of which those of the union are touched."""
        n_docs = a.n_docs + b.n_docs
        both = zip(self.stats(a.n_docs), self.stats(b.n_docs), self.stats(n_docs), self.most, strict=True)
        pieces = [
            self.ledger.take(min(one + other, most), self._thread, union) for one, other, union, most in both
        ]
        self.ledger.free(*a.pieces, *b.pieces)
        return Sum(n_docs, pieces)
