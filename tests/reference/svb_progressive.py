"""The first inner iteration of progressive SVB, from the equations: one document after the other, on dense weights."""

import numpy as np
from reference import vb
from scipy.special import psi

__all__ = ["infer"]


def infer(docs, weights, totals, alpha, options, seed):
    """Expected counts (n_words, n_components) and documents' topics of a minibatch.

    `weights` and `totals` are eta + S_kv, (n_words, n_components), and their sums over all words.
    """
    counts, doc_topics = np.zeros_like(weights), []
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        words = docs.words[own]
        logs = psi((weights + counts)[words]) - psi(totals + counts.sum(axis=0))
        rows = np.exp(logs - logs.max(axis=1, initial=-np.inf, keepdims=True))
        with np.errstate(divide="ignore"):
            stats, theta = vb.infer(
                np.arange(len(words)), docs.counts[own].astype(float), rows, alpha, options
            )
        counts[words] += stats
        doc_topics.append(theta)
    return counts, np.array(doc_topics)
