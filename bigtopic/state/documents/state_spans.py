"""Document state in the middle of a pass: documents that it has reached have new state, the others their old one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bigtopic.plan.cursor import Cursor
from bigtopic.plan.slices import Plan, SliceRef
from bigtopic.state.documents.state_files import State, StateFiles

__all__ = ["are_there", "check", "complete", "read"]


def read(files: StateFiles, plan: Plan, cursor: Cursor, part: int, start: int, stop: int) -> State:
    """The state of documents start:stop of a part at a cursor of the plan."""
    pieces = [files.missing(part, start, start)] + [
        _known(files, part, *span) for span in _spans(start, stop, _left(plan, cursor).get(part, ()), cursor)
    ]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in files.arrays}


def check(files: StateFiles, plan: Plan, cursor: Cursor) -> None:
    """Read all that a run at a cursor of the plan begins with, a slice at a time.

    Raises
    ------
    CorpusDamaged
        When a file is missing or cut short, or does not hold what was written.
    """
    newest, left, groups = _newest(cursor), {*_refs(plan, cursor)}, set()
    for rnd in plan.rounds(cursor.pass_number):
        for ref in rnd.slices:
            n_passes = cursor.pass_number if ref in left else newest
            files.read(ref.part, ref.start, ref.stop, n_passes)
            groups.add((ref.part, n_passes))
    for part, n_passes in sorted(groups):
        files.require_group(part, n_passes)


def complete(files: StateFiles, plan: Plan, cursor: Cursor) -> None:
    """Give the documents that the pass did not reach the state that they had before it."""
    left = _left(plan, cursor)
    for part in range(len(files.parts)):
        for ref in left.get(part, ()):
            state = _known(files, part, ref.start, ref.stop, cursor.pass_number)
            files.write(part, ref.start, ref.stop, cursor.pass_number + 1, state)


def are_there(files: StateFiles, plan: Plan | None, cursor: Cursor) -> bool:
    """Whether there are files of every pass that a run at a cursor of the plan reads; None before the first run."""
    numbers = range(len(files.parts))
    written = not cursor.inside_pass or any(files.has(number, cursor.pass_number + 1) for number in numbers)
    reads = _left(plan, cursor) if plan is not None and cursor.inside_pass else numbers
    old = [number for number in reads if files.parts[number].first_pass < cursor.pass_number]
    return written and all(files.has(number, cursor.pass_number) for number in old)


def _known(files: StateFiles, part: int, start: int, stop: int, n_passes: int) -> State:
    return files.read(part, start, stop, n_passes) or files.missing(part, start, stop)


def _left(plan: Plan, cursor: Cursor) -> dict[int, list[SliceRef]]:
    """Slices that the pass has not reached, by part, in the order of the documents."""
    left: dict[int, list[SliceRef]] = {}
    for ref in _refs(plan, cursor):
        left.setdefault(ref.part, []).append(ref)
    return {part: sorted(refs, key=lambda ref: ref.start) for part, refs in left.items()}


def _refs(plan: Plan, cursor: Cursor) -> Iterator[SliceRef]:
    """Slices that the pass has not reached; none between two passes."""
    if cursor.inside_pass:
        for rnd in plan.rounds(cursor.pass_number, cursor.round, cursor.ahead):
            yield from rnd.slices


def _newest(cursor: Cursor) -> int:
    """The pass that wrote the state of documents that the pass has reached."""
    return cursor.pass_number + cursor.inside_pass


def _spans(start: int, stop: int, left: Sequence[SliceRef], cursor: Cursor) -> Iterator[tuple[int, int, int]]:
    """Documents start:stop in runs whose state was written at the same pass: (start, stop, pass)."""
    newest = _newest(cursor)
    for ref in left:
        a, b = max(start, ref.start), min(stop, ref.stop)
        if a < b:
            if start < a:
                yield start, a, newest
            yield a, b, cursor.pass_number
            start = b
    if start < stop:
        yield start, stop, newest
