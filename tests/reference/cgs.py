"""Collapsed Gibbs sampling with R labels of each token, from the equations: dense counts, one token after another."""

import numpy as np

MASK = (1 << 64) - 1

__all__ = ["infer", "limit", "posterior", "uniform"]


def uniform(seed, row, draw):
    """The draw-th number of a document: two finalisers of splitmix64, in integers of any size."""
    key = _mix(_mix(seed + 0x9E3779B97F4A7C15) + (row + 1) * 0x9E3779B97F4A7C15)
    return ((_mix(key + (draw + 1) * 0x9E3779B97F4A7C15) >> 11) + 0.5) * 2.0**-53


def _mix(word):
    word &= MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def infer(docs, weights, totals, alpha, options, seed, state=None):
    """The change of the weights, documents' topics and labels of one sweep.

    Parameters
    ----------
    docs : a `types.Docs`
    weights, totals : eta + N_kv, (n_words, n_components), and their sums over all words, (n_components,)
    """
    n_replicas = options["replicas"]
    counts = docs.counts.astype(int)
    ends = np.cumsum(counts)
    weights, totals, before = weights.astype(float), totals.astype(float), weights
    labels = np.full((counts.sum(), n_replicas), -1) if state is None else state["labels"].astype(int)
    topics = np.zeros((docs.n_docs, len(alpha)))
    firsts = [ends[i] - counts[i] if i < len(ends) else 0 for i in docs.indptr[:-1]]
    met = [
        [] for _ in range(docs.n_docs)
    ]  # blocks of 16 topics, in the order in which the document has met them
    for d in range(docs.n_docs):
        for i in range(docs.indptr[d], docs.indptr[d + 1]):
            own = labels[ends[i] - counts[i] : ends[i]]
            topics[d] += np.bincount(own[own >= 0], minlength=len(alpha)) / n_replicas
            _meet(met[d], own.ravel())
    for v in range(docs.n_words):
        latest = None  # the document of the word's token before, and its labels
        for d in range(docs.n_docs):
            for i in range(docs.indptr[d], docs.indptr[d + 1]):
                if docs.words[i] != v:
                    continue
                for t in range(ends[i] - counts[i], ends[i]):
                    for k in labels[t][labels[t] >= 0]:
                        for array in (topics[d], weights[v], totals):
                            array[k] -= 1 / n_replicas
                    factors = weights[v] / totals
                    if len(alpha) <= 256:
                        parts = _newest_first(latest, d, topics[d], alpha, weights[v], totals, n_replicas)
                    else:
                        parts = _labels_first(met[d], topics[d], alpha, factors)
                    whole = (alpha + topics[d]) @ factors
                    np.testing.assert_allclose(sum(part for part, _ in parts), whole, rtol=1e-9)
                    for r in range(n_replicas):
                        u = uniform(seed, int(docs.rows[d]), int(t - firsts[d]) * n_replicas + r)
                        labels[t, r] = _drawn(u * whole, parts)
                    _meet(met[d], labels[t])
                    latest = d, labels[t]
                    for k in labels[t]:
                        for array in (topics[d], weights[v], totals):
                            array[k] += 1 / n_replicas
    mass = alpha + topics
    return weights - before, mass / mass.sum(axis=1, keepdims=True), labels


def limit(docs, weights, totals, alpha, shares):
    """The change of the weights in one sweep of infinitely many labels, from shares (n_tokens, n_components)."""
    counts = docs.counts.astype(int)
    tokens = np.repeat(docs.words, counts)
    of_token = np.repeat(np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr)), counts)
    weights, totals, before, shares = weights.copy(), totals.copy(), weights, shares.copy()
    topics = np.zeros((docs.n_docs, len(alpha)))
    np.add.at(topics, of_token, shares)
    for t in np.argsort(tokens, kind="stable"):
        v, d = tokens[t], of_token[t]
        others = alpha + topics[d] - shares[t], weights[v] - shares[t], totals - shares[t]
        new = others[0] * others[1] / others[2]
        new /= new.sum()
        topics[d], weights[v], totals = (array + new - shares[t] for array in (topics[d], weights[v], totals))
        shares[t] = new
    return weights - before


def _meet(met, labels):
    for block in labels // 16:
        if block >= 0 and block not in met:
            met.append(block)


def _by_lane(blocks, n_components):
    return [b * 16 + lane for lane in range(16) for b in blocks if b * 16 + lane < n_components]


def _newest_first(latest, d, topics, alpha, weights, totals, n_replicas):
    """Parts of the conditional, with their topics: what each label of the word's token before has added to it, and
    the rest, by the topic's number modulo 16."""
    gains, n_components = [], len(alpha)
    topics, weights, totals = topics.copy(), weights.copy(), totals.copy()
    for k in reversed(latest[1] if latest else []):
        after = (alpha[k] + topics[k]) * weights[k] / totals[k]
        for array in (topics, weights, totals) if latest[0] == d else (weights, totals):
            array[k] -= 1 / n_replicas
        gains.insert(0, (after - (alpha[k] + topics[k]) * weights[k] / totals[k], k))
    rest = (alpha + topics) * weights / totals
    return gains + [(rest[k], k) for k in _by_lane(range(-(-n_components // 16)), n_components)]


def _labels_first(met, topics, alpha, factors):
    """The same for many topics: the labels' part, by the topic's number modulo 16 and then by the order of the blocks,
    then the prior's part by the topic."""
    parts = [(topics[k] * factors[k], k) for k in _by_lane(met, len(alpha))]
    return parts + [(alpha[k] * factors[k], k) for k in range(len(alpha))]


def _drawn(rest, parts):
    """The topic of the part that `rest` falls into."""
    for part, k in parts:
        rest -= part
        if rest < 0:
            return k
    return k


def posterior(docs, n_components, alpha, eta, n_words):
    """p(labels | words) of every vector of labels, by enumeration: {labels: probability}."""
    from itertools import product
    from math import exp, lgamma

    tokens = np.repeat(docs.words, docs.counts.astype(int))
    of_token = np.repeat(np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr)), docs.counts.astype(int))
    found = {}
    for labels in product(range(n_components), repeat=len(tokens)):
        by_doc, by_word = np.zeros((docs.n_docs, n_components)), np.zeros((n_words, n_components))
        np.add.at(by_doc, (of_token, labels), 1)
        np.add.at(by_word, (tokens, labels), 1)
        log = sum(lgamma(n + a) for row in by_doc for n, a in zip(row, alpha, strict=True))
        log += sum(lgamma(n + eta) for n in by_word.ravel())
        found[labels] = exp(log - sum(lgamma(n + n_words * eta) for n in by_word.sum(axis=0)))
    whole = sum(found.values())
    return {labels: weight / whole for labels, weight in found.items()}
