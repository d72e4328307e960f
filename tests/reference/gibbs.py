"""Gibbs sampling of one document against fixed topics, from the equations, with the same random numbers; and the exact
answer of documents short enough to list all their labels."""

import itertools

import numpy as np
from scipy.special import gammaln

__all__ = ["exact", "infer"]

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_LANES = 16


def _mix(word):
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _MASK
    return word ^ (word >> 31)


def _uniform(seed, row, draw):
    key = _mix((_mix((seed + _GOLDEN) & _MASK) + (row + 1) * _GOLDEN) & _MASK)
    return ((_mix((key + (draw + 1) * _GOLDEN) & _MASK) >> 11) + 0.5) * 2.0**-53


def _draw(weights, u):
    """The topic at which the running sum passes u; topics in the order of their remainders by LANES."""
    order = np.argsort(np.arange(len(weights)) % _LANES, kind="stable")
    return order[np.searchsorted(np.cumsum(weights[order]), u * weights.sum(), side="right")]


def infer(words, counts, topic_words, prior, options, seed, row):
    """Statistics (n, n_components) of the document's words and its topics (n_components,)."""
    n_components = len(prior)
    tokens = np.repeat(np.arange(len(words)), counts.astype(int))
    n_tokens = len(tokens)
    weights = np.asarray(topic_words, float)[words][tokens]
    if options["start"] == "uniform":
        labels = [int(_uniform(seed, row, i) * n_components) for i in range(n_tokens)]
    else:
        labels = [_draw(weights[i], _uniform(seed, row, i)) for i in range(n_tokens)]

    def conditional(i):
        others = np.bincount(np.delete(labels, i), minlength=n_components)
        return (prior + others) * weights[i]

    held = np.zeros((len(words), n_components))
    for sweep in range(1, options["burn_in"] + options["samples"] + 1):
        for i in range(n_tokens):
            labels[i] = _draw(conditional(i), _uniform(seed, row, sweep * n_tokens + i))
        for i in range(n_tokens if sweep > options["burn_in"] else 0):
            if options["statistic"] == "conditionals":
                held[tokens[i]] += conditional(i) / conditional(i).sum()
            else:
                held[tokens[i], labels[i]] += 1
    stats = held / options["samples"]
    mean = stats.sum(axis=0)
    if options["statistic"] == "theta" and n_tokens:
        stats = counts[:, None] * mean / n_tokens
    return stats, (prior + mean) / (prior + mean).sum()


def exact(words, counts, topic_words, prior):
    """Posterior mean of N_vk (n, n_components), and the posterior probability of each list of labels."""
    tokens = np.repeat(np.arange(len(words)), counts.astype(int))
    weights = np.asarray(topic_words, float)[words][tokens]
    mean, masses = np.zeros((len(words), len(prior))), {}
    for labels in itertools.product(range(len(prior)), repeat=len(tokens)):
        n = np.bincount(labels, minlength=len(prior))
        logs = gammaln(prior + n).sum() + np.log(weights[np.arange(len(tokens)), labels]).sum()
        masses[labels] = np.exp(logs)
        np.add.at(mean, (tokens, labels), masses[labels])
    total = sum(masses.values())
    return mean / total, {labels: mass / total for labels, mass in masses.items()}
