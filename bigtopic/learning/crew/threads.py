"""The threads of a crew."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Thread

import numpy as np

from bigtopic import buffers
from bigtopic.kernels.support.entry import frozen, padded_prior
from bigtopic.kernels.support.slice_loop import address_of
from bigtopic.learning.crew import _kernels, columns
from bigtopic.learning.crew.memory import ROOM, GroupMemory, Largest
from bigtopic.learning.crew.segment import CrewSegment
from bigtopic.learning.crew.tables import Tables
from bigtopic.learning.estep import with_params
from bigtopic.learning.loops import FLOAT
from bigtopic.learning.stopping import uninterrupted
from bigtopic.learning.work import Work
from bigtopic.plan.slices import NO_MAP, lookup_table
from bigtopic.state._kernels import PLACES
from bigtopic.state.additions import MOST_PARTS, n_parts
from bigtopic.state.lazy_array import LazyArray

__all__ = ["Crew"]


class Crew:
    """Threads that do the segments of a run, one after the other; between two of them they wait.

    Parameters
    ----------
    work, arrays : of the run; `works_on` is true
    n_slices : of the largest group
    largest : sizes of a slice, as far as they are known; memory for larger ones is found when they come
    n_threads : at least 1, with the one that calls `do`
    """

    def __init__(
        self, work: Work, arrays: Mapping[str, LazyArray], n_slices: int, largest: Largest, n_threads: int
    ) -> None:
        loop = work.kernel.own_loop
        assert loop is not None
        (name,) = work.kernel.views
        self._array = arrays[name]
        self._memory = GroupMemory(n_slices, largest)
        self._largest = largest
        self._n_words = work.n_words
        self._n_threads = n_threads
        self._entry = address_of(loop.infer)
        known = work.id_maps.get("word")
        hyper = with_params(work.hyper, arrays)
        n_columns = self._array.n_columns
        gates = np.array([_allocate_lock() for _ in range(1 + n_threads)], np.int64)
        # Not at the end of the interpreter, when daemon threads may wait for them
        weakref.finalize(self, _free_locks, gates.tolist()).atexit = False
        for gate in gates[1:].tolist():
            _acquire_lock(gate, 1)
        self._tables = Tables(
            np.zeros(columns.N_COUNTERS, np.int64),
            np.zeros((0, columns.N_SLICE), np.int64),
            np.zeros((0, columns.N_GROUP), np.int64),
            np.zeros((0, 1 + len(loop.figures))),
            np.zeros((0, n_columns)),
            gates,
            np.zeros(n_threads, np.int64),
            np.zeros((1 + n_threads, n_threads), np.int64),
            np.full(n_threads, columns.NONE),
            np.empty((n_threads, PLACES), np.int64),
            self._array.raw,
            frozen(NO_MAP if known is None else known, np.int32),
            padded_prior(hyper.doc_topic_prior, n_columns, FLOAT),
            frozen(loop.options(hyper), np.float64),
            # Half of many threads have slices of the other group
            n_parts(n_threads, max(MOST_PARTS, n_threads // 2)),
        )
        self._threads: list[Thread] = []
        self._starter: Thread | None = None
        self._segment: CrewSegment | None = None
        self._failure: BaseException | None = None

    def serves(self, array: LazyArray) -> bool:
        """Whether these are the params that the threads read."""
        return array.raw is self._tables.raw

    def start(self, n_rounds: int) -> None:
        """Begin to start the threads, which then wait for segments of so many rounds."""

        def make_ready() -> None:
            with suppress(RuntimeError, MemoryError):  # `do` tries again
                self._make_room(2 * n_rounds, n_rounds)  # threads join two slices of a round at most
                self._start_threads()

        starter = Thread(target=make_ready, name="bigtopic-crew-starter", daemon=True)
        with uninterrupted(), suppress(RuntimeError, MemoryError):
            starter.start()
            self._starter = starter

    def _await_start(self) -> None:
        if self._starter is not None:
            self._starter.join()
            self._starter = None

    def do(self, segment: CrewSegment, meanwhile: Callable[[], None]) -> None:
        """Do a segment. Re-raises what one of the threads raised; then they have ended.

        Parameters
        ----------
        meanwhile : called once the other threads are at work
        """
        self._segment = segment
        segment.before_end(partial(self._end, segment, early=True))  # whatever interrupts this
        try:
            self._await_start()
            if self._failure is not None:  # of an earlier segment, or of a thread before it had one
                self._end_threads()
                self._failure = None
            with uninterrupted():
                self._make_room(segment.n_slices, segment.n_groups)
                segment.begin(self._tables, self._memory, self._largest)
                self._start_threads()
            meanwhile()
            self._serve(0)
        except BaseException as failure:
            self._fail(failure)
        with uninterrupted():
            self._end(segment, early=self._failure is not None)
        if self._failure is not None:
            raise self._failure

    def _end(self, segment: CrewSegment, early: bool) -> None:
        """Nothing works on the segment any more; if it ends early, threads end, and what they have begun is done."""
        if self._segment is not segment:
            return
        if early:
            self.close()
        segment.end()
        self._segment = None

    def close(self) -> None:
        """End the threads."""
        self._await_start()
        self._end_threads()

    def _end_threads(self) -> None:
        _kernels.stop(self._tables)
        while self._threads:
            self._threads.pop().join()

    def _start_threads(self) -> None:
        """Start those that are missing."""
        for number in range(1 + len(self._threads), self._n_threads):
            thread = Thread(target=self._serve, args=(number,), name=f"bigtopic-crew_{number}", daemon=True)
            self._threads.append(thread)
            try:
                thread.start()
            except BaseException:
                if thread.ident is None:
                    self._threads.remove(thread)
                raise

    def _make_room(self, n_slices: int, n_groups: int) -> None:
        """Make the tables at least as long as this segment needs. Threads in compiled code keep the tables they were
        given, so they must end, and new ones start."""
        tables = self._tables
        if n_slices > len(tables.slices) or n_groups > len(tables.groups):
            self._end_threads()
            self._tables = tables._replace(
                counters=np.zeros_like(tables.counters),
                slices=np.zeros((int(ROOM * n_slices), columns.N_SLICE), np.int64),
                groups=np.zeros((int(ROOM * n_groups), columns.N_GROUP), np.int64),
                figures=np.zeros((int(ROOM * n_slices), tables.figures.shape[1])),
                sums=np.zeros((int(ROOM * n_slices), tables.sums.shape[1])),
                asleep=np.zeros_like(tables.asleep),
                own=np.full_like(tables.own, columns.NONE),
            )

    def _serve(self, number: int) -> None:
        """What each thread does until it is told to stop, or, the first one, until the segment is done."""
        try:
            enter = self._entrance(number)
            while (why := enter()) != columns.OVER:
                if why == columns.GROWS:
                    del enter  # its memory may serve again
                    enter = self._entrance(number)
                else:
                    assert self._segment is not None
                    with uninterrupted():
                        self._segment.lead(number)
        except BaseException as failure:
            self._fail(failure)

    def _entrance(self, number: int) -> Callable[[], int]:
        """The compiled loop, with memory for slices as large as those so far."""
        n_columns, largest = self._array.n_columns, self._largest
        n_entries = int(largest.n_entries * ROOM)
        serve: Callable[..., int] = _kernels.serve
        return partial(
            serve,
            *(self._entry, self._tables, number, lookup_table(max(self._n_words, self._array.n_rows))),
            np.empty(int(largest.n_docs * ROOM) + 1, np.int64),
            buffers.empty(n_entries, np.int32),
            buffers.empty(n_entries, FLOAT),
            buffers.empty((min(n_entries, self._array.n_rows), n_columns), FLOAT),
            buffers.empty(int(largest.scratch * ROOM), FLOAT),
        )

    def _fail(self, failure: BaseException) -> None:
        self._failure = self._failure or failure
        _kernels.stop(self._tables)


_allocate_lock = ctypes.pythonapi.PyThread_allocate_lock
_allocate_lock.argtypes, _allocate_lock.restype = (), ctypes.c_void_p
_acquire_lock = ctypes.pythonapi.PyThread_acquire_lock
_acquire_lock.argtypes, _acquire_lock.restype = (ctypes.c_void_p, ctypes.c_int), ctypes.c_int
_free_lock = ctypes.pythonapi.PyThread_free_lock
_free_lock.argtypes, _free_lock.restype = (ctypes.c_void_p,), None


def _free_locks(addresses: Sequence[int]) -> None:
    for address in addresses:
        _free_lock(address)
