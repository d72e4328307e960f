"""The labels of the tokens of some documents, drawn against fixed weights: a token of each document by turns.

A draw waits for the label before it; draws of several documents wait at the same time. Documents change nothing in each
other.

In what follows j is one of the documents, longer ones have larger j, and i is a place in its list of tokens. Arrays are
flat: mass[j * n_columns + k] is alpha_k + N_k of document j, numbers the same without alpha, prior is alpha
for each document. block and held have a row of n_columns for each word; rows[i * TOGETHER + j] says where that of a
token begins. sums, ends and targets are those of `_draw`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.kernels.support.draw import find, get, put, scan
from bigtopic.kernels.support.entry import INNER
from bigtopic.kernels.support.random import uniform
from bigtopic.kernels.support.vector import LANES, load, spread, store, total

__all__ = ["TOGETHER", "count_labels", "hold_conditionals", "start_labels", "sweep_labels"]

TOGETHER = 4


@njit(**INNER)
def _count(place, change, prior, numbers, mass):
    """Change a count. It is a whole number, so that nothing drifts however often labels change."""
    number = get(numbers, place) + change
    put(numbers, place, number)
    put(mass, place, get(prior, place) + number)


@njit(**INNER)
def start_labels(
    j, n_tokens, n_components, n_columns, by_words, row_key, prior,
    rows, labels, block, mass, numbers, sums, ends, targets,
):  # fmt: skip
    """Draw the first label of each token, and count all of them but the first token's."""
    one, zero = mass.dtype.type(1), mass.dtype.type(0)
    own = slice(j * n_columns, (j + 1) * n_columns)
    for k in range(n_columns):
        mass[own][k], numbers[own][k] = one if k < n_components else zero, zero
    for i in range(n_tokens):
        u, at = uniform(row_key, i), i * TOGETHER + j
        label = min(np.intp(u * n_components), n_components - 1)
        if by_words:
            lane = scan(u, j, rows[at], n_columns, mass, block, sums, ends, targets)
            label = find(lane, j, rows[at], n_columns, mass, block, sums, ends, targets)
        labels[at] = label
        numbers[own][label] += i > 0
    for k in range(n_columns):
        mass[own][k] = prior[own][k] + numbers[own][k]


@njit(**INNER)
def _following(i, j, n_tokens, labels):
    """The label of the token after this one, or of the first after the last."""
    return get(labels, ((i + 1) if i + 1 < get(n_tokens, j) else 0) * TOGETHER + j)


@njit(**INNER)
def sweep_labels(
    n_tokens, sweep, keep, row_keys, n_columns, prior,
    rows, labels, block, mass, numbers, held, sums, ends, targets, lanes,
):  # fmt: skip
    """Draw each label anew; `keep` (1 or 0) of it is held. The token that comes next is never counted."""
    active, one = 0, mass.dtype.type(1)
    for i in range(n_tokens[TOGETHER - 1]):
        while get(n_tokens, active) <= i:
            active += 1
        for j in range(active, TOGETHER):
            u, row = uniform(get(row_keys, j), sweep * get(n_tokens, j) + i), get(rows, i * TOGETHER + j)
            put(lanes, j, scan(u, j, row, n_columns, mass, block, sums, ends, targets))
        for j in range(active, TOGETHER):
            row = get(rows, i * TOGETHER + j)
            label = find(get(lanes, j), j, row, n_columns, mass, block, sums, ends, targets)
            put(labels, i * TOGETHER + j, label)
            put(held, row + label, get(held, row + label) + keep)
            _count(j * n_columns + label, one, prior, numbers, mass)
            _count(j * n_columns + _following(i, j, n_tokens, labels), -one, prior, numbers, mass)


@njit(**INNER)
def hold_conditionals(n_tokens, n_columns, prior, rows, labels, block, mass, numbers, held, inverses):
    """Hold each token's conditional probabilities given all other labels."""
    active, one = 0, mass.dtype.type(1)
    for i in range(n_tokens[TOGETHER - 1]):
        while get(n_tokens, active) <= i:
            active += 1
        for j in range(active, TOGETHER):
            row, weights = get(rows, i * TOGETHER + j), spread(mass.dtype.type(0))
            for k in range(0, n_columns, LANES):
                weights = weights + load(mass, j * n_columns + k) * load(block, row + k)
            put(inverses, j, one / total(weights))
        for j in range(active, TOGETHER):
            row, inverse = get(rows, i * TOGETHER + j), spread(get(inverses, j))
            for k in range(0, n_columns, LANES):
                share = inverse * load(mass, j * n_columns + k) * load(block, row + k)
                store(held, row + k, load(held, row + k) + share)
            _count(j * n_columns + get(labels, i * TOGETHER + j), one, prior, numbers, mass)
            _count(j * n_columns + _following(i, j, n_tokens, labels), -one, prior, numbers, mass)


@njit(**INNER)
def count_labels(j, n_tokens, labels, counted):
    """counted[k] <- the labels of topic k that document j has."""
    counted[:] = 0
    for i in range(n_tokens):
        counted[get(labels, i * TOGETHER + j)] += 1
