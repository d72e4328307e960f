"""Sums over documents of E[log theta], from which the prior of their topics is learned.

Where the posterior of a document's topics is Dirichlet(gamma), E[log theta_k] = psi(gamma_k) - psi(sum gamma). Given a
label for each of its tokens, N_k of them for topic k, the posterior is Dirichlet(alpha + N). Expected numbers of labels
do not replace them: psi is concave, so psi(alpha + E[N]) is above E[psi(alpha + N)], and a prior learned from that is
far too large.

Documents without tokens keep the prior: theirs is psi(alpha_k) - psi(sum alpha).

Cost: topics of a document, a psi for each that it has a label of, or for each.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.kernels.support.entry import INNER, OUTER, frozen
from bigtopic.kernels.support.math import digamma

__all__ = ["add_labels", "expected_logs", "expected_logs_of_labels", "with_psi"]


@njit(**OUTER)
def _add_posteriors(gammas, logs):
    for d in range(gammas.shape[0]):
        whole = 0.0
        for k in range(gammas.shape[1]):
            whole += gammas[d, k]
        psi_whole = digamma(whole)
        for k in range(gammas.shape[1]):
            logs[k] += digamma(np.float64(gammas[d, k])) - psi_whole


@njit(**INNER)
def add_labels(prior, psi_prior, numbers, weight, logs):
    """Add `weight` times E[log theta] given the numbers of labels of a document, over the length of `prior`."""
    whole = 0.0
    for k in range(prior.shape[0]):
        whole += prior[k] + numbers[k]
    psi_whole = digamma(whole)
    for k in range(prior.shape[0]):
        own = digamma(prior[k] + numbers[k]) if numbers[k] > 0 else psi_prior[k]
        logs[k] += weight * (own - psi_whole)


@njit(**OUTER)
def _add_labelled(starts, labels, prior, psi_prior, numbers, logs):
    for d in range(starts.shape[0] - 1):
        numbers[:] = 0
        for t in range(starts[d], starts[d + 1]):
            numbers[labels[t]] += 1
        add_labels(prior, psi_prior, numbers, 1.0, logs)


def expected_logs(gammas: np.ndarray, n_columns: int) -> np.ndarray:
    """Of documents with these posteriors, (n_docs, n_components): float64 (1, n_columns).

    Equivalent to `(psi(gammas) - psi(gammas.sum(axis=1, keepdims=True))).sum(axis=0)`, padded.
    """
    logs = np.zeros((1, n_columns))
    _add_posteriors(gammas, logs[0])
    return logs


def expected_logs_of_labels(
    starts: np.ndarray, labels: np.ndarray, prior: np.ndarray, n_columns: int
) -> np.ndarray:
    """Of documents with these labels of tokens: float64 (1, n_columns).

    Parameters
    ----------
    starts : int64 (n_docs + 1,), document d has the tokens starts[d] : starts[d + 1]
    labels : int16 (n_tokens,), a topic for each
    prior : float64 (n_components,)
    """
    logs = np.zeros((1, n_columns))
    _add_labelled(
        frozen(starts, np.int64), frozen(labels, np.int16), *with_psi(prior), np.zeros(len(prior)), logs[0]
    )
    return logs


def with_psi(prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A prior and psi of it, as compiled loops take them."""
    from scipy.special import psi

    return frozen(prior, np.float64), frozen(psi(prior), np.float64)
