"""What a run remembers of a small corpus, in memory until it ends, if nothing reads the files before.

Where each pass is one round, labels go from pass to pass without files, which would take a tenth of a pass over a few
hundred thousand tokens. Two passes are in memory: the one that the params count, and the one at work; the older one is
forgotten when the params have moved. Both are written when a run fails, so that the state that its params count is
always in files. The first pass over new documents is written at once, and stays until the last is: a full disk is
noticed before the params count anything.
"""

from __future__ import annotations

from bigtopic.learning.documents import keeps_prepared
from bigtopic.learning.remembering import Kept, Nothing, seen, with_unseen
from bigtopic.learning.run import Run
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
        self._passes: dict[int, dict[SliceRef, State]] = {}
        self._in_files: set[tuple[int, SliceRef]] = set()

    def read(self, ref: SliceRef, iteration: Iteration, kept: Kept) -> State | None:
        state = self._passes.get(iteration.pass_number, {}).get(ref)
        if state is None:
            state = self._files.read(ref.part, ref.start, ref.stop, iteration.pass_number)
        return state if state is None or kept is None else seen(state, kept, self._files.arrays)

    def write(self, ref: SliceRef, iteration: Iteration, kept: Kept, state: State) -> None:
        n_passes = iteration.pass_number + 1
        whole = state if kept is None else with_unseen(state, kept, self._files.arrays)
        self._passes.setdefault(n_passes, {})[ref] = whole
        if n_passes - 1 not in self._passes and not self._files.has(ref.part, n_passes - 1):
            self._files.write(ref.part, ref.start, ref.stop, n_passes, whole)
            self._in_files.add((n_passes, ref))

    def moved(self, pass_number: int) -> None:
        self._passes = {n: states for n, states in self._passes.items() if n > pass_number}
        self._in_files = {one for one in self._in_files if one[0] > pass_number}

    def close(self) -> None:
        for n_passes, states in sorted(self._passes.items()):
            for ref, state in states.items():
                if (n_passes, ref) not in self._in_files:
                    self._files.write(ref.part, ref.start, ref.stop, n_passes, state)
        self._passes = {}


def may_wait(run: Run) -> bool:
    """Whether the state of an unseen run may wait in memory: its passes are single rounds of one iteration, over the
    same slices."""
    return run.plan.n_rounds == 1 and run.settings.one_iteration and keeps_prepared(run)
