"""Blocking variational Bayes of the author-topic model from the equations: phi of every author, topic and word."""

import numpy as np
from scipy.special import gammaln, psi

__all__ = ["batch_step", "bound", "expected_logs", "infer", "phi"]


def expected_logs(weights, axis):
    """E[log p] of distributions along `axis` with these Dirichlet parameters."""
    return psi(weights) - psi(weights.sum(axis=axis, keepdims=True))


def phi(words, authors, word_logs, author_logs):
    """q(author, topic) of each word, (n_words, n_authors, n_components)."""
    logs = word_logs[words][:, None, :] + author_logs[authors][None, :, :]
    logs -= logs.max(axis=(1, 2), keepdims=True)
    return np.exp(logs) / np.exp(logs).sum(axis=(1, 2), keepdims=True)


def infer(documents, word_logs, author_logs):
    """Statistics of words and authors; `documents` are (words, counts, authors)."""
    by_word, by_author = np.zeros(word_logs.shape), np.zeros(author_logs.shape)
    for words, counts, authors in documents:
        shares = counts[:, None, None] * phi(words, authors, word_logs, author_logs)
        np.add.at(by_word, words, shares.sum(axis=1))
        by_author[authors] += shares.sum(axis=0)
    return by_word, by_author


def batch_step(documents, word_weights, author_weights, word_prior, author_prior):
    """Both arrays after one pass of coordinate ascent."""
    logs = expected_logs(word_weights, 0), expected_logs(author_weights, 1)
    by_word, by_author = infer(documents, *logs)
    return word_prior + by_word, author_prior + by_author


def bound(documents, word_weights, author_weights, word_prior, author_prior):
    """E log p - E log q, term by term, at the optimal phi."""
    word_logs, author_logs = expected_logs(word_weights, 0), expected_logs(author_weights, 1)
    value = dirichlet_part(word_weights, word_prior, 0) + dirichlet_part(author_weights, author_prior, 1)
    return value + sum(
        document_part(words, counts, authors, word_logs, author_logs) for words, counts, authors in documents
    )


def document_part(words, counts, authors, word_logs, author_logs):
    """The terms of one document: E log p(w, z, x) - E log q(z, x)."""
    shares = phi(words, authors, word_logs, author_logs)
    logs = word_logs[words][:, None, :] + author_logs[authors][None, :, :] - np.log(len(authors))
    return float((counts[:, None, None] * shares * (logs - np.log(shares))).sum())


def dirichlet_part(weights, prior, axis):
    """E log p - E log q of distributions along `axis`."""
    prior = np.broadcast_to(prior, weights.shape)
    terms = (prior - weights) * expected_logs(weights, axis) + gammaln(weights) - gammaln(prior)
    return float(terms.sum() + (gammaln(prior.sum(axis)) - gammaln(weights.sum(axis))).sum())
