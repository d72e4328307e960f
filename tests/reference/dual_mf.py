"""Mean-field inference of the dual topic model, from the equations: entry by entry, counts summed anew."""

import numpy as np
from reference.cgs import uniform
from reference.dual import first_pair

__all__ = ["infer"]


def infer(docs, others, totals, joint, seed, shares):
    """Shares of row topics and of column topics, and the expected counts of pairs, after one sweep.

    `others` and `totals` are those of rows and columns as in `dual_ilr`; `joint` the weights of pairs.
    """
    new = shares is None
    n = docs.counts.astype(float)[:, None]
    sizes = (len(docs.words), joint.shape[0]), (len(docs.words), joint.shape[1])
    u, v = (np.zeros(size) for size in sizes) if new else (share.astype(float) for share in shares)
    row_of, pairs = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr)), np.zeros(joint.shape)
    for i in range(len(docs.words)):
        d, c = row_of[i], docs.words[i]
        rows, columns = (n * u)[row_of == d].sum(axis=0), (n * v)[docs.words == c].sum(axis=0)
        a = (others[0][d] + rows - u[i]) / (totals[0] + (n * u).sum(axis=0) - u[i])
        b = (others[1][c] + columns - v[i]) / (totals[1] + (n * v).sum(axis=0) - v[i])
        s = np.outer(a, b) * joint
        s /= s.sum()
        if new:
            s[:] = 0
            s[first_pair(uniform(seed, int(docs.rows[d]), int(i - docs.indptr[d])), s.shape)] = 1
        u[i], v[i] = s.sum(axis=1).astype(np.float32), s.sum(axis=0).astype(np.float32)
        u[i], v[i] = u[i] / u[i].sum(), v[i] / v[i].sum()
        pairs += n[i] * s
    return u, v, pairs
