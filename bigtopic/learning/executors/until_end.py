"""What a run remembers of a small corpus, in memory until it ends, if nothing reads the files before.

Where each pass is one round, labels go from pass to pass without files, which would take a tenth of a pass over a few
hundred thousand tokens. Two passes are in memory: that of the params, and the one that is at work, which replaces it
when the params have moved. So a run that fails, too, leaves the state that its params count. The first pass over new
documents is written at once, and the last one over it: a disk that is full is noticed before the params count anything.
"""

from __future__ import annotations

from bigtopic.learning.executors.documents import keeps_prepared
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.remembering import Kept, Nothing, seen, with_unseen
from bigtopic.learning.work import Iteration
from bigtopic.plan.slices import SliceRef
from bigtopic.state.documents.state_files import State, StateFiles

__all__ = ["UntilEnd", "may_wait"]


class UntilEnd(Nothing):
    """State from pass to pass.

    Parameters
    ----------
    files : where it is kept before and after the run
    """

    def __init__(self, files: StateFiles) -> None:
        self._files = files
        self._counted: dict[SliceRef, State] = {}  # by the params; empty until a pass of this run is
        self._n_passes = 0
        self._written: dict[SliceRef, State] = {}
        self._in_files: set[SliceRef] = set()  # those of the first pass that were written at once

    def read(self, ref: SliceRef, iteration: Iteration, kept: Kept) -> State | None:
        state = self._counted.get(ref)
        if state is None:
            state = self._files.read(ref.part, ref.start, ref.stop, iteration.pass_number)
        return state if state is None or kept is None else seen(state, kept, self._files.arrays)

    def write(self, ref: SliceRef, iteration: Iteration, kept: Kept, state: State) -> None:
        n_passes = iteration.pass_number + 1
        whole = self._written[ref] = state if kept is None else with_unseen(state, kept, self._files.arrays)
        if not self._counted and not self._files.has(ref.part, n_passes - 1):
            self._files.write(ref.part, ref.start, ref.stop, n_passes, whole)
            self._in_files.add(ref)

    def moved(self, pass_number: int) -> None:
        if self._counted:
            self._in_files.clear()
        self._counted, self._n_passes, self._written = self._written, pass_number + 1, {}

    def close(self) -> None:
        for ref, state in self._counted.items():
            if ref not in self._in_files:
                self._files.write(ref.part, ref.start, ref.stop, self._n_passes, state)
        self._counted = {}


def may_wait(run: Run) -> bool:
    """Whether state that stays in memory need not be written in each pass of an unseen run: passes are single rounds
    of one iteration, over the same slices."""
    return run.plan.n_rounds == 1 and run.settings.one_iteration and keeps_prepared(run)
