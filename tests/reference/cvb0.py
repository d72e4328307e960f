"""CVB0 of one document against fixed topics, from the equations: dense float64, one responsibility per word."""

import numpy as np

__all__ = ["infer", "token_level"]


def infer(words, counts, topic_words, prior, options, seed=0, row=0):
    """Statistics (n, n_components) of the document's words and its topics (n_components,)."""
    weights = np.asarray(topic_words, float)[words]
    responsibilities = np.zeros_like(weights)
    for _ in range(options["max_doc_update_iter"]):
        before = counts @ responsibilities
        for i in range(len(words)):
            others = counts @ responsibilities - responsibilities[i]
            responsibilities[i] = (prior + others) * weights[i]
            responsibilities[i] /= responsibilities[i].sum()
        if before.any() and np.abs(counts @ responsibilities - before).mean() < options["mean_change_tol"]:
            break
    mass = prior + counts @ responsibilities
    return counts[:, None] * responsibilities, mass / mass.sum()


def token_level(words, counts, topic_words, prior, n_sweeps):
    """The same with a responsibility for every token: topics of the document (n_components,)."""
    tokens = np.repeat(words, counts.astype(int))
    weights = np.asarray(topic_words, float)[tokens]
    responsibilities = weights / weights.sum(axis=1, keepdims=True)
    for _ in range(n_sweeps):
        for i in range(len(tokens)):
            others = responsibilities.sum(axis=0) - responsibilities[i]
            responsibilities[i] = (prior + others) * weights[i]
            responsibilities[i] /= responsibilities[i].sum()
    mass = prior + responsibilities.sum(axis=0)
    return mass / mass.sum()
