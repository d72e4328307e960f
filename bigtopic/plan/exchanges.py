"""Exchanges: which rounds begin from the same params, and how shares divide them.

An *exchange* is consecutive rounds of a pass that begin from the same params; at its end, their changes are added up.
It is R shares of H rounds: a share sees its own updates, and none of the other shares'. A run can be cut between
exchanges. After n rounds of the run, an exchange is

    n < PROMPT             one round: topics change much at the beginning
    n < undivided rounds   R shares of one round,    R = min(concurrent rounds, max(FIRST, n / GROWTH))
    then, with replicas    min(R H, n / 16 x R / (R - 1), n / 15) rounds,    R replicas, H updates of each

Both divisions bound what a share misses by the rounds before: about a sixteenth of them, at most, for replicas. The
last term matters to fewer than 16 replicas: a step is at most 1 / (rounds of the exchange), so in longer exchanges
steps would be too small.

Replicas copy the rows that they need, which does not pay for a few rounds, because most minibatches have the same
frequent words. They begin once the rounds so far have `ENTRIES_PER_WORD` entries for each word of the vocabulary, or an
exchange can have its full number of rounds, or a whole pass. By default, a run has `REPLICAS` if its passes are so long
that, after the first one, each replica has enough updates in an exchange.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol, TypeVar

import numpy as np

from bigtopic.errors import SettingError, argument

__all__ = [
    "CONCURRENT",
    "FIRST",
    "GROWTH",
    "MISSED_SHARE",
    "ONE_BY_ONE",
    "PROMPT",
    "REPLICAS",
    "REPLICA_UPDATES",
    "UNDIVIDED",
    "Schedule",
    "UsualSchedule",
    "concurrent_rounds",
    "divided",
    "exchanges_of",
    "largest_exchange",
    "replicas_of_corpus",
    "rounds_before",
    "undivided_rounds",
]

PROMPT = 8  # first rounds of a run, which miss no update
FIRST = 12  # rounds of the exchanges after these
GROWTH = 12  # updates before an exchange for each of its rounds
CONCURRENT = 32  # rounds of an exchange, at most, where each round is a share
LEAST_CONCURRENT = 4  # fewer would not keep threads busy: then each round is divided among them
ROUNDS = 64  # of a pass, for each round of an exchange
BYTES = 1 << 32  # of the statistics of an exchange, at most

REPLICAS = 32  # of a long pass, where a run does not say otherwise
REPLICA_UPDATES = 8  # of each replica, where a run has replicas and does not say otherwise
UNDIVIDED = 20  # rounds of a run before replicas begin, where a plan does not say otherwise
MISSED_SHARE = 16  # a replica misses at most one in so many of the rounds before an exchange
ENTRIES_PER_WORD = 256  # words of documents before replicas begin, for each word of the vocabulary
# A run has `REPLICAS` by default only if each makes at least so many updates in an exchange, of documents with at least
# so many entries for each word of the vocabulary: shorter exchanges cost more than they gain
LEAST_UPDATES, LEAST_ENTRIES_PER_WORD = 32, 6
# More than the larger one of these gains nothing
ENOUGH_UPDATES, ENOUGH_ENTRIES_PER_WORD = 64, 32

Item = TypeVar("Item")


class Schedule(Protocol):
    """How many rounds begin from the same params, as a run goes on."""

    def exchange(self, done: int) -> tuple[int, bool]:
        """The rounds, at least 1, of the exchange that begins after `done` updates of a run, and whether replicas share
        them. The end of a pass ends an exchange. Depends on nothing but `done`, so that a run can be cut."""


@dataclass(frozen=True)
class UsualSchedule:
    """The schedule of the equations above.

    concurrent : rounds of an exchange before replicas begin, at most; 1 for rounds one after the other
    replicas, replica_updates : R and H; without replicas, R is 1
    undivided : rounds of a run before replicas begin
    """

    concurrent: int
    replicas: int
    replica_updates: int
    undivided: int

    def exchange(self, done: int) -> tuple[int, bool]:
        """See `Schedule.exchange`."""
        if self.replicas > 1 and done >= self.undivided:
            largest = max(1, largest_exchange(done, self.replicas))
            return min(self.replicas * self.replica_updates, largest), True
        if done < PROMPT or self.concurrent == 1:
            return 1, False
        length = min(self.concurrent, max(FIRST, done // GROWTH))
        return length if self.replicas == 1 else min(length, self.undivided - done), False


ONE_BY_ONE = UsualSchedule(concurrent=1, replicas=1, replica_updates=1, undivided=UNDIVIDED)


def concurrent_rounds(n_rounds: int, minibatch_bytes: float) -> int:
    """Rounds of an exchange, at most, where each round is a share.

    Parameters
    ----------
    n_rounds : of a pass
    minibatch_bytes : of the statistics of a minibatch, at most
    """
    most = min(CONCURRENT, n_rounds // ROUNDS, int(BYTES / max(minibatch_bytes, 1.0)))
    return most if most >= LEAST_CONCURRENT else 1


def exchanges_of(
    schedule: Schedule, before: int, n_rounds: int, replicas: int = 1
) -> Iterator[tuple[range, bool]]:
    """The rounds of each exchange of a pass, and whether replicas share them.

    Parameters
    ----------
    before : updates before the pass
    n_rounds : of the pass
    replicas : how many the run has

    Raises
    ------
    SettingError
        When the schedule returns something else, or gives rounds to replicas that the run does not have.
    """
    number = 0
    while number < n_rounds:
        length, copies = _checked(schedule, before + number, replicas)
        stop = min(number + length, n_rounds)
        yield range(number, stop), copies and stop - number > 1
        number = stop


def _checked(schedule: Schedule, done: int, replicas: int) -> tuple[int, bool]:
    found: Any = schedule.exchange(done)
    where = f"{argument('schedule')}: {type(schedule).__name__}.exchange({done}) returned {found!r}"
    match found:
        case (Integral() as length, bool() | np.bool_() as copies) if int(length) >= 1:
            if copies and replicas == 1:
                raise SettingError(
                    f"{where}, but the run has no replicas; give {argument('replicas')}, or return False"
                )
            return int(length), bool(copies)
    raise SettingError(f"{where}; return how many rounds, at least 1, and whether replicas share them")


def largest_exchange(done: int, replicas: int) -> int:
    """The most rounds of an exchange of replicas after `done` rounds of the run."""
    return min(done * replicas // (MISSED_SHARE * (replicas - 1)), done // (MISSED_SHARE - 1))


def rounds_before(n_rounds: int, replicas: int) -> int:
    """Rounds of the run before an exchange of replicas may have `n_rounds`: the inverse of `largest_exchange`."""
    return max(-(-n_rounds * MISSED_SHARE * (replicas - 1) // replicas), n_rounds * (MISSED_SHARE - 1))


def replicas_of_corpus(n_words: int, minibatch_entries: float, n_rounds: int) -> tuple[int, int]:
    """The default number of replicas, and the most updates of each in an exchange.

    Parameters
    ----------
    n_words : words of the vocabulary
    minibatch_entries : entries (words of a document) of a minibatch, on average
    n_rounds : minibatches of a pass

    Returns
    -------
    replicas : 1 where exchanges would not pay
    updates : the most of each replica in an exchange
    """
    n_updates = largest_exchange(n_rounds, REPLICAS) // REPLICAS
    words = n_words / max(1.0, minibatch_entries)
    if n_updates < max(LEAST_UPDATES, LEAST_ENTRIES_PER_WORD * words):
        return 1, REPLICA_UPDATES
    return REPLICAS, min(n_updates, max(ENOUGH_UPDATES, math.ceil(ENOUGH_ENTRIES_PER_WORD * words)))


def undivided_rounds(
    n_words: int, minibatch_entries: float, n_rounds: int, replicas: int, updates: int
) -> int:
    """Rounds of a run before replicas begin.

    Parameters
    ----------
    n_words, minibatch_entries : as for `replicas_of_corpus`
    n_rounds : of a pass, at whose end an exchange ends
    replicas, updates : copies of the params, and the most rounds of each in an exchange
    """
    if replicas == 1:
        return UNDIVIDED
    worth = math.ceil(ENTRIES_PER_WORD * n_words / max(1.0, minibatch_entries))
    whole = rounds_before(min(replicas * updates, n_rounds), replicas)
    return max(rounds_before(2, replicas), min(whole, worth))


def divided(items: Sequence[Item], n: int) -> list[Sequence[Item]]:
    """Consecutive items for each of `n` shares, or for fewer if there are fewer items: share r ends at the fraction
    (r + 1) / n of the items, rounded down."""
    n, size = min(n, len(items)), len(items)
    return [items[r * size // n : (r + 1) * size // n] for r in range(n)]
