"""Mean-field variational Bayes for the topics of a document, with the topics' words held fixed.

q(theta) = Dirichlet(gamma). From gamma = 1, with e_k = exp(psi(gamma_k)):

    Z_v     = sum_k e_k W_vk
    gamma_k = alpha_k + e_k sum_v (c_v / Z_v) W_vk

until gamma moves by less than a tolerance (mean over topics) or an iteration limit. Neither exp(-psi(sum
gamma)) nor a factor per word of W changes anything, so e leaves out the first, and each word's row is divided
by its maximum, which keeps Z a normal number in float32. At any time sum gamma = sum alpha + sum c, exactly.
Statistics: S_vk = sum_d (c_v / Z_v) e_k W_vk at the final gamma.

Cost: iterations x (2 x distinct words x topics multiply-adds + topics x exp psi).

References: Blei, Ng, Jordan (2003), "Latent Dirichlet allocation"; Hoffman, Blei, Wang, Paisley (2013),
"Stochastic variational inference", figure 4.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from bigtopic.kernels._dense import add_weighted_rows, divide_by_products
from bigtopic.kernels._math import digamma, exp_digamma, lgamma
from bigtopic.kernels._shell import csr, frozen, padded_prior, positive, scratch_rows
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]

_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _gather(words, counts, topic_words, block, tokens):
    """Copy the rows of the words, each divided by its maximum; pad with words of count 0 to a multiple of four.

    Returns the padded number of words and the tokens of words that no topic knows (their count becomes 0).
    """
    one = block.dtype.type(1)
    n = words.shape[0]
    padded = (n + 3) // 4 * 4
    dropped = 0.0
    for i in range(padded):
        line = block[i]
        tokens[i] = 0
        if i < n:
            row = topic_words[words[i]]
            best = row[0]
            for k in range(topic_words.shape[1]):
                best = max(best, row[k])
            if best > 0:
                tokens[i] = counts[i]
                inverse = one / best
                for k in range(topic_words.shape[1]):
                    line[k] = row[k] * inverse
                continue
            dropped += counts[i]
        for k in range(topic_words.shape[1]):
            line[k] = one
    return padded, dropped


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _infer(indptr, words, counts, topic_words, prior, max_iter, tolerance, block, scratch, stats, gammas):
    n_columns = prior.shape[0] // 32 * 32
    n_components = gammas.shape[1]
    gamma, weights, gradient, tokens, ratios = scratch
    limit = tolerance * n_components
    iterations, dropped = 0, 0.0
    for d in range(indptr.shape[0] - 1):
        own_words = words[indptr[d] : indptr[d + 1]]
        n, lost = _gather(own_words, counts[indptr[d] : indptr[d + 1]], topic_words, block, tokens)
        dropped += lost
        gamma[:] = 1
        for _ in range(max_iter):
            iterations += 1
            for k in range(n_columns):
                weights[k] = exp_digamma(gamma[k])
            divide_by_products(tokens, block, n, weights, ratios)
            gradient[:] = 0
            add_weighted_rows(block, n, ratios, gradient)
            change = gamma.dtype.type(0)
            for k in range(n_columns):
                new = prior[k] + weights[k] * gradient[k]
                change += abs(new - gamma[k])
                gamma[k] = new
            if change < limit:
                break
        for k in range(n_columns):
            weights[k] = exp_digamma(gamma[k])
        divide_by_products(tokens, block, n, weights, ratios)
        for i in range(own_words.shape[0]):
            ratio, word, out = ratios[i], block[i], stats[own_words[i]]
            for k in range(n_components):
                out[k] += ratio * weights[k] * word[k]
        for k in range(n_components):
            gammas[d, k] = gamma[k]
    return iterations, dropped


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _bound(indptr, words, counts, topic_words, prior, gammas):
    """sum_v c_v log(sum_k exp(E log theta_k) W_vk) + E log p(theta) - E log q(theta), over all documents."""
    n_components = gammas.shape[1]
    weights = np.zeros(n_components)
    prior_total, constant = 0.0, 0.0
    for k in range(n_components):
        prior_total += prior[k]
        constant -= lgamma(prior[k])
    bound = (constant + lgamma(prior_total)) * (indptr.shape[0] - 1)
    for d in range(indptr.shape[0] - 1):
        total = 0.0
        for k in range(n_components):
            total += gammas[d, k]
        psi_total = digamma(total)
        bound -= lgamma(total)
        for k in range(n_components):
            gamma = np.float64(gammas[d, k])
            weights[k] = exp_digamma(gamma)
            bound += (prior[k] - gamma) * (digamma(gamma) - psi_total) + lgamma(gamma)
        for i in range(indptr[d], indptr[d + 1]):
            row, z = topic_words[words[i]], 0.0
            for k in range(n_components):
                z += weights[k] * row[k]
            if z > 0:
                bound += counts[i] * (np.log(z) - psi_total)
    return bound


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words", (n_words, n_columns), as "expected_log" or, for point estimates of the topics, as "mean".
        If its rows were divided by exp(m_v), arrays["topic_words:shift"] (n_words,) float64 holds m_v; only
        the bound needs it.
    hyper : options `max_doc_update_iter` (at least 1), `mean_change_tol` (mean over topics of the change of
        gamma, in tokens; 0 does all iterations) and `bound` (whether to compute it)
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts; doc_topics (n_docs, n_components); info:
        "iterations" (all documents), "dropped_tokens" (of words that no topic knows), and, if asked for,
        "bound" in nats: the terms of the evidence lower bound that belong to documents.

    Raises
    ------
    SettingError
        When `max_doc_update_iter` is less than 1.
    """
    topic_words = view.arrays["topic_words"]
    dtype = topic_words.dtype
    inputs = (*csr(docs, dtype), frozen(topic_words, dtype))
    block = scratch_rows(docs, topic_words.shape[1], dtype)
    n_rows, width = block.shape
    stats = np.zeros(topic_words.shape, dtype)
    gammas = np.empty((docs.n_docs, hyper.n_components), dtype)
    iterations, dropped = _infer(
        *inputs,
        # 1 in the padding: its gamma must be positive; its words are zero, so that nothing comes of it
        padded_prior(hyper.doc_topic_prior, width, dtype, fill=1.0),
        positive(hyper.options, "max_doc_update_iter"),
        float(hyper.options["mean_change_tol"]),
        block,
        tuple(np.empty(size, dtype) for size in (width, width, width, n_rows, n_rows)),
        stats,
        gammas,
    )
    info = {"iterations": float(iterations), "dropped_tokens": dropped}
    if hyper.options["bound"]:
        info["bound"] = _bound(*inputs, frozen(hyper.doc_topic_prior, np.float64), gammas)
        shift = view.arrays.get("topic_words:shift")
        if shift is not None:
            info["bound"] += float(np.dot(docs.counts, shift[docs.words]))
    doc_topics = gammas / gammas.sum(axis=1, keepdims=True)
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
