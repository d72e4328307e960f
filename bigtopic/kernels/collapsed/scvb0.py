"""Stochastic collapsed variational inference of order zero (SCVB0), with the topics held fixed.

N_k is a running estimate of the tokens of a document of n tokens that belong to each topic; it begins at n / K and
always sums to n. Each distinct word v in turn, with count c, moves it as c equal tokens one after another would:

    r_k = (alpha_k + N_k) W_vk / sum
    q   = (1 - rho_t)^c,  rho_t = (offset + t)^-decay, at most 1
    N_k <- q N_k + (1 - q) n r_k,  t <- t + c

t counts the tokens of the document visited before. After `burn_in` passes over the words, one more counts: S_vk = sum_d
c r. No token's own share is excluded; at rest N is what EM finds with the prior alpha + 1 (kernel `map_em`). Document
topics: (alpha_k + N_k) / sum.

How it is computed: the pass that visits a word also moves N by the word before it. The sum and the division at the end
of a word make the next word wait; documents are therefore visited in pairs, a word of each by turns. The results
of both stay the same.

Cost: (burn_in + 1) x distinct words x topics, a few multiply-adds each, and two powers of each word.

Reference: Foulds, Boyles, DuBois, Smyth, Welling (2013), "Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation", algorithm 1 with clumping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic.kernels.support.entry import (
    INNER,
    Call,
    State,
    inner,
    learns,
    outer,
    put_shares,
    step_size,
    whole_number,
)
from bigtopic.kernels.support.expected_logs import expected_logs_of_topics, topics_scratch
from bigtopic.kernels.support.math import fast_exp, fast_log
from bigtopic.kernels.support.rows import AHEAD, GROUP, gather_scaled
from bigtopic.kernels.support.vector import LANES, load, prefetch, spread, store, total
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "run"]

_PAIR = 2

_LEAST = 1e-30  # below it, a number counts as 0: single precision has its logarithm

# In what follows i is a word's place in its document and j one of the two documents; `lengths` and `known` (2,) are its
# words and their tokens, `keep` and `gains` (2,) are q and (1 - q) n / sum of the word visited last.


@njit(**INNER | {"fastmath": {"contract"}})
def _steps(seen, counts, length, decay, offset, rests):
    """rests[i] <- q of each word; `seen` tokens were visited before. Returns the tokens visited afterwards."""
    zero, one, least = counts.dtype.type(0), counts.dtype.type(1), counts.dtype.type(_LEAST)
    power = counts.dtype.type(-decay)
    for i in range(length):
        rests[i] = offset + seen
        seen += counts[i]
    for i in range(length):
        rate = min(one, fast_exp(power * fast_log(max(rests[i], least))))
        rest = one - rate
        lost = one - rest  # the rate as it was rounded: its ratio corrects the logarithm of small ones
        log = fast_log(max(rest, least)) * (rate / lost) if lost > zero else -rate
        rests[i] = fast_exp(counts[i] * log) if rest > least else zero
    return seen


@inner
def _pass(lengths, words, counts, rests, block, prior, known, mass, shares, keep, gains, adds, stats):
    """Visit each word once: move N by the word before, find the responsibilities of this one, and perhaps add them."""
    one, zero = mass.dtype.type(1), spread(mass.dtype.type(0))
    for i in range(max(lengths[0], lengths[1])):
        for j in range(_PAIR):
            if i >= lengths[j] or counts[j, i] == 0:  # a word that no topic knows has no share
                continue
            kept, gain, sums = spread(keep[j]), spread(gains[j]), zero
            for k in range(0, mass.shape[1], LANES):
                own = kept * load(mass, (j, k)) + gain * load(shares, (j, k))
                share = (own + load(prior, k)) * load(block, (j, i, k))
                sums = sums + share
                store(mass, (j, k), own)
                store(shares, (j, k), share)
            inverse = one / total(sums)
            keep[j], gains[j] = rests[j, i], (one - rests[j, i]) * known[j] * inverse
            if adds:
                word, ahead = words[j, i], words[j, min(i + AHEAD, lengths[j] - 1)]
                ratio = spread(counts[j, i] * inverse)
                for k in range(0, mass.shape[1], LANES):
                    prefetch(stats, ahead, k)
                    store(stats, (word, k), load(stats, (word, k)) + ratio * load(shares, (j, k)))


@inner
def _finish(j, prior, mass, shares, keep, gains):
    """Move N by the last word, and add the prior."""
    kept, gain = spread(keep[j]), spread(gains[j])
    for k in range(0, mass.shape[1], LANES):
        own = kept * load(mass, (j, k)) + gain * load(shares, (j, k))
        store(mass, (j, k), own + load(prior, k))


@outer
def _infer(
    order, indptr, all_words, all_counts, topic_words, prior, burn_in, decay, offset,
    words, counts, rests, block, mass, shares, keep, gains, known, seen, lengths, stats, doc_topics,
):  # fmt: skip
    n_docs, n_components = len(order), doc_topics.shape[1]  # no rows if the caller does not need them
    dropped = 0.0
    for first in range(0, n_docs, _PAIR):
        for j in range(_PAIR):
            lengths[j], known[j], seen[j], keep[j], gains[j] = 0, 0, 0, 1, 0
            if first + j < n_docs:
                own = slice(indptr[order[first + j]], indptr[order[first + j] + 1])
                _, known[j], lost = gather_scaled(
                    all_words[own], all_counts[own], topic_words, block[j], counts[j]
                )
                dropped += lost
                lengths[j] = own.stop - own.start
                words[j, : lengths[j]] = all_words[own]
            mass[j], shares[j] = 0, 0
            mass[j, :n_components] = known[j] / n_components
        for iteration in range(burn_in + 1):
            for j in range(_PAIR):
                seen[j] = _steps(seen[j], counts[j], lengths[j], decay, offset, rests[j])
            adds = iteration == burn_in
            _pass(lengths, words, counts, rests, block, prior, known, mass, shares, keep, gains, adds, stats)
        if doc_topics.shape[0] > 0:
            for j in range(min(_PAIR, n_docs - first)):
                _finish(j, prior, mass, shares, keep, gains)
                put_shares(mass[j], doc_topics[order[first + j]])
    return dropped


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Infer the topics of these documents; see the module.

    Parameters
    ----------
    docs : the documents; authors are ignored
    view : "topic_words" as "mean", (n_words, n_columns), p(word | topic)
    hyper : for its options see `KERNEL`
    seed : with a document's source row, the key of labels; topics do not depend on it
    state : unused, the algorithm keeps nothing

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), expected counts, and stats["doc_topic_prior"] (1, n_columns), the sum
        of E[log theta] given labels drawn from the responsibilities, if wanted; doc_topics (n_docs, n_components) if
        wanted; info: "iterations" (passes, all documents), "dropped_tokens" (of words that no topic knows).

    Raises
    ------
    SettingError
        When an option has a value that is not allowed; or the statistics of the prior are wanted, and a count is not a
        whole number.
    """
    burn_in = whole_number(hyper.options, "burn_in", 0)
    decay, offset = step_size(hyper.options, "doc_learning", "tokens")
    call, lengths = Call(docs, view, hyper, keeps=learns(hyper)), np.diff(docs.indptr)
    dtype, room = call.dtype, int(lengths.max(initial=0)) + GROUP
    dropped = _infer(
        np.argsort(lengths, kind="stable"),  # a pair ends together
        *call.inputs, call.prior(), burn_in, decay, offset,
        np.empty((_PAIR, room), np.int32), *np.empty((2, _PAIR, room), dtype),
        buffers.empty((_PAIR, room, call.n_columns), dtype), call.vectors(_PAIR), call.vectors(_PAIR),
        *np.empty((2, _PAIR), dtype), *np.empty((2, _PAIR)), np.empty(_PAIR, np.int64), *call.outputs,
    )  # fmt: skip
    if call.learns:
        call.stats["doc_topic_prior"] = expected_logs_of_topics(
            docs, call.topic_words, call.doc_topics, hyper.doc_topic_prior, seed
        )
    return call.result({"iterations": np.count_nonzero(lengths) * (burn_in + 1), "dropped_tokens": dropped})


def _cost(options: Mapping[str, Any]) -> float:
    return float(whole_number(options, "burn_in", 0) + 1)


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Rows of the words of two documents."""
    rows = _PAIR * (size.longest + GROUP) * size.columns["topic_words"] * 4
    return Scratch([rows, *topics_scratch(size)])


KERNEL = Kernel(
    name="scvb0",
    run=run,
    views={"topic_words": "mean"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    options={"burn_in": 25, "doc_learning_decay": 0.9, "doc_learning_offset": 10.0},
    meanings={
        "burn_in": "passes over a document before the one that counts, from 0",
        "doc_learning_decay": "of the step size of a document, above 0 and at most 1; in the literature kappa",
        "doc_learning_offset": "of the step size of a document, in tokens, from 0; in the literature tau",
    },
    cost=_cost,
    scratch=_scratch,
    paper="Foulds et al. 2013",
)
