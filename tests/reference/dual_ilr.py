"""ILR of the dual topic model, from the equations: entry by entry, counts summed anew."""

import numpy as np
from reference.cgs import uniform
from reference.dual import first_pair

__all__ = ["counted", "infer"]


def counted(docs, shares):
    """Expected counts of rows, columns and pairs, from shares (n_entries, n_row_topics, n_column_topics)."""
    row_of = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    by_entry = docs.counts.astype(float)[:, None, None] * shares
    rows, columns = np.zeros((docs.n_docs, shares.shape[1])), np.zeros((docs.n_words, shares.shape[2]))
    np.add.at(rows, row_of, by_entry.sum(axis=2))
    np.add.at(columns, docs.words, by_entry.sum(axis=1))
    return [rows, columns, by_entry.sum(axis=0)]


def infer(docs, others, totals, seed, shares):
    """The responsibilities after one sweep; None for new ones.

    `others` are the weights of rows, columns and pairs without what these documents have counted, prior included;
    `totals` likewise the sums of the rows' and of the columns' over the whole axes.
    """
    new = shares is None
    shares = np.zeros((len(docs.words), *others[2].shape)) if new else shares.astype(float)
    for d in range(docs.n_docs):
        for i in range(docs.indptr[d], docs.indptr[d + 1]):
            without = counted(docs, shares)
            r, c = shares[i], docs.words[i]
            rows, columns, joint = (other + own for other, own in zip(others, without, strict=True))
            p = joint - r
            p = (
                p
                * ((rows[d] - r.sum(axis=1)) / (totals[0] + without[0].sum(axis=0) - r.sum(axis=1)))[:, None]
            )
            p = p * (columns[c] - r.sum(axis=0)) / (totals[1] + without[1].sum(axis=0) - r.sum(axis=0))
            p /= p.sum()
            if new:
                p[:] = 0
                p[first_pair(uniform(seed, int(docs.rows[d]), int(i - docs.indptr[d])), p.shape)] = 1
            p = p.astype(np.float32).astype(float)
            shares[i] = p / p.sum()
    return shares
