"""Streaming ILR, from the equations: sweeps of the reference of `ilr` on dense counts of one minibatch."""

import numpy as np
from reference import ilr

__all__ = ["infer"]


def infer(docs, weights, totals, alpha, options, seed):
    """Expected counts (n_words, n_components), documents' topics and the number of sweeps of a minibatch.

    `weights` and `totals` are eta + G_kv, (n_words, n_components), and their sums over all words.
    """
    counts, shares, n_sweeps = np.zeros_like(weights), None, 0
    while n_sweeps <= options["max_sweeps"]:
        before = ilr.start(docs, len(alpha), seed) if shares is None else shares
        now = weights + counts, totals + counts.sum(axis=0)
        change, doc_topics, shares = ilr.infer(docs, *now, alpha, {}, seed, shares)
        counts, n_sweeps = counts + change, n_sweeps + 1
        moved = docs.counts @ np.abs(shares - before).sum(axis=1)
        if moved < options["mean_change_tol"] * docs.counts.sum():
            break
    return counts, doc_topics, n_sweeps
