"""Shares of all pairs of topics in each entry, with column topics and joint distribution held fixed."""

import numpy as np

__all__ = ["infer"]


def infer(docs, column_topics, joint, row_prior, n_rows, joint_prior, n_sweeps):
    """Expected counts of rows, columns and pairs; `column_topics` are probabilities, `joint` weights with the prior."""
    n_row_topics, n_column_topics = joint.shape
    totals = joint.sum(axis=1) - n_column_topics * joint_prior + n_rows * row_prior
    rows, columns = np.zeros((docs.n_docs, n_row_topics)), np.zeros((docs.n_words, n_column_topics))
    pairs = np.zeros_like(joint)
    for d in range(docs.n_docs):
        own = range(docs.indptr[d], docs.indptr[d + 1])
        shares = {i: np.zeros(joint.shape) for i in own}
        for _ in range(n_sweeps):
            for i in own:
                rows[d] -= docs.counts[i] * shares[i].sum(axis=1)
                others = rows[d] + max(docs.counts[i] - 1, 0) * shares[i].sum(axis=1)
                p = (row_prior + others)[:, None] / totals[:, None] * joint * column_topics[docs.words[i]]
                shares[i] = p / p.sum()
                rows[d] += docs.counts[i] * shares[i].sum(axis=1)
        for i in own:
            columns[docs.words[i]] += docs.counts[i] * shares[i].sum(axis=0)
            pairs += docs.counts[i] * shares[i]
    return rows, columns, pairs
