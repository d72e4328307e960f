"""Conditional density filtering (CDF-LDA): one sweep over each document, against topics drawn anew for it.

The counts N_kv of a topic, prior included, are the counts of all documents before this one:

    Phi_k ~ Dirichlet(N_k)
    z_i ~ p_k,  p_k prop. to  (alpha_k + n_k) Phi_kw              for each token i, of word w, of this document
    N_kv += the labels of the document's tokens

n_k are the labels of the document's other tokens, which begin in proportion to Phi_kw. A call is a whole minibatch; its
documents follow each other in storage order. Statistics: the labels of each word. The document-topic prior is learned
from the labels after `_SWEEPS` more sweeps: labels of the first do not know each other, and a prior learned from them
is a fifth too large.

Only the document's own words are drawn, which is exact: g_v ~ Gamma(N_kv) for these, one Gamma for all others together,
of shape N_k - sum_v N_kv, and Phi_kv is g_v divided by the sum of all of these. They are drawn as logarithms and a
word's probabilities divided by their maximum, so that none is lost, however small the prior.

Before anything is counted, for the first document, Phi_kv are uniform numbers divided by their sum over all words of a
topic: a topic drawn from a small prior has few words, and what the first documents draw stays.

Cost: topics x distinct words draws of a gamma number for each document, and tokens x topics multiply-adds. The draws
are nearly all of it.

References: Gao, Chen, Zhu (2016), "Streaming Gibbs sampling for LDA model", algorithm 5; Guhaniyogi, Qamar, Dunson
(2014), "Bayesian conditional density filtering".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.kernels.support.draw import put
from bigtopic.kernels.support.entry import (
    Call,
    State,
    counted,
    frozen,
    inner,
    outer,
    put_shares,
)
from bigtopic.kernels.support.expected_logs import add_labels, with_psi
from bigtopic.kernels.support.labels import TOGETHER, count_labels, room, start_labels, sweep_labels
from bigtopic.kernels.support.math import fast_exp
from bigtopic.kernels.support.random import gamma_room, key, log_gammas, uniform
from bigtopic.kernels.support.tokens import whole_counts
from bigtopic.kernels.support.vector import LANES, larger, largest, load, spread, store
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, View

__all__ = ["KERNEL", "draw_first_topics", "draw_topics", "run"]

_FAINT = -700.0  # logarithm of a share that counts as zero
_LEAST_PRIOR = 1e-18  # keeps products with it normal numbers in float32
_SWEEPS = 5
_ONE = TOGETHER - 1  # the place of a document that is worked on alone


@outer
def draw_topics(words, topic_words, labels, totals, draws_key, logs, shapes, largest, rest, room):
    """logs[i, k] <- log Phi_k of the document's word i, minus infinity where its counts are 0.

    Parameters
    ----------
    words : (n,), distinct
    topic_words, labels : (n_words, n_columns), the counts are their sum
    totals : float64 (n_columns,), sums of the counts over all words
    draws_key : the number of word i in topic k has the key `bits(draws_key, i * n_components + k)`
    logs : float64 (at least n, at least n_components)
    shapes, largest, rest : float64 (n_components,), space to work in
    room : of `gamma_room(n_components)`
    """
    n, n_components = words.shape[0], rest.shape[0]
    for k in range(n_components):
        rest[k], largest[k] = totals[k], -np.inf
    for i in range(n):
        # rows by themselves: loops over them need no look at their place in the whole
        past, own, row = topic_words[words[i]], labels[words[i]], logs[i, :n_components]
        for k in range(n_components):
            shapes[k] = np.float64(past[k]) + np.float64(own[k])
            rest[k] -= shapes[k]
        log_gammas(shapes, draws_key, i * n_components, row, room)
        for k in range(n_components):
            largest[k] = row[k] if row[k] > largest[k] else largest[k]
    for k in range(n_components):
        shapes[k] = max(rest[k], 0.0)
    log_gammas(shapes, draws_key, n * n_components, rest, room)
    for k in range(n_components):
        largest[k] = max(largest[k], rest[k])
        largest[k] = largest[k] if largest[k] > -np.inf else 0.0
        rest[k] = fast_exp(rest[k] - largest[k])
    for i in range(n):
        row = logs[i]
        for k in range(n_components):
            rest[k] += fast_exp(row[k] - largest[k])
    for k in range(n_components):
        largest[k] += np.log(rest[k])
    for i in range(n):
        row = logs[i]
        for k in range(n_components):
            row[k] -= largest[k]


@outer
def draw_first_topics(n_words, draws_key, logs, sums):
    """logs[i, k] <- log Phi_k of word i before anything is counted.

    Parameters
    ----------
    n_words : of the vocabulary; the document's words come first
    draws_key : word i of topic k has its draw i * n_components + k
    logs : float64 (words of the document, at least n_components)
    sums : float64 (n_components,), space to work in
    """
    n, n_components = logs.shape[0], sums.shape[0]
    sums[:] = 0.0
    for i in range(n_words):
        for k in range(n_components):
            number = uniform(draws_key, i * n_components + k)
            sums[k] += number
            if i < n:
                logs[i, k] = np.log(number)
    for i in range(n):
        for k in range(n_components):
            logs[i, k] -= np.log(sums[k])


@inner
def _gather(words, counts, logs, block, held, rows):
    """Rows of the drawn topics, each with a maximum of 1, and the tokens of words that a topic knows; their number."""
    n, n_columns = 0, logs.shape[1]
    for i in range(words.shape[0]):
        most, place = load(logs, (i, 0)), i * n_columns
        for k in range(LANES, n_columns, LANES):
            most = larger(most, load(logs, (i, k)))
        best, row = largest(most), logs[i]
        least, shares, none = best + _FAINT if best > -np.inf else np.inf, block[place:], held[place:]
        for k in range(n_columns):
            share = fast_exp(row[k] - best)
            shares[k] = share if row[k] > least else 0.0
        for k in range(n_columns):
            none[k] = 0
        for _ in range(counts[i] if best > -np.inf else 0):
            put(rows, n * TOGETHER + _ONE, place)
            n += 1
    return n


@inner
def _add(words, held, prior, stats, totals, mean):
    """Add a document's labels. `mean` (n_columns,) becomes alpha + their numbers."""
    n_columns, none = mean.shape[0], spread(mean.dtype.type(0))
    for k in range(0, n_columns, LANES):
        store(mean, k, none)
    for i in range(words.shape[0]):
        for k in range(0, n_columns, LANES):
            new = load(held, i * n_columns + k)
            store(stats, (words[i], k), load(stats, (words[i], k)) + new)
            store(mean, k, load(mean, k) + new)
    for k in range(n_columns):
        totals[k] += mean[k]
        mean[k] += prior[k]


@outer
def _infer(
    indptr, words, counts, source_rows, topic_words, prior, seed, first, n_words, totals, logs, shapes, most, rest,
    room, rows, labels, block, held, mass, numbers, sums, ends, targets, lanes, row_keys, n_tokens, alpha, psi_alpha,
    counted, stats, doc_topics, expected_logs,
):  # fmt: skip
    n_columns, dropped, nothing, one = topic_words.shape[1], 0, mass.dtype.type(0), mass.dtype.type(1)
    for d in range(source_rows.shape[0]):
        own = slice(indptr[d], indptr[d + 1])
        row_keys[_ONE] = key(seed, source_rows[d])
        draws_key = key(row_keys[_ONE], 0)
        if first:
            draw_first_topics(n_words, draws_key, logs[: own.stop - own.start], rest)
        else:
            draw_topics(words[own], topic_words, stats, totals, draws_key, logs, shapes, most, rest, room)
        n = _gather(words[own], counts[own], logs, block, held, rows)
        first = first and n == 0
        n_tokens[_ONE] = n
        start_labels(
            _ONE, n, rest.shape[0], n_columns, True, row_keys[_ONE], prior,
            rows, labels, block, mass, numbers, sums, ends, targets,
        )  # fmt: skip
        sweep_labels(
            n_tokens, 1, one, row_keys, n_columns, prior,
            rows, labels, block, mass, numbers, held, sums, ends, targets, lanes,
        )  # fmt: skip
        if expected_logs.shape[0] > 0:
            for sweep in range(2, 2 + _SWEEPS):
                sweep_labels(
                    n_tokens, sweep, nothing, row_keys, n_columns, prior,
                    rows, labels, block, mass, numbers, held, sums, ends, targets, lanes,
                )  # fmt: skip
            count_labels(_ONE, n, labels, counted)
            add_labels(alpha, psi_alpha, counted, 1.0, expected_logs)
        mean = mass[_ONE * n_columns :]
        _add(words[own], held, prior, stats, totals, mean)
        dropped += counts[own].sum() - n
        if doc_topics.shape[0] > 0:
            put_shares(mean, doc_topics[d])
    return dropped


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Label the tokens of these documents, one document after the other; see the module.

    Parameters
    ----------
    docs : the documents, counts are whole numbers; authors are ignored
    view : "topic_words" as "counts", (n_words, n_columns), prior included, with their totals
    hyper : no options
    seed : with a document's source row, the key of its draws
    state : unused

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), the labels of each word, and stats["doc_topic_prior"] (1, n_columns),
        the sum of E[log theta] given labels, if wanted; doc_topics (n_docs, n_components) if wanted; info:
        "dropped_tokens" (of words that no topic knows).

    Raises
    ------
    InputError
        When a count is not a whole number.
    """
    call, counts, n = Call(docs, view, hyper), whole_counts(docs), hyper.n_components
    indptr, words, _ = call.documents
    lengths = np.diff(np.concatenate([[0], np.cumsum(counts)])[docs.indptr])
    longest, most_tokens = int(np.diff(indptr).max(initial=1)), int(lengths.max(initial=1))
    alpha = np.maximum(hyper.doc_topic_prior, _LEAST_PRIOR)
    logs = buffers.empty((longest, call.n_columns), np.float64)
    logs[:, n:] = -np.inf
    dropped = _infer(
        indptr, words, frozen(counts, np.int64), call.rows, call.topic_words,
        frozen(np.tile(call.prior(alpha), TOGETHER), call.dtype), int(seed), not counted(view, hyper, "topic_words"),
        hyper.axis_sizes["word"], view.totals["topic_words"].astype(np.float64), logs, *np.empty((3, n)), gamma_room(n),
        *room(longest, most_tokens, call.n_columns, call.dtype), *with_psi(alpha), np.empty(n), *call.outputs,
        call.expected_logs(),
    )  # fmt: skip
    return call.result({"dropped_tokens": dropped})


def _cost(options: Mapping[str, Any]) -> float:
    """A gamma number costs as much as so many passes over an entry."""
    return 100.0


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Of one document: the drawn topics, in logarithms and as they are, labels held, and places of tokens."""
    n_entries, n_tokens = size.longest * size.columns["topic_words"], size.longest_tokens * TOGETHER
    return Scratch([*[n_entries * 8] * 3, n_tokens * 8, n_tokens * 4])


KERNEL = Kernel(
    name="cdf",
    run=run,
    views={"topic_words": "counts"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    cost=_cost,
    scratch=_scratch,
    interacts=True,
    whole_minibatches=True,
    dtype="float64",
    paper="Guhaniyogi et al. 2014; Gao, Chen, Zhu 2016",
)
