"""Online maximum a posteriori estimation (OPE) of the topics of a document, with the topics' words held fixed.

Maximises over the simplex f = g1 + g2, with g1 = sum_v c_v log sum_k theta_k W_vk and
g2 = sum_k (alpha_k - 1) log theta_k, by a Frank-Wolfe walk that adds one of the two, by a fair coin, to a running
sum in each iteration and moves towards the best vertex of the sum's gradient, with step 1 / (l + 1):

    theta <- u / sum(u), u_k ~ Uniform(1, 2) ;  a = 1, b = 0
    for l = 1 .. n_iter - 1:
        a += 1 or b += 1
        k* = argmax_k  a sum_v c_v W_vk / x_v + b (alpha_k - 1) / theta_k     (lowest index on ties), x = W theta
        theta <- l / (l + 1) theta + 1 / (l + 1) e_k*

The steps make theta_l the plain average of the start and the chosen vertices, so the loop keeps sums and never
scales: h = start + sum of vertices, y = W h; argmax of a W'(c / y) + b (alpha - 1) / h is the same topic.
With `eps` > 0 the vertices are (1 - K eps) e_k + eps, which keep theta inside the simplex.

Statistics: "phi" gives S_vk = sum_d c theta_k W_vk / x_v; "theta" gives S_vk = sum_d c theta_k (the word plays no
part), which is what ML-OPE interpolates.

Cost: n_iter x distinct words x topics multiply-adds, no transcendental function.

Reference: Than and Doan (2017), "Guaranteed inference in topic models", algorithm 1 and equations 20 to 27.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from bigtopic.errors import SettingError
from bigtopic.kernels._random import bits, key, uniform
from bigtopic.kernels._shell import csr, frozen, longest, prior_row
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]

STATISTICS = ("theta", "phi")


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"})
def _infer(
    indptr, words, counts, rows, topic_words, prior, seed, n_iter, eps, phi, floor, block, stats, doc_topics
):
    n_columns = prior.shape[0]
    n_components = doc_topics.shape[1]
    visits = np.zeros_like(prior)  # h of the module's docstring
    pull = np.zeros_like(prior)  # (alpha - 1) / h
    gradient = np.empty_like(prior)
    explained = np.empty(block.shape[0], prior.dtype)  # y
    zero = prior.dtype.type(0)
    one = prior.dtype.type(1)
    step = prior.dtype.type(one - n_components * eps)
    for d in range(indptr.shape[0] - 1):
        first = indptr[d]
        n = indptr[d + 1] - first
        if n == 0:
            total = zero
            for k in range(n_components):
                total += prior[k]
            for k in range(n_components):
                doc_topics[d, k] = prior[k] / total
            continue
        row_key = key(seed, rows[d])
        total = zero
        for k in range(n_components):
            visits[k] = one + uniform(row_key, k)
            total += visits[k]
        for k in range(n_components):
            visits[k] /= total
            pull[k] = (prior[k] - one) / visits[k]
        for i in range(n):
            row = topic_words[words[first + i]]
            total = zero
            for k in range(n_components):
                block[i, k] = max(row[k], floor)
                total += block[i, k] * visits[k]
            for k in range(n_components, n_columns):
                block[i, k] = 0
            explained[i] = total
        likelihood, penalty = one, zero
        for iteration in range(n_iter - 1):
            coins = bits(row_key, n_components + (iteration >> 6))
            if (coins >> np.uint64(iteration & 63)) & np.uint64(1):
                likelihood += one
            else:
                penalty += one
            for k in range(n_columns):
                gradient[k] = penalty * pull[k]
            for i in range(n):
                ratio = likelihood * counts[first + i] / explained[i]
                for k in range(n_columns):
                    gradient[k] += ratio * block[i, k]
            best = 0
            for k in range(1, n_components):
                if gradient[k] > gradient[best]:
                    best = k
            if eps > 0:
                for i in range(n):
                    total = zero
                    for k in range(n_columns):
                        total += block[i, k]
                    explained[i] += eps * total
                for k in range(n_components):
                    visits[k] += eps
                    pull[k] = (prior[k] - one) / visits[k]
            for i in range(n):
                explained[i] += step * block[i, best]
            visits[best] += step
            pull[best] = (prior[best] - one) / visits[best]
        total = zero
        for k in range(n_components):
            total += visits[k]
        for k in range(n_components):
            doc_topics[d, k] = visits[k] / total
        for i in range(n):
            count = counts[first + i]
            out = stats[words[first + i]]
            if phi:
                ratio = count / explained[i]
                for k in range(n_columns):
                    out[k] += ratio * block[i, k] * visits[k]
            else:
                for k in range(n_components):
                    out[k] += count * doc_topics[d, k]


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words" as "mean", (n_words, n_columns), p(word | topic); values below 1e-12 count as 1e-12
    hyper : options `n_iter` (T of the paper, at least 1), `eps` (0 for the authors' form; below 1 / n_components)
        and `statistic` ("theta" or "phi")
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
        When `statistic` is neither "theta" nor "phi", or `eps` leaves no simplex.
    """
    options = hyper.options
    if options["statistic"] not in STATISTICS:
        raise SettingError(f"statistic={options['statistic']!r}: must be one of {', '.join(STATISTICS)}")
    if not 0 <= options["eps"] < 1 / hyper.n_components:
        raise SettingError(f"eps={options['eps']!r}: must be at least 0 and below 1 / n_components")
    topic_words = view.arrays["topic_words"]
    dtype = topic_words.dtype
    stats = np.zeros(topic_words.shape, dtype)
    doc_topics = np.empty((docs.n_docs, hyper.n_components), dtype)
    _infer(
        *csr(docs, dtype),
        frozen(docs.rows, np.int64),
        frozen(topic_words, dtype),
        prior_row(hyper.doc_topic_prior, topic_words.shape[1], dtype),
        int(seed),
        int(options["n_iter"]),
        dtype.type(options["eps"]),
        options["statistic"] == "phi",
        dtype.type(1e-12),
        np.empty((longest(docs), topic_words.shape[1]), dtype),
        stats,
        doc_topics,
    )
    n_nonempty = np.count_nonzero(np.diff(docs.indptr))
    info = {"iterations": float(n_nonempty * int(options["n_iter"]))}
    return KernelResult({"topic_words": stats}, doc_topics, None, info)


KERNEL = Kernel(
    name="ope",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    options={"n_iter": 50, "eps": 0.0, "statistic": "phi"},
    paper="Than and Doan 2017",
)
