"""V-OEM of one document, from the equations: a responsibility for every token, with the same random numbers."""

import numpy as np
from reference.cgs import uniform
from scipy.special import psi

__all__ = ["infer", "iterate", "start"]


def start(n_tokens, of_word, n_components, seed, row):
    """Responsibilities (n_tokens, n_components): Dirichlet(1, ..., 1), the same for the tokens of a word."""
    draws = [
        [uniform(seed, row, i * n_components + k) for k in range(n_components)]
        for i in range(max(of_word, default=-1) + 1)
    ]
    exponential = -np.log(np.reshape(draws, (-1, n_components)))
    return (exponential / exponential.sum(axis=1, keepdims=True))[of_word].reshape(n_tokens, n_components)


def iterate(responsibilities, weights, prior):
    """One iteration; weights (n_tokens, n_components) are p(word of the token | topic)."""
    gamma = prior + responsibilities.sum(axis=0)
    unnormalised = weights * np.exp(psi(gamma) - psi(gamma.sum()))
    return unnormalised / unnormalised.sum(axis=1, keepdims=True)


def infer(words, counts, topic_words, prior, options, seed, row):
    """Statistics (n, n_components) of the document's words and its topics (n_components,)."""
    of_word = np.repeat(np.arange(len(words)), counts.astype(int))
    weights = np.asarray(topic_words, float)[words][of_word]
    responsibilities = start(len(of_word), of_word, len(prior), seed, row)
    for _ in range(options["n_iter"]):
        responsibilities = iterate(responsibilities, weights, prior)
    stats = np.zeros((len(words), len(prior)))
    np.add.at(stats, of_word, responsibilities)
    gamma = prior + stats.sum(axis=0)
    return stats, gamma / gamma.sum()
