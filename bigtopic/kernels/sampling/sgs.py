"""Streaming Gibbs sampling (SGS): collapsed Gibbs sampling of one minibatch, given what is left of all before it.

The weights G of the params are the past, with the prior; n are counts of the labels of this minibatch alone:

    p_k  prop. to  (alpha_k + n_dk) (G_kv + n_kv) / (G_k + n_k)

The first sweep labels every token given those that have a label. Further sweeps remove a token, draw its label from
the same formula, and add it, until the likelihood of the minibatch under the means of these counts,

    sum over tokens of log sum_k theta_dk beta_kv,
    theta_dk = (alpha_k + n_dk) / sum_k,  beta_kv = (G_kv + n_kv) / (G_k + n_k)

has not improved for `patience` sweeps. Statistics: n; the labels are forgotten. With the scheme `DecayAdd`, G is the
decayed sum of the past. One minibatch of a whole corpus and a decay of 1 are collapsed Gibbs sampling.

A call is a minibatch: its documents see each other's newest labels. Those of other slices of the same minibatch they do
not see (AD-LDA), so `slice_size` should be the `batch_size`.

How it is computed: a sweep is a call of the kernel `cgs`, with a seed of its own. It visits tokens by word, so that the
weights of a word are read once per sweep; algorithm 2 visits them by document, which is as valid an order.

Cost: a sweep of `cgs` and entries x topics multiply-adds for the likelihood, for each sweep.

Reference: Gao, Chen, Zhu (2016), "Streaming Gibbs sampling for LDA model", algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic.kernels.sampling import cgs
from bigtopic.kernels.support.entry import OUTER, csr, frozen, whole_number
from bigtopic.kernels.support.memory import prefetch
from bigtopic.kernels.support.minibatch import counts_scratch, sweeps
from bigtopic.kernels.support.vector import LANES, load, spread, total
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "run"]

_AHEAD, _LINE = 4, 8  # entries, and numbers in a cache line


@njit(**OUTER)
def _log_likelihood(indptr, words, counts, doc_topics, topic_words, totals, shares):
    """The sum over tokens of log sum_k theta_k W_k / W, in nats; `shares` is (n_columns,), zero in the padding."""
    nats = 0.0
    for d in range(doc_topics.shape[0]):
        for k in range(doc_topics.shape[1]):
            shares[k] = doc_topics[d, k] / totals[k]
        for i in range(indptr[d], indptr[d + 1]):
            mixed, ahead = spread(shares.dtype.type(0)), words[min(i + _AHEAD, words.shape[0] - 1)]
            for k in range(0, shares.shape[0], _LINE):
                prefetch(topic_words, ahead, k)
            for k in range(0, shares.shape[0], LANES):
                mixed = mixed + load(shares, k) * load(topic_words, (words[i], k))
            nats += counts[i] * np.log(total(mixed))
    return nats


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Label the tokens of these documents; see the module.

    Parameters
    ----------
    docs : the documents, counts are whole numbers; authors are ignored
    view : "topic_words" as "counts", (n_words, n_columns), prior included, with their totals
    hyper : options `max_sweeps` (after the first, at least 0) and `patience` (sweeps without an improvement, at least
        1; more than `max_sweeps` makes all of these)
    seed : sweep s = 0, 1, ... draws as the kernel `cgs` does with `seed` + s
    state : unused

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), the labels of each word, and stats["doc_topic_prior"] (1, n_columns),
        the sum of E[log theta] given the labels of the last sweep, if wanted; doc_topics (n_docs, n_components) if
        wanted; info: "iterations" (sweeps, all documents), "log_likelihood" (of these documents after the last sweep,
        in nats).

    Raises
    ------
    InputError
        When a count is not a whole number.
    SettingError
        When an option is not what it may be, or there are more topics than a label can name.
    """
    max_sweeps = whole_number(hyper.options, "max_sweeps", 0)
    patience = whole_number(hyper.options, "patience", 1)
    told = hyper._replace(options=cgs.KERNEL.options, doc_topics=True)
    best, best_sweep = -np.inf, 0
    for sweep, now in enumerate(sweeps(cgs.run, docs, view, told, seed)):
        nats = _nats(docs, now.result.doc_topics, now.view)
        if nats > best:
            best, best_sweep = nats, sweep
        if sweep == max_sweeps or sweep - best_sweep == patience:
            break
    info = {"iterations": float(docs.n_docs * (1 + sweep)), "log_likelihood": nats}
    found = {**now.result.stats, "topic_words": now.counts}
    return KernelResult(found, now.result.doc_topics if hyper.doc_topics else None, None, info)


def _nats(docs: Docs, doc_topics: np.ndarray | None, view: View) -> float:
    """The log likelihood of these documents."""
    assert doc_topics is not None
    topic_words = view.arrays["topic_words"]
    dtype = topic_words.dtype
    return float(
        _log_likelihood(
            *csr(docs, dtype),
            frozen(doc_topics, dtype),
            frozen(topic_words, dtype),
            frozen(view.totals["topic_words"], np.float64),
            np.zeros(topic_words.shape[1], dtype),
        )
    )


def _cost(options: Mapping[str, Any]) -> float:
    """A draw and the likelihood in each sweep."""
    return 2.0 * (1 + whole_number(options, "max_sweeps", 0))


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """What a sweep takes, the labels before and after it, and the counts."""
    sweep = cgs.KERNEL.scratch(size, cgs.KERNEL.options)
    labels = size.n_tokens * np.dtype(np.int16).itemsize
    return Scratch([*sweep.pooled, labels, labels, *counts_scratch(size)], sweep.transient)


KERNEL = Kernel(
    name="sgs",
    run=run,
    views={"topic_words": "counts"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    options={"max_sweeps": 400, "patience": 10},
    cost=_cost,
    scratch=_scratch,
    interacts=True,
    dtype="float64",
    paper="Gao, Chen, Zhu 2016",
)
