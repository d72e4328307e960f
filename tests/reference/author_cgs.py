"""The posterior of authors and topics of all tokens of a few documents, by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import gammaln

__all__ = ["posterior"]


def joint(tokens, labels, n_words, n_authors, word_prior, author_prior):
    """log p(words, authors, topics), but for what no label changes; `labels` are (author, topic) of each token."""
    n = len(author_prior)
    by_word, by_author = np.zeros((n_words, n)), np.zeros((n_authors, n))
    for word, (author, topic) in zip(tokens, labels, strict=True):
        by_word[word, topic] += 1
        by_author[author, topic] += 1
    words = gammaln(by_word + word_prior).sum() - gammaln((by_word + word_prior).sum(axis=0)).sum()
    authors = gammaln(by_author + author_prior).sum() - gammaln((by_author + author_prior).sum(axis=1)).sum()
    return words + authors


def posterior(documents, n_words, n_authors, word_prior, author_prior):
    """{((author, topic) of each token): probability}; `documents` are (words, counts, authors)."""
    n = len(author_prior)
    tokens = [word for words, counts, _ in documents for word in np.repeat(words, counts.astype(int))]
    choices = [
        [(int(a), k) for a in authors for k in range(n)]
        for words, counts, authors in documents
        for _ in range(int(counts.sum()))
    ]
    all_labels = list(product(*choices))
    logs = np.array([joint(tokens, own, n_words, n_authors, word_prior, author_prior) for own in all_labels])
    weights = np.exp(logs - logs.max())
    return dict(zip(all_labels, weights / weights.sum(), strict=True))
