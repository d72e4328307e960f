"""CVB0 of the author-topic model from the equation: responsibilities of (author, topic), one entry after another."""

import numpy as np

__all__ = ["counted", "sweep"]


def counted(documents, shares, n_words, n_authors):
    """Expected counts of words and authors; `shares` are (n_authors of its document, n_components) of each entry."""
    n = shares[0].shape[1]
    by_word, by_author, entry = np.zeros((n_words, n)), np.zeros((n_authors, n)), 0
    for words, counts, authors in documents:
        for word, count in zip(words, counts, strict=True):
            by_word[word] += count * shares[entry].sum(axis=0)
            by_author[authors] += count * shares[entry]
            entry += 1
    return by_word, by_author


def sweep(documents, shares, n_words, n_authors, word_prior, author_prior):
    """The shares after one sweep; every count is added up anew for every entry."""
    shares, entry = list(shares), 0
    for words, counts, authors in documents:
        for word, _ in zip(words, counts, strict=True):
            by_word, by_author = counted(documents, shares, n_words, n_authors)
            own = shares[entry]
            of_word = (word_prior + by_word[word] - own.sum(axis=0)) / (
                n_words * word_prior + by_word.sum(axis=0) - own.sum(axis=0)
            )
            of_author = (author_prior + by_author[authors] - own) / (
                author_prior.sum() + by_author[authors].sum(axis=1) - own.sum(axis=1)
            )[:, None]
            shares[entry] = of_word * of_author / (of_word * of_author).sum()
            entry += 1
    return shares
