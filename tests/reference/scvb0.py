"""SCVB0 of one document against fixed topics, from the equations: dense float64, one token after another.

The tokens of a word share its responsibilities and step size, which is what makes them one step (clumping).
"""

import numpy as np

__all__ = ["infer"]


def infer(words, counts, topic_words, prior, options, seed=0, row=0):
    """Statistics (n, n_components) of the document's words and its topics (n_components,)."""
    weights = np.asarray(topic_words, float)[words]
    n_tokens, seen = counts.sum(), 0.0
    tokens = np.full(len(prior), n_tokens / len(prior))
    stats = np.zeros_like(weights)
    for _ in range(options["burn_in"] + 1):
        for i in range(len(words)):
            responsibilities = (prior + tokens) * weights[i]
            responsibilities /= responsibilities.sum()
            rate = min(1, np.float64(options["doc_learning_offset"] + seen) ** -options["doc_learning_decay"])
            for _ in range(int(counts[i])):
                tokens = (1 - rate) * tokens + rate * n_tokens * responsibilities
            seen += counts[i]
            stats[i] = counts[i] * responsibilities
    return stats, (prior + tokens) / (prior + tokens).sum()
