"""How `sparse_cvb0` chooses the candidates of a document, and visits its words, whatever the topics are kept in."""

from __future__ import annotations

from bigtopic.kernels.support.collapsed import PAIR, move_of_pair, sweep_pair
from bigtopic.kernels.support.entry import inner

__all__ = ["DRAWS", "add_draw", "found", "most_drawn", "sweeps_of_pair"]

DRAWS = 4  # of a word of a document at most


@inner
def found(sums, low, high, target):
    """The first place from low to high at which the sums exceed the target; `high` if none does."""
    while low < high:
        middle = (low + high) // 2
        if sums[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def add_draw(topic, drawn, n_drawn, times):
    """Count a draw of a topic; returns how many topics were drawn."""
    if times[topic] == 0:
        drawn[n_drawn] = topic
        n_drawn += 1
    times[topic] += 1
    return n_drawn


@inner
def most_drawn(drawn, n_drawn, times, candidates):
    """The topics that were drawn most often, in the order of their first draws; clears how often they were. Returns how
    many there are."""
    n, most, level = 0, 0, 0
    for j in range(n_drawn):
        most = max(most, times[drawn[j]])
    while most > 0 and n < candidates.shape[0]:
        level, most = most, 0
        for j in range(n_drawn):
            often = times[drawn[j]]
            if often == level and n < candidates.shape[0]:
                candidates[n] = drawn[j]
                n += 1
            elif often < level:
                most = max(most, often)
    for j in range(n_drawn):
        times[drawn[j]] = 0
    return n


@inner
def sweeps_of_pair(n_sweeps, limit, left, counts, block, shares, inverses, mass, factors, before):
    """Sweep over two documents, of each until its mass moves by less than the limit; for the arguments see
    `sweep_pair` and `move_of_pair`. Returns the sweeps of both."""
    sweeps = 0
    for sweep in range(n_sweeps):
        sweep_pair(left, counts, block, shares, inverses, mass, factors)
        for j in range(PAIR):
            sweeps += left[j] > 0
            if limit > 0 and left[j] > 0:
                change = move_of_pair(j, left[j] - 1, mass.shape[1], shares, mass, factors, before)
                if sweep > 0 and change < limit:
                    left[j] = 0
    return sweeps
