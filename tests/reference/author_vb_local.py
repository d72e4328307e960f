"""Blocking variational Bayes of authors and topics, with gamma of each document's authors moved first."""

import numpy as np
from scipy.special import psi

__all__ = ["infer"]


def shares(words, gamma, word_logs):
    """q(author, topic) of each word, (n_words, n_authors, n_components)."""
    logs = word_logs[words][:, None, :] + (psi(gamma) - psi(gamma.sum(axis=1, keepdims=True)))[None]
    weights = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
    return weights / weights.sum(axis=(1, 2), keepdims=True)


def infer(documents, word_logs, author_weights, n_documents, prior, rate, max_iter, tolerance):
    """Statistics of words and authors; `n_documents` of each author, `rate` is rho.

    They are those of the last responsibilities: from before the step that rests, or after `max_iter` steps.
    """
    by_word, by_author = np.zeros(word_logs.shape), np.zeros(author_weights.shape)
    for words, counts, authors in documents:
        gamma = author_weights[authors]
        for step in range(max_iter + 1):
            counted = counts[:, None, None] * shares(words, gamma, word_logs)
            before, own = gamma, counted.sum(axis=0)
            gamma = (1 - rate) * author_weights[authors] + rate * (prior + n_documents[authors, None] * own)
            if step < max_iter and np.abs(gamma - before).mean() < tolerance:
                break
        np.add.at(by_word, words, counted.sum(axis=1))
        by_author[authors] += counted.sum(axis=0)
    return by_word, by_author
