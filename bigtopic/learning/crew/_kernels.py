"""What the threads of a crew do in compiled code: they take slices, and parts of additions to rows, from tables.

A thread reads and writes the tables while it holds the first of the `gates`. With nothing to do, it waits at a gate of
its own. The gates are Python's locks, as its C interface has them: no thread needs the interpreter's lock for these.
Steps and reading are Python; a thread that finds some to do returns, and leads until it is done.

Threads in compiled code cannot be given arrays: the tables have addresses. `segment` keeps what is there.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic

from bigtopic.kernels.support.entry import INNER, OUTER
from bigtopic.kernels.support.slice_loop import call
from bigtopic.kernels.support.sums import add_up
from bigtopic.plan._kernels import compact, n_tokens
from bigtopic.state._kernels import gather_linear, scatter_share

__all__ = ["Tables", "begin", "finish", "lead", "serve", "stop"]

# Why a thread leaves the loop
OVER, LEADS, GROWS = 0, 1, 2
_WAIT, _PART, _SLICE = 3, 4, 5

# Of `counters`: slices whose documents are there, that were taken, have gathered, are inferred, and have stepped;
# groups that are sealed, and settled; parts of the additions at work that were taken, and are done; whether a thread
# leads, and whether all are to end; threads that wait, and that were woken since; slices and groups of the segment, and
# groups that may be at work at once
POSTED, TAKEN, GATHERED, INFERRED, STEPPED, SEALED, SETTLED, PARTS, PARTS_DONE = range(9)
LEADING, STOPPING, IDLE, WOKEN, SLICES, GROUPS, AT_WORK = range(9, 16)
N_COUNTERS = 16

# Of `slices`: addresses of the documents of its read block, and which of these it has; its entries, and the scratch
# memory that it needs; its group, and the slice after those of its round; the place of its ids, and of its statistics,
# in those of the group; their number; whether it has gathered, and is inferred
INDPTR, WORDS, COUNTS, START, STOP, ENTRIES, SCRATCH = range(7)
GROUP, ROUND_STOP, FIRST_ID, FIRST, N_IDS, READ, DONE = range(7, 14)
N_SLICE = 14
NEAR = 2  # groups after the one at work whose documents are to be there

# Of `groups`: its slices; addresses of how it sees the params, and of its ids and statistics, and how many rows of
# these are taken; address and number of its additions, -1 if Python does them
FIRST_SLICE, STOP_SLICE, LINEAR, IDS, STATS, USED, ADDITIONS, N_ADDITIONS = range(8)
N_GROUP = 8

# Of additions: rows and columns of the array; number of ids; addresses of the array, the ids, values and factor
N_ROWS, N_COLUMNS, N_ADDED, RAW, ADDED_IDS, VALUES, FACTOR = range(7)
N_ADDITION = 7


class Tables(NamedTuple):
    """What the threads of a crew share.

    counters : int64, see above, as are the columns of the tables
    slices, groups : int64, a row for each of the segment, and maybe more
    figures : float64 (n_slices, 1 + number of the kernel's figures), the tokens of each slice first
    sums : float64 (n_slices, n_columns), of statistics
    gates : int64 (1 + n_threads,), addresses of locks: of the tables, and of each thread
    asleep : int64 (n_threads,), whether a thread waits
    places : int64 (n_threads, PLACES), scratch memory of each thread for additions
    raw : float32 (n_rows, n_columns), the params that the kernel reads
    known : the params' id of each id of the corpus, or nothing where they agree
    prior, options : of the kernel, see `kernels.support.slice_loop`
    n_parts : into which additions are divided, a power of two
    """

    counters: np.ndarray
    slices: np.ndarray
    groups: np.ndarray
    figures: np.ndarray
    sums: np.ndarray
    gates: np.ndarray
    asleep: np.ndarray
    places: np.ndarray
    raw: np.ndarray
    known: np.ndarray
    prior: np.ndarray
    options: np.ndarray
    n_parts: int


_acquire: Any = types.ExternalFunction("PyThread_acquire_lock", types.intc(types.intp, types.intc))
_release: Any = types.ExternalFunction("PyThread_release_lock", types.void(types.intp))


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """The pointer to an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


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
            _part_is_done(tables)
        elif kind == _SLICE:
            n_docs, n_ids = _look_up(tables, number, lookup, indptr, words, counts)
            _gather(tables, number, rows)
            _has_gathered(tables, number)
            values = _statistics(tables, number)
            arguments = (
                indptr[: n_docs + 1], words[: indptr[n_docs]], counts[: indptr[n_docs]], rows[:n_ids], tables.prior,
                tables.options, scratch, values, tables.figures[number, 1:],
            )  # fmt: skip
            call(infer, arguments)
            tables.sums[number] = 0
            add_up(values, tables.sums[number])
            _is_inferred(tables, number)
        else:
            return kind


@njit(**INNER)
def _next_job(tables, thread, n_docs, n_entries, n_scratch):
    """Claim the most urgent job, once there is one, and wake threads for what is left."""
    counters, gates = tables.counters, tables.gates
    _acquire(gates[0], 1)
    while True:
        kind, number = _job(tables, counters)
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
    if kind == _SLICE:
        row = tables.slices[number]
        if row[ENTRIES] > n_entries or row[STOP] - row[START] >= n_docs or row[SCRATCH] > n_scratch:
            kind = GROWS
        else:
            counters[TAKEN] += 1
    elif kind == _PART:
        counters[PARTS] += 1
    elif kind == LEADS:
        counters[LEADING] = 1
    _wake(tables)
    _release(gates[0])
    return kind, number


@njit(**INNER)
def _job(tables, counters):
    """What is most urgent: additions, since others wait for them; then steps, once there are many, since Python is slow
    to begin; then slices. Few steps wait until there is nothing else to do."""
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
    if _may_take(tables, counters, counters[TAKEN]):
        return _SLICE, counters[TAKEN]
    if not counters[LEADING] and _may_lead(tables, counters):
        return LEADS, 0
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
    if stepped < n_slices and tables.slices[stepped, ROUND_STOP] <= counters[INFERRED]:
        return True
    return posted < n_slices and (
        taken == posted or tables.slices[posted, GROUP] <= tables.slices[taken, GROUP] + NEAR
    )


@njit(**INNER)
def _may_take(tables, counters, number):
    return number < counters[POSTED] and tables.slices[number, GROUP] < counters[SETTLED] + counters[AT_WORK]


@njit(**INNER)
def _wake(tables):
    """Wake as many of those that wait as have something to do."""
    counters = tables.counters
    if counters[IDLE] == 0:
        return
    if counters[STOPPING]:
        n = counters[IDLE]
    elif counters[SETTLED] == counters[GROUPS]:
        n = tables.asleep[0] if not counters[LEADING] else 0  # only the first thread leaves
    else:
        n = -counters[WOKEN]
        if _may_settle(tables, counters) and tables.groups[counters[SETTLED], N_ADDITIONS] >= 0:
            n += tables.n_parts - counters[PARTS]
        n += not counters[LEADING] and _job(tables, counters)[0] == LEADS
        number = counters[TAKEN]
        while n < counters[IDLE] and _may_take(tables, counters, number):
            n, number = n + 1, number + 1
    for thread in range(len(tables.asleep)):
        if n <= 0:
            return
        if tables.asleep[thread]:
            tables.asleep[thread] = 0
            counters[IDLE] -= 1
            counters[WOKEN] += 1
            n -= 1
            _release(tables.gates[1 + thread])


@njit(**INNER)
def _look_up(tables, number, lookup, indptr, words, counts):
    """The documents of a slice with local ids; gives its statistics a place. Returns how many documents, and ids."""
    row = tables.slices[number]
    n_docs = row[STOP] - row[START]
    begins = carray(_pointer(row[INDPTR]), row[STOP] + 1, np.int64)
    n_entries = begins[row[STOP]]
    all_words = carray(_pointer(row[WORDS]), n_entries, np.int32)
    all_counts = carray(_pointer(row[COUNTS]), n_entries, np.float32)
    ids = _ids(tables, row)
    own = begins[row[START] : row[STOP] + 1]
    n_ids, kept = compact(own, all_words, all_counts, tables.known, lookup, indptr, words, counts, ids)
    tables.figures[number, 0] = n_tokens(counts[:kept])
    _acquire(tables.gates[0], 1)
    row[N_IDS], row[FIRST] = n_ids, tables.groups[row[GROUP], USED]
    tables.groups[row[GROUP], USED] += n_ids
    _release(tables.gates[0])
    return n_docs, n_ids


@njit(**INNER)
def _ids(tables, row):
    """Room for as many ids as a slice may have."""
    n_ids = min(row[ENTRIES], len(tables.raw))
    ids = carray(_pointer(tables.groups[row[GROUP], IDS]), row[FIRST_ID] + n_ids, np.int32)
    return ids[row[FIRST_ID] :]


@njit(**INNER)
def _gather(tables, number, rows):
    row = tables.slices[number]
    ids = _ids(tables, row)[: row[N_IDS]]
    linear = carray(_pointer(tables.groups[row[GROUP], LINEAR]), (3, tables.raw.shape[1]), np.float32)
    gather_linear(tables.raw, linear[0], linear[1], linear[2], ids, rows[: row[N_IDS]])


@njit(**INNER)
def _statistics(tables, number):
    row, n_columns = tables.slices[number], tables.raw.shape[1]
    group = tables.groups[row[GROUP]]
    values = carray(_pointer(group[STATS]), (group[USED], n_columns), np.float32)
    return values[row[FIRST] : row[FIRST] + row[N_IDS]]


@njit(**INNER)
def _has_gathered(tables, number):
    _acquire(tables.gates[0], 1)
    counters, slices = tables.counters, tables.slices
    slices[number, READ] = 1
    while counters[GATHERED] < counters[TAKEN] and slices[counters[GATHERED], READ]:
        counters[GATHERED] += 1
    _wake(tables)
    _release(tables.gates[0])


@njit(**INNER)
def _is_inferred(tables, number):
    counters, slices = tables.counters, tables.slices
    _acquire(tables.gates[0], 1)
    slices[number, DONE] = 1
    while counters[INFERRED] < counters[TAKEN] and slices[counters[INFERRED], DONE]:
        counters[INFERRED] += 1
    _release(tables.gates[0])


@njit(**INNER)
def _add_part(tables, part, places):
    """The rows of one part of the batch at work, in the order of the additions."""
    group = tables.groups[tables.counters[SETTLED]]
    additions = carray(_pointer(group[ADDITIONS]), (group[N_ADDITIONS], N_ADDITION), np.int64)
    for u in range(len(additions)):
        row = additions[u]
        raw = carray(_pointer(row[RAW]), (row[N_ROWS], row[N_COLUMNS]), np.float32)
        ids = carray(_pointer(row[ADDED_IDS]), row[N_ADDED], np.int32)
        values = carray(_pointer(row[VALUES]), (row[N_ADDED], row[N_COLUMNS]), np.float32)
        factor = carray(_pointer(row[FACTOR]), row[N_COLUMNS], np.float32)
        scatter_share(raw, ids, values, factor, part, tables.n_parts, places)


@njit(**INNER)
def _part_is_done(tables):
    _acquire(tables.gates[0], 1)
    tables.counters[PARTS_DONE] += 1
    if tables.counters[PARTS_DONE] == tables.n_parts:
        _is_settled(tables.counters)
        _wake(tables)
    _release(tables.gates[0])


@njit(**INNER)
def _is_settled(counters):
    counters[SETTLED] += 1
    counters[PARTS], counters[PARTS_DONE] = 0, 0


@njit(**OUTER)
def begin(tables, n_slices, n_groups, n_at_work):
    """A segment begins, of which the caller leads. All other threads wait, or have ended."""
    counters = tables.counters
    _acquire(tables.gates[0], 1)
    counters[:LEADING] = 0
    counters[LEADING], counters[STOPPING] = 1, 0
    counters[SLICES], counters[GROUPS], counters[AT_WORK] = n_slices, n_groups, n_at_work
    _release(tables.gates[0])


@njit(**OUTER)
def lead(tables, posted, stepped, sealed, settles, leaves):
    """What the thread that leads has done: slices posted and stepped, groups sealed, and whether it has applied the
    additions of one. If it `leaves`, it no longer leads, unless there is more to do.

    Returns
    -------
    inferred, taken, settled : slices and groups so far
    by_hand : whether it is to apply the additions of a group
    leads : whether it still leads
    """
    counters = tables.counters
    _acquire(tables.gates[0], 1)
    counters[POSTED], counters[STEPPED], counters[SEALED] = posted, stepped, sealed
    if settles:
        _is_settled(counters)
    by_hand = _may_settle(tables, counters) and tables.groups[counters[SETTLED], N_ADDITIONS] < 0
    if leaves and not by_hand and not _may_lead(tables, counters):
        counters[LEADING] = 0
    _wake(tables)
    state = counters[INFERRED], counters[TAKEN], counters[SETTLED], by_hand, counters[LEADING] == 1
    _release(tables.gates[0])
    return state


@njit(**OUTER)
def stop(tables):
    """All threads return as soon as they have done what they are doing."""
    _acquire(tables.gates[0], 1)
    tables.counters[STOPPING] = 1
    _wake(tables)
    _release(tables.gates[0])


@njit(**OUTER)
def finish(tables):
    """Where threads have left early, do what is left of the batch at work; how many groups are settled."""
    counters = tables.counters
    if counters[PARTS] > 0:
        for part in range(counters[PARTS], tables.n_parts):
            _add_part(tables, part, tables.places[0])
        _is_settled(counters)
    return counters[SETTLED]
