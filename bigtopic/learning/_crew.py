"""The compiled side of a crew: threads that take the slices of a segment, and the additions to rows, without Python.

All of them are in `serve`. What is to be done is in tables that they read and write while they hold a lock, the first
of `gates`; a thread with nothing to do waits at a gate of its own. The locks are Python's own, of its C interface, which
do not need the interpreter's lock. Steps and reading are Python: whoever finds that there is some returns and leads.

A slice or a batch of additions is a row of a table, with addresses of its arrays, because threads that are in compiled
code already cannot be given arrays. `learning.crew` keeps these alive.
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

__all__ = ["Crew", "begin", "finish", "lead", "serve", "stop"]

# Why a thread leaves the loop
OVER, LEADS, GROWS = 0, 1, 2
_WAIT, _PART, _SLICE = 3, 4, 5

# Columns of `counters`: slices whose documents are there, that were taken, that have gathered, are inferred and have
# stepped; groups that are sealed and settled; parts of the batch at work that were taken, and are done; whether a thread
# leads, and whether all shall stop; threads that wait, and those that were woken since; slices and groups of the segment,
# and groups that may be at work at once
POSTED, TAKEN, GATHERED, INFERRED, STEPPED, SEALED, SETTLED, PARTS, PARTS_DONE = range(9)
LEADING, STOPPING, IDLE, WOKEN, SLICES, GROUPS, AT_WORK = range(9, 16)
N_COUNTERS = 16

# Columns of `slices`: addresses of the documents of its read block, and which of these it has; its entries, and the
# scratch memory that it needs; its group, and the slice after those of its round; the place of its ids, and of its
# statistics, in those of the group; their number; whether it has gathered, and is inferred
INDPTR, WORDS, COUNTS, START, STOP, ENTRIES, SCRATCH = range(7)
GROUP, ROUND_STOP, FIRST_ID, FIRST, N_IDS, READ, DONE = range(7, 14)
N_SLICE = 14
NEAR = 2  # groups after the one at work whose documents are to be there

# Columns of `groups`: its slices; how many have gathered; addresses of how it sees the params, of ids and of statistics,
# and how many rows of these are taken; address and number of its additions, -1 if Python does them
FIRST_SLICE, STOP_SLICE, LENS, IDS, STATS, USED, ADDITIONS, N_ADDITIONS = range(8)
N_GROUP = 8

# Columns of additions: rows and columns of the array; number of ids; addresses of the array, ids, values and factor
N_ROWS, N_COLUMNS, N_ADDED, RAW, ADDED_IDS, VALUES, FACTOR = range(7)
N_ADDITION = 7


class Crew(NamedTuple):
    """What the threads of a crew share.

    counters : int64, see above, as are the columns of the tables
    slices, groups : int64 tables
    figures : float64 (n_slices, 1 + number of the kernel's figures), the tokens of each slice first
    sums : float64 (n_slices, n_columns), of statistics
    gates : int64 (1 + n_threads,), addresses of locks: of the tables, and of each thread
    asleep : int64 (n_threads,), whether a thread waits
    raw : float32 (n_rows, n_columns), the params that the kernel reads
    known : the params' id of each id of the corpus, or nothing where they agree
    prior, options : of the kernel, see `kernels.support.slice_loop`
    n_parts : into which a batch of additions is divided, a power of two
    """

    counters: np.ndarray
    slices: np.ndarray
    groups: np.ndarray
    figures: np.ndarray
    sums: np.ndarray
    gates: np.ndarray
    asleep: np.ndarray
    raw: np.ndarray
    known: np.ndarray
    prior: np.ndarray
    options: np.ndarray
    n_parts: int


_acquire = types.ExternalFunction("PyThread_acquire_lock", types.intc(types.intp, types.intc))
_release = types.ExternalFunction("PyThread_release_lock", types.void(types.intp))


@intrinsic
def _pointer(typing_context: Any, address: Any) -> Any:
    """The pointer to an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@njit(**OUTER)
def serve(infer, crew, thread, lookup, indptr, words, counts, rows, scratch):
    """Do what is to be done, and wait for more, until the thread has to return; why it does.

    Parameters
    ----------
    infer : address of the kernel's loop, see `kernels.support.slice_loop`
    thread : number of the thread in the crew
    lookup, indptr, words, counts, rows, scratch : memory of the thread's own; `lookup` as for `compact`
    """
    while True:
        kind, number = _next_job(crew, thread, len(indptr), len(words), len(scratch))
        if kind == _PART:
            _add_part(crew, number)
            _part_is_done(crew)
        elif kind == _SLICE:
            n_docs, n_ids = _look_up(crew, number, lookup, indptr, words, counts)
            _gather(crew, number, rows)
            _has_gathered(crew, number)
            values = _statistics(crew, number)
            arguments = (
                indptr[: n_docs + 1], words[: indptr[n_docs]], counts[: indptr[n_docs]], rows[:n_ids], crew.prior,
                crew.options, scratch, values, crew.figures[number, 1:],
            )  # fmt: skip
            call(infer, arguments)
            crew.sums[number] = 0
            add_up(values, crew.sums[number])
            _is_inferred(crew, number)
        else:
            return kind


@njit(**INNER)
def _next_job(crew, thread, n_docs, n_entries, n_scratch):
    """Claim the most urgent job, once there is one, and wake threads for what is left."""
    counters, gates = crew.counters, crew.gates
    _acquire(gates[0], 1)
    while True:
        kind, number = _job(crew, counters)
        if kind == OVER and thread > 0 and not counters[STOPPING]:
            kind = _WAIT  # for the next segment
        if kind != _WAIT:
            break
        counters[IDLE] += 1
        crew.asleep[thread] = 1
        _release(gates[0])
        _acquire(gates[1 + thread], 1)
        _acquire(gates[0], 1)
        counters[WOKEN] -= 1
    if kind == _SLICE:
        row = crew.slices[number]
        if row[ENTRIES] > n_entries or row[STOP] - row[START] >= n_docs or row[SCRATCH] > n_scratch:
            kind = GROWS
        else:
            counters[TAKEN] += 1
    elif kind == _PART:
        counters[PARTS] += 1
    elif kind == LEADS:
        counters[LEADING] = 1
    _wake(crew)
    _release(gates[0])
    return kind, number


@njit(**INNER)
def _job(crew, counters):
    """What is most urgent: additions, since others wait for them; then the steps of a group of which nothing else is
    left. Other steps wait until there are several, since Python is slow to begin, or until nothing else can be done."""
    if counters[STOPPING]:
        return OVER, 0
    if counters[SETTLED] == counters[GROUPS]:
        return _WAIT if counters[LEADING] else OVER, 0
    if _may_settle(crew, counters):
        if crew.groups[counters[SETTLED], N_ADDITIONS] >= 0:
            if counters[PARTS] < crew.n_parts:
                return _PART, counters[PARTS]
        elif not counters[LEADING]:
            return LEADS, 0
    if not counters[LEADING] and _must_lead(crew, counters):
        return LEADS, 0
    if _may_take(crew, counters, counters[TAKEN]):
        return _SLICE, counters[TAKEN]
    if not counters[LEADING] and _may_lead(crew, counters):
        return LEADS, 0
    return _WAIT, 0


@njit(**INNER)
def _may_settle(crew, counters):
    """Whether the next group has been sealed, and all that do not see it have gathered."""
    group = counters[SETTLED]
    if counters[SEALED] <= group:
        return False
    last = crew.groups[min(group + counters[AT_WORK], counters[GROUPS]) - 1]
    return counters[GATHERED] >= last[STOP_SLICE]


@njit(**INNER)
def _must_lead(crew, counters):
    """Whether all slices of a group are inferred that is not sealed."""
    sealed = counters[SEALED]
    return sealed < counters[GROUPS] and crew.groups[sealed, STOP_SLICE] <= counters[INFERRED]


@njit(**INNER)
def _may_lead(crew, counters):
    """Whether a round may step, or documents are to be read: those of two groups after the one at work."""
    n_slices, stepped, posted, taken = counters[SLICES], counters[STEPPED], counters[POSTED], counters[TAKEN]
    if stepped < n_slices and crew.slices[stepped, ROUND_STOP] <= counters[INFERRED]:
        return True
    return posted < n_slices and (
        taken == posted or crew.slices[posted, GROUP] <= crew.slices[taken, GROUP] + NEAR
    )


@njit(**INNER)
def _may_take(crew, counters, number):
    return number < counters[POSTED] and crew.slices[number, GROUP] < counters[SETTLED] + counters[AT_WORK]


@njit(**INNER)
def _wake(crew):
    """Wake as many of those that wait as have something to do."""
    counters = crew.counters
    if counters[IDLE] == 0:
        return
    if counters[STOPPING]:
        n = counters[IDLE]
    elif counters[SETTLED] == counters[GROUPS]:
        n = crew.asleep[0] if not counters[LEADING] else 0  # only the first thread leaves
    else:
        n = -counters[WOKEN]
        if _may_settle(crew, counters) and crew.groups[counters[SETTLED], N_ADDITIONS] >= 0:
            n += crew.n_parts - counters[PARTS]
        n += not counters[LEADING] and _job(crew, counters)[0] == LEADS
        number = counters[TAKEN]
        while n < counters[IDLE] and _may_take(crew, counters, number):
            n, number = n + 1, number + 1
    for thread in range(len(crew.asleep)):
        if n <= 0:
            return
        if crew.asleep[thread]:
            crew.asleep[thread] = 0
            counters[IDLE] -= 1
            counters[WOKEN] += 1
            n -= 1
            _release(crew.gates[1 + thread])


@njit(**INNER)
def _look_up(crew, number, lookup, indptr, words, counts):
    """The documents of a slice with local ids; gives its statistics a place. Returns how many documents, and ids."""
    row = crew.slices[number]
    n_docs = row[STOP] - row[START]
    begins = carray(_pointer(row[INDPTR]), row[STOP] + 1, np.int64)
    n_entries = begins[row[STOP]]
    all_words = carray(_pointer(row[WORDS]), n_entries, np.int32)
    all_counts = carray(_pointer(row[COUNTS]), n_entries, np.float32)
    ids = _ids(crew, row)
    own = begins[row[START] : row[STOP] + 1]
    n_ids, kept = compact(own, all_words, all_counts, crew.known, lookup, indptr, words, counts, ids)
    crew.figures[number, 0] = n_tokens(counts[:kept])
    _acquire(crew.gates[0], 1)
    row[N_IDS], row[FIRST] = n_ids, crew.groups[row[GROUP], USED]
    crew.groups[row[GROUP], USED] += n_ids
    _release(crew.gates[0])
    return n_docs, n_ids


@njit(**INNER)
def _ids(crew, row):
    """Room for as many ids as a slice may have."""
    n_ids = min(row[ENTRIES], len(crew.raw))
    ids = carray(_pointer(crew.groups[row[GROUP], IDS]), row[FIRST_ID] + n_ids, np.int32)
    return ids[row[FIRST_ID] :]


@njit(**INNER)
def _gather(crew, number, rows):
    row = crew.slices[number]
    ids = _ids(crew, row)[: row[N_IDS]]
    lens = carray(_pointer(crew.groups[row[GROUP], LENS]), (3, crew.raw.shape[1]), np.float32)
    gather_linear(crew.raw, lens[0], lens[1], lens[2], ids, rows[: row[N_IDS]])


@njit(**INNER)
def _statistics(crew, number):
    row, n_columns = crew.slices[number], crew.raw.shape[1]
    group = crew.groups[row[GROUP]]
    values = carray(_pointer(group[STATS]), (group[USED], n_columns), np.float32)
    return values[row[FIRST] : row[FIRST] + row[N_IDS]]


@njit(**INNER)
def _has_gathered(crew, number):
    _acquire(crew.gates[0], 1)
    counters, slices = crew.counters, crew.slices
    slices[number, READ] = 1
    while counters[GATHERED] < counters[TAKEN] and slices[counters[GATHERED], READ]:
        counters[GATHERED] += 1
    _wake(crew)
    _release(crew.gates[0])


@njit(**INNER)
def _is_inferred(crew, number):
    counters, slices = crew.counters, crew.slices
    _acquire(crew.gates[0], 1)
    slices[number, DONE] = 1
    while counters[INFERRED] < counters[TAKEN] and slices[counters[INFERRED], DONE]:
        counters[INFERRED] += 1
    _release(crew.gates[0])


@njit(**INNER)
def _add_part(crew, part):
    """The rows of one part of the batch at work, in the order of the additions."""
    group = crew.groups[crew.counters[SETTLED]]
    additions = carray(_pointer(group[ADDITIONS]), (group[N_ADDITIONS], N_ADDITION), np.int64)
    for u in range(len(additions)):
        row = additions[u]
        raw = carray(_pointer(row[RAW]), (row[N_ROWS], row[N_COLUMNS]), np.float32)
        ids = carray(_pointer(row[ADDED_IDS]), row[N_ADDED], np.int32)
        values = carray(_pointer(row[VALUES]), (row[N_ADDED], row[N_COLUMNS]), np.float32)
        factor = carray(_pointer(row[FACTOR]), row[N_COLUMNS], np.float32)
        scatter_share(raw, ids, values, factor, part, crew.n_parts)


@njit(**INNER)
def _part_is_done(crew):
    _acquire(crew.gates[0], 1)
    crew.counters[PARTS_DONE] += 1
    if crew.counters[PARTS_DONE] == crew.n_parts:
        _is_settled(crew.counters)
        _wake(crew)
    _release(crew.gates[0])


@njit(**INNER)
def _is_settled(counters):
    counters[SETTLED] += 1
    counters[PARTS], counters[PARTS_DONE] = 0, 0


@njit(**OUTER)
def begin(crew, n_slices, n_groups, n_at_work):
    """A segment begins, of which the caller leads. All other threads wait, or have ended."""
    counters = crew.counters
    _acquire(crew.gates[0], 1)
    counters[:LEADING] = 0
    counters[LEADING], counters[STOPPING] = 1, 0
    counters[SLICES], counters[GROUPS], counters[AT_WORK] = n_slices, n_groups, n_at_work
    _release(crew.gates[0])


@njit(**OUTER)
def lead(crew, posted, stepped, sealed, settles, leaves):
    """What the thread that leads has done: slices posted and stepped, groups sealed, and whether it has applied the
    additions of one. If it `leaves`, it no longer leads, unless there is more to do.

    Returns
    -------
    inferred, taken, settled : slices and groups so far
    by_hand : whether it is to apply the additions of a group
    leads : whether it still leads
    """
    counters = crew.counters
    _acquire(crew.gates[0], 1)
    counters[POSTED], counters[STEPPED], counters[SEALED] = posted, stepped, sealed
    if settles:
        _is_settled(counters)
    by_hand = _may_settle(crew, counters) and crew.groups[counters[SETTLED], N_ADDITIONS] < 0
    if leaves and not by_hand and not _may_lead(crew, counters):
        counters[LEADING] = 0
    _wake(crew)
    state = counters[INFERRED], counters[TAKEN], counters[SETTLED], by_hand, counters[LEADING] == 1
    _release(crew.gates[0])
    return state


@njit(**OUTER)
def stop(crew):
    """All threads return as soon as they have done what they are doing."""
    _acquire(crew.gates[0], 1)
    crew.counters[STOPPING] = 1
    _wake(crew)
    _release(crew.gates[0])


@njit(**OUTER)
def finish(crew):
    """Where threads have left early, do what is left of the batch at work; how many groups are settled."""
    counters = crew.counters
    if counters[PARTS] > 0:
        for part in range(counters[PARTS], crew.n_parts):
            _add_part(crew, part)
        _is_settled(counters)
    return counters[SETTLED]
