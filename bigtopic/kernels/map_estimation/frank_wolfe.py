"""The Frank-Wolfe algorithm for the topics of a document that make it likeliest, the topics' words held fixed.

Maximises over the simplex the concave

    g1 = sum_v c_v log sum_k theta_k W_vk

by steps towards the best vertex; the document-topic prior plays no part except for empty documents:

    theta <- e_k0, k0 = argmax_k sum_v c_v log W_vk, with 1e-10 in the other topics
    for l = 0 .. n_iter - 1:
        k* = argmax_k  sum_v c_v W_vk / x_v,  x = W theta, lowest index on ties
        theta <- (l + 1) / (l + 3) theta + 2 / (l + 3) e_k*

Nothing is random, and theta has at most n_iter + 1 entries that are not tiny. The loop keeps sums and never scales:
h = start + sum over l of (l + 2) e_k*, whose total is (n_iter + 1) (n_iter + 2) / 2, and y = W h.

Statistics: "phi" gives S_vk = sum_d c theta_k W_vk / x_v; "theta" gives S_vk = sum_d c theta_k (the word plays no
part), which is what ML-FW interpolates.

Cost: n_iter x distinct words x topics multiply-adds, and a logarithm for each of distinct words x topics.

References: Than and Ho (2012), "Fully sparse topic models", algorithm 1; Clarkson (2010), "Coresets, sparse greedy
approximation, and the Frank-Wolfe algorithm", for the error of order 1 / n_iter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic.errors import SettingError
from bigtopic.kernels.support.entry import INNER, OUTER, csr, frozen, padded_prior, put_shares, whole_number
from bigtopic.kernels.support.logarithm import fast_log
from bigtopic.kernels.support.memory import prefetch
from bigtopic.kernels.support.rows import AHEAD, GROUP, rows_scratch, vertex_gradient
from bigtopic.kernels.support.vector import LANES, larger, largest, load, spread, store, total
from bigtopic.support import buffers
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]

STATISTICS = ("theta", "phi")

_TINY = 1e-10  # of a topic at the start
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(**INNER)
def _gather(words, counts, topic_words, floor, block, tokens, sums):
    """Copy the rows of the words, at least `floor`, with their sums; pad with words of count 0 to whole groups.

    Returns the padded number of words.
    """
    zero, n = floor.dtype.type(0), words.shape[0]
    padded = (n + GROUP - 1) // GROUP * GROUP
    for i in range(padded):
        tokens[i], sums[i] = zero, zero
        if i < n:
            word, ahead = words[i], words[min(i + AHEAD, n - 1)]
            plain = spread(zero)
            for k in range(0, block.shape[1], LANES):
                prefetch(topic_words, ahead, k)
                row = larger(load(topic_words, (word, k)), load(floor, k))
                plain = plain + row
                store(block, (i, k), row)
            tokens[i], sums[i] = counts[i], total(plain)
        else:
            for k in range(0, block.shape[1], LANES):
                store(block, (i, k), spread(zero))
    return padded


@njit(**INNER | {"fastmath": _FAST})
def _log_likelihoods(tokens, block, n, n_components, out):
    """out_k <- sum_v c_v log W_vk."""
    out[:n_components] = 0
    for i in range(n):
        for k in range(n_components):
            out[k] += tokens[i] * fast_log(block[i, k])


@njit(**INNER)
def _start(tokens, block, n_words, n_padded, n_components, sums, visits, explained, scores):
    """The vertex that explains the document best alone, and a little of every topic."""
    tiny, one = visits.dtype.type(_TINY), visits.dtype.type(1)
    _log_likelihoods(tokens, block, n_words, n_components, scores)
    first = np.intp(0)
    for k in range(n_components):
        if scores[k] > scores[first]:
            first = k
    visits[:] = 0
    visits[:n_components] = tiny
    visits[first] = one - (n_components - 1) * tiny
    for i in range(n_padded):
        # words of the padding explain themselves: 0 / 1
        explained[i] = tiny * sums[i] + (visits[first] - tiny) * block[i, first] if i < n_words else one


@njit(**INNER)
def _best(gradient):
    """The lowest index of the largest entry. Padding is 0 and the gradient positive, so it is a topic."""
    most = load(gradient, 0)
    for k in range(0, gradient.shape[0], LANES):
        most = larger(most, load(gradient, k))
    highest, best = largest(most), np.intp(0)
    while gradient[best] < highest:
        best += 1
    return best


@njit(**INNER)
def _walk(tokens, block, n, n_iter, visits, explained, gradient):
    """The loop of the module's docstring, with h in `visits` and y, one step behind, in `explained`."""
    zero = visits.dtype.type(0)
    best, move = np.intp(0), zero
    for iteration in range(n_iter):
        vertex_gradient(tokens, block, n, best, move, explained, gradient)
        best, move = _best(gradient), visits.dtype.type(iteration + 2)
        visits[best] += move


@njit(**INNER)
def _add(words, counts, steps, phi, block, visits, stats):
    """Add a document's statistics."""
    for i in range(words.shape[0]):
        word, ahead = words[i], words[min(i + AHEAD, words.shape[0] - 1)]
        explained = spread(visits.dtype.type(0))
        for k in range(0, block.shape[1], LANES):
            prefetch(stats, ahead, k)
            explained = explained + load(visits, k) * load(block, (i, k))
        ratio, share = spread(counts[i] / total(explained)), spread(counts[i] / steps)
        for k in range(0, block.shape[1], LANES):
            own = ratio * load(block, (i, k)) if phi else share
            store(stats, (word, k), load(stats, (word, k)) + own * load(visits, k))


@njit(**OUTER)
def _infer(
    indptr, words, counts, topic_words, prior, floor, n_iter, phi,
    block, tokens, sums, explained, visits, gradient, stats, doc_topics,
):  # fmt: skip
    n_components = doc_topics.shape[1]
    wanted = doc_topics.shape[0] > 0
    steps = visits.dtype.type((n_iter + 1) * (n_iter + 2) // 2)  # the sum of the visits in the end
    for d in range(indptr.shape[0] - 1):
        own = slice(indptr[d], indptr[d + 1])
        length = indptr[d + 1] - indptr[d]
        if length == 0:
            if wanted:
                put_shares(prior, doc_topics[d])
            continue
        n = _gather(words[own], counts[own], topic_words, floor, block, tokens, sums)
        _start(tokens, block, length, n, n_components, sums, visits, explained, gradient)
        _walk(tokens, block, n, n_iter, visits, explained, gradient)
        _add(words[own], counts[own], steps, phi, block, visits, stats)
        if wanted:
            put_shares(visits, doc_topics[d])


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words" as "mean", (n_words, n_columns), p(word | topic); values below 1e-12 count as 1e-12
    hyper : for its options see `KERNEL`
    seed, state : unused, the algorithm is deterministic and keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns); doc_topics (n_docs, n_components) if wanted;
        info: "iterations" (all documents).

    Raises
    ------
    SettingError
        When `statistic` is neither "theta" nor "phi", or `n_iter` is not a whole number of at least 1.
    """
    options = hyper.options
    if options["statistic"] not in STATISTICS:
        raise SettingError(f"statistic={options['statistic']!r}: must be one of {', '.join(STATISTICS)}")
    n_iter = whole_number(options, "n_iter", 1)
    topic_words = view.arrays["topic_words"]
    assert topic_words.shape[1] % LANES == 0, "rows come in whole vectors"
    dtype, n_columns = topic_words.dtype, topic_words.shape[1]
    n_rows = int(np.diff(docs.indptr).max(initial=0)) + GROUP
    stats = buffers.zeros(topic_words.shape, dtype)
    doc_topics = buffers.empty((docs.n_docs if hyper.doc_topics else 0, hyper.n_components), dtype)
    _infer(
        *csr(docs, dtype),
        frozen(topic_words, dtype),
        padded_prior(hyper.doc_topic_prior, n_columns, dtype),
        padded_prior(np.full(hyper.n_components, 1e-12), n_columns, dtype),
        n_iter,
        options["statistic"] == "phi",
        buffers.empty((n_rows, n_columns), dtype),
        np.empty(n_rows, dtype),
        np.empty(n_rows, dtype),
        np.empty(n_rows, dtype),
        buffers.empty((n_columns,), dtype),
        buffers.empty((n_columns,), dtype),
        stats,
        doc_topics,
    )
    info = {"iterations": float(np.count_nonzero(np.diff(docs.indptr)) * n_iter)}
    return KernelResult({"topic_words": stats}, doc_topics if hyper.doc_topics else None, None, info)


def _cost(options: Mapping[str, Any]) -> float:
    return float(whole_number(options, "n_iter", 1))


KERNEL = Kernel(
    name="frank_wolfe",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    options={"n_iter": 50, "statistic": "phi"},
    meanings={
        "n_iter": "steps over a document, from 1; in the literature T",
        "statistic": 'what a word counts for the topics: "phi", by its own probabilities of the topics, or '
        '"theta", by the shares of topics in its document',
    },
    of_statistics=("statistic",),
    cost=_cost,
    scratch=rows_scratch,
    paper="Than and Ho 2012",
)
