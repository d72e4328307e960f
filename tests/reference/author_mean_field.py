"""Mean-field variational Bayes of the author-topic model from the equations: mu and phi of every word."""

import numpy as np

__all__ = ["bound", "infer", "settled"]


def settled(row_logs, author_logs, max_iter, tolerance):
    """mu (n_authors,) and phi (n_components,) of one word, whose topics' E[log] are `row_logs`."""
    mu = np.full(len(author_logs), 1 / len(author_logs))
    phi = normalised(mu @ author_logs + row_logs)
    for _ in range(max_iter):
        before, mu = mu, normalised(author_logs @ phi)
        phi = normalised(mu @ author_logs + row_logs)
        if np.abs(mu - before).sum() < tolerance:
            break
    return mu, phi


def normalised(logs):
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def infer(documents, word_logs, author_logs, max_iter=50, tolerance=1e-3):
    """Statistics of words and authors, and the documents' terms of the bound."""
    by_word, by_author, total = np.zeros(word_logs.shape), np.zeros(author_logs.shape), 0.0
    for words, counts, authors in documents:
        for word, count in zip(words, counts, strict=True):
            mu, phi = settled(word_logs[word], author_logs[authors], max_iter, tolerance)
            by_word[word] += count * phi
            by_author[authors] += count * np.outer(mu, phi)
            total += count * bound(mu, phi, word_logs[word], author_logs[authors])
    return by_word, by_author, total


def bound(mu, phi, row_logs, author_logs):
    """E log p(w, z, x) - E log q(z) - E log q(x) of a token."""
    value = phi @ (mu @ author_logs + row_logs - np.log(phi))
    return value - mu @ np.log(mu) - np.log(len(mu))
