"""Expectation maximisation (EM) for the topics of a document, the topics' words held fixed.

Maximises over the simplex, for a prior of at least 1 in every topic, the concave

    f = sum_v c_v log sum_k theta_k W_vk + sum_k (alpha_k - 1) log theta_k

from theta = 1 / K by

    m_k     = theta_k sum_v c_v W_vk / x_v + alpha_k - 1,  x = W theta
    theta_k = m_k / sum(m)

until m moves by less than a tolerance (mean over topics) or an iteration limit. No step lowers f. With alpha = 1 it is
the fold-in of probabilistic latent semantic analysis (PLSA). For alpha < 1 f grows without limit towards every face of
the simplex, so there is nothing to maximise. Statistics: S_vk = sum_d c theta_k W_vk / x_v at the final theta.

How it is computed: what is kept is m, since a factor of theta changes nothing; each word's row is divided by its
maximum for the same reason. m is at least 1e-20, which keeps products with it normal numbers in float32.

Cost: iterations x 2 x distinct words x topics multiply-adds, no transcendental function.

References: Dempster, Laird, Rubin (1977), "Maximum likelihood from incomplete data via the EM algorithm"; Hofmann
(1999), "Probabilistic latent semantic indexing"; Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for
topic models", equation 13, on the side of the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.errors import SettingError
from bigtopic.kernels._memory import prefetch
from bigtopic.kernels._shell import (
    INNER,
    OUTER,
    csr,
    doc_update_cost,
    frozen,
    padded_prior,
    positive,
    put_shares,
)
from bigtopic.kernels._vector import LANES, larger, largest, load, spread, store, total
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "run"]

_FAST = {"reassoc", "contract", "arcp", "nsz"}
_GROUP = 4  # words that are worked on together
_AHEAD = 4  # words


@njit(**INNER)
def _gather(words, counts, topic_words, block, tokens):
    """Copy the rows of the words, each divided by its maximum; pad with words of count 0 to whole groups.

    Returns the padded number of words, the tokens, and the tokens of words that no topic knows (they count 0).
    """
    one, n, known, dropped = block.dtype.type(1), words.shape[0], 0.0, 0.0
    padded = (n + _GROUP - 1) // _GROUP * _GROUP
    for i in range(padded):
        tokens[i] = 0
        best = one - one
        if i < n:
            word, ahead = words[i], words[min(i + _AHEAD, n - 1)]
            most = spread(best)
            for k in range(0, block.shape[1], LANES):
                prefetch(topic_words, ahead, k)
                most = larger(most, load(topic_words, (word, k)))
            best = largest(most)
        if best > 0:
            tokens[i] = counts[i]
            known += counts[i]
            inverse = spread(one / best)
            for k in range(0, block.shape[1], LANES):
                store(block, (i, k), inverse * load(topic_words, (word, k)))
        else:
            for k in range(0, block.shape[1], LANES):
                store(block, (i, k), spread(one))
            if i < n:
                dropped += counts[i]
    return padded, known, dropped


@njit(**INNER)
def _gradient(tokens, block, n, mass, gradient):
    """gradient_k <- sum_v (c_v / x_v) W_vk, with the rows of a group read once for both."""
    zero = spread(mass.dtype.type(0))
    for k in range(0, mass.shape[0], LANES):
        store(gradient, k, zero)
    for i in range(0, n, _GROUP):
        x0 = x1 = x2 = x3 = zero
        for k in range(0, mass.shape[0], LANES):
            own = load(mass, k)
            x0, x1 = x0 + own * load(block, (i, k)), x1 + own * load(block, (i + 1, k))
            x2, x3 = x2 + own * load(block, (i + 2, k)), x3 + own * load(block, (i + 3, k))
        q0, q1 = spread(tokens[i] / total(x0)), spread(tokens[i + 1] / total(x1))
        q2, q3 = spread(tokens[i + 2] / total(x2)), spread(tokens[i + 3] / total(x3))
        for k in range(0, mass.shape[0], LANES):
            sums = load(gradient, k) + q0 * load(block, (i, k)) + q1 * load(block, (i + 1, k))
            store(gradient, k, sums + q2 * load(block, (i + 2, k)) + q3 * load(block, (i + 3, k)))


@njit(**INNER, fastmath=_FAST)
def _move(pseudo_counts, floor, gradient, mass):
    """mass <- mass gradient + pseudo_counts, at least `floor`; the sum of how far it moved."""
    change = mass.dtype.type(0)
    for k in range(mass.shape[0] // LANES * LANES):
        new = max(mass[k] * gradient[k] + pseudo_counts[k], floor[k])
        change += abs(new - mass[k])
        mass[k] = new
    return change


@njit(**INNER)
def _add(words, tokens, block, mass, stats):
    """Add a document's statistics."""
    for i in range(words.shape[0]):
        word, ahead = words[i], words[min(i + _AHEAD, words.shape[0] - 1)]
        x = spread(mass.dtype.type(0))
        for k in range(0, block.shape[1], LANES):
            prefetch(stats, ahead, k)
            x = x + load(mass, k) * load(block, (i, k))
        ratio = spread(tokens[i] / total(x))
        for k in range(0, block.shape[1], LANES):
            own = ratio * load(mass, k) * load(block, (i, k))
            store(stats, (word, k), load(stats, (word, k)) + own)


@njit(**OUTER)
def _infer(
    indptr, words, counts, topic_words, prior, pseudo_counts, floor, max_iter, tolerance,
    block, tokens, mass, gradient, stats, doc_topics,
):  # fmt: skip
    n_components = doc_topics.shape[1]
    wanted = doc_topics.shape[0] > 0
    limit = tolerance * n_components
    added = 0.0
    for k in range(n_components):
        added += pseudo_counts[k]
    iterations, dropped = 0, 0.0
    for d in range(indptr.shape[0] - 1):
        own = slice(indptr[d], indptr[d + 1])
        n, known, lost = _gather(words[own], counts[own], topic_words, block, tokens)
        dropped += lost
        if known == 0:
            if wanted:
                put_shares(prior, doc_topics[d])
            continue
        mass[:] = 0
        mass[:n_components] = (known + added) / n_components
        for _ in range(max_iter):
            iterations += 1
            _gradient(tokens, block, n, mass, gradient)
            if _move(pseudo_counts, floor, gradient, mass) < limit:
                break
        _add(words[own], tokens, block, mass, stats)
        if wanted:
            put_shares(mass, doc_topics[d])
    return iterations, dropped


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words" as "mean", (n_words, n_columns), p(word | topic)
    hyper : `doc_topic_prior` of at least 1 in every topic; options `max_doc_update_iter` (at least 1) and
        `mean_change_tol` (mean over topics of the change of m, in tokens; 0 does all iterations)
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts; doc_topics (n_docs, n_components) if wanted; info:
        "iterations" (all documents), "dropped_tokens" (of words that no topic knows).

    Raises
    ------
    SettingError
        When a topic's prior is below 1, or `max_doc_update_iter` is less than 1.
    """
    prior = hyper.doc_topic_prior
    if not (prior >= 1).all():
        raise SettingError(
            f"doc_topic_prior={float(prior.min()):g}: kernel 'map_em' needs at least 1 in every topic, because the "
            "maximum a posteriori does not exist below. Set doc_topic_prior=1 for maximum likelihood, or choose a "
            "method with another kernel (vb, cvb0, gibbs, ope)"
        )
    topic_words = view.arrays["topic_words"]
    assert topic_words.shape[1] % LANES == 0, "rows come in whole vectors"
    dtype, n_columns = topic_words.dtype, topic_words.shape[1]
    n_rows = int(np.diff(docs.indptr).max(initial=0)) + _GROUP
    stats = buffers.zeros(topic_words.shape, dtype)
    doc_topics = buffers.empty((docs.n_docs if hyper.doc_topics else 0, hyper.n_components), dtype)
    iterations, dropped = _infer(
        *csr(docs, dtype),
        frozen(topic_words, dtype),
        padded_prior(prior, n_columns, dtype),
        padded_prior(prior - 1, n_columns, dtype),
        padded_prior(np.full(hyper.n_components, 1e-20), n_columns, dtype),
        positive(hyper.options, "max_doc_update_iter"),
        float(hyper.options["mean_change_tol"]),
        buffers.empty((n_rows, n_columns), dtype),
        np.empty(n_rows, dtype),
        buffers.empty((n_columns,), dtype),
        buffers.empty((n_columns,), dtype),
        stats,
        doc_topics,
    )
    info = {"iterations": float(iterations), "dropped_tokens": dropped}
    return KernelResult({"topic_words": stats}, doc_topics if hyper.doc_topics else None, None, info)


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Rows of the words of a document."""
    return Scratch([(size.longest + _GROUP) * size.columns["topic_words"] * 4])


KERNEL = Kernel(
    name="map_em",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    options={"max_doc_update_iter": 100, "mean_change_tol": 1e-3},
    cost=doc_update_cost,
    scratch=_scratch,
    paper="Hofmann 1999; Asuncion et al. 2009",
)
