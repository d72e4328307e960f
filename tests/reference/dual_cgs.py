"""Collapsed Gibbs sampling of the dual topic model, from the equations: record by record, the whole conditional."""

from itertools import product
from math import exp, lgamma

import numpy as np
from reference.cgs import uniform
from reference.dual import first_pair

__all__ = ["infer", "posterior"]


def infer(docs, rows, columns, joint, row_totals, column_totals, options, seed, labels=None, pairs=None):
    """The weights and labels after one sweep; weights have priors and no padding.

    `pairs` is the distribution that new records are drawn from: None for that of kernels, "given" for p_kj.
    """
    n_replicas, counts = options["replicas"], docs.counts.astype(int)
    rows, columns, joint, row_totals, column_totals = (
        np.array(array, float) for array in (rows, columns, joint, row_totals, column_totals)
    )
    labels = np.full((counts.sum(), n_replicas), -1) if labels is None else labels.astype(int)
    token = 0
    for d in range(docs.n_docs):
        draw = 0
        for i in range(docs.indptr[d], docs.indptr[d + 1]):
            c = docs.words[i]

            def count(label, share, d=d, c=c):
                k, j = divmod(label, joint.shape[1])
                rows[d, k] += share
                columns[c, j] += share
                joint[k, j] += share
                row_totals[k] += share
                column_totals[j] += share

            for _ in range(counts[i]):
                new = labels[token, 0] < 0
                for label in labels[token][labels[token] >= 0]:
                    count(label, -1 / n_replicas)
                p = np.outer(rows[d] / row_totals, columns[c] / column_totals) * joint
                sums = np.cumsum(p.ravel()) / p.sum()
                for r in range(n_replicas):
                    u = uniform(seed, int(docs.rows[d]), draw)
                    if new and pairs is None:
                        labels[token, r] = np.ravel_multi_index(first_pair(u, joint.shape), joint.shape)
                    elif new and not isinstance(pairs, str):
                        labels[token, r] = np.searchsorted(np.cumsum(pairs) / pairs.sum(), u, "right")
                    else:
                        labels[token, r] = np.searchsorted(sums, u, "right")
                    draw += 1
                for label in labels[token]:
                    count(label, 1 / n_replicas)
                token += 1
    return rows, columns, joint, labels


def posterior(docs, n_topics, n_rows, n_columns, priors):
    """p(labels | records) of every vector of labels, by enumeration: {labels: probability}.

    `n_topics` is a pair, `priors` those of row topics, column topics and the joint.
    """
    counts = docs.counts.astype(int)
    row_of = np.repeat(np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr)), counts)
    column_of = np.repeat(docs.words, counts)
    found = {}
    for labels in product(range(n_topics[0] * n_topics[1]), repeat=len(row_of)):
        ks, ls = np.divmod(labels, n_topics[1])
        by_row, by_column = np.zeros((n_rows, n_topics[0])), np.zeros((n_columns, n_topics[1]))
        np.add.at(by_row, (row_of, ks), 1)
        np.add.at(by_column, (column_of, ls), 1)
        pairs = np.bincount(labels, minlength=n_topics[0] * n_topics[1])
        log = sum(lgamma(n + priors[2]) for n in pairs)
        for table, prior in ((by_row, priors[0]), (by_column, priors[1])):
            log += sum(lgamma(n + prior) for n in table.ravel())
            log -= sum(lgamma(n + len(table) * prior) for n in table.sum(axis=0))
        found[labels] = exp(log)
    whole = sum(found.values())
    return {labels: weight / whole for labels, weight in found.items()}
