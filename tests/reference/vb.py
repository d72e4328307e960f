"""Variational Bayes of one document against fixed topics, from the equations: scipy's digamma, explicit phi."""

import numpy as np
from scipy.special import gammaln, psi

__all__ = ["bound", "infer", "phi"]


def phi(words, topic_words, gamma):
    """Responsibilities (n, n_components) that are optimal for gamma."""
    logs = np.log(np.asarray(topic_words, float)[words]) + psi(gamma) - psi(gamma.sum())
    logs -= logs.max(axis=1, keepdims=True)
    return np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)


def infer(words, counts, topic_words, prior, options, seed=0, row=0):
    """Statistics (n, n_components) of the document's words and its topics (n_components,)."""
    gamma, value = np.ones(len(prior)), -np.inf
    for _ in range(options["max_doc_update_iter"]):
        before, value_before = gamma, value
        gamma = prior + counts @ phi(words, topic_words, gamma)
        if options["stop"] == "bound":
            value = bound(words, counts, topic_words, prior, gamma)
            change = np.inf if value_before == -np.inf else abs(value / value_before - 1)
        elif options["stop"] == "theta":
            change = np.abs(gamma / gamma.sum() - before / before.sum()).mean()
        else:
            change = np.abs(gamma - before).mean()
        if change < options["mean_change_tol"]:
            break
    return counts[:, None] * phi(words, topic_words, gamma), gamma / gamma.sum()


def bound(words, counts, topic_words, prior, gamma):
    """E log p(words, z, theta) - E log q(z, theta), term by term, with the topics known."""
    responsibilities = phi(words, topic_words, gamma)
    expected = psi(gamma) - psi(gamma.sum())
    value = gammaln(prior.sum()) - gammaln(prior).sum() + ((prior - 1) * expected).sum()
    value -= gammaln(gamma.sum()) - gammaln(gamma).sum() + ((gamma - 1) * expected).sum()
    logs = np.log(np.asarray(topic_words, float)[words]) + expected - np.log(responsibilities)
    return value + (counts[:, None] * responsibilities * logs).sum()
