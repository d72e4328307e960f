"""EM for the maximum a posteriori of one document's topics, as the equation says it, and the function it maximises."""

import numpy as np

__all__ = ["LEAST_PRIOR", "infer", "objective", "optimum"]

LEAST_PRIOR = 1.0  # what the kernel accepts


def objective(words, counts, topic_words, prior, theta):
    """log p(words | theta) + log p(theta) up to a constant, in nats."""
    weights = np.asarray(topic_words, float)[words]
    priced = prior != 1
    return counts @ np.log(weights @ theta) + ((prior - 1)[priced] * np.log(theta[priced])).sum()


def infer(words, counts, topic_words, prior, options, seed=0, row=0):
    """Statistics (n, n_components) of the document's words and its topics (n_components,)."""
    n_components = len(prior)
    if len(words) == 0:
        return np.zeros((0, n_components)), prior / prior.sum()
    weights = np.asarray(topic_words, float)[words]
    total = counts.sum() + prior.sum() - n_components
    theta = np.full(n_components, 1 / n_components)
    for _ in range(options["max_doc_update_iter"]):
        before = theta
        theta = (theta * ((counts / (weights @ theta)) @ weights) + prior - 1) / total
        if np.abs(total * (theta - before)).mean() < options["mean_change_tol"]:
            break
    return counts[:, None] * theta * weights / (weights @ theta)[:, None], theta


def optimum(words, counts, topic_words, prior):
    """The largest value of the function, by many steps."""
    options = {"max_doc_update_iter": 2000, "mean_change_tol": 0.0}
    _, theta = infer(words, counts, topic_words, prior, options)
    return objective(words, counts, topic_words, prior, theta)
