"""Sizes of a crew's arrays; see `footprint` for the equations.

The memory of a group has room for a row for each entry of the largest slice, and what is written stays, so that the
largest groups and slices of a run count, not the usual ones. Of n documents, whose numbers of entries have the
coefficient of variation c, the most entries are taken to be three standard deviations above the mean:

    most(n) = mean(n) x (1 + 3 c / sqrt(n))
"""

from __future__ import annotations

from bigtopic.learning.crew.columns import N_GROUP, N_SLICE, NEAR
from bigtopic.learning.crew.memory import ROOM
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.loops import FLOAT
from bigtopic.learning.memory.replay import CrewSizes
from bigtopic.plan.delays import Groups, largest_group, longest_segment
from bigtopic.state._kernels import PLACES
from bigtopic.state.lazy_array import LazyArray
from bigtopic.types import CallSize

__all__ = ["crew_sizes"]

_DEVIATIONS = 3
_ROUND_BYTES = 2000  # of Python's objects for each round of a segment, and the next one, measured
_PYTHON_BYTES = 1 << 19  # of Python's allocator and the stacks of threads, measured


def crew_sizes(run: Run, array: LazyArray, size: CallSize, variation: float, groups: Groups) -> CrewSizes:
    """The arrays of a crew.

    Parameters
    ----------
    array : that the kernel reads and returns statistics of
    size : of a slice of mean size
    variation : standard deviation of the entries of a document, divided by their mean
    groups : of the rounds with a delay
    """
    group, n_docs = max(groups.sizes), size.n_docs
    (n_ids,) = size.rows.values()
    row, entry = array.n_columns * FLOAT.itemsize, 4
    largest = 1.0 + _DEVIATIONS * variation / n_docs**0.5
    of_group = 1.0 + _DEVIATIONS * variation / (group * n_docs) ** 0.5

    places = min(size.n_entries, array.n_rows)
    n_places = ROOM * places * largest_group(run.plan.delay)
    ids = n_places * entry, float(group * places * entry)
    statistics = n_places * row, group * n_ids * of_group * row

    loop = run.work.kernel.own_loop
    assert loop is not None
    entries = largest * size.n_entries * entry
    scratch = float(loop.scratch(size.longest, array.n_columns) * FLOAT.itemsize)
    own = [entries, entries, 8.0 * PLACES, *2 * [scratch]]
    rows = ROOM * largest * places * row, largest * n_ids * row
    return CrewSizes(
        [*_tables(run, array, groups), *(groups.at_work + 1) * [ids], *groups.at_work * [statistics]],
        [rows, *((ROOM * one, one) for one in own)],
        (groups.at_work + NEAR) * group * n_docs,
    )


def _tables(run: Run, array: LazyArray, groups: Groups) -> list[tuple[float, float]]:
    """Tables of a segment, what its groups see, and Python's objects."""
    loop = run.work.kernel.own_loop
    assert loop is not None
    n_rounds = min(sum(groups.sizes), longest_segment(run.plan.delay))
    slices = n_rounds * 8.0 * (N_SLICE + 1 + len(loop.figures) + array.n_columns)
    of_groups = n_rounds / max(groups.sizes) * (8 * N_GROUP + 3 * array.n_columns * FLOAT.itemsize)
    objects = n_rounds * _ROUND_BYTES + _PYTHON_BYTES
    return [(ROOM * one, one) for one in (slices, of_groups, objects)]
