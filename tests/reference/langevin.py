"""A step of Langevin dynamics for every weight, one after the other, from the equations."""

import numpy as np

__all__ = ["normal", "step"]


def normal(seed, update, row, n):
    """The normal numbers of a row at an update."""
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, update, row])).standard_normal(n)


def step(weights, counts, n_docs, total_docs, update, seed, *, prior, step_size, decay, offset):
    """Q (n_words, n_components) after the update, for Q and S before it."""
    rate = min(1.0, step_size * (1 + update / offset) ** -decay)
    after = np.empty_like(weights)
    for v, row in enumerate(weights):
        for k, weight in enumerate(row):
            share = weight / weights[:, k].sum()
            drift = prior - weight + total_docs / n_docs * (counts[v, k] - share * counts[:, k].sum())
            noise = np.sqrt(2 * rate * weight) * normal(seed, update, v, len(row))[k]
            after[v, k] = abs(weight + rate * drift + noise)
    return after
