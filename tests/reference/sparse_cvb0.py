"""CVB0 of a document's candidates: the topics that its words draw most often.

words (n,), counts (n,), topic_words (n_words, K) = p(word | topic), prior (K,), seed, row; row is the document's
source row.
"""

from __future__ import annotations

import numpy as np

from bigtopic.kernels.support.random import key, uniform

DRAWS = 4


def infer(words, counts, topic_words, prior, options, seed=0, row=0):
    """Statistics (n, K) of the document's words and its topics (K,)."""
    stats = np.zeros((len(words), len(prior)))
    if len(words) == 0:
        return stats, prior / prior.sum()
    chosen = candidates(words, counts, topic_words, options, seed, row)
    mass, shares = prior[chosen].copy(), np.zeros((len(words), len(chosen)))
    for _ in range(options["max_doc_update_iter"]):
        for i, (word, count) in enumerate(zip(words, counts, strict=True)):
            mass -= count * shares[i]
            weights = (mass + (count - 1) * shares[i]) * topic_words[word, chosen]
            if weights.sum() > 0:
                shares[i] = weights / weights.sum()
            mass += count * shares[i]
    gamma = prior.copy()
    stats[:, chosen] = counts[:, None] * shares
    gamma += stats.sum(axis=0)
    return stats, gamma / gamma.sum()


def candidates(words, counts, topic_words, options, seed, row):
    """The topics drawn most often, in order."""
    n_components = topic_words.shape[1]
    if n_components <= 4 * options["candidates"]:
        return np.arange(n_components)
    row_key, drawn = np.uint64(key(seed, row)), []
    for i in reversed(range(len(words))):
        weights = topic_words[words[i]]
        for j in range(min(int(np.ceil(counts[i])), DRAWS) if weights.sum() > 0 else 0):
            target = uniform(row_key, i * DRAWS + j) * weights.sum()
            drawn.append(int(np.searchsorted(np.cumsum(weights), target, side="right")))
    numbers = range(len(words) * DRAWS, len(words) * DRAWS + options["explored"])
    drawn += [int(uniform(row_key, number) * n_components) for number in numbers]
    often = sorted(set(drawn), key=lambda topic: (-drawn.count(topic), drawn.index(topic)))
    return np.sort(np.array(often[: options["candidates"]], int))
