"""Streaming Gibbs sampling (SGS): collapsed Gibbs sampling of one minibatch, given what is left of all before it.

The weights G of the params are the past, with the prior; n are counts of the labels of this minibatch alone:

    p_k  prop. to  (alpha_k + n_dk) (G_kv + n_kv) / (G_k + n_k)

The first sweep labels every token given those that have a label. Further sweeps remove a token, draw its label from
the same formula, and add it, until the likelihood of the minibatch under the means of these counts,

    sum over tokens of log sum_k theta_dk beta_kv,
    theta_dk = (alpha_k + n_dk) / sum_k (alpha_k + n_dk),  beta_kv = (G_kv + n_kv) / (G_k + n_k)

has not improved for `patience` sweeps. Statistics: n; the labels are forgotten. With the scheme `DecayAdd`, G is the
decayed sum of the past. One minibatch of a whole corpus and a decay of 1 are collapsed Gibbs sampling.

A call is a minibatch: its documents see each other's newest labels. Those of other slices of the same minibatch they do
not see (AD-LDA), so `slice_size` should be the `batch_size`.

How it is computed: a sweep is one of the kernel `cgs`, with a seed of its own. It visits tokens by word, so that the
weights of a word are read once per sweep; algorithm 2 visits them by document, which is as valid an order. The
likelihood is computed word by word, too. Weights are float64, whatever the params are: taken out of counts that
hundreds of sweeps have added up, a token must leave a word's past, which can be a millionth of it.

Cost: a sweep of `cgs` and entries x topics multiply-adds for the likelihood, for each sweep.

Reference: Gao, Chen, Zhu (2016), "Streaming Gibbs sampling for LDA model", algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.kernels.sampling import cgs
from bigtopic.kernels.support.entry import UNCOUNTED, frozen, padded_prior, whole_number
from bigtopic.kernels.support.logarithm import fast_log
from bigtopic.kernels.support.tokens import sorted_by_word
from bigtopic.kernels.support.vector import LANES, double, load, load_double, spread, store, total
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "run"]

_ZERO, _LANES = np.uint64(0), np.uint64(LANES)


class _Minibatch(NamedTuple):
    """What is known of the documents.

    Attributes
    ----------
    labels : int16 (n_tokens, 1), -1 where there is none yet
    counts : int32 (n_words, n_columns), of these labels
    held : float32 (n_docs, n_columns), labels of each document
    likelihoods : (n_entries,), of a token of each entry, by word
    """

    labels: np.ndarray
    counts: np.ndarray
    held: np.ndarray
    likelihoods: np.ndarray


def _minibatch(by_word: Mapping[str, np.ndarray], shape: tuple[int, int]) -> _Minibatch:
    """Nothing is counted yet."""
    tokens = by_word["tokens"]
    return _Minibatch(
        np.full((tokens[-1], 1), -1, np.int16),
        buffers.zeros(shape, np.int32),
        buffers.empty((len(tokens) - 1, shape[1]), np.float32),
        buffers.empty(len(by_word["entries"]), np.float64),
    )


@njit(**UNCOUNTED)
def _hold(tokens, labels, held, labelled):
    """Count the labels of each document, and of all."""
    held[:], labelled[:] = 0, 0
    for d in range(held.shape[0]):
        own = held[d]
        for t in range(tokens[d], tokens[d + 1]):
            own[np.uint64(labels[t])] += np.float32(1)
        for k in range(own.shape[0]):
            labelled[k] += own[k]


@njit(**UNCOUNTED)
def _fill_likelihoods(before, counts, starts, entries, prior, inverses, held, means, likelihoods):
    """The likelihoods, times alpha_k + n_dk summed over k."""
    n_columns = np.uint64(before.shape[1])
    for v in range(before.shape[0]):
        flat = spread(0.0)
        for k in range(_ZERO, n_columns, _LANES):
            mean = (load(before, (v, k)) + load_double(counts, (v, k))) * load(inverses, k)
            store(means, k, mean)
            flat = flat + load(prior, k) * mean
        of_prior = total(flat)
        for e in range(starts[v], starts[v + 1]):
            mixed, d = spread(0.0), entries[e, 0]
            for k in range(_ZERO, n_columns, _LANES):
                mixed = mixed + double(load(held, (d, k))) * load(means, k)
            likelihoods[e] = of_prior + total(mixed)


@njit(**UNCOUNTED)
def _sum_logarithms(numbers, weights):
    """sum_i weights[i] log(numbers[i]); the numbers become their logarithms."""
    for i in range(numbers.shape[0]):
        numbers[i] = fast_log(numbers[i])
    whole = 0.0
    for i in range(numbers.shape[0]):
        whole += weights[i] * numbers[i]
    return whole


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
    told, best, best_sweep = hyper._replace(doc_topics=False), -np.inf, 0
    before, past = frozen(view.arrays["topic_words"], np.float64), view.totals["topic_words"]
    by_word = sorted_by_word(docs)
    minibatch, labelled = _minibatch(by_word, before.shape), np.zeros(len(past))
    for sweep in range(1 + max_sweeps):
        now = View({"topic_words": before}, {"topic_words": past + labelled})
        cgs.sweep(docs, by_word, now, told, seed + sweep, *minibatch[:2], in_place=True)
        _hold(frozen(by_word["tokens"], np.int64), minibatch.labels.reshape(-1), minibatch.held, labelled)
        nats = _log_likelihood(by_word, before, past + labelled, hyper.doc_topic_prior, minibatch)
        if nats > best:
            best, best_sweep = nats, sweep
        if sweep - best_sweep == patience:
            break
    counts = buffers.empty(before.shape, np.float64)
    counts[:] = minibatch.counts
    found = {"topic_words": counts, **cgs.statistics(by_word["tokens"], hyper, minibatch.labels, len(past))}
    doc_topics = _doc_topics(minibatch.held, hyper.doc_topic_prior) if hyper.doc_topics else None
    info = {"iterations": float(docs.n_docs * (1 + sweep)), "log_likelihood": nats}
    return KernelResult(found, doc_topics, None, info)


def _doc_topics(held: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Prior and labels of each document, divided by their sum."""
    masses = held[:, : len(prior)] + prior
    return masses / masses.sum(axis=1, keepdims=True)


def _log_likelihood(
    by_word: Mapping[str, np.ndarray],
    before: np.ndarray,
    totals: np.ndarray,
    prior: np.ndarray,
    minibatch: _Minibatch,
) -> float:
    """Of the tokens under the means of these labels, in nats."""
    entries, n_columns = frozen(by_word["entries"], by_word["entries"].dtype), before.shape[1]
    inverses = np.zeros(n_columns)
    np.divide(1.0, totals[: len(prior)], out=inverses[: len(prior)])
    _fill_likelihoods(
        before,
        frozen(minibatch.counts, np.int32),
        frozen(by_word["starts"], np.int64),
        entries,
        padded_prior(prior, n_columns, np.dtype(np.float64)),
        inverses,
        minibatch.held,
        np.empty(n_columns),
        minibatch.likelihoods,
    )
    n_tokens = minibatch.held.sum(axis=1, dtype=np.float64)
    lengths = float(_sum_logarithms(n_tokens + prior.sum(), n_tokens))
    return float(_sum_logarithms(minibatch.likelihoods, entries[:, 2])) - lengths


def _cost(options: Mapping[str, Any]) -> float:
    """A draw and the likelihood in each sweep."""
    return 2.0 * (1 + whole_number(options, "max_sweeps", 0))


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """What a sweep takes, and the minibatch."""
    sweep = cgs.KERNEL.scratch(size, cgs.KERNEL.options)
    table = size.rows["topic_words"] * size.columns["topic_words"]
    minibatch = [
        size.n_tokens * np.dtype(np.int16).itemsize,
        table * 4,
        size.n_docs * size.columns["topic_words"] * 4,
        size.n_entries * 8,
    ]
    return Scratch([*sweep.derived, *sweep.pooled, *minibatch], sweep.transient)


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
