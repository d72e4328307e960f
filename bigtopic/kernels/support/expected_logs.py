"""Sums over documents of E[log theta], from which the prior of their topics is learned.

Where the posterior of a document's topics is Dirichlet(gamma), E[log theta_k] = psi(gamma_k) - psi(sum gamma). Given a
label for each of its tokens, N_k of them for topic k, the posterior is Dirichlet(alpha + N). Expected numbers of labels
do not replace them: psi is concave, so psi(alpha + E[N]) is above E[psi(alpha + N)], and a prior learned from that is
far too large.

Documents without tokens keep the prior: theirs is psi(alpha_k) - psi(sum alpha).

Cost: topics of a document, a psi for each that it has a label of, or for each.

Kernels that have responsibilities draw labels from them, but not for each token by itself: such labels
are as independent as the responsibilities pretend tokens to be, so that documents look as if they had more topics. So
labels are drawn one after another, each given all others, by Gibbs sampling against the weights W that the
responsibilities come from:

    first:           z_i ~ (alpha_k + N_k) W_ik,    N the expected counts
    in each sweep:   z_i ~ (alpha_k + n_k) W_ik,    n the labels of the other tokens

`_SWEEPS` sweeps. Where W is not known, it follows from the responsibilities r of CVB0: W_ik = r_ik / (alpha_k + N_k -
r_ik), up to a factor of the token. Responsibilities of CVB have another factor from the document, which is taken out as
well: exp(-s / 2 (alpha_k + N_k - r_ik)^2), with the variance s of the other tokens' number, sum r_jk (1 - r_jk).

Cost: (`_SWEEPS` + 1) x tokens x topics multiply-adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.kernels.support.entry import frozen, inner, outer
from bigtopic.kernels.support.math import digamma
from bigtopic.kernels.support.random import key, uniform
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Scratch

__all__ = [
    "add_labels",
    "expected_logs",
    "expected_logs_of_labels",
    "expected_logs_of_shares",
    "expected_logs_of_topics",
    "labels_scratch",
    "shares_scratch",
    "topics_scratch",
    "with_psi",
]


@outer
def _add_posteriors(gammas, logs):
    for d in range(gammas.shape[0]):
        whole = 0.0
        for k in range(gammas.shape[1]):
            whole += gammas[d, k]
        psi_whole = digamma(whole)
        for k in range(gammas.shape[1]):
            logs[k] += digamma(np.float64(gammas[d, k])) - psi_whole


@inner
def add_labels(prior, psi_prior, numbers, weight, logs):
    """Add `weight` times E[log theta] given the numbers of labels of a document, over the length of `prior`."""
    whole = 0.0
    for k in range(prior.shape[0]):
        whole += prior[k] + numbers[k]
    psi_whole = digamma(whole)
    for k in range(prior.shape[0]):
        own = digamma(prior[k] + numbers[k]) if numbers[k] > 0 else psi_prior[k]
        logs[k] += weight * (own - psi_whole)


@outer
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


_SWEEPS = 5
_FIRST_DRAW = 1 << 32  # those below are the kernels' own
_MOST = 30.0  # of an exponent, as in the kernel `cvb`


@inner
def _draw(u, mass, weights, sums):
    """A topic in proportion to mass x weights, which have the length of `sums`; -1 where all are zero."""
    whole = 0.0
    for k in range(sums.shape[0]):
        whole += mass[k] * weights[k]
        sums[k] = whole
    if not whole > 0:
        return -1
    label = 0
    while sums[label] <= u * whole and label < sums.shape[0] - 1:
        label += 1
    return label


@inner
def _label(row_key, counts, weights, expected, prior, labels, numbers, sums):
    """numbers[k] <- labels of topic k in a document. `expected` is alpha + N in proportion, and becomes alpha + n."""
    token, draw = 0, np.int64(_FIRST_DRAW)
    numbers[:] = 0
    for i in range(counts.shape[0]):
        for _ in range(np.int64(counts[i])):
            labels[token] = _draw(uniform(row_key, draw), expected, weights[i], sums)
            if labels[token] >= 0:
                numbers[labels[token]] += 1
            token, draw = token + 1, draw + 1
    for k in range(prior.shape[0]):
        expected[k] = prior[k] + numbers[k]
    for _ in range(_SWEEPS):
        token = 0
        for i in range(counts.shape[0]):
            for _ in range(np.int64(counts[i])):
                if labels[token] >= 0:
                    _count(labels[token], -1, prior, numbers, expected)
                    label = _draw(uniform(row_key, draw), expected, weights[i], sums)
                    labels[token] = label if label >= 0 else labels[token]
                    _count(labels[token], 1, prior, numbers, expected)
                token, draw = token + 1, draw + 1


@inner
def _count(label, number, prior, numbers, mass):
    """Summed anew, so that no rounding error of a tiny prior stays."""
    numbers[label] += number
    mass[label] = prior[label] + numbers[label]


@outer
def _add_of_topics(
    indptr, words, counts, source_rows, topic_words, doc_topics, seed, prior, psi_prior,
    weights, labels, expected, numbers, sums, logs,
):  # fmt: skip
    for d in range(source_rows.shape[0]):
        own = slice(indptr[d], indptr[d + 1])
        for k in range(prior.shape[0]):
            expected[k] = doc_topics[d, k]
        for i in range(own.start, own.stop):
            for k in range(prior.shape[0]):
                weights[i - own.start, k] = topic_words[words[i], k]
        row_key = key(seed, source_rows[d])
        _label(row_key, counts[own], weights, expected, prior, labels, numbers, sums)
        add_labels(prior, psi_prior, numbers, 1.0, logs)


@outer
def _add_of_shares(
    indptr, counts, source_rows, shares, second_order, seed, prior, psi_prior,
    weights, labels, expected, numbers, sums, variances, logs,
):  # fmt: skip
    n_components = prior.shape[0]
    for d in range(source_rows.shape[0]):
        own = slice(indptr[d], indptr[d + 1])
        for k in range(n_components):
            expected[k], variances[k] = prior[k], 0.0
        for i in range(own.start, own.stop):
            row, known = weights[i - own.start], 0.0
            for k in range(n_components):
                known += shares[i, k]
            for k in range(n_components):
                row[k] = shares[i, k] / known
                expected[k] += counts[i] * row[k]
                variances[k] += counts[i] * row[k] * (1.0 - row[k])
        for i in range(own.stop - own.start):
            for k in range(n_components):
                share = weights[i, k]
                others = max(expected[k] - share, prior[k])
                weights[i, k] /= others
                if second_order:
                    variance = max(variances[k] - share * (1.0 - share), 0.0)
                    weights[i, k] *= np.exp(min(0.5 * variance / (others * others), _MOST))
        row_key = key(seed, source_rows[d])
        _label(row_key, counts[own], weights, expected, prior, labels, numbers, sums)
        add_labels(prior, psi_prior, numbers, 1.0, logs)


def expected_logs_of_topics(
    docs: Docs, topic_words: np.ndarray, doc_topics: np.ndarray, prior: np.ndarray, seed: int
) -> np.ndarray:
    """The sum of E[log theta] given labels drawn against fixed topics: float64 (1, n_columns).

    Parameters
    ----------
    docs : the documents, counts are whole numbers
    topic_words : (n_words, n_columns), weights W; tokens of words without any get no label
    doc_topics : (n_docs, n_components), alpha + N divided by its sum
    prior : float64 (n_components,)
    seed : with a document's source row and a token's place in it, the key of its draws

    Raises
    ------
    SettingError
        When a count is not a whole number.
    """
    logs = np.zeros((1, topic_words.shape[1]))
    _add_of_topics(
        *_documents(docs),
        frozen(docs.rows, np.int64),
        frozen(topic_words, topic_words.dtype),
        frozen(doc_topics, doc_topics.dtype),
        int(seed),
        *_room(docs, prior),
        logs[0],
    )
    return logs


def expected_logs_of_shares(
    docs: Docs,
    shares: np.ndarray,
    prior: np.ndarray,
    n_columns: int,
    seed: int,
    *,
    second_order: bool = False,
) -> np.ndarray:
    """As `expected_logs_of_topics`, from `shares` (n_entries, n_components) in proportion to r of CVB0, or of CVB."""
    indptr, _, counts = _documents(docs)
    rows, kept = frozen(docs.rows, np.int64), frozen(shares, shares.dtype)
    room, variances = _room(docs, prior), np.empty(len(prior))
    logs = np.zeros((1, n_columns))
    _add_of_shares(indptr, counts, rows, kept, second_order, int(seed), *room, variances, logs[0])
    return logs


def _documents(docs: Docs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    fractions = np.flatnonzero(docs.counts != np.floor(docs.counts))
    if len(fractions):
        raise SettingError(
            f"{argument('learn_doc_topic_prior')}: a word has a count of {docs.counts[fractions[0]]:g}, but to learn "
            "the prior this "
            "kernel draws a label for each token and needs whole counts; choose a method with the kernel vb, or a "
            "corpus of counts"
        )
    return frozen(docs.indptr, np.int64), frozen(docs.words, np.int32), frozen(docs.counts, np.float64)


def _room(docs: Docs, prior: np.ndarray) -> tuple[np.ndarray, ...]:
    """The prior with its psi, and `weights`, `labels`, `expected`, `numbers` and `sums` of the longest document."""
    n, ends = len(prior), np.concatenate([[0], np.cumsum(docs.counts, dtype=np.float64)])
    most_tokens = int(np.diff(ends[docs.indptr]).max(initial=1))
    weights = buffers.empty((int(np.diff(docs.indptr).max(initial=1)), n), np.float64)
    labels = buffers.empty(most_tokens, np.int64)
    return (*with_psi(prior), weights, labels, *(np.empty(n) for _ in range(3)))


def labels_scratch(size: CallSize) -> list[int]:
    """Bytes of `weights` and `labels`; nothing where the prior is not learned."""
    if "doc_topic_prior" not in size.statistics:
        return []
    return [size.longest * size.n_components * 8, size.longest_tokens * 8]


def shares_scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """A number for each entry, and what labels are drawn with."""
    return Scratch([size.n_entries * 8, *labels_scratch(size)])


def topics_scratch(size: CallSize) -> list[int]:
    """Those, and bytes of the `doc_topics` that labels are drawn with."""
    labels = labels_scratch(size)
    return [*labels, size.n_docs * size.n_components * 4] if labels else []
