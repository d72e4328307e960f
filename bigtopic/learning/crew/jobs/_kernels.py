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
    INFER,
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
    """The most urgent job of a thread whose slice is `own`, or `NONE`: parts of additions, for which others wait; the
    steps of a whole group, since Python is slow to start; a slice that may gather, or the documents of one; other
    steps, and reading; at last, the documents of a slice that may not gather yet."""
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
    looks_up = own == NONE and _may_look_up(tables, counters, counters[TAKEN])
    if own != NONE:
        if _may_gather(tables, counters, own):
            return INFER, own
    elif looks_up and _may_gather(tables, counters, counters[TAKEN]):
        return LOOK_UP, counters[TAKEN]
    if not counters[LEADING] and may_lead(tables, counters):
        return LEADS, 0
    if looks_up:
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
    """Whether all slices of the next group to step are inferred: threads have slices of the other one."""
    sealed = counters[SEALED]
    return sealed < counters[GROUPS] and tables.groups[sealed, STOP_SLICE] <= counters[INFERRED]


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
def _may_look_up(tables, counters, number):
    """Whether the documents of a slice are in the tables, and its group may be at work, or is the next that will."""
    return number < counters[POSTED] and tables.slices[number, GROUP] <= counters[SETTLED] + counters[AT_WORK]


@njit(**INNER)
def _may_gather(tables, counters, number):
    """Whether the group of a slice may be at work."""
    return tables.slices[number, GROUP] < counters[SETTLED] + counters[AT_WORK]


@njit(**INNER)
def leave(tables, thread):
    """Release the tables, then wake as many waiting threads as have something to do: woken before, they would wait for
    the tables."""
    chosen = tables.to_wake[thread]
    n = _choose(tables, chosen)
    release(tables.gates[0])
    for i in range(n):
        release(tables.gates[1 + chosen[i]])


@njit(**INNER)
def _choose(tables, chosen):
    """Choose the threads to wake, and count them as woken. Returns their number."""
    counters = tables.counters
    if counters[IDLE] == 0:
        return 0
    n_any = n_free = 0  # jobs for any thread; for one that has no slice of its own
    over = counters[SETTLED] == counters[GROUPS]
    if counters[STOPPING]:
        n_any = counters[IDLE]
    elif over:
        # The segment is over: only thread 0 returns, to end it.
        n_any = tables.asleep[0] if not counters[LEADING] else 0
    else:
        if may_settle(tables, counters) and tables.groups[counters[SETTLED], N_ADDITIONS] >= 0:
            n_any += tables.n_parts - counters[PARTS]
        n_any += job(tables, counters, NONE)[0] == LEADS
        number = counters[TAKEN]
        while n_free < counters[IDLE] and _may_look_up(tables, counters, number):
            n_free, number = n_free + 1, number + 1
        # Threads that are woken already have some of these
        n_free -= max(counters[WOKEN] - n_any, 0)
        n_any = max(n_any - counters[WOKEN], 0)
    n_chosen = 0
    for thread in range(len(tables.asleep)):
        if not tables.asleep[thread]:
            continue
        own = tables.own[thread]
        if n_any > 0:
            n_any -= 1
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
