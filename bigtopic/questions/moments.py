"""Shares of topics over documents: their means, how many documents each leads, and their correlation.

One pass over the topics of documents; the correlation takes n_components^2 numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bigtopic.questions.theta import Theta

__all__ = ["Shares", "correlation", "mean_shares"]

_ROUNDING = 1e-12  # of a mean of squares: a variance below is what is left of none


class Shares(NamedTuple):
    """share : float64 (n_components,), mean over documents; n_led : documents in which the topic is the largest"""

    share: np.ndarray
    n_led: np.ndarray


def mean_shares(theta: Theta) -> Shares:
    """Mean share of each topic, and the documents that it leads; ties go to the lower topic."""
    sums, led, n_docs = np.zeros(theta.n_components), np.zeros(theta.n_components, np.int64), 0
    for _, shares in theta.batches("adding up"):
        sums += np.asarray(shares.sum(axis=0)).ravel()
        led += np.bincount(_leaders(shares), minlength=theta.n_components)
        n_docs += shares.shape[0]
    return Shares(sums / max(n_docs, 1), led)


def _leaders(shares: Any) -> np.ndarray:
    """The largest topic of each document. Equivalent to `shares.argmax(axis=1)`, which looks at one after the other."""
    largest = np.maximum.reduceat(shares.data, shares.indptr[:-1])
    n_topics = np.diff(shares.indptr)
    best = np.flatnonzero(shares.data == np.repeat(largest, n_topics))
    documents = np.repeat(np.arange(len(n_topics)), n_topics)[best]
    leaders: np.ndarray = shares.indices[best[np.unique(documents, return_index=True)[1]]]
    return leaders


def correlation(theta: Theta) -> np.ndarray:
    """Pearson's correlation of the shares of topics over documents, float64 (n_components, n_components).

    Equivalent to `np.corrcoef(shares.T)`; nan for a topic that has the same share of all documents.
    """
    sums, products, n_docs = np.zeros(theta.n_components), np.zeros((theta.n_components,) * 2), 0
    for _, shares in theta.batches("correlating"):
        sums += np.asarray(shares.sum(axis=0)).ravel()
        products += (shares.T @ shares).toarray()
        n_docs += shares.shape[0]
    mean = sums / max(n_docs, 1)
    squares = np.diagonal(products) / max(n_docs, 1)
    covariance = products / max(n_docs, 1) - np.outer(mean, mean)
    variance = np.diagonal(covariance)
    deviation = np.sqrt(np.where(variance > _ROUNDING * squares, variance, np.nan))
    found: np.ndarray = covariance / np.outer(deviation, deviation)
    return found
