"""Streaming Gibbs sampling, from the equations: sweeps of the reference of `cgs` on dense counts of one minibatch."""

from itertools import product
from math import exp, lgamma

import numpy as np
from reference import cgs

__all__ = ["infer", "posterior"]


def infer(docs, weights, totals, alpha, options, seed):
    """Counts of the labels (n_words, n_components), documents' topics and labels of a minibatch.

    `weights` and `totals` are eta + G_kv, (n_words, n_components), and their sums over all words.
    """
    counts, labels, history = np.zeros_like(weights), None, []
    for sweep in range(1 + options["max_sweeps"]):
        now = weights + counts, totals + counts.sum(axis=0)
        state = None if labels is None else {"labels": labels}
        change, doc_topics, labels = cgs.infer(docs, *now, alpha, {"replicas": 1}, seed + sweep, state)
        counts = counts + change
        history.append(_log_likelihood(docs, doc_topics, (weights + counts) / (totals + counts.sum(axis=0))))
        latest, earlier = history[-options["patience"] :], history[: -options["patience"]]
        if earlier and max(latest) <= max(earlier):
            break
    return counts, doc_topics, labels, history


def _log_likelihood(docs, doc_topics, topic_words):
    nats = 0.0
    for d in range(docs.n_docs):
        for i in range(docs.indptr[d], docs.indptr[d + 1]):
            nats += docs.counts[i] * np.log(doc_topics[d] @ topic_words[docs.words[i]])
    return nats


def posterior(docs, weights, totals, alpha):
    """p(counts by document, counts by word | words), by enumeration of all labels: {both as bytes: probability}."""
    tokens = np.repeat(docs.words, docs.counts.astype(int))
    of_token = np.repeat(np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr)), docs.counts.astype(int))
    found = {}
    for labels in product(range(len(alpha)), repeat=len(tokens)):
        by_doc, by_word = np.zeros((docs.n_docs, len(alpha))), np.zeros_like(weights)
        np.add.at(by_doc, (of_token, labels), 1)
        np.add.at(by_word, (tokens, labels), 1)
        log = sum(map(lgamma, (by_doc + alpha).ravel())) + sum(map(lgamma, (by_word + weights).ravel()))
        log -= sum(map(lgamma, by_word.sum(axis=0) + totals))
        counts = by_doc.tobytes() + by_word.tobytes()
        found[counts] = found.get(counts, 0.0) + exp(log)
    whole = sum(found.values())
    return {counts: weight / whole for counts, weight in found.items()}
