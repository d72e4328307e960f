"""CVB0 with the counts of a corpus, from the equations: dense float64, entry by entry, counts summed anew."""

import numpy as np
from reference.cgs import uniform

__all__ = ["infer", "start", "token_level"]


def start(docs, n_components, seed):
    """Responsibilities of new documents: each entry in a topic at random."""
    shares = np.zeros((len(docs.words), n_components))
    for d in range(docs.n_docs):
        for i in range(docs.indptr[d], docs.indptr[d + 1]):
            u = uniform(seed, int(docs.rows[d]), int(i - docs.indptr[d]))
            shares[i, int(u * n_components)] = 1
    return shares


def infer(docs, weights, totals, alpha, options, seed, shares=None, rounded=np.float32):
    """The change of the weights, documents' topics and responsibilities of one sweep.

    `weights` and `totals` are eta + N_kv, (n_words, n_components), and their sums over all words; they include the
    responsibilities `shares`, (n_entries, n_components). New ones are rounded, and divided by their sum.
    """
    counts, n = docs.counts.astype(float), len(alpha)
    before = np.zeros((len(docs.words), n)) if shares is None else shares
    shares = start(docs, n, seed) if shares is None else shares.copy()
    topics = np.zeros((docs.n_docs, n))
    for d in range(docs.n_docs):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        for i in range(docs.indptr[d], docs.indptr[d + 1]):
            change = _by_word(docs, counts[:, None] * (shares - before))
            r, v = shares[i], docs.words[i]
            others = counts[own] - (np.arange(own.start, own.stop) == i)
            new = alpha + others @ shares[own]
            new = new * (weights[v] + change[v] - r) / (totals + change.sum(axis=0) - r)
            new = rounded(new / new.sum()).astype(float)
            shares[i] = new / new.sum()
        mass = alpha + counts[own] @ shares[own]
        topics[d] = mass / mass.sum()
    return _by_word(docs, counts[:, None] * (shares - before)), topics, shares


def _by_word(docs, values):
    found = np.zeros((docs.n_words, values.shape[1]))
    np.add.at(found, docs.words, values)
    return found


def token_level(docs, alpha, eta, n_words, shares, n_sweeps):
    """The responsibilities that every token for itself comes to, from those of its entry: (n_tokens, n_components)."""
    counts = docs.counts.astype(int)
    tokens = np.repeat(docs.words, counts)
    of_token = np.repeat(np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr)), counts)
    shares = np.repeat(shares, counts, axis=0)
    for _ in range(n_sweeps):
        for t in range(len(tokens)):
            others = np.arange(len(tokens)) != t
            by_doc = shares[others & (of_token == of_token[t])].sum(axis=0)
            by_word = shares[others & (tokens == tokens[t])].sum(axis=0)
            new = (alpha + by_doc) * (eta + by_word) / (n_words * eta + shares[others].sum(axis=0))
            shares[t] = new / new.sum()
    return shares
