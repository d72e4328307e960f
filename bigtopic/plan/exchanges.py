"""Which rounds replicas do between two exchanges of their changes, and which of them each replica does.

    rounds of an exchange = min(replicas x updates of each, an eighth of the rounds done before it)

At the beginning of a run the topics change much, and replicas that have not seen each other's updates would pull them
apart: the first rounds are not divided, and the exchanges grow until each replica does all of its updates. A short
exchange is not worth its time either: any few minibatches contain most of the frequent words, so most rows travel,
however short it is. Replicas begin when an exchange has `ENTRIES_PER_WORD` entries for each word of the vocabulary, or
as many rounds as exchanges ever have.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

__all__ = [
    "FIRST",
    "LARGEST_SHARE",
    "REPLICA_UPDATES",
    "divided",
    "exchange_of",
    "exchange_rounds",
    "undivided_rounds",
]

REPLICA_UPDATES = 8  # of each replica, unless a run says otherwise
FIRST = 20  # rounds at the beginning of a run that are never divided
LARGEST_SHARE = 8  # an exchange has at most one in so many of the rounds before it
ENTRIES_PER_WORD = 32  # words of documents in the first exchange, for each word of the vocabulary

Item = TypeVar("Item")


def undivided_rounds(n_words: int, minibatch_entries: float, n_rounds: int, most: int) -> int:
    """Rounds of a run before replicas begin.

    Parameters
    ----------
    n_words : of the vocabulary
    minibatch_entries : of a round
    n_rounds : of a pass, at whose end an exchange ends
    most : rounds of an exchange
    """
    least = min(most, n_rounds, math.ceil(ENTRIES_PER_WORD * n_words / max(1.0, minibatch_entries)))
    return max(FIRST, LARGEST_SHARE * least)


def exchange_of(number: int, before: int, n_rounds: int, undivided: int, most: int) -> int:
    """The exchange that a round of a pass belongs to, counted from 1 in the pass; 0 for none.

    Parameters
    ----------
    number : of the round, from 0
    before : updates before the pass
    n_rounds : of a pass
    undivided : rounds of a run before replicas begin
    most : rounds of an exchange
    """
    return bisect_right(_starts(before, n_rounds, undivided, most), number)


def exchange_rounds(exchange: int, before: int, n_rounds: int, undivided: int, most: int) -> range:
    """The rounds of an exchange, numbered from 1 in a pass; the other parameters are those of `exchange_of`."""
    starts = [*_starts(before, n_rounds, undivided, most)[exchange - 1 : exchange + 1], n_rounds]
    return range(*starts[:2])


@lru_cache(maxsize=4)
def _starts(before: int, n_rounds: int, undivided: int, most: int) -> list[int]:
    """The first round of each exchange of a pass."""
    number, starts = max(0, undivided - before), []
    while number < n_rounds:
        starts.append(number)
        number += max(1, min(most, (before + number) // LARGEST_SHARE))
    return starts


def divided(items: Sequence[Item], n: int) -> list[Sequence[Item]]:
    """Consecutive items for each of `n` replicas, as even as possible; for fewer if there are fewer items."""
    n, size = min(n, len(items)), len(items)
    return [items[r * size // n : (r + 1) * size // n] for r in range(n)]
