"""Which rounds belong to an exchange, and which of them each replica does.

An *exchange* is the updates that replicas make from the same params, and the sum of their changes at its end.

    rounds of an exchange = min(R x updates of each, n / 16 x R / (R - 1), n / 15),    R replicas, n rounds before it

A replica misses what the other R - 1 do meanwhile: about a sixteenth of the rounds before, at most. At the beginning of
a run the topics change much, and replicas that miss more of each other's updates pull them apart: the first rounds are
not divided, and the exchanges grow until each replica does all of its updates. The last term matters to fewer than 16
replicas: a step is at most 1 / (rounds of the exchange), so in longer exchanges steps would be too small.

A short exchange is not worth its time: any few minibatches contain most of the frequent words, so most rows travel,
however short it is. Replicas begin after rounds with `ENTRIES_PER_WORD` entries for each word of the vocabulary, or
when an exchange can have its full number of rounds, or those of a pass.

A run that does not say how many replicas it has gets `REPLICAS` if its passes are long: if each has enough updates in
an exchange after the first one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

__all__ = [
    "FIRST",
    "REPLICAS",
    "REPLICA_UPDATES",
    "divided",
    "exchange_rounds",
    "largest_exchange",
    "replicas_of_corpus",
    "rounds_before",
    "undivided_rounds",
]

REPLICAS = 32  # of a long pass, where a run does not say otherwise
REPLICA_UPDATES = 8  # of each replica, where a run has replicas and does not say otherwise
FIRST = 20  # rounds of a run before replicas begin, where a plan does not say otherwise
MISSED_SHARE = 16  # a replica misses at most one in so many of the rounds before an exchange
ENTRIES_PER_WORD = 256  # words of documents before replicas begin, for each word of the vocabulary
# A run has `REPLICAS` by default only if each makes at least so many updates in an exchange, of documents with at least
# so many entries for each word of the vocabulary: shorter exchanges cost more than they gain
LEAST_UPDATES, LEAST_ENTRIES_PER_WORD = 32, 6
# More than the larger one of these gains nothing
ENOUGH_UPDATES, ENOUGH_ENTRIES_PER_WORD = 64, 32

Item = TypeVar("Item")


def largest_exchange(done: int, replicas: int) -> int:
    """Rounds of an exchange after so many rounds, at most."""
    return min(done * replicas // (MISSED_SHARE * (replicas - 1)), done // (MISSED_SHARE - 1))


def rounds_before(n_rounds: int, replicas: int) -> int:
    """After how many rounds an exchange may have `n_rounds`."""
    return max(-(-n_rounds * MISSED_SHARE * (replicas - 1) // replicas), n_rounds * (MISSED_SHARE - 1))


def replicas_of_corpus(n_words: int, minibatch_entries: float, n_rounds: int) -> tuple[int, int]:
    """Replicas of a run that does not say how many, and updates of each in an exchange, at most.

    Parameters
    ----------
    n_words : words of the vocabulary
    minibatch_entries : entries (words of a document) of a minibatch, on average
    n_rounds : minibatches of a pass

    Returns
    -------
    replicas : 1 where an exchange would not be worth its time
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
        return FIRST
    worth = math.ceil(ENTRIES_PER_WORD * n_words / max(1.0, minibatch_entries))
    whole = rounds_before(min(replicas * updates, n_rounds), replicas)
    return max(rounds_before(2, replicas), min(whole, worth))


def exchange_rounds(
    number: int, before: int, n_rounds: int, undivided: int, replicas: int, updates: int
) -> range:
    """The rounds of the exchange that a round of a pass belongs to; none if it belongs to none.

    Parameters
    ----------
    number : of the round, from 0
    before : updates before the pass
    n_rounds : of a pass
    undivided : rounds of a run before replicas begin
    replicas, updates : at least two copies of the params, and the most rounds of each in an exchange
    """
    starts = _starts(before, n_rounds, undivided, replicas, updates)
    i = bisect_right(starts, number)
    return range(starts[i - 1], [*starts, n_rounds][i]) if i else range(number, number)


@lru_cache(maxsize=4)
def _starts(before: int, n_rounds: int, undivided: int, replicas: int, updates: int) -> list[int]:
    """The first round of each exchange of a pass."""
    number, starts = max(0, undivided - before), []
    while number < n_rounds:
        starts.append(number)
        number += max(1, min(replicas * updates, largest_exchange(before + number, replicas)))
    return starts


def divided(items: Sequence[Item], n: int) -> list[Sequence[Item]]:
    """Consecutive items for each of `n` replicas, or of fewer if there are fewer items, as even as possible: replica r
    has those from r / n to (r + 1) / n of all, rounded down."""
    n, size = min(n, len(items)), len(items)
    return [items[r * size // n : (r + 1) * size // n] for r in range(n)]
