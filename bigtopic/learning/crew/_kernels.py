"""What the threads of a crew do in compiled code: they take slices, and parts of additions to rows, from tables.

A thread reads and writes the tables while it holds the first of the `gates`. With nothing to do, it waits at a gate of
its own. The gates are Python's locks, as its C interface has them: no thread needs the interpreter's lock for these.
Steps and reading are Python; a thread that finds some to do returns, and leads until it is done.

Threads in compiled code cannot be given arrays: the tables have addresses. `segment` keeps what is there.
"""

from typing import Any

import numpy as np
from numba import carray, njit, types

from bigtopic.kernels.support.entry import INNER, OUTER
from bigtopic.kernels.support.pointer import pointer
from bigtopic.kernels.support.slice_loop import call
from bigtopic.kernels.support.sums import add_up, add_up_two
from bigtopic.learning._kernels import join_rows
from bigtopic.plan._kernels import compact, n_tokens
from bigtopic.state._kernels import gather_linear, scatter_share

__all__ = ["begin", "finish", "lead", "place", "serve", "stop", "tabulate"]

OVER, LEADS, GROWS = range(3)  # why a thread leaves the loop
_WAIT, _PART, _LOOK_UP, _SLICE = range(3, 7)  # what it does inside
NEAR = 2  # groups after the one at work whose documents are to be there

# Places in `counters`
POSTED = 0  # slices whose documents are in the tables
TAKEN = 1  # slices that a thread has taken
GATHERED = 2  # slices that have gathered their rows, as have all before them
INFERRED = 3  # slices that are inferred and joined, as are all before them
STEPPED = 4  # slices whose rounds have stepped
SEALED = 5  # groups whose rounds have all stepped
SETTLED = 6  # groups whose additions are in the rows
PARTS = 7  # parts of the additions at work that a thread has begun
PARTS_DONE = 8
LEADING = 9  # whether a thread leads
STOPPING = 10  # whether all threads are to end
IDLE = 11  # threads that wait
WOKEN = 12  # threads that were woken, and do not run yet
SLICES = 13  # of the segment
GROUPS = 14  # of the segment
AT_WORK = 15  # groups that may be at work at once
N_COUNTERS = 16

# Columns of `slices`
INDPTR = 0  # address of an array of its read block
WORDS = 1  # likewise
COUNTS = 2  # likewise
START = 3  # its first document in the read block
STOP = 4  # the document after its last one
ENTRIES = 5
SCRATCH = 6  # floats of scratch memory that it needs
GROUP = 7
STEP_STOP = 8  # the slice after those of its round, or of its group, if that steps at once
FIRST_ID = 9  # place of its ids in those of the group
FIRST_ROW = 10  # place of its statistics in those of the group
N_IDS = 11
HAS_GATHERED = 12
IS_INFERRED = 13
IS_JOINED = 14  # and so is the other slice of its round, and their statistics are joined
OTHER = 15  # slice of a round of two, or NONE
N_SLICE = 16

ID_BYTES = 4
NONE = -1  # a slice that a thread does not have

# Columns of `groups`
FIRST_SLICE = 0
STOP_SLICE = 1  # the slice after its last one
LINEAR = 2  # address of how it sees the params
IDS = 3  # address
STATS = 4  # address
ROWS_TAKEN = 5  # rows of the statistics that slices have
ADDITIONS = 6  # address
N_ADDITIONS = 7  # -1 if Python does them
N_GROUP = 8

# Columns of additions
N_ROWS = 0  # of the array
N_COLUMNS = 1  # of the array
N_ADDED = 2  # ids
RAW = 3  # address of the array
ADDED_IDS = 4  # address
VALUES = 5  # address
FACTOR = 6  # address
N_ADDITION = 7

_acquire: Any = types.ExternalFunction("PyThread_acquire_lock", types.intc(types.intp, types.intc))
_release: Any = types.ExternalFunction("PyThread_release_lock", types.void(types.intp))


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
        if kind == _PART:
            _add_part(tables, number, tables.places[thread])
            _finish_part(tables, thread)
        elif kind == _LOOK_UP:
            _look_up(tables, number, lookup, indptr, words, counts)
        elif kind == _SLICE:
            n_docs, n_ids = _size(tables, number)
            _gather(tables, number, rows)
            _note_gathered(tables, number, thread)
            values = _statistics(tables, number)
            arguments = (
                indptr[: n_docs + 1], words[: indptr[n_docs]], counts[: indptr[n_docs]], rows[:n_ids], tables.prior,
                tables.options, scratch, values, tables.figures[number, 1:],
            )  # fmt: skip
            call(infer, arguments)
            tables.sums[number] = 0
            add_up(values, tables.sums[number])
            if _note_inferred(tables, number):
                _join(tables, number, lookup)
                _note_joined(tables, number)
        else:
            return kind


@njit(**INNER)
def _next_job(tables, thread, n_docs, n_entries, n_scratch):
    """Claim the most urgent job, once there is one, and wake threads for what is left."""
    counters, gates, taken = tables.counters, tables.gates, tables.taken
    _acquire(gates[0], 1)
    while True:
        kind, number = _job(tables, counters, taken[thread])
        if kind == OVER and thread > 0 and not counters[STOPPING]:
            kind = _WAIT  # for the next segment
        if kind != _WAIT:
            break
        counters[IDLE] += 1
        tables.asleep[thread] = 1
        _release(gates[0])
        _acquire(gates[1 + thread], 1)
        _acquire(gates[0], 1)
        counters[WOKEN] -= 1
    if kind == _LOOK_UP:
        row = tables.slices[number]
        if row[ENTRIES] > n_entries or row[STOP] - row[START] >= n_docs or row[SCRATCH] > n_scratch:
            kind = GROWS
        else:
            counters[TAKEN] += 1
            taken[thread] = number
    elif kind == _SLICE:
        taken[thread] = NONE
    elif kind == _PART:
        counters[PARTS] += 1
    elif kind == LEADS:
        counters[LEADING] = 1
    _leave(tables, thread)
    return kind, number


@njit(**INNER)
def _job(tables, counters, own):
    """The most urgent job of a thread that has taken the slice `own`, or none. Additions come first, because others
    wait for them; then steps, if there are many, because Python is slow to start; then slices. A few steps wait until
    nothing else is left, and so do slices that may not gather yet."""
    if counters[STOPPING]:
        return OVER, 0
    if counters[SETTLED] == counters[GROUPS]:
        return _WAIT if counters[LEADING] else OVER, 0
    if _may_settle(tables, counters):
        if tables.groups[counters[SETTLED], N_ADDITIONS] >= 0:
            if counters[PARTS] < tables.n_parts:
                return _PART, counters[PARTS]
        elif not counters[LEADING]:
            return LEADS, 0
    if not counters[LEADING] and _must_lead(tables, counters):
        return LEADS, 0
    if own != NONE:
        if _may_gather(tables, counters, own):
            return _SLICE, own
    elif _may_take(tables, counters, counters[TAKEN], 0):
        return _LOOK_UP, counters[TAKEN]
    if not counters[LEADING] and _may_lead(tables, counters):
        return LEADS, 0
    if own == NONE and _may_take(tables, counters, counters[TAKEN], 1):
        return _LOOK_UP, counters[TAKEN]
    return _WAIT, 0


@njit(**INNER)
def _may_settle(tables, counters):
    """Whether the next group has been sealed, and all that do not see it have gathered."""
    group = counters[SETTLED]
    if counters[SEALED] <= group:
        return False
    last = tables.groups[min(group + counters[AT_WORK], counters[GROUPS]) - 1]
    return counters[GATHERED] >= last[STOP_SLICE]


@njit(**INNER)
def _must_lead(tables, counters):
    """Whether all slices are inferred of half the groups that may be at work: others have slices of the other half."""
    sealed = counters[SEALED]
    last = min(sealed + counters[AT_WORK] // 2, counters[GROUPS]) - 1
    return sealed <= last and tables.groups[last, STOP_SLICE] <= counters[INFERRED]


@njit(**INNER)
def _may_lead(tables, counters):
    """Whether a round may step, or documents are to be read: those of the groups after the one at work."""
    n_slices, stepped, posted, taken = counters[SLICES], counters[STEPPED], counters[POSTED], counters[TAKEN]
    if stepped < n_slices and tables.slices[stepped, STEP_STOP] <= counters[INFERRED]:
        return True
    return posted < n_slices and (
        taken == posted or tables.slices[posted, GROUP] <= tables.slices[taken, GROUP] + NEAR
    )


@njit(**INNER)
def _may_take(tables, counters, number, n_ahead):
    """Whether documents of a slice may be looked up: those of the groups that may gather, and of so many after them."""
    return number < counters[POSTED] and _may_gather(tables, counters, number, n_ahead)


@njit(**INNER)
def _may_gather(tables, counters, number, n_ahead=0):
    return tables.slices[number, GROUP] < counters[SETTLED] + counters[AT_WORK] + n_ahead


@njit(**INNER)
def _leave(tables, thread):
    """Let go of the tables, and wake as many of those that wait as have something to do: they need the tables at once.
    The last row of `wakes` is for who is no thread of the crew."""
    chosen = tables.wakes[thread]
    n = _choose(tables, chosen)
    _release(tables.gates[0])
    for i in range(n):
        _release(tables.gates[1 + chosen[i]])


@njit(**INNER)
def _choose(tables, chosen):
    """The threads to wake, which no longer wait. Returns their number."""
    counters, taken = tables.counters, tables.taken
    if counters[IDLE] == 0:
        return 0
    n = n_free = 0  # jobs that any thread can do, and one that has no slice
    over = counters[SETTLED] == counters[GROUPS]
    if counters[STOPPING]:
        n = counters[IDLE]
    elif over:
        # The segment is over: only thread 0 returns, to end it.
        n = tables.asleep[0] if not counters[LEADING] else 0
    else:
        if _may_settle(tables, counters) and tables.groups[counters[SETTLED], N_ADDITIONS] >= 0:
            n += tables.n_parts - counters[PARTS]
        n += not counters[LEADING] and _job(tables, counters, NONE)[0] == LEADS
        number = counters[TAKEN]
        while n_free < counters[IDLE] and _may_take(tables, counters, number, 1):
            n_free, number = n_free + 1, number + 1
        n -= counters[WOKEN]
        n_free, n = n_free + min(n, 0), max(n, 0)
    n_chosen = 0
    for thread in range(len(tables.asleep)):
        if not tables.asleep[thread]:
            continue
        own = taken[thread]
        if n > 0:
            n -= 1
        elif own == NONE and n_free > 0:
            n_free -= 1
        elif own == NONE or over or not _may_gather(tables, counters, own):
            continue
        tables.asleep[thread] = 0
        chosen[n_chosen] = thread
        n_chosen += 1
    counters[IDLE] -= n_chosen
    counters[WOKEN] += n_chosen
    return n_chosen


@njit(**INNER)
def _look_up(tables, number, lookup, indptr, words, counts):
    """The documents of a slice with local ids; gives its statistics a place."""
    row = tables.slices[number]
    begins = carray(pointer(row[INDPTR]), row[STOP] + 1, np.int64)
    n_entries = begins[row[STOP]]
    all_words = carray(pointer(row[WORDS]), n_entries, np.int32)
    all_counts = carray(pointer(row[COUNTS]), n_entries, np.float32)
    ids = _ids(tables, row)
    own = begins[row[START] : row[STOP] + 1]
    n_ids, kept = compact(own, all_words, all_counts, tables.known, lookup, indptr, words, counts, ids)
    tables.figures[number, 0] = n_tokens(counts[:kept])
    _acquire(tables.gates[0], 1)
    row[N_IDS], row[FIRST_ROW] = n_ids, tables.groups[row[GROUP], ROWS_TAKEN]
    tables.groups[row[GROUP], ROWS_TAKEN] += n_ids
    _release(tables.gates[0])


@njit(**INNER)
def _size(tables, number):
    """Documents and ids of a slice that was looked up."""
    row = tables.slices[number]
    return row[STOP] - row[START], row[N_IDS]


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
    _acquire(tables.gates[0], 1)
    counters, slices = tables.counters, tables.slices
    slices[number, HAS_GATHERED] = 1
    while counters[GATHERED] < counters[TAKEN] and slices[counters[GATHERED], HAS_GATHERED]:
        counters[GATHERED] += 1
    _leave(tables, thread)


@njit(**INNER)
def _note_inferred(tables, number):
    """Whether all slices of the round are now inferred, so that the caller is to join them."""
    slices, other = tables.slices, tables.slices[number, OTHER]
    _acquire(tables.gates[0], 1)
    slices[number, IS_INFERRED] = 1
    joins = other == NONE or slices[other, IS_INFERRED] == 1
    _release(tables.gates[0])
    return joins


@njit(**INNER)
def _join(tables, number, lookup):
    """Of a round of two slices: words that both have go to the first one, and so do all sums."""
    other = tables.slices[number, OTHER]
    if other == NONE:
        return
    first, second = min(number, other), max(number, other)
    row_a, row_b = tables.slices[first], tables.slices[second]
    ids_a, ids_b = _ids(tables, row_a)[: row_a[N_IDS]], _ids(tables, row_b)[: row_b[N_IDS]]
    a, b = _statistics(tables, first), _statistics(tables, second)
    n_left = join_rows(ids_a, ids_b, a, b, lookup)
    row_b[N_IDS] = n_left
    tables.sums[first], tables.sums[second] = 0, 0
    add_up_two(a, b[:n_left], tables.sums[first])
    tables.figures[first] += tables.figures[second]
    tables.figures[second] = 0


@njit(**INNER)
def _note_joined(tables, number):
    counters, slices, other = tables.counters, tables.slices, tables.slices[number, OTHER]
    _acquire(tables.gates[0], 1)
    slices[number, IS_JOINED] = 1
    if other != NONE:
        slices[other, IS_JOINED] = 1
    while counters[INFERRED] < counters[TAKEN] and slices[counters[INFERRED], IS_JOINED]:
        counters[INFERRED] += 1
    _release(tables.gates[0])


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
    _acquire(tables.gates[0], 1)
    tables.counters[PARTS_DONE] += 1
    if tables.counters[PARTS_DONE] == tables.n_parts:
        _settle_group(tables.counters)
    _leave(tables, thread)


@njit(**INNER)
def _settle_group(counters):
    counters[SETTLED] += 1
    counters[PARTS], counters[PARTS_DONE] = 0, 0


@njit(**OUTER)
def begin(tables, n_slices, n_groups, n_at_work):
    """A segment begins, of which the caller leads. All other threads wait, or have ended."""
    counters = tables.counters
    _acquire(tables.gates[0], 1)
    counters[:LEADING] = 0
    tables.taken[:] = NONE
    counters[LEADING], counters[STOPPING] = 1, 0
    counters[SLICES], counters[GROUPS], counters[AT_WORK] = n_slices, n_groups, n_at_work
    _release(tables.gates[0])


@njit(**OUTER)
def place(slices, ranges, indptr, addresses, n_ids, n_rows):
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
def tabulate(table, slices, group, rounds, factors, n_rows, addresses):
    """Fill a table of additions with the statistics of slices, which are in these rounds of the group.

    Parameters
    ----------
    rounds : int64 (n_slices,)
    factors : (n_rounds, n_columns) float32
    n_rows : of the array that they are added to
    addresses : of this array, and of the factors
    """
    n_columns = factors.shape[1]
    row_bytes = n_columns * factors.itemsize
    for i in range(len(slices)):
        row = table[i]
        row[N_ROWS], row[N_COLUMNS], row[N_ADDED] = n_rows, n_columns, slices[i, N_IDS]
        row[RAW], row[FACTOR] = addresses[0], addresses[1] + row_bytes * rounds[i]
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
    _acquire(tables.gates[0], 1)
    counters[POSTED], counters[STEPPED], counters[SEALED] = posted, stepped, sealed
    if settled_one:
        _settle_group(counters)
    by_hand = _may_settle(tables, counters) and tables.groups[counters[SETTLED], N_ADDITIONS] < 0
    if gives_up and not by_hand and not _may_lead(tables, counters):
        counters[LEADING] = 0
    state = (
        *(counters[INFERRED], counters[GATHERED], counters[TAKEN], counters[SETTLED]),
        *(by_hand, counters[LEADING] == 1),
    )
    _leave(tables, thread)
    return state


@njit(**OUTER)
def stop(tables):
    """All threads return as soon as they have done what they are doing."""
    _acquire(tables.gates[0], 1)
    tables.counters[STOPPING] = 1
    _leave(tables, len(tables.asleep))


@njit(**OUTER)
def finish(tables):
    """Where threads have left early, do what is left of the batch at work; how many groups are settled."""
    counters = tables.counters
    if counters[PARTS] > 0:
        for part in range(counters[PARTS], tables.n_parts):
            _add_part(tables, part, tables.places[0])
        _settle_group(counters)
    return counters[SETTLED]
