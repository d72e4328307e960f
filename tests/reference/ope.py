"""OPE of one document, in the form of the paper's algorithm: theta itself, full gradients, true division."""

import numpy as np

__all__ = ["duality_gap", "infer", "start", "walk"]

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mix(word):
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


def _bits(seed, row, draw):
    """The draw-th word of 64 bits for (seed, row), in Python's integers."""
    key = _mix((_mix((seed + _GOLDEN) & _MASK) + (row + 1) * _GOLDEN) & _MASK)
    return _mix((key + (draw + 1) * _GOLDEN) & _MASK)


def start(n_components, seed, row):
    """The random point the walk starts from."""
    point = np.array([1 + ((_bits(seed, row, k) >> 11) + 0.5) * 2.0**-53 for k in range(n_components)])
    return point / point.sum()


def walk(words, counts, topic_words, prior, options, seed, row):
    """Topics of the document (n_components,)."""
    n_components, eps = len(prior), options["eps"]
    weights = np.maximum(np.asarray(topic_words, float)[words], 1e-12)
    theta = start(n_components, seed, row)
    picked = [1, 0]
    for step in range(1, options["n_iter"]):
        coin = _bits(seed, row, n_components + (step - 1) // 64) >> ((step - 1) % 64) & 1
        picked[0 if coin else 1] += 1
        likelihood = (counts / (weights @ theta)) @ weights
        best = np.argmax(picked[0] * likelihood + picked[1] * (prior - 1) / theta)
        vertex = np.full(n_components, eps)
        vertex[best] += 1 - n_components * eps
        theta = theta + (vertex - theta) / (step + 1)
    return theta


def infer(words, counts, topic_words, prior, options, seed, row):
    """Statistics (n, n_components) of the document's words and its topics (n_components,)."""
    if len(words) == 0:
        return np.zeros((0, len(prior))), prior / prior.sum()
    theta = walk(words, counts, topic_words, prior, options, seed, row)
    if options["statistic"] == "theta":
        return counts[:, None] * theta, theta
    weights = np.maximum(np.asarray(topic_words, float)[words], 1e-12)
    return counts[:, None] * theta * weights / (weights @ theta)[:, None], theta


def duality_gap(words, counts, topic_words, prior, theta):
    """max over the simplex of the gradient times (vertex - theta): for prior >= 1 no point is better by more."""
    weights = np.asarray(topic_words, float)[words]
    gradient = (counts / (weights @ theta)) @ weights + (prior - 1) / theta
    return gradient.max() - gradient @ theta
