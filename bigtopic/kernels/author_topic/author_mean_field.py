"""Mean-field variational Bayes for the author-topic model: author and topic of a token are inferred apart.

q(author a) = mu_a and q(topic k) = phi_k of each distinct word v of a document, whose authors' topics and whose topics'
words are held fixed. From even mu,

    phi_k  prop. to  W_vk exp( sum_a mu_a E[log theta_ak] ),    mu_a  prop. to  exp( sum_k phi_k E[log theta_ak] )

until mu rests or a limit of iterations; phi is made last. Statistics: S_vk = sum_d c_dv phi_k and S_ak = sum c_dv mu_a
phi_k. With one author this is `author_vb`; with more, `author_vb` has the tighter bound, because it does not suppose
that author and topic are independent, and needs no iterations and no exponentials.

Cost: distinct words x iterations x topics exponentials, and 2 x authors as many multiply-adds; one iteration for a
document by one author.

Reference: Mortensen (2017), "The author-topic model", appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic.kernels.support.authors import signed_inputs, signed_result
from bigtopic.kernels.support.entry import (
    INNER,
    OUTER,
    State,
    doc_update_cost,
    frozen,
    inline,
    outer,
    sums_of_entries,
    tolerance,
    whole_number,
)
from bigtopic.kernels.support.math import fast_digamma, fast_exp
from bigtopic.kernels.support.vector import LANES, larger, largest, load, spread, store, total
from bigtopic.support import buffers
from bigtopic.types import Bound, CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "document_bounds", "run"]

_FAST = {"reassoc", "contract", "nsz", "nnan"}
_fast = njit(**INNER | {"fastmath": _FAST})
_LEAST = -1e300  # of topics that do not know the word, and of the padding
_UNKNOWN = -1e290  # what their means are at most


# Plain loops write to one array, of rows by themselves: the compiler makes vectors only where few may overlap.


@njit(**OUTER | {"fastmath": _FAST})
def _put_logs(weights, logs):
    """Equivalent to `psi(weights) - psi(weights.sum(axis=1, keepdims=True))`, over the length of rows of weights."""
    for a in range(weights.shape[0]):
        row, own, whole = weights[a], logs[a], 0.0
        for k in range(row.shape[0]):
            whole += row[k]
        level = fast_digamma(whole)
        for k in range(row.shape[0]):
            own[k] = fast_digamma(np.float64(row[k])) - level


@_fast
def _begin(row, floors, weights):
    """What phi begins with: the least logarithm where the word is unknown, and the weights in double precision."""
    for k in range(row.shape[0]):
        floors[k] = 0.0 if row[k] > 0 else _LEAST
    for k in range(row.shape[0]):
        weights[k] = row[k]


@inline
def _means(logs, who, mu, floors, phi):
    """phi <- the authors' means of the logarithms; returns the largest."""
    most = spread(_LEAST)
    for k in range(0, phi.shape[0], LANES):
        mean = load(floors, k)
        for i in range(who.shape[0]):
            mean = mean + spread(mu[i]) * load(logs, (who[i], k))
        store(phi, k, mean)
        most = larger(most, mean)
    return largest(most)


@_fast
def _exponentials(level, weights, phi):
    """phi, given its logarithms without the word and the largest of them; returns its sum."""
    whole = 0.0
    for k in range(phi.shape[0]):
        phi[k] = fast_exp(phi[k] - level) * weights[k]
        whole += phi[k]
    return whole


@inline
def _authors(logs, who, phi, whole, mu, fresh):
    """mu, given phi and its sum; returns how far it moved."""
    level, unit, moved = -np.inf, 1.0 / whole, 0.0
    for i in range(who.shape[0]):
        mean = spread(0.0)
        for k in range(0, phi.shape[0], LANES):
            mean = mean + load(phi, k) * load(logs, (who[i], k))
        fresh[i] = unit * total(mean)
        level = max(level, fresh[i])
    whole = 0.0
    for i in range(who.shape[0]):
        fresh[i] = fast_exp(fresh[i] - level)
        whole += fresh[i]
    for i in range(who.shape[0]):
        moved += abs(fresh[i] / whole - mu[i])
        mu[i] = fresh[i] / whole
    return moved


@_fast
def _add(by, phi, row):
    for k in range(row.shape[0]):
        row[k] += by * phi[k]


@outer
def _infer(
    indptr, words, counts, author_indptr, authors, topic_words, logs, max_iter, tolerance,
    mu, fresh, floors, weights, phi, by_word, by_author, bounds,
):  # fmt: skip
    dropped, iterations = 0.0, 0
    for d in range(indptr.shape[0] - 1):
        bound = 0.0
        who = authors[author_indptr[d] : author_indptr[d + 1]]
        for i in range(indptr[d], indptr[d + 1]):
            _begin(topic_words[words[i]], floors, weights)
            mu[:] = 1.0 / who.shape[0]
            level = _means(logs, who, mu, floors, phi)
            if level <= _UNKNOWN:
                dropped += counts[i]
                continue
            whole = _exponentials(level, weights, phi)
            for _ in range(max_iter if who.shape[0] > 1 else 0):
                iterations += 1
                moved = _authors(logs, who, phi, whole, mu, fresh)
                level = _means(logs, who, mu, floors, phi)
                whole = _exponentials(level, weights, phi)
                if moved < tolerance:
                    break
            bound += counts[i] * (level + np.log(whole) - np.log(who.shape[0]))
            for a in range(who.shape[0]):
                bound -= counts[i] * mu[a] * np.log(mu[a]) if mu[a] > 0 else 0.0
                _add(counts[i] * mu[a] / whole, phi, by_author[who[a]])
            _add(counts[i] / whole, phi, by_word[words[i]])
        bounds[d] = bound
    return dropped, iterations


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Statistics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; each that has tokens has authors, without repetitions
    view : "topic_words", (n_words, n_columns), as "expected_log", and "author_topics", (n_authors, n_columns), as
        "counts". Logarithms of factors that words' rows were divided by are in arrays["topic_words:shift"]
    hyper : for its options see `KERNEL`
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        As of `author_vb`; info also has "word_iterations", of all distinct words together.

    Raises
    ------
    InputError
        When a document has tokens and no author.
    SettingError
        When an option has a value that is not allowed.
    """
    stats, bounds, info = _inferred(docs, view, hyper)
    return signed_result(docs, hyper, stats, info, bounds if hyper.options["bound"] else None)


def document_bounds(docs: Docs, view: View, hyper: Hyper) -> np.ndarray:
    """The terms of the evidence lower bound that belong to each document, float64 (n_docs,), in nats.

    Arguments and errors as for `run`; the option `bound` is ignored.
    """
    return _inferred(docs, view, hyper)[1]


def _inferred(
    docs: Docs, view: View, hyper: Hyper
) -> tuple[dict[str, np.ndarray], np.ndarray, dict[str, float]]:
    """Statistics, bounds of documents, and figures."""
    (inputs, most), weights = signed_inputs(docs, view), view.arrays["author_topics"]
    topic_words = inputs[-1]
    by_word, by_author = (buffers.zeros(rows.shape, topic_words.dtype) for rows in (topic_words, weights))
    logs, bounds = buffers.zeros(weights.shape, np.float64), np.zeros(docs.n_docs)
    _put_logs(frozen(weights, weights.dtype)[:, : hyper.n_components], logs)
    dropped, iterations = _infer(
        *inputs, frozen(logs, np.float64), whole_number(hyper.options, "max_doc_update_iter", 1),
        tolerance(hyper.options), *np.empty((2, most)), *np.zeros((3, topic_words.shape[1])), by_word, by_author,
        bounds,
    )  # fmt: skip
    shift = view.arrays.get("topic_words:shift")
    if shift is not None:
        bounds += sums_of_entries(docs, shift)
    info = {"dropped_tokens": dropped, "word_iterations": float(iterations)}
    return {"topic_words": by_word, "author_topics": by_author}, bounds, info


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """The expected logarithms of authors' topics."""
    return Scratch([size.rows["author_topics"] * size.columns["author_topics"] * 8])


_VIEWS = {"topic_words": "expected_log", "author_topics": "counts"}

KERNEL = Kernel(
    name="author_mean_field",
    run=run,
    views=_VIEWS,
    statistics={"topic_words": "word", "author_topics": "author"},
    offers={"author_documents": "author"},
    posteriors=("topic_words", "author_topics"),
    options={"max_doc_update_iter": 50, "mean_change_tol": 1e-3, "bound": False},
    meanings={
        "max_doc_update_iter": "iterations over a distinct word at most, from 1",
        "mean_change_tol": "iterations end with one that moves its shares of authors by less than this in sum; 0 "
        "makes all",
        "bound": "whether the bound is computed; on where `tol` compares it",
    },
    cost=doc_update_cost,
    scratch=_scratch,
    bound=Bound(
        "log p(words | authors, alpha, eta), with author and topic of a token apart (mean field)",
        _VIEWS,
        document_bounds,
        {"max_doc_update_iter": 1000, "mean_change_tol": 1e-6},
    ),
    paper="Mortensen 2017",
)
