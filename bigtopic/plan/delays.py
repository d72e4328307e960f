"""How many of the latest updates a round may miss, which it sees, and the segments at whose ends it has missed none.

    delay of a run      = that of the method, but at most one for 64 rounds of a pass; 1 of a short pass
    groups at work      = 2; rounds of a group do not see each other's updates. Delays are odd
    rounds of a group   = so many that a round misses min(delay, max(11, 3/4 delay, updates done / 12)) at most: in the
                          end (delay + 1) / 2
    rounds of a segment = 8 (delay + 1), but at least 32

At the beginning of a run the topics change much: its first 8 rounds miss no update and are segments of their own.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

__all__ = [
    "PROMPT",
    "Groups",
    "delay_of_run",
    "first_delay",
    "groups_of",
    "is_halved",
    "largest_group",
    "longest_segment",
    "one_by_one",
    "segment_of",
]

PROMPT = 8  # the first rounds of a run, without delay
FIRST = 11  # updates that the rounds after these may miss; or three quarters of the delay, if that is more
GROWTH = 12  # updates for each that later ones may miss
ROUNDS = 64  # of a pass, for each update that a round may miss
BYTES = 1 << 32  # of the minibatches that one may miss, if each of their entries were a row of the params
SEGMENT, TURNS = 32, 8  # rounds of a segment, at least; and for each thread that its delay keeps busy
AT_WORK = 2  # groups: while one ends, threads have the rounds of the other


class Groups(NamedTuple):
    """Consecutive rounds of a segment that see the same updates.

    Attributes
    ----------
    sizes : rounds of each
    at_work : how many may be at work at once: a group sees the updates of all before it but the last `at_work` - 1
    """

    sizes: tuple[int, ...]
    at_work: int

    @property
    def most_missed(self) -> int:
        """How many updates a round misses, at most."""
        return max(self._at_once(), default=1) - 1

    def seen(self) -> list[int]:
        """How many updates of the segment each round sees."""
        before = [0] * (self.at_work - 1) + list(accumulate(self.sizes, initial=0))
        return [seen for seen, size in zip(before, self.sizes, strict=False) for _ in range(size)]

    def missed(self) -> list[int]:
        """How many updates each round misses."""
        return [number - seen for number, seen in enumerate(self.seen())]

    def largest_steps(self) -> list[float]:
        """The largest step of each round, so that the steps of rounds that miss one another add up to at most 1."""
        n, at_once = self.at_work, self._at_once()
        most = [max(at_once[group : group + n]) for group in range(len(self.sizes))]
        return [1.0 / rounds for size, rounds in zip(self.sizes, most, strict=True) for _ in range(size)]

    def _at_once(self) -> list[int]:
        """Rounds of each group and of those that may be at work when it begins."""
        before = [*accumulate(self.sizes, initial=0)]
        return [
            after - before[max(0, group - self.at_work)] for group, after in enumerate(before[1:], start=1)
        ]


def one_by_one(n_rounds: int) -> Groups:
    """Rounds that miss no updates."""
    return Groups((1,) * n_rounds, 1)


def delay_of_run(most: int, n_rounds: int, minibatch_bytes: float) -> int:
    """The largest delay of a run whose method allows `most`; follows from corpus and settings.

    Parameters
    ----------
    n_rounds : of a pass
    minibatch_bytes : of the statistics of a minibatch, at most
    """
    fits = int(BYTES / max(minibatch_bytes, 1.0))
    delay = min(most, max(1, min(n_rounds // ROUNDS, fits)))
    return max(min(most, 1), (delay + 1) // AT_WORK * AT_WORK - 1)


def first_delay(delay: int) -> int:
    """How many updates a round may miss after the first ones of a run, before that grows to `delay`."""
    return max(FIRST, 3 * delay // 4)


def groups_of(n_rounds: int, done: int, delay: int) -> Groups:
    """The groups of a segment.

    Parameters
    ----------
    done : updates before it
    delay : of the run, at least 1
    """
    sizes: list[int] = []
    left = n_rounds
    while left > 0:
        most = 1 + min(delay, max(first_delay(delay), (done + n_rounds - left) // GROWTH))
        other = sizes[-1] if sizes else 1  # rounds of the other group at work, at least one
        sizes.append(min(left, max(1, min(-(-most // AT_WORK), most - other))))
        left -= sizes[-1]
    return Groups(tuple(sizes), AT_WORK)


def largest_group(delay: int) -> int:
    """Rounds of the largest group of a run."""
    return max(1, (delay + 1) // AT_WORK)


def _is_prompt(number: int, before: int) -> bool:
    """Whether a round of a pass, with so many updates before the pass, misses none because it is one of the first of a
    run."""
    return before + number < PROMPT


def is_halved(number: int, before: int, delay: int) -> bool:
    """Whether a round is two slices: fewer rounds may be at work than later in the run, so threads share them."""
    grows = delay > first_delay(delay)
    return _is_prompt(number, before) or (grows and (before + number) // GROWTH < delay)


def segment_of(number: int, before: int, n_rounds: int, delay: int) -> tuple[range, bool]:
    """The rounds of the segment that a round of a pass belongs to, and whether they miss updates.

    Parameters
    ----------
    number : of the round, from 0
    before : updates before the pass
    n_rounds : of a pass
    delay : of the run
    """
    if delay == 0 or _is_prompt(number, before):
        return range(number, number + 1), False
    segments = _segments(max(0, PROMPT - before), n_rounds, delay)
    segment = bisect_right(segments, number)
    return range(*[*segments[segment - 1 : segment + 1], n_rounds][:2]), True


def longest_segment(delay: int) -> int:
    """Rounds of a segment, at most."""
    return max(SEGMENT, TURNS * (delay + 1))


@lru_cache(maxsize=4)
def _segments(first: int, n_rounds: int, delay: int) -> list[int]:
    """The first round of each segment of a pass, from a round on."""
    number, segments, length = first, [], longest_segment(delay)
    while number < n_rounds:
        segments.append(number)
        number += length - number % length
    return segments
