"""Compiled: which job a thread of a crew does next, and which threads to wake."""

from typing import Any

from numba import njit, types

from bigtopic.kernels.support.entry import INNER
from bigtopic.learning.crew.columns import (
    AT_WORK,
    GATHERED,
    GROUP,
    GROUPS,
    IDLE,
    INFERRED,
    LEADING,
    LEADS,
    LOOK_UP,
    N_ADDITIONS,
    NEAR,
    NONE,
    OVER,
    PART,
    PARTS,
    POSTED,
    SEALED,
    SETTLED,
    SLICE,
    SLICES,
    STEP_STOP,
    STEPPED,
    STOP_SLICE,
    STOPPING,
    TAKEN,
    WAIT,
    WOKEN,
)

__all__ = [
    "acquire",
    "job",
    "leave",
    "may_lead",
    "may_settle",
    "release",
]

acquire: Any = types.ExternalFunction("PyThread_acquire_lock", types.intc(types.intp, types.intc))
release: Any = types.ExternalFunction("PyThread_release_lock", types.void(types.intp))


@njit(**INNER)
def job(tables, counters, own):
    """The most urgent job of a thread that has taken the slice `own`, or none. Additions come first, because others
    wait for them; then steps, if there are many, because Python is slow to start; then slices. A few steps wait until
    nothing else is left, and so do slices that may not gather yet."""
    if counters[STOPPING]:
        return OVER, 0
    if counters[SETTLED] == counters[GROUPS]:
        return WAIT if counters[LEADING] else OVER, 0
    if may_settle(tables, counters):
        if tables.groups[counters[SETTLED], N_ADDITIONS] >= 0:
            if counters[PARTS] < tables.n_parts:
                return PART, counters[PARTS]
        elif not counters[LEADING]:
            return LEADS, 0
    if not counters[LEADING] and _must_lead(tables, counters):
        return LEADS, 0
    if own != NONE:
        if _may_gather(tables, counters, own):
            return SLICE, own
    elif _may_take(tables, counters, counters[TAKEN], 0):
        return LOOK_UP, counters[TAKEN]
    if not counters[LEADING] and may_lead(tables, counters):
        return LEADS, 0
    if own == NONE and _may_take(tables, counters, counters[TAKEN], 1):
        return LOOK_UP, counters[TAKEN]
    return WAIT, 0


@njit(**INNER)
def may_settle(tables, counters):
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
def may_lead(tables, counters):
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
def leave(tables, thread):
    """Let go of the tables, and wake as many of those that wait as have something to do: they need the tables at once.
    The last row of `wakes` is for who is no thread of the crew."""
    chosen = tables.wakes[thread]
    n = _choose(tables, chosen)
    release(tables.gates[0])
    for i in range(n):
        release(tables.gates[1 + chosen[i]])


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
        if may_settle(tables, counters) and tables.groups[counters[SETTLED], N_ADDITIONS] >= 0:
            n += tables.n_parts - counters[PARTS]
        n += not counters[LEADING] and job(tables, counters, NONE)[0] == LEADS
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
