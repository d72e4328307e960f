"""What the threads of a crew do in compiled code: they take slices, and parts of additions to rows, from tables.

A thread reads and writes the tables while it holds the first of the `gates`. With nothing to do, it waits at a gate of
its own. The gates are Python's locks, as its C interface has them: no thread needs the interpreter's lock for these.
Steps and reading are Python; a thread that finds some to do returns, and leads until it is done.

Threads in compiled code cannot be given arrays: the tables have addresses. `segment` keeps what is there.
"""

import numpy as np
from numba import carray, njit

from bigtopic.kernels.support.entry import INNER, OUTER
from bigtopic.kernels.support.pointer import pointer
from bigtopic.kernels.support.slice_loop import call
from bigtopic.kernels.support.sums import add_up, add_up_two
from bigtopic.learning._kernels import join_rows
from bigtopic.learning.crew.columns import (
    ADDED_IDS,
    ADDITIONS,
    AT_WORK,
    COUNTS,
    ENTRIES,
    FACTOR,
    FIRST_ID,
    FIRST_ROW,
    GATHERED,
    GROUP,
    GROUPS,
    GROWS,
    HAS_GATHERED,
    ID_BYTES,
    IDLE,
    IDS,
    INDPTR,
    INFER,
    INFERRED,
    IS_INFERRED,
    IS_JOINED,
    LEADING,
    LEADS,
    LINEAR,
    LOOK_UP,
    N_ADDED,
    N_ADDITION,
    N_ADDITIONS,
    N_COLUMNS,
    N_IDS,
    N_ROWS,
    NONE,
    OTHER,
    OVER,
    PART,
    PARTS,
    PARTS_DONE,
    POSTED,
    RAW,
    ROWS_TAKEN,
    SCRATCH,
    SEALED,
    SETTLED,
    SLICES,
    START,
    STATS,
    STEPPED,
    STOP,
    STOPPING,
    TAKEN,
    VALUES,
    WAIT,
    WOKEN,
    WORDS,
)
from bigtopic.learning.crew.jobs._kernels import acquire, job, leave, may_lead, may_settle, release
from bigtopic.plan._kernels import compact, n_tokens
from bigtopic.state._kernels import gather_linear, scatter_share

__all__ = ["begin", "finish", "lead", "post", "serve", "stop", "tabulate"]


@njit(**OUTER)
def serve(infer, tables, thread, lookup, indptr, words, counts, rows, scratch):
    """Do what is to be done, and wait for more, until the thread has to return; why it does.

    Parameters
    ----------
    infer : address of the kernel's loop, see `kernels.support.slice_loop`
    thread : number of the thread, from 0
    lookup, indptr, words, counts, rows, scratch : memory of the thread's own; `lookup` as for `compact`
    """
    while True:
        kind, number = _next_job(tables, thread, len(indptr), len(words), len(scratch))
        if kind == PART:
            _add_part(tables, number, tables.places[thread])
            _finish_part(tables, thread)
        elif kind == LOOK_UP:
            _look_up(tables, number, lookup, indptr, words, counts)
        elif kind == INFER:
            row = tables.slices[number]
            n_docs, n_ids = row[STOP] - row[START], row[N_IDS]
            _gather(tables, number, rows)
            _note_gathered(tables, number, thread)
            values = _statistics(tables, number)
            arguments = (
                indptr[: n_docs + 1], words[: indptr[n_docs]], counts[: indptr[n_docs]], rows[:n_ids], tables.prior,
                tables.options, scratch, values, tables.figures[number, 1:],
            )  # fmt: skip
            call(infer, arguments)
            if _note_inferred(tables, number):
                _join(tables, number, lookup)
                _note_joined(tables, number)
        else:
            return kind


@njit(**INNER)
def _next_job(tables, thread, n_docs, n_entries, n_scratch):
    """Claim the most urgent job, once there is one, and wake threads for what is left."""
    counters, gates, own = tables.counters, tables.gates, tables.own
    acquire(gates[0], 1)
    while True:
        kind, number = job(tables, counters, own[thread])
        if kind == OVER and thread > 0 and not counters[STOPPING]:
            kind = WAIT  # for the next segment
        if kind != WAIT:
            break
        counters[IDLE] += 1
        tables.asleep[thread] = 1
        release(gates[0])
        acquire(gates[1 + thread], 1)
        acquire(gates[0], 1)
        counters[WOKEN] -= 1
    if kind == LOOK_UP:
        row = tables.slices[number]
        if row[ENTRIES] > n_entries or row[STOP] - row[START] >= n_docs or row[SCRATCH] > n_scratch:
            kind = GROWS
        else:
            counters[TAKEN] += 1
            own[thread] = number
    elif kind == INFER:
        own[thread] = NONE
    elif kind == PART:
        counters[PARTS] += 1
    elif kind == LEADS:
        counters[LEADING] = 1
    leave(tables, thread)
    return kind, number


@njit(**INNER)
def _look_up(tables, number, lookup, indptr, words, counts):
    """Give the documents of a slice local ids, and its statistics a place."""
    row = tables.slices[number]
    begins = carray(pointer(row[INDPTR]), row[STOP] + 1, np.int64)
    n_entries = begins[row[STOP]]
    all_words = carray(pointer(row[WORDS]), n_entries, np.int32)
    all_counts = carray(pointer(row[COUNTS]), n_entries, np.float32)
    ids = _ids(tables, row)
    own = begins[row[START] : row[STOP] + 1]
    n_ids, kept = compact(own, all_words, all_counts, tables.known, lookup, indptr, words, counts, ids)
    tables.figures[number, 0] = n_tokens(counts[:kept])
    acquire(tables.gates[0], 1)
    row[N_IDS], row[FIRST_ROW] = n_ids, tables.groups[row[GROUP], ROWS_TAKEN]
    tables.groups[row[GROUP], ROWS_TAKEN] += n_ids
    release(tables.gates[0])


@njit(**INNER)
def _ids(tables, row):
    """Room for as many ids as a slice may have."""
    n_ids = min(row[ENTRIES], len(tables.raw))
    ids = carray(pointer(tables.groups[row[GROUP], IDS]), row[FIRST_ID] + n_ids, np.int32)
    return ids[row[FIRST_ID] :]


@njit(**INNER)
def _gather(tables, number, rows):
    row = tables.slices[number]
    ids = _ids(tables, row)[: row[N_IDS]]
    linear = carray(pointer(tables.groups[row[GROUP], LINEAR]), (3, tables.raw.shape[1]), np.float32)
    gather_linear(tables.raw, linear[0], linear[1], linear[2], ids, rows[: row[N_IDS]])


@njit(**INNER)
def _statistics(tables, number):
    row, n_columns = tables.slices[number], tables.raw.shape[1]
    group = tables.groups[row[GROUP]]
    values = carray(pointer(group[STATS]), (group[ROWS_TAKEN], n_columns), np.float32)
    return values[row[FIRST_ROW] : row[FIRST_ROW] + row[N_IDS]]


@njit(**INNER)
def _note_gathered(tables, number, thread):
    acquire(tables.gates[0], 1)
    counters, slices = tables.counters, tables.slices
    slices[number, HAS_GATHERED] = 1
    while counters[GATHERED] < counters[TAKEN] and slices[counters[GATHERED], HAS_GATHERED]:
        counters[GATHERED] += 1
    leave(tables, thread)


@njit(**INNER)
def _note_inferred(tables, number):
    """Note that a slice is inferred; whether all of its round now are, so that the caller joins them."""
    slices, other = tables.slices, tables.slices[number, OTHER]
    acquire(tables.gates[0], 1)
    slices[number, IS_INFERRED] = 1
    joins = other == NONE or slices[other, IS_INFERRED] == 1
    release(tables.gates[0])
    return joins


@njit(**INNER)
def _join(tables, number, lookup):
    """Sum up the statistics of a round. If it is two slices, rows that both have go to the first one, and so do sums
    and the kernel's figures."""
    # Loops: whole rows would take seconds to compile
    other = tables.slices[number, OTHER]
    first = number if other == NONE else min(number, other)
    sums = tables.sums[first]
    for k in range(len(sums)):
        sums[k] = 0.0
    a = _statistics(tables, first)
    if other == NONE:
        add_up(a, sums)
        return
    second = max(number, other)
    row_a, row_b = tables.slices[first], tables.slices[second]
    ids_a, ids_b = _ids(tables, row_a)[: row_a[N_IDS]], _ids(tables, row_b)[: row_b[N_IDS]]
    b = _statistics(tables, second)
    row_b[N_IDS] = join_rows(ids_a, ids_b, a, b, lookup)
    add_up_two(a, b[: row_b[N_IDS]], sums)
    for k in range(len(sums)):
        tables.sums[second, k] = 0.0
    for i in range(1, tables.figures.shape[1]):  # tokens, the first, stay: who leads may be reading them
        tables.figures[first, i] += tables.figures[second, i]
        tables.figures[second, i] = 0.0


@njit(**INNER)
def _note_joined(tables, number):
    counters, slices, other = tables.counters, tables.slices, tables.slices[number, OTHER]
    acquire(tables.gates[0], 1)
    slices[number, IS_JOINED] = 1
    if other != NONE:
        slices[other, IS_JOINED] = 1
    while counters[INFERRED] < counters[TAKEN] and slices[counters[INFERRED], IS_JOINED]:
        counters[INFERRED] += 1
    release(tables.gates[0])


@njit(**INNER)
def _add_part(tables, part, places):
    """The rows of one part of the batch at work, in the order of the additions."""
    group = tables.groups[tables.counters[SETTLED]]
    additions = carray(pointer(group[ADDITIONS]), (group[N_ADDITIONS], N_ADDITION), np.int64)
    for u in range(len(additions)):
        row = additions[u]
        raw = carray(pointer(row[RAW]), (row[N_ROWS], row[N_COLUMNS]), np.float32)
        ids = carray(pointer(row[ADDED_IDS]), row[N_ADDED], np.int32)
        values = carray(pointer(row[VALUES]), (row[N_ADDED], row[N_COLUMNS]), np.float32)
        factor = carray(pointer(row[FACTOR]), row[N_COLUMNS], np.float32)
        scatter_share(raw, ids, values, factor, part, tables.n_parts, places)


@njit(**INNER)
def _finish_part(tables, thread):
    acquire(tables.gates[0], 1)
    tables.counters[PARTS_DONE] += 1
    if tables.counters[PARTS_DONE] == tables.n_parts:
        _settle_group(tables.counters)
    leave(tables, thread)


@njit(**INNER)
def _settle_group(counters):
    counters[SETTLED] += 1
    counters[PARTS], counters[PARTS_DONE] = 0, 0


@njit(**OUTER)
def begin(tables, n_slices, n_groups, n_at_work):
    """A segment begins, of which the caller leads. All other threads wait, or have ended."""
    counters = tables.counters
    acquire(tables.gates[0], 1)
    counters[:LEADING] = 0
    tables.own[:] = NONE
    counters[LEADING], counters[STOPPING] = 1, 0
    counters[SLICES], counters[GROUPS], counters[AT_WORK] = n_slices, n_groups, n_at_work
    release(tables.gates[0])


@njit(**OUTER)
def post(slices, ranges, indptr, addresses, n_ids, n_rows):
    """Note the documents of some slices of a group, and where their ids are to be.

    Parameters
    ----------
    slices : rows of the table
    ranges : (n_slices, 2), first document in a read block, and the one after the last
    indptr, addresses : of the read block: its arrays in the order of columns
    n_ids : room for ids of the slices of the group before these
    n_rows : of the array: no slice has more ids

    Returns
    -------
    n_ids : with these slices
    n_docs, n_entries : the most of a slice
    longest : the most entries of a document
    """
    n_docs = n_entries = longest = 0
    for i in range(len(slices)):
        row, start, stop = slices[i], ranges[i, 0], ranges[i, 1]
        row[INDPTR], row[WORDS], row[COUNTS] = addresses[0], addresses[1], addresses[2]
        row[START], row[STOP], row[ENTRIES] = start, stop, indptr[stop] - indptr[start]
        row[FIRST_ID] = n_ids
        n_ids += min(row[ENTRIES], n_rows)
        n_docs, n_entries = max(n_docs, stop - start), max(n_entries, row[ENTRIES])
        for d in range(start, stop):
            longest = max(longest, indptr[d + 1] - indptr[d])
    return n_ids, n_docs, n_entries, longest


@njit(**OUTER)
def tabulate(table, slices, group, factors, n_rows, addresses):
    """Fill a table of additions with the statistics of slices of a group.

    Parameters
    ----------
    factors : (n_slices, n_columns) float32
    n_rows : of the array that they are added to
    addresses : of this array, and of the factors
    """
    n_columns = factors.shape[1]
    row_bytes = n_columns * factors.itemsize
    for i in range(len(slices)):
        row = table[i]
        row[N_ROWS], row[N_COLUMNS], row[N_ADDED] = n_rows, n_columns, slices[i, N_IDS]
        row[RAW], row[FACTOR] = addresses[0], addresses[1] + row_bytes * i
        row[ADDED_IDS] = group[IDS] + ID_BYTES * slices[i, FIRST_ID]
        row[VALUES] = group[STATS] + row_bytes * slices[i, FIRST_ROW]


@njit(**OUTER)
def lead(tables, thread, posted, stepped, sealed, settled_one, gives_up):
    """Publish what the leading thread has done, and tell it what others have.

    Parameters
    ----------
    thread : its number
    posted, stepped, sealed : slices and groups so far
    settled_one : whether it has just applied the additions of a group
    gives_up : whether it is no longer to lead, unless there is more to do

    Returns
    -------
    inferred, gathered, taken, settled : slices and groups so far
    by_hand : whether it is to apply the additions of a group
    leads : whether it still leads
    """
    counters = tables.counters
    acquire(tables.gates[0], 1)
    counters[POSTED], counters[STEPPED], counters[SEALED] = posted, stepped, sealed
    if settled_one:
        _settle_group(counters)
    by_hand = may_settle(tables, counters) and tables.groups[counters[SETTLED], N_ADDITIONS] < 0
    if gives_up and not by_hand and not may_lead(tables, counters):
        counters[LEADING] = 0
    state = (
        *(counters[INFERRED], counters[GATHERED], counters[TAKEN], counters[SETTLED]),
        *(by_hand, counters[LEADING] == 1),
    )
    leave(tables, thread)
    return state


@njit(**OUTER)
def stop(tables):
    """All threads return as soon as they have done what they are doing."""
    acquire(tables.gates[0], 1)
    tables.counters[STOPPING] = 1
    leave(tables, len(tables.asleep))


@njit(**OUTER)
def finish(tables):
    """Where threads have left early, do what is left of the batch at work; how many groups are settled."""
    counters = tables.counters
    if counters[PARTS] > 0:
        for part in range(counters[PARTS], tables.n_parts):
            _add_part(tables, part, tables.places[0])
        _settle_group(counters)
    return counters[SETTLED]
