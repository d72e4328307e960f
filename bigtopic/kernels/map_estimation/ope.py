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

from functools import partial

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.kernels.map_estimation.frank_wolfe import STATISTICS
from bigtopic.kernels.support.entry import (
    Call,
    State,
    inner,
    one_of,
    outer,
    put_shares,
    whole_number,
)
from bigtopic.kernels.support.random import bits, key, uniform
from bigtopic.kernels.support.rows import AHEAD, GROUP, rows_scratch, vertex_gradient
from bigtopic.kernels.support.vector import LANES, larger, largest, load, prefetch, spread, store, total
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, View

__all__ = ["KERNEL", "run"]


@inner
def _start(prior, n_components, row_key, visits, pull):
    """Draw the start; `pull` is (alpha - 1) / h, and in the padding so low that it is never the best."""
    steps = 0.0
    for k in range(n_components):
        visits[k] = 1.0 + uniform(row_key, k)
        steps += visits[k]
    for k in range(n_components):
        visits[k] /= steps
        pull[k] = (prior[k] - 1) / visits[k]
    for k in range(n_components, visits.shape[0]):
        visits[k], pull[k] = 0, -1e30


@inner
def _gather(words, counts, topic_words, floor, visits, block, tokens, sums, explained):
    """Copy the rows of the words, at least `floor`, with their sums and their products with `visits`; pad with
    words of count 0 to whole groups. Returns the padded number of words."""
    zero, one, n = visits.dtype.type(0), visits.dtype.type(1), words.shape[0]
    padded = (n + GROUP - 1) // GROUP * GROUP
    for i in range(padded):
        tokens[i], sums[i], explained[i] = zero, zero, one
        if i < n:
            word, ahead = words[i], words[min(i + AHEAD, n - 1)]
            plain = weighted = spread(zero)
            for k in range(0, block.shape[1], LANES):
                prefetch(topic_words, ahead, k)
                row = larger(load(topic_words, (word, k)), load(floor, k))
                plain, weighted = plain + row, weighted + row * load(visits, k)
                store(block, (i, k), row)
            tokens[i], sums[i], explained[i] = counts[i], total(plain), total(weighted)
        else:
            for k in range(0, block.shape[1], LANES):
                store(block, (i, k), spread(zero))
    return padded


@inner
def _best(gradient, likelihood, pull, penalty):
    """The lowest index of the largest likelihood gradient + penalty pull; overwrites the gradient."""
    a, b = spread(likelihood), spread(penalty)
    most = a * load(gradient, 0) + b * load(pull, 0)
    for k in range(0, gradient.shape[0], LANES):
        value = a * load(gradient, k) + b * load(pull, k)
        most = larger(most, value)
        store(gradient, k, value)
    highest, best = largest(most), np.intp(0)
    while gradient[best] < highest:
        best += 1
    return best


@inner
def _walk(
    tokens, block, n, prior, n_components, row_key, n_iter, eps, visits, pull, gradient, sums, explained
):
    """The loop of the module's docstring, with h in `visits` and y in `explained`."""
    zero, one = visits.dtype.type(0), visits.dtype.type(1)
    move = visits.dtype.type(one - n_components * eps)
    likelihood, penalty, best, step = one, zero, np.intp(0), zero
    for iteration in range(n_iter - 1):
        coins = bits(row_key, n_components + (iteration >> 6))
        if (coins >> np.uint64(iteration & 63)) & np.uint64(1):
            likelihood += one
        else:
            penalty += one
        vertex_gradient(tokens, block, n, best, step, explained, gradient)
        best, step = _best(gradient, likelihood, pull, penalty), move
        if eps > 0:
            for i in range(n):
                explained[i] += eps * sums[i]
            for k in range(n_components):
                visits[k] += eps
                pull[k] = (prior[k] - one) / visits[k]
        visits[best] += move
        pull[best] = (prior[best] - one) / visits[best]
    for i in range(n):
        explained[i] += step * block[i, best]


@inner
def _add(words, counts, steps, phi, block, visits, explained, stats):
    """Add a document's statistics."""
    for i in range(words.shape[0]):
        word, ahead = words[i], words[min(i + AHEAD, words.shape[0] - 1)]
        ratio, share = spread(counts[i] / explained[i]), spread(counts[i] / steps)
        for k in range(0, block.shape[1], LANES):
            prefetch(stats, ahead, k)
            own = ratio * load(block, (i, k)) if phi else share
            store(stats, (word, k), load(stats, (word, k)) + own * load(visits, k))


@outer
def _infer(
    indptr, words, counts, rows, topic_words, prior, floor, seed, n_iter, eps, phi,
    block, tokens, sums, explained, visits, pull, gradient, stats, doc_topics,
):  # fmt: skip
    n_components = doc_topics.shape[1]
    wanted = doc_topics.shape[0] > 0
    steps = visits.dtype.type(n_iter)  # the sum of the visits in the end
    for d in range(indptr.shape[0] - 1):
        own = slice(indptr[d], indptr[d + 1])
        if indptr[d] == indptr[d + 1]:
            if wanted:
                put_shares(prior, doc_topics[d])
            continue
        row_key = key(seed, rows[d])
        _start(prior, n_components, row_key, visits, pull)
        n = _gather(words[own], counts[own], topic_words, floor, visits, block, tokens, sums, explained)
        _walk(
            tokens, block, n, prior, n_components, row_key, n_iter, eps, visits, pull, gradient, sums, explained
        )  # fmt: skip
        _add(words[own], counts[own], steps, phi, block, visits, explained, stats)
        if wanted:
            put_shares(visits, doc_topics[d])


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words" as "mean", (n_words, n_columns), p(word | topic); values below 1e-12 count as 1e-12
    hyper : for its options see `KERNEL`
    seed : with a document's source row, the key of its start and of its coins
    state : unused

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns); doc_topics (n_docs, n_components) if wanted;
        info: "iterations" (all documents).

    Raises
    ------
    SettingError
        When `statistic` is neither "theta" nor "phi", `eps` leaves no simplex, or `n_iter` is not a whole number of at
        least 1.
    """
    options, n_iter = hyper.options, whole_number(hyper.options, "n_iter", 1)
    phi = one_of(options, "statistic", STATISTICS) == "phi"
    if not 0 <= options["eps"] < 1 / hyper.n_components:
        raise SettingError(
            f"eps={options['eps']!r}: must be at least 0 and below 1 / {argument('n_components')}"
        )
    call = Call(docs, view, hyper)
    _infer(
        *call.documents, call.rows, call.topic_words, call.prior(), call.prior(1e-12), int(seed), n_iter,
        call.dtype.type(options["eps"]), phi, *call.block(3, GROUP), *call.vectors(3), *call.outputs,
    )  # fmt: skip
    return call.result({"iterations": np.count_nonzero(np.diff(docs.indptr)) * n_iter})


KERNEL = Kernel(
    name="ope",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    options={"n_iter": 50, "eps": 0.0, "statistic": "phi"},
    meanings={
        "n_iter": "iterations over a document, from 1; in the literature T",
        "eps": "the least share of a topic in a document, from 0 and below 1 / n_components; 0 is the form "
        "of the authors' code, where no share is below 1 / (2 n_components n_iter); in the literature "
        "epsilon",
        "statistic": 'what a word counts for the topics: "phi", by its own probabilities of the topics, or '
        '"theta", by the shares of topics in its document',
    },
    of_statistics=("statistic",),
    cost=partial(whole_number, name="n_iter", least=1),
    scratch=rows_scratch,
    paper="Than and Doan 2017",
)
