"""Mean-field variational Bayes for the topics of a document, with the topics' words held fixed.

q(theta) = Dirichlet(gamma). From gamma = 1, with e_k = exp(psi(gamma_k)):

    Z_v     = sum_k e_k W_vk
    gamma_k = alpha_k + e_k sum_v (c_v / Z_v) W_vk

until gamma moves by less than a tolerance (mean over topics) or an iteration limit. Neither exp(-psi(sum gamma))
nor a factor per word of W changes anything, so e leaves out the first, and each word's row is divided by its
maximum, which keeps Z a normal number in float32. At any time sum gamma = sum alpha + sum c, exactly.
Statistics: S_vk = sum_d (c_v / Z_v) e_k W_vk at the final gamma.

Cost: iterations x (2 x distinct words x topics multiply-adds + topics x exp psi).

References: Blei, Ng, Jordan (2003), "Latent Dirichlet allocation"; Hoffman, Blei, Wang, Paisley (2013),
"Stochastic variational inference", figure 4.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from bigtopic.kernels._math import digamma, exp_digamma, lgamma
from bigtopic.kernels._shell import csr, frozen, longest, prior_row
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]

_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(nogil=True, cache=True, error_model="numpy")
def _dirichlet_part(gamma, prior, n_components):
    """E_q[log p(theta) - log q(theta)], and the digamma of the total; prior's own normaliser left out."""
    total = 0.0
    for k in range(n_components):
        total += gamma[k]
    psi_total = digamma(total)
    bound = -lgamma(total)
    for k in range(n_components):
        shape = np.float64(gamma[k])
        bound += (prior[k] - shape) * (digamma(shape) - psi_total) + lgamma(shape)
    return bound, psi_total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _gather(words, counts, topic_words, block, tokens, scales):
    """Copy the rows of the words, each divided by its maximum, and pad to a multiple of four words of count 0.

    Returns the padded number of words and the tokens of words that no topic knows (their count becomes 0).
    """
    one = block.dtype.type(1)
    n_columns = block.shape[1]
    n = words.shape[0]
    padded = (n + 3) // 4 * 4
    dropped = 0.0
    for i in range(padded):
        tokens[i] = 0
        scales[i] = one
        if i < n:
            row = topic_words[words[i]]
            best = row[0]
            for k in range(n_columns):
                best = max(best, row[k])
            if best > 0:
                tokens[i] = counts[i]
                scales[i] = best
                inverse = one / best
                for k in range(n_columns):
                    block[i, k] = row[k] * inverse
                continue
            dropped += counts[i]
        for k in range(n_columns):
            block[i, k] = one
    return padded, dropped


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _ratios(block, i, weights, tokens, ratios):
    """ratios[i : i + 4] <- c / Z of four words: one pass over the weights for all four."""
    z0 = z1 = z2 = z3 = weights.dtype.type(0)
    for k in range(weights.shape[0]):
        z0 += weights[k] * block[i, k]
        z1 += weights[k] * block[i + 1, k]
        z2 += weights[k] * block[i + 2, k]
        z3 += weights[k] * block[i + 3, k]
    ratios[i] = tokens[i] / z0
    ratios[i + 1] = tokens[i + 1] / z1
    ratios[i + 2] = tokens[i + 2] / z2
    ratios[i + 3] = tokens[i + 3] / z3


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _infer(
    indptr,
    words,
    counts,
    topic_words,
    prior,
    max_iter,
    tolerance,
    with_bound,
    block,
    scratch,
    stats,
    doc_topics,
):
    n_columns = prior.shape[0]
    n_components = doc_topics.shape[1]
    gamma, weights, gathered = np.empty_like(prior), np.empty_like(prior), np.empty_like(prior)
    tokens, scales, ratios = scratch[0], scratch[1], scratch[2]
    zero, one = prior.dtype.type(0), prior.dtype.type(1)
    limit = tolerance * n_components
    iterations, dropped, bound = 0, 0.0, 0.0
    prior_constant = 0.0
    if with_bound:
        total = 0.0
        for k in range(n_components):
            total += prior[k]
            prior_constant -= lgamma(np.float64(prior[k]))
        prior_constant += lgamma(total)
    for d in range(indptr.shape[0] - 1):
        own_words = words[indptr[d] : indptr[d + 1]]
        own_counts = counts[indptr[d] : indptr[d + 1]]
        n, lost = _gather(own_words, own_counts, topic_words, block, tokens, scales)
        dropped += lost
        for k in range(n_columns):
            gamma[k] = one
        for _ in range(max_iter):
            iterations += 1
            for k in range(n_columns):
                weights[k] = exp_digamma(gamma[k])
                gathered[k] = zero
            for i in range(0, n, 4):
                _ratios(block, i, weights, tokens, ratios)
                q0, q1, q2, q3 = ratios[i], ratios[i + 1], ratios[i + 2], ratios[i + 3]
                for k in range(n_columns):
                    gathered[k] += (q0 * block[i, k] + q1 * block[i + 1, k]) + (
                        q2 * block[i + 2, k] + q3 * block[i + 3, k]
                    )
            change = zero
            for k in range(n_columns):
                new = prior[k] + weights[k] * gathered[k]
                change += abs(new - gamma[k])
                gamma[k] = new
            if change < limit:
                break
        for k in range(n_columns):
            weights[k] = exp_digamma(gamma[k])
        for i in range(0, n, 4):
            _ratios(block, i, weights, tokens, ratios)
        for i in range(own_words.shape[0]):
            ratio = ratios[i]
            out = stats[own_words[i]]
            for k in range(n_components):
                out[k] += ratio * weights[k] * block[i, k]
        if with_bound:
            part, psi_total = _dirichlet_part(gamma, prior, n_components)
            bound += part + prior_constant
            for i in range(own_words.shape[0]):
                if tokens[i] > 0:
                    z = np.log(np.float64(tokens[i] / ratios[i])) + np.log(np.float64(scales[i]))
                    bound += tokens[i] * (z - psi_total)
        total_gamma = zero
        for k in range(n_components):
            total_gamma += gamma[k]
        for k in range(n_components):
            doc_topics[d, k] = gamma[k] / total_gamma
    return iterations, dropped, bound


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words", (n_words, n_columns), as "expected_log" or as "mean" (for point estimates of the topics).
        If its rows were divided by exp(m_v), arrays["topic_words:shift"] (n_words,) float64 holds m_v; only the
        bound needs it.
    hyper : options `max_doc_update_iter` (at least 1), `mean_change_tol` (in tokens; 0 does all iterations) and
        `bound` (whether to compute it)
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts; doc_topics (n_docs, n_components);
        info: "iterations" (all documents), "dropped_tokens" (of words that no topic knows), and, if asked for,
        "bound" in nats: the terms of the evidence lower bound that belong to documents.
    """
    topic_words = view.arrays["topic_words"]
    dtype = topic_words.dtype
    n_columns, with_bound = topic_words.shape[1], bool(hyper.options["bound"])
    prior = np.ones(n_columns)  # 1 in the padding: its gamma must be positive, nothing else sees it
    prior[: hyper.n_components] = hyper.doc_topic_prior
    size = longest(docs) + 3
    stats = np.zeros(topic_words.shape, dtype)
    doc_topics = np.empty((docs.n_docs, hyper.n_components), dtype)
    iterations, dropped, bound = _infer(
        *csr(docs, dtype),
        frozen(topic_words, dtype),
        frozen(prior, dtype),
        int(hyper.options["max_doc_update_iter"]),
        float(hyper.options["mean_change_tol"]),
        with_bound,
        np.empty((size, n_columns), dtype),
        np.empty((3, size), dtype),
        stats,
        doc_topics,
    )
    info = {"iterations": float(iterations), "dropped_tokens": dropped}
    if with_bound:
        shift = view.arrays.get("topic_words:shift")
        info["bound"] = bound if shift is None else bound + float(np.dot(docs.counts, shift[docs.words]))
    return KernelResult({"topic_words": stats}, doc_topics, None, info)


KERNEL = Kernel(
    name="vb",
    run=run,
    views={"topic_words": "expected_log"},
    statistics={"topic_words": "word"},
    options={"max_doc_update_iter": 100, "mean_change_tol": 1e-3, "bound": False},
    bound=True,
    paper="Blei, Ng, Jordan 2003; Hoffman et al. 2013",
)
