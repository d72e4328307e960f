"""What the collapsed kernels with responsibilities share."""

from __future__ import annotations

import numpy as np

from bigtopic.kernels.support.entry import inline, inner, outer
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.vector import (
    LANES,
    double,
    larger,
    load,
    load_part,
    prefetch,
    spread,
    store,
    store_part,
    total,
)

__all__ = ["PAIR", "ask", "begin", "by_length", "keep", "move_of_pair", "remembered", "stay", "sweep_pair"]

PAIR = 2  # documents whose words are visited by turns: the sum and the division of one keep the other waiting

_LINE = 8  # numbers in a cache line


@outer
def begin(indptr, words, counts, rows, seed, n_components, scale, shares, totals, change):
    """All of each entry to a topic at random: `scale` in `shares`, its count in `totals` and `change`."""
    for d in range(rows.shape[0]):
        row_key = key(seed, rows[d])
        for i in range(indptr[d], indptr[d + 1]):
            k = min(int(uniform(row_key, i - indptr[d]) * n_components), n_components - 1)
            shares[i, k] = scale
            totals[k] += counts[i]
            change[words[i], k] += counts[i]


@inner
def stay(old, known, fresh, n_components):
    """An entry whose weights are too small or too large for a number keeps its share, or begins evenly.

    `fresh` becomes `old`, or ones where the entry is not `known` yet; returns the sum.
    """
    whole = fresh.dtype.type(0)
    for k in range(n_components):
        fresh[k] = old[k] if known else 1
        whole += fresh[k]
    return whole


@inline
def ask(table, row, k):
    """For LANES columns of a row of float64, ahead of its turn."""
    for line in range(0, LANES, _LINE):
        prefetch(table, row, k + line)


@inline
def remembered(row, k, n):
    """The remembered shares of an entry from topic k on, LANES numbers; zeros beyond the last of n topics."""
    return double(load(row, k) if k + LANES <= n else load_part(row, k, n - k))


@inline
def keep(row, k, n, numbers):
    """Remember LANES numbers from topic k on, as far as there are topics."""
    if k + LANES <= n:
        store(row, k, numbers)
    else:
        store_part(row, k, n - k, numbers)


@inner
def by_length(indptr, order):
    """order <- the documents, the shortest ones first; documents of equal length stay in order."""
    longest = 0
    for d in range(len(order)):
        longest = max(longest, indptr[d + 1] - indptr[d])
    places = np.zeros(longest + 2, np.int64)
    for d in range(len(order)):
        places[indptr[d + 1] - indptr[d] + 1] += 1
    for length in range(longest):
        places[length + 1] += places[length]
    for d in range(len(order)):
        length = indptr[d + 1] - indptr[d]
        order[places[length]] = d
        places[length] += 1


@inner
def sweep_pair(left, counts, block, shares, inverses, mass, factors):
    """Visit each word of two documents once more, against fixed topics. Rounding may leave a mass below its share: the
    difference counts as zero.

    i is a word's place in its document and j one of the documents. `left` (2,) is how many words of each are visited,
    `block` (n, 2, n_columns) the rows of the words, `inverses[i, j] * shares[i, j]` a word's responsibilities, `mass`
    (2, n_columns) is prior and expected counts but for the word visited last, and `factors` (2,) is count times inverse
    of that word.
    """
    zero, one = mass.dtype.type(0), mass.dtype.type(1)
    for i in range(max(left[0], left[1])):
        for j in range(PAIR):
            if i >= left[j]:
                continue
            before, none = i - 1 if i > 0 else left[j] - 1, spread(zero)
            inverse, count = spread(inverses[i, j]), spread(counts[i, j])
            sums, factor = none, spread(factors[j])
            for k in range(0, mass.shape[1], LANES):
                own = load(mass, (j, k)) + factor * load(shares, (before, j, k))
                old = inverse * load(shares, (i, j, k))
                share = larger(own - old, none) * load(block, (i, j, k))
                sums = sums + share
                store(mass, (j, k), own - count * old)
                store(shares, (i, j, k), share)
            weight = total(sums)
            inverses[i, j] = one / weight if weight > 0 else zero
            factors[j] = counts[i, j] * inverses[i, j]


@inner
def move_of_pair(j, last, n_components, shares, mass, factors, before):
    """Bring the mass of document j up to its last word; how far it is from `before`, which becomes the mass."""
    change, factor = 0.0, factors[j]
    for k in range(n_components):
        mass[j, k] += factor * shares[last, j, k]
        change += abs(mass[j, k] - before[j, k])
        before[j, k] = mass[j, k]
    factors[j] = 0
    return change
