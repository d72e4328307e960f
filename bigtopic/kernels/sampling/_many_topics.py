"""Collapsed Gibbs sampling of many topics, for the kernel `cgs`: documents have labels of some of them.

With f_k = (eta_v + N_kv) / (sum_v eta_v + N_k), of which one or two change from token to token,

    p_k  prop. to  N_dk f_k  +  alpha_k f_k

the first term costs the topics that the document has, and the second, once a word is begun, only what changes: its sums
over blocks of topics are kept up to date, and are walked when a draw falls into it.

Reference: Yao, Mimno, McCallum (2009), "Efficient methods for topic model inference on streaming document collections".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.kernels.support.draw import n_reached, running
from bigtopic.kernels.support.entry import inner, outer, padded_prior
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.tokens import (
    FLOOR,
    LANE,
    SHIFT,
    Sampler,
    add_labels,
    hold_labels,
    hold_topics,
    put_doc_topics,
)
from bigtopic.kernels.support.vector import LANES, load, prefetch, spread, store, total
from bigtopic.support import buffers

__all__ = ["ManyTopics"]

_AHEAD = 4  # entries
_ONE, _LANES = np.uint64(1), np.uint64(LANES)

# Indices are unsigned where they can be: nothing is then done for those that count from the end.


@inner
def _begin_word(row, inverses, prior, factors, weighted, smooth):
    """Fill f and the sums of alpha f over blocks; returns the sum over all."""
    for k in range(row.shape[0]):
        factors[k] = np.float32(max(row[k], FLOOR) * inverses[k])
        weighted[k] = prior[k] * np.float64(factors[k])
    whole = 0.0
    for b in range(smooth.shape[0]):
        smooth[b] = total(load(weighted, b * LANES))
        whole += smooth[b]
    return whole


@inner
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
@outer
def _sweep(
    seed, rows, topic_words, prior, n_components, n_replicas, labels, totals, starts, entries, token_starts, tokens,
    held, firsts, begins, n_held, places, keys, inverses, factors, weighted, smooth, sums, lanes, one_hot, word, own,
    change, drawn,
):  # fmt: skip
    n_blocks, share = smooth.shape[0], 1.0 / n_replicas
    hold_topics(tokens, labels, n_replicas, n_blocks, held, firsts, begins, n_held, places)
    for d in range(rows.shape[0]):
        keys[d] = key(seed, rows[d])
    for k in range(n_components):
        inverses[k] = 1.0 / max(totals[k], FLOOR)
    for v in range(starts.shape[0] - 1):
        row = topic_words.ids[v]
        for k in range(word.shape[0]):
            word[k] = topic_words.array[row, k] * topic_words.scale[k] + topic_words.prior[k]
        p = token_starts[v]
        if drawn is not None:
            add_labels(p, token_starts[v + 1], drawn, own)
            for k in range(own.shape[0]):
                word[k] += own[k]
            own[:] = 0
        flat = _begin_word(word, inverses, prior, factors, weighted, smooth)
        for e in range(starts[v], starts[v + 1]):
            d, ahead = entries[e, 0], min(e + _AHEAD, entries.shape[0] - 1)
            begin, n, of_document = np.uint64(begins[d]), np.uint64(n_held[d]), np.uint64(d * n_blocks)
            row_key, zeroth = keys[d], np.uint64(tokens[d] * n_replicas)
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
                            vector = vector + load(held, (begin + j) * _LANES) * load(factors, k)
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
                        if drawn is not None:
                            drawn[p] = labels[t]
                        p += 1
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
                        inverses[k] = 1.0 / max(totals[k], FLOOR)
                        factor = np.float32(max(word[k] + share * own[k], FLOOR) * inverses[k])
                        growth = prior[k] * (np.float64(factor) - np.float64(factors[k]))
                        smooth[b] += growth
                        flat += growth
                        # whole vectors: the next token loads them while they are still on their way to the cache
                        store(held, at, load(held, at) + spread(np.float32(sign)) * hot)
                        old = load(factors, b * _LANES)
                        store(factors, b * _LANES, old - old * hot + spread(factor) * hot)
            n_held[d] = n
        if change is not None:
            for k in range(own.shape[0]):
                change[v, k] = share * own[k]
        own[:] = 0


class ManyTopics(Sampler):
    """Labels of some topics for each document."""

    def _prepare(self, totals: np.ndarray, n_docs: int) -> tuple[Any, ...]:
        self.n_columns, n_blocks = len(totals), len(totals) // LANES
        most = int(np.minimum(2 * np.diff(self.tokens) * self.n_replicas, n_blocks).sum())
        self.padded = padded_prior(self.prior, len(totals), np.dtype(np.float64))
        self.topics = (
            buffers.empty(most * LANES, np.float32), buffers.empty(most, np.int64), *np.empty((2, n_docs), np.int64)
        )  # fmt: skip
        factors, sums = buffers.empty((2, self.n_columns), np.float32)
        weighted, word = buffers.empty((2, self.n_columns), np.float64)
        return (
            *self.topics, buffers.empty(n_docs * n_blocks, np.int16), np.empty(n_docs, np.uint64),
            np.zeros(self.n_columns), factors, weighted, np.empty(n_blocks), sums, np.zeros(1 + LANES, np.float32),
            np.eye(LANES, dtype=np.float32).reshape(-1), word, np.zeros(self.n_columns),
        )  # fmt: skip

    def sweep(self, seed: int) -> None:
        """Draw all labels once more."""
        rows, topic_words, *counts = self.inputs
        _sweep(
            int(seed), rows, topic_words, self.padded, *counts, self.labels, self.totals, *self.by_word, self.tokens,
            *self.room, *self.outputs,
        )  # fmt: skip

    @property
    def held(self) -> np.ndarray:
        """Labels of each document, counted anew."""
        held = buffers.empty((len(self.tokens) - 1, self.n_columns), np.float32)
        hold_labels(self.tokens, self.labels, self.n_replicas, held)
        return held

    def fill_doc_topics(self, doc_topics: np.ndarray) -> None:
        """Prior and labels of each document, divided by their sum."""
        put_doc_topics(self.padded, self.n_replicas, *self.topics, doc_topics)
