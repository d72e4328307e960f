"""Conditional density filtering, from the equations: one document after another, numbers one by one."""

from math import cos, exp, inf, log, pi, sqrt

import numpy as np
from reference.cgs import MASK, _mix, uniform

__all__ = ["LEAST_PRIOR", "draw", "draw_first", "infer", "log_gamma"]

LEAST_PRIOR = 1e-18
_GOLDEN = 0x9E3779B97F4A7C15


def _key(seed, row):
    return _mix(_mix(seed + _GOLDEN) + (row + 1) * _GOLDEN)


def _bits(key, draw):
    return _mix(key + (draw + 1) * _GOLDEN)


def _uniform(key, draw):
    return ((_bits(key, draw) >> 11) + 0.5) * 2.0**-53


def log_gamma(shape, key):
    """By Marsaglia and Tsang; a shape below 1 from the next larger one."""
    if shape <= 0:
        return -inf
    if shape < 1:
        return log_gamma_of(shape + 1, key) + log(_uniform(key, 0)) / shape
    return log_gamma_of(shape, key)


def log_gamma_of(shape, key):
    d, draw = shape - 1 / 3, 1
    while True:
        x = sqrt(-2 * log(_uniform(key, draw))) * cos(2 * pi * _uniform(key, draw + 1))
        v = (1 + x / sqrt(9 * d)) ** 3
        if v > 0 and log(_uniform(key, draw + 2)) < x * x / 2 + d - d * v + d * log(v):
            return log(d * v)
        draw += 3


def draw(words, weights, totals, key):
    """log Phi (n, n_components) of a document's words."""
    n_components = weights.shape[1]
    found = np.array(
        [
            [log_gamma(weights[v, k], _bits(key, i * n_components + k)) for k in range(n_components)]
            for i, v in enumerate(words)
        ]
    ).reshape(len(words), n_components)
    for k in range(n_components):
        rest = log_gamma(totals[k] - weights[words, k].sum(), _bits(key, len(words) * n_components + k))
        parts = np.append(found[:, k], rest)
        if parts.max() > -inf:
            found[:, k] -= parts.max() + log(sum(exp(part - parts.max()) for part in parts))
    return found


def draw_first(n, n_words, n_components, key):
    """log Phi (n, n_components) of the words of the first document."""
    numbers = [_uniform(key, draw) for draw in range(n_words * n_components)]
    topics = np.array(numbers).reshape(n_words, n_components)
    return np.log(topics / topics.sum(axis=0))[:n]


def infer(docs, weights, totals, alpha, options, seed):
    """Counts of the labels (n_words, n_components) and documents' topics.

    `weights` and `totals` are eta + N_kv, (n_words, n_components), and their sums over all words. N is
    0 if all weights are equal.
    """
    first, n_words = (weights == weights[0, 0]).all(), round(totals[0] / weights[0, 0])
    counts, topics = np.zeros(weights.shape), np.zeros((docs.n_docs, len(alpha)))
    for d in range(docs.n_docs):
        own, row = slice(docs.indptr[d], docs.indptr[d + 1]), int(docs.rows[d])
        words = docs.words[own]
        key = _key(_key(seed, row) & MASK, 0)
        if first and not counts.any():
            logs = draw_first(len(words), n_words, len(alpha), key)
        else:
            logs = draw(words, weights + counts, totals + counts.sum(axis=0), key)
        known = [i for i in range(len(words)) if logs[i].max() > -inf]
        tokens = np.repeat(known, docs.counts[own].astype(int)[known]).astype(int)
        phi = np.exp(logs - np.maximum(logs.max(axis=1, keepdims=True, initial=-inf), -1e308))
        labels = [_drawn(phi[i], uniform(seed, row, t)) for t, i in enumerate(tokens)]
        for t, i in enumerate(tokens):
            others = np.bincount(np.delete(labels, t), minlength=len(alpha))
            labels[t] = _drawn((alpha + others) * phi[i], uniform(seed, row, len(tokens) + t))
        np.add.at(counts, (words[tokens], labels), 1)
        topics[d] = alpha + np.bincount(labels, minlength=len(alpha))
    return counts, topics / topics.sum(axis=1, keepdims=True)


def _drawn(weights, u):
    """The topic at which the running sum passes u; topics in the order of their remainders by 16."""
    order = np.argsort(np.arange(len(weights)) % 16, kind="stable")
    return order[np.searchsorted(np.cumsum(weights[order]), u * weights.sum(), side="right")]
