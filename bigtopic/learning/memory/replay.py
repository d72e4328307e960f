"""A simulation of memory: allocates and frees the arrays of a run's rounds, as sizes, by the rules of `buffers`.

Which thread finishes its slice next is not known in advance, so it is drawn at random. A round of few slices needs, and
begins, no more threads than slices. The last slices of a round are replayed one by one, because then the most sums
wait; those before them as nodes of the merge tree.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from bigtopic import buffers
from bigtopic.learning.reduce import LARGE, Tree, depth, left_half
from bigtopic.types import Scratch

__all__ = ["Ledger", "Piece", "Reading", "Rounds", "SliceSizes", "Sum", "most_sums"]

WAITING = 2  # slices that may be finished but not merged yet, besides one for each thread
_LAST = 16  # slices replayed one by one, besides one for each thread, or as many again if those are more
_NODES = 64  # as which the other slices are replayed, about
_NODE = 16  # slices of one of these, at most, in a round of up to `_NODES` times as many
_SPREAD = 0.1  # relative, of the sizes of sums over equally many documents
_HUGE = 1 << 22  # bytes from which on NumPy asks the system for huge pages
_HUGE_PAGE = 1 << 21


@dataclass(eq=False)
class Piece:
    """Memory for one array: `held` bytes allocated, of which `touched` are resident.

    kept : whether it serves another array afterwards
    """

    held: int
    touched: int = 0
    kept: bool = True


class Ledger:
    """Counts resident bytes.

    Attributes
    ----------
    peak : the largest number of bytes resident at once
    """

    def __init__(self) -> None:
        self._unused: list[Piece] = []
        self._now = 0
        self.peak = 0

    def take(self, size: float, touched: float | None = None) -> Piece:
        """An array of `size` bytes of `buffers`, all or `touched` of them resident."""
        if size < buffers.SMALL:
            return self.fresh(size, touched)
        return self._touch(self._pooled(int(size)), size if touched is None else touched)

    def fresh(self, size: float, touched: float | None = None) -> Piece:
        """The same in memory of the system, to which it returns when the array is freed."""
        return self._touch(Piece(int(size), kept=False), size if touched is None else touched)

    def _touch(self, piece: Piece, touched: float) -> Piece:
        more = max(0, _resident(int(touched), piece.held) - piece.touched)
        piece.touched += more
        self._now += more
        self.peak = max(self.peak, self._now)
        return piece

    def free(self, *pieces: Piece) -> None:
        """These arrays are no longer in use."""
        for piece in pieces:
            assert piece not in self._unused
            if piece.kept:
                self._unused.append(piece)
            else:
                self._now -= piece.touched

    def _pooled(self, size: int) -> Piece:
        """The smallest unused piece that fits, as `buffers` has it, or a new one."""
        fitting = [piece for piece in self._unused if buffers.fits(size, piece.held)]
        if not fitting:
            return Piece(buffers.room(size))
        piece = min(fitting, key=lambda piece: piece.held)
        self._unused.remove(piece)
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
        return (
            sum([*self.gathered, *self.scratch.pooled])
            + self.passing
            + self.scratch.transient
            + self.read
            + self.written
        )


class CrewSizes(NamedTuple):
    """Arrays of a crew: bytes, and how many of them are written.

    Attributes
    ----------
    shared, own : of all threads, and of each
    n_docs : documents that are in memory
    """

    shared: Sequence[tuple[float, float]]
    own: Sequence[tuple[float, float]]
    n_docs: int

    def arrays(self, n_threads: int) -> Sequence[tuple[float, float]]:
        """All arrays."""
        return *self.shared, *n_threads * tuple(self.own)

    def at_most(self, n_threads: int) -> float:
        """What can be resident, with huge pages."""
        return sum(min(buffers.room(int(held)), n + _HUGE_PAGE) for held, n in self.arrays(n_threads))


@dataclass
class Sum:
    """Statistics of some documents, one piece for each array."""

    n_docs: int
    pieces: list[Piece]


@dataclass
class _AtWork:
    """What a slice holds while the kernel runs.

    gathered : and what the kernel reads of earlier passes
    stats : without pieces, if the kernel allocates them last
    sizes_of_stats : bytes of each array of them
    """

    gathered: list[Piece]
    transient: Piece
    pooled: list[Piece]
    written: list[Piece]
    stats: Sum
    sizes_of_stats: Sequence[float]


@dataclass
class Reading:
    """Replays the reading of a corpus into memory of `buffers`: when a slice takes the last documents that are in
    memory, another read block is read, and then the oldest one is freed.

    Attributes
    ----------
    n_docs : of a read block
    arrays : bytes of each of its arrays
    kept : read blocks in memory, besides one that is read
    all : whether these are the whole corpus, which stays for the next pass
    """

    n_docs: int
    arrays: Sequence[float]
    kept: int
    all: bool = False
    _blocks: deque[list[Piece]] = field(default_factory=deque)
    _left: int = 0  # documents that no slice has taken

    def take(self, n_docs: int, ledger: Ledger) -> None:
        """A slice takes the next documents."""
        while len(self._blocks) < self.kept or (self._left < n_docs and not self.all):
            self._blocks.append([ledger.take(size) for size in self.arrays])
            self._left += self.n_docs
            if len(self._blocks) > self.kept:
                ledger.free(*self._blocks.popleft())
        self._left -= n_docs

    def more(self, n_docs: int, ledger: Ledger) -> list[Piece]:
        """The read blocks of so many documents that are in use, but no longer kept."""
        n_blocks = 0 if self.all else max(0, -(-n_docs // self.n_docs) + 1 - self.kept)
        return [ledger.take(size) for _ in range(n_blocks) for size in self.arrays]


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
    rng : draws the slice that is done next
    reading : of the documents; None if they are in memory
    """

    ledger: Ledger
    n_threads: int
    of_slice: Callable[[int], SliceSizes]
    stats: Callable[[int], list[float]]
    most: list[float]
    rng: random.Random
    reading: Reading | None = None
    _unwritten: list[Piece] = field(default_factory=list)  # document state of the slice that finished last
    # Of delayed rounds: how many there were, and how many are settled; those that were gathered, that are at work, and
    # whose statistics wait.
    _number: int = 0
    _settled: int = 0
    _ready: deque[tuple[int, Callable[[], _AtWork]]] = field(default_factory=deque)
    _busy: list[tuple[int, _AtWork]] = field(default_factory=list)
    _waiting: dict[int, Sum] = field(default_factory=dict)

    def round(self, slices: Sequence[int]) -> Sum:
        """The statistics of a round; `slices` has the number of documents of each slice."""
        tree: Tree = Tree(len(slices), self._add)
        done: dict[int, Sum] = {}
        busy: list[tuple[int, _AtWork]] = []
        merged = self._push_first(tree, slices)
        n_threads = min(self.n_threads, len(slices))
        # All threads begin by gathering.
        passing = [self.of_slice(n_docs).passing for n_docs in slices[merged : merged + n_threads]]
        self.ledger.free(*[self.ledger.fresh(size) for size in passing])
        for item, n_docs in enumerate(slices[merged:], merged):
            while len(busy) == n_threads or (busy and item - merged >= n_threads + WAITING):
                merged = self._finish(busy, done, tree, merged)
            busy.append((item, self._begin(n_docs, self._gather(n_docs))))
        while busy:
            merged = self._finish(busy, done, tree, merged)
        self._written()
        total: Sum = tree.result()
        return total

    def crew(self, sizes: CrewSizes, n_docs: int, n_rounds: int) -> None:
        """A segment of a crew, whose rounds have `n_docs` documents. What it reads stays until its groups settle; what
        earlier rounds left unused may be too small for it."""
        if self.reading is not None:
            for _ in range(n_rounds):
                self.reading.take(n_docs, self.ledger)
        fresh = self.ledger.fresh
        taken = [fresh(buffers.room(int(held)), written) for held, written in sizes.arrays(self.n_threads)]
        # They are few, so half a huge page more on average may be nearly a whole one.
        taken += [fresh(_HUGE_PAGE / 2) for piece in taken if piece.held >= _HUGE]
        taken += self.reading.more(sizes.n_docs, self.ledger) if self.reading is not None else []
        self.ledger.free(*taken)

    def delayed(self, n_docs: int, group: int, at_work: int) -> None:
        """A round of one slice, of a group of so many. Of as many groups as may be at work, at most, the rounds have
        gathered and are not settled. Threads gather one slice more each before they begin with the first."""
        sizes = self.of_slice(n_docs)
        if len(self._busy) == self.n_threads:  # the one that gathers is not at work
            self._finish_delayed()
        if self._number + 1 - self._settled > at_work * group:
            self.settle(group)
        if self.reading is not None:
            self.reading.take(n_docs, self.ledger)
        self.ledger.free(self.ledger.fresh(sizes.passing))
        take = self.ledger.take
        gathered = [take(size) for size in sizes.gathered]
        self._ready.append((self._number, partial(self._at_work, sizes, n_docs, gathered)))
        self._number += 1
        while len(self._ready) >= self.n_threads:
            self._go_on()

    def settle(self, n_rounds: int | None = None) -> None:
        """Finish so many of the oldest rounds, or all, and free their statistics."""
        self._settled = self._number if n_rounds is None else self._settled + n_rounds
        while any(number < self._settled for number, _ in [*self._ready, *self._busy]):
            self._go_on()
        for number in [number for number in self._waiting if number < self._settled]:
            self.ledger.free(*self._waiting.pop(number).pieces)

    def _go_on(self) -> None:
        """Begin with what was gathered first, if there is a thread for it; otherwise, finish something."""
        if self._ready and len(self._busy) < self.n_threads:
            number, begin = self._ready.popleft()
            self._busy.append((number, begin()))
        else:
            self._finish_delayed()

    def _finish_delayed(self) -> None:
        number, one = self._busy.pop(self.rng.randrange(len(self._busy)))
        self._waiting[number] = self._returned(one)

    def _gather(self, n_docs: int) -> list[Piece]:
        if self.reading is not None:
            self.reading.take(n_docs, self.ledger)
        sizes = self.of_slice(n_docs)
        self.ledger.free(self.ledger.fresh(sizes.passing))
        return [self.ledger.take(size) for size in sizes.gathered]

    def _begin(self, n_docs: int, gathered: list[Piece]) -> _AtWork:
        return self._at_work(self.of_slice(n_docs), n_docs, gathered)

    def _at_work(self, sizes: SliceSizes, n_docs: int, gathered: list[Piece]) -> _AtWork:
        """Kernels that use `buffers` allocate their statistics with their other arrays there."""
        take, fresh, stats = self.ledger.take, self.ledger.fresh, self.stats(n_docs)
        one = _AtWork(
            [*gathered, fresh(sizes.read)],
            fresh(sizes.scratch.transient),
            [take(size) for size in sizes.scratch.pooled],
            [take(sizes.written)] if sizes.written else [],
            Sum(n_docs, []),
            stats,
        )
        if one.pooled or one.written:
            one.stats.pieces = [take(size) for size in stats]
        return one

    def _returned(self, one: _AtWork) -> Sum:
        """The statistics; then what the slice needed is freed, and its state is written when that of the slice before
        is."""
        self.ledger.free(one.transient)
        one.stats.pieces = one.stats.pieces or [self.ledger.fresh(size) for size in one.sizes_of_stats]
        self.ledger.free(*one.gathered, *one.pooled)
        self._written()
        self._unwritten = one.written
        return one.stats

    def _written(self) -> None:
        """The state that waits is written."""
        self.ledger.free(*self._unwritten)
        self._unwritten = []

    def _finish(self, busy: list[tuple[int, _AtWork]], done: dict[int, Sum], tree: Tree, merged: int) -> int:
        """One of the threads finishes its slice, and merges what can be merged."""
        item, one = busy.pop(self.rng.randrange(len(busy)))
        done[item] = self._returned(one)
        while merged in done:
            tree.push(done.pop(merged))
            merged += 1
        return merged

    def _push_first(self, tree: Tree, slices: Sequence[int]) -> int:
        """Push the slices that are not replayed one by one, as nodes; their number."""
        first = max(0, len(slices) - _LAST - max(_LAST, self.n_threads))
        done = 0
        for size in _nodes(len(slices), first, max(_NODE, len(slices) // _NODES)):
            n_docs = sum(slices[done : done + size])
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
        return (self.ledger.take if kept else self.ledger.fresh)(size, touched)


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
