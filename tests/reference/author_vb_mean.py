"""Zero-order responsibilities of authors and topics, from probabilities: each pair of author and topic by itself."""

import numpy as np

__all__ = ["infer"]


def infer(documents, topic_words, author_topics):
    """Statistics of words and authors; columns of `topic_words` and rows of `author_topics` sum to 1."""
    by_word, by_author = np.zeros(topic_words.shape), np.zeros(author_topics.shape)
    for words, counts, authors in documents:
        for word, count in zip(words, counts, strict=True):
            joint = topic_words[word][None, :] * author_topics[authors]
            shares = count * joint / joint.sum()
            by_word[word] += shares.sum(axis=0)
            by_author[authors] += shares
    return by_word, by_author
