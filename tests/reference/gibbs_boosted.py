"""One inner iteration of the sampler is one sweep that is kept; and a round of boosted inner iterations, in the
plainest form."""

import numpy as np
from reference.gibbs import _draw, _uniform
from reference.gibbs import infer as sweeps

__all__ = ["boosted", "infer"]


def infer(words, counts, topic_words, prior, options, seed, row):
    """Statistics and topics of a document after the first inner iteration."""
    once = {**options, "samples": 1, "statistic": "conditionals"}
    return sweeps(words, counts, topic_words, prior, once, seed, row)


def boosted(documents, old, prior, rate, n_sweeps, burn_in, seed):
    """S1 (n_words, n_components) after the round of a minibatch, whose topics are refreshed after every sweep.

    Parameters
    ----------
    documents : list of (words, counts, row)
    old : S1 before it, a mean per document
    """
    n = len(prior)
    tokens = [np.repeat(words, counts.astype(int)) for words, counts, _ in documents]
    beta, summed, labels = old / old.sum(axis=0), np.zeros_like(old), []
    for (_, _, row), own in zip(documents, tokens, strict=True):
        labels.append([_draw(beta[w], _uniform(seed, row, i)) for i, w in enumerate(own)])
    for sweep in range(1, n_sweeps + 1):
        kept = sweep - burn_in
        for d, own in enumerate(tokens):

            def conditional(i, d=d, own=own, beta=beta):
                others = np.bincount(np.delete(labels[d], i), minlength=n)
                return (prior + others) * beta[own[i]]

            row = documents[d][2]
            for i in range(len(own)):
                labels[d][i] = _draw(conditional(i), _uniform(seed, row, sweep * len(own) + i))
            for i in range(len(own) if kept > 0 else 0):
                summed[own[i]] += conditional(i) / conditional(i).sum()
        if kept > 0:
            new = (1 - rate) * old + rate * summed / (kept * len(documents))
            beta = new / new.sum(axis=0)
    return new
