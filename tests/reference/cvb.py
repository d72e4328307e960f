"""CVB of second order, from the equations: dense float64, entry by entry, counts and variances summed anew."""

import numpy as np
from reference.ilr import start

__all__ = ["infer"]


def infer(docs, weights, totals, alpha, options, seed, shares=None, variances=None):
    """The change of the weights, documents' topics, responsibilities and change of the variances of one sweep.

    Parameters
    ----------
    weights, totals : eta + N_kv, (n_words, n_components), and their sums over all words, `shares` included
    shares : (n_entries, n_components); None for new documents
    variances : s_kv and their sums over all words; None where they are the weights, as in the tests of all kernels
    """
    counts, n = docs.counts.astype(float), len(alpha)
    by_word, by_all = variances or (weights, totals)
    before = np.zeros((len(docs.words), n)) if shares is None else shares
    shares = start(docs, n, seed) if shares is None else shares.copy()
    topics = np.zeros((docs.n_docs, n))
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        for i in range(docs.indptr[d], docs.indptr[d + 1]):
            r, v = shares[i], docs.words[i]
            grown = _of_words(docs, counts[:, None] * (shares - before))
            doubts = _of_words(docs, counts[:, None] * (_variance(shares) - _variance(before)))
            others = counts[own] - (np.arange(own.start, own.stop) == i)
            m = (
                alpha + others @ shares[own],
                weights[v] + grown[v] - r,
                totals + grown.sum(axis=0) - r,
            )
            s = (
                others @ _variance(shares[own]),
                by_word[v] + doubts[v] - _variance(r),
                by_all + doubts.sum(axis=0) - _variance(r),
            )
            of_doc, of_word, of_all = (np.maximum(b, 0) / (2 * a**2) for a, b in zip(m, s, strict=True))
            new = m[0] * m[1] / m[2] * np.exp(np.clip(of_all - of_doc - of_word, -30, 30))
            new = np.float32(new / new.sum()).astype(float)
            shares[i] = new / new.sum()
        mass = alpha + counts[own] @ shares[own]
        topics[d] = mass / mass.sum()
    change = _of_words(docs, counts[:, None] * (shares - before))
    return change, topics, shares, _of_words(docs, counts[:, None] * (_variance(shares) - _variance(before)))


def _variance(shares):
    return shares * (1 - shares)


def _of_words(docs, values):
    found = np.zeros((docs.n_words, values.shape[1]))
    np.add.at(found, docs.words, values)
    return found
