"""Frank-Wolfe of one document, as the equations say it: theta itself, full products, steps of 2 / (l + 3)."""

import numpy as np

__all__ = ["infer", "walk"]


def walk(words, counts, topic_words, n_iter):
    """Topics of the document (n_components,), and the topic of each step."""
    weights = np.maximum(np.asarray(topic_words, float)[words], 1e-12)
    n_components = weights.shape[1]
    first = np.argmax(counts @ np.log(weights))
    theta = np.full(n_components, 1e-10)
    theta[first] = 1 - (n_components - 1) * 1e-10
    chosen = [first]
    for step in range(n_iter):
        best = np.argmax((counts / (weights @ theta)) @ weights)
        theta = theta + 2 / (step + 3) * (np.eye(n_components)[best] - theta)
        chosen.append(best)
    return theta, chosen


def infer(words, counts, topic_words, prior, options, seed=0, row=0):
    """Statistics (n, n_components) of the document's words and its topics (n_components,)."""
    if len(words) == 0:
        return np.zeros((0, len(prior))), prior / prior.sum()
    theta, _ = walk(words, counts, topic_words, options["n_iter"])
    if options["statistic"] == "theta":
        return counts[:, None] * theta, theta
    weights = np.maximum(np.asarray(topic_words, float)[words], 1e-12)
    return counts[:, None] * theta * weights / (weights @ theta)[:, None], theta
