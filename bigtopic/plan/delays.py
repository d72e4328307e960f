"""How many of the latest updates a round may miss, which it sees, and the segments at whose ends it has missed none.

    delay of a run      = that of the method, but at most one for 64 rounds of a pass; 1 of a short pass
    delay of a segment  = that of the run, but at most one for 4 updates before the segment
    rounds of a segment = 8 (delay + 1), but at least 32; half as many, and maybe fewer, while the delay still grows
    rounds of a group   = half of delay + 1; all see the updates before the group before theirs

At the beginning of a run the topics change much: its first 8 rounds miss no update and are segments of their own. Later
passes begin with a delay of at least 1.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

__all__ = ["PROMPT", "delay_of_run", "group_size", "growing", "segment_of", "updates_seen"]

PROMPT = 8  # the first rounds of a run, without delay
GROWTH = 4  # updates for each that a later round may miss
ROUNDS = 64  # of a pass, for each update that a round may miss
BYTES = 1 << 32  # of the minibatches that one may miss, if each of their entries were a row of the params
SEGMENT, TURNS = 32, 8  # rounds of a segment, at least; and for each thread that its delay keeps busy
GROWING_TURNS = 4  # for each of these, while the delay grows


def delay_of_run(most: int, n_rounds: int, minibatch_bytes: float) -> int:
    """The largest delay of a run whose method allows `most`; follows from corpus and settings.

    Parameters
    ----------
    n_rounds : of a pass
    minibatch_bytes : of the statistics of a minibatch, at most
    """
    fits = int(BYTES / max(minibatch_bytes, 1.0))
    return min(most, max(1, min(n_rounds // ROUNDS, fits)))


def segment_of(number: int, before: int, n_rounds: int, delay: int) -> tuple[int, int]:
    """The first round of the segment that a round of a pass belongs to, and how many updates it may miss.

    Parameters
    ----------
    number : of the round, from 0
    before : updates before the pass
    n_rounds : of a pass
    delay : of the run
    """
    if delay == 0:
        return number, 0
    segments = _segments(before, n_rounds, delay)
    return segments[bisect_right(segments, (number, delay)) - 1]


def group_size(delay: int) -> int:
    """Rounds of a group, where there is a delay."""
    return (delay + 1) // n_groups(delay)


def n_groups(delay: int) -> int:
    """Groups that may be at work at once, where there is a delay: none of them sees another one."""
    return 4 if delay >= 15 else 2


def updates_seen(n_rounds: int, delay: int) -> list[int]:
    """How many updates of its segment each round of it sees: all with a delay of 0, otherwise those of whole groups."""
    if delay == 0:
        return list(range(n_rounds))
    group, others = group_size(delay), n_groups(delay) - 1
    return [max(0, number // group - others) * group for number in range(n_rounds)]


def growing(n_rounds: int, total: int, delay: int) -> list[tuple[int, int]]:
    """Rounds and delay of the first segments of a run that miss updates, until the delay no longer grows.

    Parameters
    ----------
    n_rounds, total : of a pass, and of all passes
    """
    found: list[tuple[int, int]] = []
    for before in range(0, total if delay else 0, n_rounds):
        segments = _segments(before, n_rounds, delay)
        ends = [first for first, _ in segments[1:]] + [n_rounds]
        for (first, now), end in zip(segments, ends, strict=True):
            if now:
                found.append((end - first, now))
            if now == delay:
                return found
    return found


@lru_cache(maxsize=4)
def _segments(before: int, n_rounds: int, delay: int) -> list[tuple[int, int]]:
    """The first round and the delay of each segment of a pass."""
    number, segments = 0, []
    while number < n_rounds:
        done = before + number
        grown = done // GROWTH if done >= PROMPT else 0
        now = min(delay, max(grown, int(before > 0)))
        segments.append((number, now))
        if now == 0:
            number += 1
        elif now < delay:
            number += GROWING_TURNS * (now + 1)
        else:
            number += max(SEGMENT, TURNS * (now + 1)) - number % SEGMENT
    return segments
