"""CVB0 of a document's candidates: the topics that its words draw most often.

words (n,), counts (n,), topic_words (n_words, K) = p(word | topic), prior (K,), seed, row; row is the document's
source row. Where a model has lists, topic_words are the weights of these, zeros elsewhere, and `rest` (K,) is what is
added for all words alike; there, with the option `draws`, a token draws so many topics, and with `kept`, of at most
twice or `draws` times as many candidates, those with most tokens remain after two sweeps, or all but one.
"""

from __future__ import annotations

import numpy as np

from bigtopic.kernels.support.random import key, uniform

DRAWS = 4


def infer(words, counts, topic_words, prior, options, seed=0, row=0, rest=0.0):
    """Statistics (n, K) of the document's words and its topics (K,)."""
    stats = np.zeros((len(words), len(prior)))
    if len(words) == 0:
        return stats, prior / prior.sum()
    chosen = candidates(words, counts, topic_words, options, seed, row, rest)
    topic_words = topic_words + rest
    mass, shares = prior[chosen].copy(), np.zeros((len(words), len(chosen)))
    n_sweeps, kept = options["max_doc_update_iter"], options.get("kept", len(chosen))
    for sweep in range(n_sweeps):
        if sweep == min(2, n_sweeps - 1) and kept < len(chosen):
            best = np.argsort(prior[chosen] - mass, kind="stable")[:kept]
            chosen, mass, shares = chosen[best], mass[best], shares[:, best]
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


def candidates(words, counts, topic_words, options, seed, row, rest=0.0):
    """The topics drawn most often, in order."""
    n_components = topic_words.shape[1]
    if n_components <= 4 * options["candidates"]:
        return np.arange(n_components)
    n_draws = options.get("draws", 1)
    most = DRAWS * n_draws
    row_key, drawn = np.uint64(key(seed, row)), []
    for i in reversed(range(len(words))):
        listed, rests = topic_words[words[i]], np.broadcast_to(rest, n_components)
        n = n_draws * min(int(np.ceil(counts[i])), DRAWS) if (listed + rests).sum() > 0 else 0
        drawn += [draw(uniform(row_key, i * most + j), listed, rests) for j in range(n)]
    numbers = range(len(words) * most, len(words) * most + options["explored"])
    drawn += [int(uniform(row_key, number) * n_components) for number in numbers]
    n_candidates = min(options["candidates"], max(2, n_draws) * options.get("kept", n_components))
    often = sorted(set(drawn), key=lambda topic: (-drawn.count(topic), drawn.index(topic)))
    return np.array(often[:n_candidates], int)


def draw(u, listed, rest):
    """A topic in proportion to listed + rest: one of the list with its share of the sum, and else one of the rest."""
    target = u * (listed.sum() + rest.sum())
    if target < listed.sum():
        return int(np.searchsorted(np.cumsum(listed), target, side="right"))
    return int(np.searchsorted(np.cumsum(rest), target - listed.sum(), side="right"))
