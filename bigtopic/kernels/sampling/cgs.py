"""Collapsed Gibbs sampling (CGS), with a label for each token, and its replicated form.

Each token, a word v of a document d, has R labels, each worth 1 / R of it. In its turn all of them are removed at once,
and R are drawn from one conditional:

    p_k  prop. to  (alpha_k + N_dk) (eta_v + N_kv) / (sum_v eta_v + N_k)

R = 1 is collapsed Gibbs sampling. As R grows, the labels of a token come to be its responsibilities, and the method
iterative CVB0 (kernel `ilr`). The documents of a slice see each other's newest labels, and those of other slices as
they were when the params were read (AD-LDA). A token without a label, of a document that is new, is drawn given the
tokens that have one, so that the first sweep is a progressive start. Statistics: what the labels of a word have changed
by.

How it is computed: words are visited in the order of their ids, the tokens of a word in the order of documents. With
f_k = (eta_v + N_kv) / (sum_v eta_v + N_k), of which one or two change from token to token,

    p_k  prop. to  N_dk f_k  +  alpha_k f_k

the first term costs the topics that the document has, and the second, once a word is begun, only what changes: its sums
over blocks of topics are kept up to date, and are walked when a draw falls into it. Of few topics (up to 128) the first
term has both, (N_dk + alpha_k) f_k: that is one pass without a choice.

Cost of a token: topics of its document, a few operations each. Of a word of a slice: topics.

References: Griffiths and Steyvers (2004), "Finding scientific topics", equation 5; Yao, Mimno, McCallum (2009),
"Efficient methods for topic model inference on streaming document collections", for the split of the conditional;
Newman, Asuncion, Smyth, Welling (2009), "Distributed algorithms for topic models", for slices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.errors import SettingError
from bigtopic.kernels.support.entry import INNER, OUTER, frozen, padded_prior, whole_number
from bigtopic.kernels.support.expected_logs import expected_logs_of_labels
from bigtopic.kernels.support.lanes import n_reached, prefetch, running
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.tokens import (
    LANE,
    SHIFT,
    hold_topics,
    put_doc_topics,
    sort_by_word,
    whole_counts,
)
from bigtopic.kernels.support.vector import LANES, load, spread, store, total
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, StateSpec, View

__all__ = ["KERNEL", "run"]

_MOST_TOPICS = 1 << 15  # that a label of two bytes can name
_AHEAD = 4  # entries
_FEW_BLOCKS = 8  # of so many, documents have all from the start
_ONE, _LANES = np.uint64(1), np.uint64(LANES)

# Indices are unsigned where they can be: nothing is then done for those that count from the end.


@njit(**INNER)
def _begin_word(row, inverses, prior, factors, weighted, smooth):
    """Fill f and the sums of alpha f over blocks; returns the sum over all."""
    for k in range(row.shape[0]):
        factors[k] = np.float32(row[k] * inverses[k])
        weighted[k] = prior[k] * np.float64(factors[k])
    whole = 0.0
    for b in range(smooth.shape[0]):
        smooth[b] = total(load(weighted, b * LANES))
        whole += smooth[b]
    return whole


@njit(**INNER)
def _pick(rest, n_components, prior, factors, smooth):
    """The topic at which the sums of alpha f exceed `rest`; rounding may leave the last."""
    block = 0
    while block < smooth.shape[0] - 1 and rest >= smooth[block]:
        rest -= smooth[block]
        block += 1
    last = min((block + 1) * LANES, n_components) - 1
    for k in range(block * LANES, last):
        rest -= prior[k] * factors[k]
        if rest < 0.0:
            return k
    return last


# One function, because calls with many arrays cost more than the work between them.
@njit(**OUTER)
def _sweep(
    indptr, words, counts, rows, topic_words, prior, even, n_components, seed, n_replicas, whole, labels, totals,
    starts, entries, held, firsts, begins, n_held, places, keys, inverses, factors, weighted, smooth, sums, lanes,
    one_hot, own, tokens, change,
):  # fmt: skip
    n_blocks, share = smooth.shape[0], 1.0 / n_replicas
    sort_by_word(indptr, words, counts, starts, entries)
    hold_topics(
        indptr, counts, labels, n_replicas, n_blocks, whole, held, firsts, begins, n_held, places, tokens
    )
    for d in range(rows.shape[0]):
        keys[d] = key(seed, rows[d])
    for k in range(n_components):
        inverses[k] = 1.0 / totals[k]
    for v in range(topic_words.shape[0]):
        flat = _begin_word(topic_words[v], inverses, prior, factors, weighted, smooth)
        for e in range(starts[v], starts[v + 1]):
            d, ahead = entries[e, 0], min(e + _AHEAD, entries.shape[0] - 1)
            begin, n, of_document = np.uint64(begins[d]), np.uint64(n_held[d]), np.uint64(d * n_blocks)
            row_key, zeroth = keys[d], np.uint64(tokens[d])
            prefetch(labels, entries[ahead, 1] * n_replicas)
            for j in range(n_held[entries[ahead, 0]]):
                prefetch(held, (begins[entries[ahead, 0]] + j) * LANES)
            first, last = entries[e, 1] * n_replicas, (entries[e, 1] + entries[e, 2]) * n_replicas
            for t in range(np.uint64(first), np.uint64(last), np.uint64(n_replicas)):
                for sign in range(-1, 2, 2):
                    if sign > 0:
                        vector = spread(np.float32(0))
                        for j in range(n):
                            k = firsts[begin + j]
                            tokens_and_prior = load(held, (begin + j) * _LANES) + load(even, k)
                            vector = vector + tokens_and_prior * load(factors, k)
                            store(sums, j * _LANES, vector)
                        along = running(vector)
                        store(lanes, 1, along)
                        mass = share * lanes[LANES]
                        for r in range(np.uint64(n_replicas)):
                            rest = uniform(row_key, t - zeroth + r) * (mass + flat)
                            if rest < mass:
                                beyond = np.float32(rest * n_replicas)
                                lane = min(n_reached(along, beyond), LANES - 1)
                                beyond -= lanes[np.uint64(lane)]
                                place = begin
                                for j in range(n - _ONE):
                                    place += np.uint64(sums[j * _LANES + np.uint64(lane)] <= beyond)
                                labels[t + r] = min(firsts[place] + lane, n_components - 1)
                            else:
                                labels[t + r] = _pick(rest - mass, n_components, prior, factors, smooth)
                    elif labels[t] < 0:
                        continue
                    for r in range(np.uint64(n_replicas)):
                        k = np.uint64(labels[t + r])
                        b, hot = k >> SHIFT, load(one_hot, (k & LANE) * _LANES)
                        place = places[of_document + b]
                        if place < 0:
                            place, n = np.int64(n), n + _ONE
                            places[of_document + b] = place
                            firsts[begin + np.uint64(place)] = np.int64(b) * LANES
                            store(held, (begin + np.uint64(place)) * _LANES, spread(np.float32(0)))
                        at = (begin + np.uint64(place)) * _LANES
                        own[k] += sign
                        totals[k] += sign * share
                        inverses[k] = 1.0 / totals[k]
                        factor = np.float32(max((topic_words[v, k] + share * own[k]) * inverses[k], 0.0))
                        if not whole:
                            growth = prior[k] * (np.float64(factor) - np.float64(factors[k]))
                            smooth[b] += growth
                            flat += growth
                        # whole vectors: the next token loads them while they are still on their way to the cache
                        store(held, at, load(held, at) + spread(np.float32(sign)) * hot)
                        old = load(factors, b * _LANES)
                        store(factors, b * _LANES, old - old * hot + spread(factor) * hot)
            n_held[d] = n
        for k in range(own.shape[0]):
            change[v, k] = share * own[k]
            own[k] = 0


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Draw the labels of these documents once more, or for the first time; see the module.

    Parameters
    ----------
    docs : the documents, counts are whole numbers; authors are ignored
    view : "topic_words" as "counts", (n_words, n_columns), prior included, with their totals; the labels in `state` are
        among them
    hyper : option `replicas` (labels of a token, at least 1)
    seed : with a document's source row and a label's place in it, the key of its draw
    state : "labels" int16 (n_tokens, replicas), -1 where there is none yet; None for documents that are new

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), by how many tokens the labels have changed, and
        stats["doc_topic_prior"] (1, n_columns), the sum of E[log theta] given the first label of each token, if wanted;
        doc_topics (n_docs, n_components) if wanted; state["labels"]; no info.

    Raises
    ------
    InputError
        When a count is not a whole number.
    SettingError
        When `replicas` is not a whole number of at least 1, or there are more topics than a label can name.
    """
    topic_words, n_replicas = view.arrays["topic_words"], whole_number(hyper.options, "replicas", 1)
    assert topic_words.shape[1] % LANES == 0, "rows come in whole vectors"
    if hyper.n_components > _MOST_TOPICS:
        raise SettingError(f"n_components={hyper.n_components}: kernel 'cgs' has at most {_MOST_TOPICS}")
    counts = whole_counts(docs)
    dtype, (n_words, n_columns) = topic_words.dtype, topic_words.shape
    n_tokens, n_blocks = int(counts.sum()), n_columns // LANES
    labels = np.full((n_tokens, n_replicas), -1, np.int16) if state is None else state["labels"].copy()
    starts = np.concatenate([[0], np.cumsum(counts)])[docs.indptr]
    lengths = np.diff(starts)
    whole = n_blocks <= _FEW_BLOCKS
    most = np.full(docs.n_docs, n_blocks) if whole else np.minimum(2 * lengths * n_replicas, n_blocks)
    prior, none = padded_prior(hyper.doc_topic_prior, n_columns, np.dtype(np.float64)), np.zeros(n_columns)
    held, firsts = (
        buffers.empty(int(most.sum()) * LANES, np.float32),
        buffers.empty(int(most.sum()), np.int64),
    )
    begins, n_held = np.empty(docs.n_docs, np.int64), np.empty(docs.n_docs, np.int64)
    change = buffers.empty((n_words, n_columns), dtype)
    _sweep(
        frozen(docs.indptr, np.int64),
        frozen(docs.words, np.int32),
        frozen(counts, np.int64),
        frozen(docs.rows, np.int64),
        frozen(topic_words, dtype),
        frozen(none if whole else prior, np.float64),
        frozen(n_replicas * prior if whole else none, np.float32),
        hyper.n_components,
        int(seed),
        n_replicas,
        whole,
        labels.reshape(-1),
        view.totals["topic_words"].astype(np.float64),
        np.empty(n_words + 1, np.int64),
        buffers.empty((len(counts), 3), np.int64),
        held,
        firsts,
        begins,
        n_held,
        buffers.empty(docs.n_docs * n_blocks, np.int16),
        np.empty(docs.n_docs, np.uint64),
        np.zeros(n_columns),
        buffers.empty(n_columns, np.float32),
        buffers.empty(n_columns, np.float64),
        np.empty(n_blocks),
        buffers.empty(n_columns, np.float32),
        np.zeros(1 + LANES, np.float32),
        np.eye(LANES, dtype=np.float32).reshape(-1),
        np.zeros(n_columns),
        np.empty(docs.n_docs, np.int64),
        change,
    )
    doc_topics = None
    if hyper.doc_topics:
        doc_topics = np.empty((docs.n_docs, hyper.n_components), dtype)
        put_doc_topics(prior, n_replicas, held, firsts, begins, n_held, doc_topics)
    stats = {"topic_words": change}
    if "doc_topic_prior" in hyper.statistics:
        stats["doc_topic_prior"] = expected_logs_of_labels(
            starts, labels[:, 0], hyper.doc_topic_prior, n_columns
        )
    return KernelResult(stats, doc_topics, {"labels": labels}, {})


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Entries by word, labels, and the topics of the documents."""
    n_blocks = -(-size.columns["topic_words"] // LANES)
    n_held = size.n_docs * n_blocks
    if n_blocks > _FEW_BLOCKS:
        n_held = min(n_held, 2 * size.n_tokens * whole_number(options, "replicas", 1))
    return Scratch(
        [size.n_entries * 24, n_held * LANES * 4, n_held * 8, size.n_docs * n_blocks * 2],
        transient=size.n_entries * 24,
    )


KERNEL = Kernel(
    name="cgs",
    run=run,
    views={"topic_words": "counts"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    posteriors=("topic_words",),
    options={"replicas": 1},
    scratch=_scratch,
    interacts=True,
    state="run",
    remembers={"labels": StateSpec("token", "int16", ("replicas",), missing=-1)},
    dtype="float64",
    changes=("topic_words",),
    paper="Griffiths and Steyvers 2004; Newman et al. 2009",
)
