"""Labels of one document's tokens by Gibbs sampling, from the equations, with the same random numbers."""

import numpy as np
from reference.cgs import uniform

__all__ = ["FIRST_DRAW", "converged", "numbers"]

FIRST_DRAW = 1 << 32


def numbers(words, counts, weights, expected, prior, n_sweeps, seed, row):
    """How many tokens have each label. `weights` (n_words, n_components), `expected` is alpha + N in proportion."""
    tokens = np.repeat(words, counts.astype(int))
    labels, draw = [], FIRST_DRAW
    for word in tokens:
        labels.append(_drawn(expected * weights[word], uniform(seed, row, draw)))
        draw += 1
    for _ in range(n_sweeps):
        for t, word in enumerate(tokens):
            others = np.bincount(np.delete(labels, t).astype(int), minlength=len(prior))
            labels[t] = _drawn((prior + others) * weights[word], uniform(seed, row, draw))
            draw += 1
    return np.bincount(np.array(labels, int), minlength=len(prior))


def _drawn(weights, u):
    return int(np.searchsorted(np.cumsum(weights), u * weights.sum(), side="right"))


def converged(words, counts, weights, prior, n_sweeps=2000, second_order=False):
    """Responsibilities (n, n_components) at rest of CVB0, or CVB, against these weights."""
    shares = np.full((len(words), len(prior)), 1 / len(prior))
    for _ in range(n_sweeps):
        for i, word in enumerate(words):
            others = prior + counts @ shares - shares[i]
            new = others * weights[word]
            if second_order:
                variance = counts @ (shares * (1 - shares)) - shares[i] * (1 - shares[i])
                new *= np.exp(np.maximum(-variance / (2 * others**2), -30))
            shares[i] = new / new.sum()
    return shares
