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

from functools import partial

import numpy as np
from numba import njit

from bigtopic.kernels.support.entry import (
    INNER,
    Call,
    State,
    inner,
    one_of,
    outer,
    put_shares,
    whole_number,
)
from bigtopic.kernels.support.math import fast_log
from bigtopic.kernels.support.rows import AHEAD, GROUP, rows_scratch, vertex_gradient
from bigtopic.kernels.support.vector import LANES, larger, largest, load, prefetch, spread, store, total
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]

STATISTICS = ("theta", "phi")

_TINY = 1e-10  # of a topic at the start
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@inner
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


@inner
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


@inner
def _best(gradient):
    """The lowest index of the largest entry. Padding is 0 and the gradient positive, so it is a topic."""
    most = load(gradient, 0)
    for k in range(0, gradient.shape[0], LANES):
        most = larger(most, load(gradient, k))
    highest, best = largest(most), np.intp(0)
    while gradient[best] < highest:
        best += 1
    return best


@inner
def _walk(tokens, block, n, n_iter, visits, explained, gradient):
    """The loop of the module's docstring, with h in `visits` and y, one step behind, in `explained`."""
    zero = visits.dtype.type(0)
    best, move = np.intp(0), zero
    for iteration in range(n_iter):
        vertex_gradient(tokens, block, n, best, move, explained, gradient)
        best, move = _best(gradient), visits.dtype.type(iteration + 2)
        visits[best] += move


@inner
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


@outer
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


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
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
    phi, n_iter = (
        one_of(hyper.options, "statistic", STATISTICS) == "phi",
        whole_number(hyper.options, "n_iter", 1),
    )
    call = Call(docs, view, hyper)
    _infer(
        *call.inputs, call.prior(), call.prior(1e-12), n_iter, phi, *call.block(3, GROUP), *call.vectors(2),
        *call.outputs,
    )  # fmt: skip
    return call.result({"iterations": np.count_nonzero(np.diff(docs.indptr)) * n_iter})


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
    cost=partial(whole_number, name="n_iter", least=1),
    scratch=rows_scratch,
    paper="Than and Ho 2012",
)
