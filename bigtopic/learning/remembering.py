"""Document state as executors read and write it: in files for a run, in memory for a round.

Files are read a little ahead of the work, with the documents, and written behind it, by separate threads; how much is
in memory is bounded. State of a small corpus stays in memory when it is written, for the next pass. The params move by
a round only after its state is written (`flush`), so the state of all that they count can always be found.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import takewhile
from typing import Protocol

import numpy as np

from bigtopic.learning.run import Iteration, Work
from bigtopic.plan.slices import SliceRef
from bigtopic.state.documents.state_files import State, StateFiles
from bigtopic.types import StateSpec

__all__ = [
    "InFiles",
    "InMemory",
    "Kept",
    "NoState",
    "Remembering",
    "keeps_state",
    "remembering",
    "seen",
    "with_unseen",
]

N_THREADS = 2
KEPT_BYTES = 64 << 20  # state of all documents that stays in memory from pass to pass
MOST_UNWRITTEN = 1  # slices whose state waits to be written
MOST_BUFFERED = 1  # the same, plus slices read ahead: while one waits to be written, no reading ahead begins

# Which entries of a slice the kernel sees, because the params know their words: {"entry": bool (n_entries,)}, and
# "token", bool (n_tokens,), where tokens are remembered. None where it sees all.
Kept = Mapping[str, np.ndarray] | None


class Remembering(Protocol):
    """The state of slices. Thread-safe."""

    def prefetch(self, ref: SliceRef, pass_number: int, later: bool = False) -> None:
        """The slice will be read soon, in this pass; if `later`, after all others."""

    def read(self, ref: SliceRef, iteration: Iteration, kept: Kept) -> State | None:
        """The state of a slice at the beginning of an inner iteration; None where it has none yet."""

    def write(self, ref: SliceRef, iteration: Iteration, kept: Kept, state: State) -> None:
        """Keep the state of a slice at the end of an inner iteration."""

    def flush(self) -> None:
        """Wait until everything is written. Raises what a failed write raised."""

    def close(self) -> None:
        """Stop the threads, if there are any. What waits to be written is lost."""


class NoState:
    """For kernels that remember nothing."""

    def prefetch(self, ref: SliceRef, pass_number: int, later: bool = False) -> None:
        pass

    def read(self, ref: SliceRef, iteration: Iteration, kept: Kept) -> State | None:
        return None

    def write(self, ref: SliceRef, iteration: Iteration, kept: Kept, state: State) -> None:
        raise AssertionError("the kernel declares no state")

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class InMemory(NoState):
    """State from one inner iteration of a round to the next; the next round forgets it.

    Parameters
    ----------
    state : by slice, as the last inner iteration left it; not changed

    Attributes
    ----------
    state : the same; after `flush`, as this inner iteration left it
    """

    def __init__(self, state: dict[SliceRef, State] | None = None) -> None:
        self.state = state or {}
        self._written: dict[SliceRef, State] = {}

    def read(self, ref: SliceRef, iteration: Iteration, kept: Kept) -> State | None:
        return None if iteration.number == 1 else self.state[ref]

    def write(self, ref: SliceRef, iteration: Iteration, kept: Kept, state: State) -> None:
        self._written[ref] = state

    def flush(self) -> None:
        self.state, self._written = self._written, {}


class InFiles:
    """State from pass to pass.

    Parameters
    ----------
    files : where it is kept
    keeps : whether written state also stays in memory until the next pass reads it. Nothing bounds that memory: for
        corpora for which `keeps_state` is true
    """

    def __init__(self, files: StateFiles, keeps: bool = False) -> None:
        self._files = files
        self._keeps = keeps
        self._kept: dict[tuple[SliceRef, int], Future[State | None]] = {}
        self._newest = 0  # of the passes in `_kept`
        self._pool = ThreadPoolExecutor(N_THREADS, thread_name_prefix="bigtopic-state")
        self._wanted: dict[tuple[SliceRef, int], None] = {}  # in the order of the work
        self._later: dict[tuple[SliceRef, int], None] = {}  # after all of these
        self._coming: dict[tuple[SliceRef, int], Future[State | None]] = {}
        self._writes: deque[Future[None]] = deque()
        self._n_unwritten = 0
        self._lock = threading.Condition()

    def prefetch(self, ref: SliceRef, pass_number: int, later: bool = False) -> None:
        wanted = (ref, pass_number)
        with self._lock:
            self._later.pop(wanted, None)
            if wanted not in self._coming and wanted not in self._kept:
                (self._later if later else self._wanted)[wanted] = None
            self._read_ahead()

    def _read_ahead(self) -> None:
        while len(self._coming) + self._n_unwritten < MOST_BUFFERED and (
            queue := self._wanted or self._later
        ):
            wanted = next(iter(queue))
            del queue[wanted]
            self._coming[wanted] = self._reading(*wanted)

    def _reading(self, ref: SliceRef, pass_number: int) -> Future[State | None]:
        return self._pool.submit(self._files.read, ref.part, ref.start, ref.stop, pass_number)

    def read(self, ref: SliceRef, iteration: Iteration, kept: Kept) -> State | None:
        wanted = (ref, iteration.pass_number)
        with self._lock:
            self._wanted.pop(wanted, None)
            self._later.pop(wanted, None)
            there = self._kept.pop(wanted, None) or self._coming.pop(wanted, None)
            reading = there or self._reading(*wanted)
            self._read_ahead()
        state = reading.result()
        return state if state is None or kept is None else seen(state, kept, self._files.arrays)

    def write(self, ref: SliceRef, iteration: Iteration, kept: Kept, state: State) -> None:
        with self._lock:
            self._lock.wait_for(lambda: self._keeps or self._n_unwritten < MOST_UNWRITTEN)
            self._writes.append(self._pool.submit(self._write, ref, iteration.pass_number + 1, kept, state))
            self._n_unwritten += 1
            written = list(takewhile(Future.done, self._writes))
            for _ in written:
                self._writes.popleft()
        for one in written:
            one.result()

    def _write(self, ref: SliceRef, n_passes: int, kept: Kept, state: State) -> None:
        try:
            if kept is not None:
                state = with_unseen(state, kept, self._files.arrays)
            self._files.write(ref.part, ref.start, ref.stop, n_passes, state)
            if self._keeps:
                self._keep((ref, n_passes), state)
        finally:
            with self._lock:
                self._n_unwritten -= 1
                self._lock.notify()
                self._read_ahead()

    def _keep(self, wanted: tuple[SliceRef, int], state: State) -> None:
        """Let the next pass find the state as if it had been read. State that this pass does not read, because it has
        other slices, is forgotten at its end."""
        kept: Future[State | None] = Future()
        kept.set_result(state)
        with self._lock:
            if wanted[1] > self._newest:
                self._newest = wanted[1]
                self._kept = {key: old for key, old in self._kept.items() if key[1] >= self._newest - 1}
            self._kept[wanted] = kept

    def flush(self) -> None:
        with self._lock:
            writes, self._writes = self._writes, deque()
        for future in writes:
            future.result()

    def close(self) -> None:
        with self._lock:
            self._wanted.clear()
            self._later.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._kept.clear()


def seen(state: State, kept: Mapping[str, np.ndarray], arrays: Mapping[str, StateSpec]) -> State:
    """The rows of the entries that the kernel sees."""
    rows = dict(state)
    for name, spec in arrays.items():
        if spec.rows in kept:
            rows[name] = state[name][kept[spec.rows]]
    return rows


def with_unseen(state: State, kept: Mapping[str, np.ndarray], arrays: Mapping[str, StateSpec]) -> State:
    """The inverse of `seen`: rows of all entries."""
    whole = dict(state)
    for name, spec in arrays.items():
        if spec.rows in kept:
            known = kept[spec.rows]
            whole[name] = np.full((len(known), *state[name].shape[1:]), spec.missing, spec.dtype)
            whole[name][known] = state[name]
    return whole


def keeps_state(n_bytes: float) -> bool:
    """Whether state that takes `n_bytes` for all documents stays in memory from pass to pass."""
    return n_bytes <= KEPT_BYTES


def remembering(work: Work, keeps: bool = False) -> Remembering:
    """Where the kernel of a run keeps its state.

    Parameters
    ----------
    keeps : whether the state of a small corpus stays in memory from pass to pass, too: for an executor in one process
    """
    if work.state is not None:
        return InFiles(work.state, keeps and keeps_state(work.state.bytes_in_memory()))
    return InMemory() if work.kernel.state == "round" else NoState()
