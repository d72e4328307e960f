"""Streaming Gibbs sampling (SGS): collapsed Gibbs sampling of one minibatch, given the decayed counts of earlier ones.

The weights G of the params are the past, with the prior; n are counts of the labels of this minibatch alone:

    p_k  prop. to  (alpha_k + n_dk) (G_kv + n_kv) / (G_k + n_k)

The first sweep labels every token given those that have a label. Further sweeps remove a token, draw its label from
the same formula, and add it, until the likelihood of the minibatch under the means of these counts,

    sum over tokens of log sum_k theta_dk beta_kv,
    theta_dk = (alpha_k + n_dk) / sum_k (alpha_k + n_dk),  beta_kv = (G_kv + n_kv) / (G_k + n_k)

has not improved for `patience` sweeps. Statistics: n; the labels are forgotten. With the scheme `DecayAdd`, G is the
decayed sum of the past. One minibatch of a whole corpus and a decay of 1 are collapsed Gibbs sampling.

A call is a whole minibatch: its documents see each other's newest labels, which begin anew. The topics that two calls
found would not be the same ones.

How it is computed: a sweep is one of the kernel `cgs`, with its own seed. It visits tokens by word, so that the
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

from bigtopic.kernels.sampling import cgs
from bigtopic.kernels.support.entry import State, frozen, padded_prior, uncounted, whole_number
from bigtopic.kernels.support.math import fast_log
from bigtopic.kernels.support.rows import stored_rows
from bigtopic.kernels.support.tokens import add_labels, frozen_by_word, sorted_by_word
from bigtopic.kernels.support.vector import LANES, double, load, spread, store, total
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "run"]

_ZERO, _LANES = np.uint64(0), np.uint64(LANES)


class _Minibatch(NamedTuple):
    """The documents of a minibatch, by word.

    Attributes
    ----------
    starts, entries, token_starts : by word, see `tokens.sorted_by_word`
    drawn : int16 (n_tokens,), labels in the order of words, -1 where there is none yet
    past, totals : float64 (n_columns,), G_k, and with the labels
    prior, inverses, means : float64 (n_columns,), alpha, 1 divided by the totals, and beta of a word
    likelihoods : float64 (n_entries,), of a token of each entry, by word
    """

    starts: np.ndarray
    entries: np.ndarray
    token_starts: np.ndarray
    drawn: np.ndarray
    past: np.ndarray
    totals: np.ndarray
    prior: np.ndarray
    inverses: np.ndarray
    means: np.ndarray
    likelihoods: np.ndarray


@uncounted
def _add_up(held, n_components, minibatch):
    """Set the totals, and 1 divided by them."""
    for k in range(_ZERO, np.uint64(held.shape[1]), _LANES):
        labelled = spread(0.0)
        for d in range(held.shape[0]):
            labelled = labelled + double(load(held, (d, k)))
        store(minibatch.totals, k, load(minibatch.past, k) + labelled)
    for k in range(n_components):
        minibatch.inverses[k] = 1.0 / minibatch.totals[k]


@uncounted
def _fill_likelihoods(before, held, minibatch):
    """The likelihoods, times alpha_k + n_dk summed over k."""
    starts, token_starts, entries = minibatch.starts, minibatch.token_starts, minibatch.entries
    means, n_columns = minibatch.means, np.uint64(before.shape[1])
    for v in range(before.shape[0]):
        add_labels(token_starts[v], token_starts[v + 1], minibatch.drawn, means)
        flat = spread(0.0)
        for k in range(_ZERO, n_columns, _LANES):
            mean = (load(before, (v, k)) + load(means, k)) * load(minibatch.inverses, k)
            store(means, k, mean)
            flat = flat + load(minibatch.prior, k) * mean
        of_prior = total(flat)
        for e in range(starts[v], starts[v + 1]):
            mixed, d = spread(0.0), entries[e, 0]
            for k in range(_ZERO, n_columns, _LANES):
                mixed = mixed + double(load(held, (d, k))) * load(means, k)
            minibatch.likelihoods[e] = of_prior + total(mixed)
        for k in range(_ZERO, n_columns, _LANES):
            store(means, k, spread(0.0))


@uncounted
def _fill_counts(minibatch, counts):
    """The labels of each word."""
    for v in range(counts.shape[0]):
        for k in range(_ZERO, np.uint64(counts.shape[1]), _LANES):
            store(counts, (v, k), spread(0.0))
        add_labels(minibatch.token_starts[v], minibatch.token_starts[v + 1], minibatch.drawn, counts[v])


@uncounted
def _sum_logarithms(numbers, weights):
    """sum_i weights[i] log(numbers[i]); the numbers become their logarithms."""
    for i in range(numbers.shape[0]):
        numbers[i] = fast_log(numbers[i])
    whole = 0.0
    for i in range(numbers.shape[0]):
        whole += weights[i] * numbers[i]
    return whole


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Label the tokens of these documents; see the module.

    Parameters
    ----------
    docs : the documents, counts are whole numbers; authors are ignored
    view : "topic_words" as "counts", (n_words, n_columns), prior included, with their totals
    hyper : for its options see `KERNEL`
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
    prior, best, best_sweep = hyper.doc_topic_prior, -np.inf, 0
    before, by_word = frozen(view.arrays["topic_words"], np.float64), sorted_by_word(docs)
    labels = np.full((by_word["tokens"][-1], 1), -1, np.int16)
    past, n_columns = view.totals["topic_words"], before.shape[1]
    inverses, means = buffers.zeros((2, n_columns), np.float64)
    minibatch = _Minibatch(
        *frozen_by_word(by_word), np.full(by_word["tokens"][-1], -1, np.int16), frozen(past, np.float64),
        past.astype(np.float64), padded_prior(prior, n_columns, np.dtype(np.float64)),
        inverses, means, buffers.empty(len(by_word["entries"]), np.float64),
    )  # fmt: skip
    topic_words = stored_rows(View({"topic_words": before}, {}), "topic_words")
    sampler = cgs.sampler(docs, by_word, topic_words, minibatch.totals, hyper, labels, drawn=minibatch.drawn)
    lengths = _of_lengths(by_word["tokens"], prior)
    for sweep in range(1 + max_sweeps):
        sampler.sweep(seed + sweep)
        nats = _log_likelihood(before, sampler.held, len(prior), minibatch) - lengths
        if nats > best:
            best, best_sweep = nats, sweep
        if sweep - best_sweep == patience:
            break
    counts = buffers.empty(before.shape, np.float64)
    _fill_counts(minibatch, counts)
    found = {"topic_words": counts, **cgs.statistics(by_word["tokens"], hyper, labels, before.shape[1])}
    doc_topics = None
    if hyper.doc_topics:
        doc_topics = np.empty((docs.n_docs, hyper.n_components))
        sampler.fill_doc_topics(doc_topics)
    info = {"iterations": float(docs.n_docs * (1 + sweep)), "log_likelihood": nats}
    return KernelResult(found, doc_topics, None, info)


def _of_lengths(tokens: np.ndarray, prior: np.ndarray) -> float:
    """sum_d n_d log sum_k (alpha_k + n_dk)"""
    lengths = np.diff(tokens).astype(np.float64)
    return float(_sum_logarithms(lengths + prior.sum(), lengths))


def _log_likelihood(before: np.ndarray, held: np.ndarray, n_components: int, minibatch: _Minibatch) -> float:
    """Of the tokens under the means of these labels, in nats, but for the lengths of documents; sets the totals."""
    _add_up(held, n_components, minibatch)
    _fill_likelihoods(before, held, minibatch)
    return float(_sum_logarithms(minibatch.likelihoods, minibatch.entries[:, 2]))


def _cost(options: Mapping[str, Any]) -> float:
    """A draw and the likelihood in each sweep."""
    return 2.0 * (1 + whole_number(options, "max_sweeps", 0))


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """What a sweep takes, and the minibatch."""
    sweep = cgs.KERNEL.scratch(size, cgs.KERNEL.options)
    labels = size.n_tokens * np.dtype(np.int16).itemsize
    minibatch = [labels, labels, size.n_entries * 8]
    if size.n_components > cgs.FEW_TOPICS:
        minibatch.append(size.n_docs * size.columns["topic_words"] * 4)
    return Scratch([*sweep.derived, *sweep.pooled, *minibatch], sweep.transient)


KERNEL = Kernel(
    name="sgs",
    run=run,
    views={"topic_words": "counts"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    options={"max_sweeps": 400, "patience": 10},
    meanings={
        "max_sweeps": "sweeps of the minibatch after the first at most, from 0",
        "patience": "sweeps end after as many without a better perplexity of the minibatch, from 1; more than "
        "`max_sweeps` makes all",
    },
    cost=_cost,
    scratch=_scratch,
    interacts=True,
    whole_minibatches=True,
    dtype="float64",
    paper="Gao, Chen, Zhu 2016",
)
