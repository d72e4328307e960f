"""Online maximum a posteriori estimation (OPE) of the topics of a document, the topics' words held fixed.

Maximises over the simplex f = g1 + g2,

    g1 = sum_v c_v log sum_k theta_k W_vk,    g2 = sum_k (alpha_k - 1) log theta_k,

by a Frank-Wolfe walk that adds one of the two, by a fair coin, to a running sum in each iteration and moves
towards the best vertex of the sum's gradient:

    theta <- u / sum(u), u_k ~ Uniform(1, 2) ;  a = 1, b = 0
    for l = 1 .. n_iter - 1:
        a += 1 or b += 1
        k* = argmax_k  a sum_v c_v W_vk / x_v + b (alpha_k - 1) / theta_k,  x = W theta, lowest index on ties
        theta <- l / (l + 1) theta + 1 / (l + 1) e_k*

The steps make theta_l the plain average of the start and the chosen vertices, so the loop keeps sums and
never scales: h = start + sum of vertices, y = W h; argmax of a W'(c / y) + b (alpha - 1) / h is the same
topic. With `eps` > 0 the vertices are (1 - K eps) e_k + eps, which keep theta inside the simplex.

Statistics: "phi" gives S_vk = sum_d c theta_k W_vk / x_v; "theta" gives S_vk = sum_d c theta_k (the word
plays no part), which is what ML-OPE interpolates.

Cost: n_iter x distinct words x topics multiply-adds, no transcendental function.

Reference: Than and Doan (2017), "Guaranteed inference in topic models", algorithm 1 and equations 20 to 27.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from bigtopic.errors import SettingError
from bigtopic.kernels._dense import add_weighted_rows
from bigtopic.kernels._random import bits, key, uniform
from bigtopic.kernels._shell import csr, frozen, positive, scratch_rows
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]

STATISTICS = ("theta", "phi")


_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _gather(words, topic_words, n_components, floor, visits, block, explained):
    """Copy the rows of the words, at least `floor` for each topic, with their products with `visits`; pad to
    a multiple of four words, which is returned."""
    n = words.shape[0]
    padded = (n + 3) // 4 * 4
    for i in range(padded):
        line = block[i]
        explained[i] = visits.dtype.type(1)
        if i < n:
            row = topic_words[words[i]]
            total = visits.dtype.type(0)
            for k in range(n_components):
                value = max(row[k], floor)
                line[k] = value
                total += value * visits[k]
            explained[i] = total
        else:
            line[:] = 0
    return padded


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _walk(counts, block, n, prior, row_key, n_iter, eps, scratch):
    """The loop of the module's docstring: scratch holds h, y, (alpha - 1) / h, the gradient, and c / y."""
    n_components = prior.shape[0]
    visits, explained, pull, gradient, ratios = scratch
    zero, one = visits.dtype.type(0), visits.dtype.type(1)
    move = visits.dtype.type(one - n_components * eps)
    likelihood, penalty = one, zero
    for k in range(n_components):
        pull[k] = (prior[k] - one) / visits[k]
    ratios[counts.shape[0] : n] = zero
    for iteration in range(n_iter - 1):
        coins = bits(row_key, n_components + (iteration >> 6))
        if (coins >> np.uint64(iteration & 63)) & np.uint64(1):
            likelihood += one
        else:
            penalty += one
        for i in range(counts.shape[0]):
            ratios[i] = likelihood * counts[i] / explained[i]
        for k in range(visits.shape[0]):
            gradient[k] = penalty * pull[k]
        add_weighted_rows(block, n, ratios, gradient)
        best, highest = 0, gradient[0]
        for k in range(1, n_components):
            if gradient[k] > highest:
                best, highest = k, gradient[k]
        if eps > 0:
            for i in range(n):
                row, total = block[i], zero
                for k in range(n_components):
                    total += row[k]
                explained[i] += eps * total
            for k in range(n_components):
                visits[k] += eps
                pull[k] = (prior[k] - one) / visits[k]
        for i in range(n):
            explained[i] += move * block[i, best]
        visits[best] += move
        pull[best] = (prior[best] - one) / visits[best]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FAST)
def _infer(
    indptr,
    words,
    counts,
    rows,
    topic_words,
    prior,
    seed,
    n_iter,
    eps,
    phi,
    floor,
    block,
    scratch,
    stats,
    doc_topics,
):
    n_components = prior.shape[0]
    visits, explained = scratch[0], scratch[1]
    steps = visits.dtype.type(n_iter)  # the sum of the visits in the end
    for d in range(indptr.shape[0] - 1):
        own_words = words[indptr[d] : indptr[d + 1]]
        own_counts = counts[indptr[d] : indptr[d + 1]]
        if own_words.shape[0] == 0:
            for k in range(n_components):
                doc_topics[d, k] = prior[k]
            continue
        row_key = key(seed, rows[d])
        total = 0.0
        for k in range(n_components):
            visits[k] = 1.0 + uniform(row_key, k)
            total += visits[k]
        for k in range(n_components):
            visits[k] /= total
        n = _gather(own_words, topic_words, n_components, floor, visits, block, explained)
        _walk(own_counts, block, n, prior, row_key, n_iter, eps, scratch)
        for k in range(n_components):
            doc_topics[d, k] = visits[k]
        for i in range(own_words.shape[0]):
            count, word, out = own_counts[i], block[i], stats[own_words[i]]
            ratio, share = count / explained[i], count / steps
            for k in range(n_components):
                out[k] += ratio * word[k] * visits[k] if phi else share * visits[k]


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words" as "mean", (n_words, n_columns), p(word | topic); values below 1e-12 count as 1e-12
    hyper : options `n_iter` (T of the paper, at least 1), `eps` (0 for the authors' form; below
        1 / n_components) and `statistic` ("theta" or "phi")
    seed : with a document's source row, the key of its start and of its coins
    state : unused

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns); doc_topics (n_docs, n_components);
        info: "iterations" (all documents).

    Raises
    ------
    SettingError
        When `statistic` is neither "theta" nor "phi", `eps` leaves no simplex, or `n_iter` is less than 1.
    """
    options = hyper.options
    if options["statistic"] not in STATISTICS:
        raise SettingError(f"statistic={options['statistic']!r}: must be one of {', '.join(STATISTICS)}")
    if not 0 <= options["eps"] < 1 / hyper.n_components:
        raise SettingError(f"eps={options['eps']!r}: must be at least 0 and below 1 / n_components")
    n_iter = positive(options, "n_iter")
    topic_words = view.arrays["topic_words"]
    dtype = topic_words.dtype
    stats = np.zeros(topic_words.shape, dtype)
    doc_topics = np.empty((docs.n_docs, hyper.n_components), dtype)
    block = scratch_rows(docs, topic_words.shape[1], dtype)
    n_rows, width = block.shape
    _infer(
        *csr(docs, dtype),
        frozen(docs.rows, np.int64),
        frozen(topic_words, dtype),
        frozen(hyper.doc_topic_prior, dtype),
        int(seed),
        n_iter,
        dtype.type(options["eps"]),
        options["statistic"] == "phi",
        dtype.type(1e-12),
        block,
        tuple(np.zeros(size, dtype) for size in (width, n_rows, width, width, n_rows)),
        stats,
        doc_topics,
    )
    doc_topics /= doc_topics.sum(axis=1, keepdims=True)
    n_nonempty = np.count_nonzero(np.diff(docs.indptr))
    info = {"iterations": float(n_nonempty * n_iter)}
    return KernelResult({"topic_words": stats}, doc_topics, None, info)


KERNEL = Kernel(
    name="ope",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    options={"n_iter": 50, "eps": 0.0, "statistic": "phi"},
    paper="Than and Doan 2017",
)
