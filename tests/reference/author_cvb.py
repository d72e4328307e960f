"""CVB of second order of the author-topic model from the equation: one entry after another, all sums made anew."""

import numpy as np
from reference.author_cvb0 import counted

__all__ = ["spread", "sweep"]


def spread(documents, shares, n_words, n_authors):
    """Variances of the counts of words in topics, of authors in topics, and of authors: sums of p (1 - p)."""
    n = shares[0].shape[1]
    by_word, by_pair, by_author = np.zeros((n_words, n)), np.zeros((n_authors, n)), np.zeros(n_authors)
    entry = 0
    for words, counts, authors in documents:
        for word, count in zip(words, counts, strict=True):
            r = shares[entry]
            by_word[word] += count * r.sum(axis=0) * (1 - r.sum(axis=0))
            by_pair[authors] += count * r * (1 - r)
            by_author[authors] += count * r.sum(axis=1) * (1 - r.sum(axis=1))
            entry += 1
    return by_word, by_pair, by_author


def sweep(documents, shares, n_words, n_authors, word_prior, author_prior):
    """The shares after one sweep."""
    shares, entry = list(shares), 0
    for words, _, authors in documents:
        for i in range(len(words)):
            others = _without_one(documents, words, i)
            m_word, m_pair = counted(others, shares, n_words, n_authors)
            s_word, s_pair, s_author = spread(others, shares, n_words, n_authors)
            means = (
                (word_prior + m_word[words[i]])[None, :],
                (n_words * word_prior + m_word.sum(axis=0))[None, :],
                author_prior + m_pair[authors],
                (author_prior.sum() + m_pair[authors].sum(axis=1))[:, None],
            )
            variances = (s_word[words[i]], s_word.sum(axis=0), s_pair[authors], s_author[authors][:, None])
            word, all_words, pair, author = (s / (2 * m**2) for s, m in zip(variances, means, strict=True))
            q = means[0] / means[1] * means[2] / means[3]
            q = q * np.exp(np.clip(-word + all_words - pair + author, -30, 30))
            shares[entry] = q / q.sum()
            entry += 1
    return shares


def _without_one(documents, words, i):
    """The same documents with one token less of entry i of the document whose words these are."""
    return [
        (own, counts - (np.arange(len(own)) == i) if own is words else counts, authors)
        for own, counts, authors in documents
    ]
