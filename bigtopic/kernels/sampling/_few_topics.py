"""Collapsed Gibbs sampling of few topics, for the kernel `cgs`: of each topic, every document has a number of labels.

A draw is a chain of operations that wait for each other, and most of them need not wait for the draw before. So while
the labels of one token are drawn, the weights of the next token of the word are summed, without these labels. What its
weights gain by each of them is known once they are drawn (f and the labels N'_dk as they come to be):

    (alpha_k + N'_dk) f'_k  -  (alpha_k + N_dk) f_k

The next token's labels are drawn from the gains and the weights summed before: those who fall into a gain get its
topic. That changes no probability.

Cost of a token: topics. Space: documents x topics numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bigtopic.kernels.support.draw import n_reached, running
from bigtopic.kernels.support.entry import inline, padded_prior, uncounted
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.tokens import FLOOR, LANE, SHIFT, Sampler, add_labels, hold_labels
from bigtopic.kernels.support.vector import (
    LANES,
    larger,
    load,
    load_double,
    prefetch,
    single,
    spread,
    store,
    store_double,
)
from bigtopic.support import buffers

__all__ = ["FewTopics"]

_AHEAD = 4  # entries
_ZERO, _ONE, _LANES = np.uint64(0), np.uint64(1), np.uint64(LANES)
_LINE = np.uint64(8)  # numbers in a cache line
_ENDS = np.uint64(2 * LANES)  # the sums of the lanes, after zeros

# Indices are unsigned: nothing is then done for those that count from the end.


class _Room(NamedTuple):
    """What a sweep changes, and works with.

    Attributes
    ----------
    held : float32 (n_docs * n_columns,), labels of each document
    word : float64 (n_columns,), weights of a word when it is begun
    own : float64 (n_columns,), labels by which it has changed, or all where the weights are without them
    totals, inverses : float64 (n_columns,), sum_v eta_v + N_k, and 1 divided by it
    factors : float32 (n_columns,), f of a word
    sums : float32 (2 * (n_columns + 2 * LANES),), for two tokens by turns: running sums of each lane, then over the
        lanes
    gains : float32 (n_replicas,), by the labels of the token before
    prior : float32 (n_columns,), n_replicas * alpha
    one_hot : float32 (LANES * LANES,)
    """

    held: np.ndarray
    word: np.ndarray
    own: np.ndarray
    totals: np.ndarray
    inverses: np.ndarray
    factors: np.ndarray
    sums: np.ndarray
    gains: np.ndarray
    prior: np.ndarray
    one_hot: np.ndarray


@inline
def _count(k, sign, share, row, word, room):
    """Count a label once more, or once less; returns the topic's new f."""
    block, hot = k & ~LANE, load(room.one_hot, (k & LANE) * _LANES)
    room.own[k] += sign
    room.totals[k] += sign * share
    room.inverses[k] = 1.0 / max(room.totals[k], FLOOR)
    factor = np.float32(max(word[k] + share * room.own[k], FLOOR) * room.inverses[k])
    # whole vectors: the next token loads them while they are still on their way to the cache
    store(room.held, row + block, load(room.held, row + block) + spread(np.float32(sign)) * hot)
    old = load(room.factors, block)
    store(room.factors, block, old - old * hot + spread(factor) * hot)
    return factor


@inline
def _weigh(row, place, n_columns, room):
    """Sum the weights of a token, whose own labels are not counted."""
    vector = spread(np.float32(0))
    for k in range(_ZERO, n_columns, _LANES):
        vector = vector + (load(room.held, row + k) + load(room.prior, k)) * load(room.factors, k)
        store(room.sums, place + k, vector)
    store(room.sums, place + n_columns + _LANES, running(vector))


@inline
def _pick(rest, place, n_columns, room):
    """The topic at which the sums exceed `rest`; rounding may lead to the padding."""
    ends = place + n_columns + _LANES
    lane = np.uint64(min(n_reached(load(room.sums, ends), rest), LANES - 1))
    rest -= room.sums[ends + lane - _ONE]
    k = lane
    for j in range(_ZERO, n_columns - _LANES, _LANES):
        k += np.uint64(room.sums[place + j + lane] <= rest) << SHIFT
    return k


@inline
def _draw(t, last, row_key, draw, gained, place, n_columns, n_components, n_replicas, labels, room):
    """Draw the labels of a token, whose weights have gained from the labels of the `last` one."""
    whole = room.sums[place + n_columns + _ENDS - _ONE] + gained
    for r in range(n_replicas):
        rest = np.float32(uniform(row_key, draw + r)) * whole
        if rest < gained:
            i = _ZERO
            while i < n_replicas - _ONE and rest >= room.gains[i]:
                rest -= room.gains[i]
                i += _ONE
            labels[t + r] = labels[last + i]
        else:
            labels[t + r] = min(_pick(rest - gained, place, n_columns, room), n_components - _ONE)


@inline
def _count_drawn(t, row, following, n_replicas, share, labels, word, room):
    """Count the labels drawn; returns what they add to the weights of the document that follows in `held`."""
    gained = np.float32(0)
    for r in range(n_replicas):
        k = np.uint64(labels[t + r])
        mass = room.held[following + k] + room.prior[k]
        before = mass * room.factors[k]
        factor = _count(k, 1, share, row, word, room)
        room.gains[r] = (mass + np.float32(row == following)) * factor - before
        gained += room.gains[r]
    return gained


@inline
def _begin_word(v, token_starts, topic_words, room, drawn):
    """Fill f of a word, and its weights where they are not rows of `topic_words` as they are."""
    row, n_columns = np.uint64(topic_words.ids[v]), np.uint64(room.own.shape[0])
    if drawn is not None:
        add_labels(token_starts[v], token_starts[v + 1], drawn, room.own)
        for k in range(_ZERO, n_columns, _LANES):
            weights = load_double(topic_words.array, (row, k)) + load(room.own, k)
            store(room.factors, k, single(larger(weights, spread(FLOOR)) * load(room.inverses, k)))
    else:
        for k in range(_ZERO, n_columns, _LANES):
            weights = load_double(topic_words.array, (row, k)) * load(topic_words.scale, k)
            weights = weights + load(topic_words.prior, k)
            store(room.word, k, weights)
            store(room.factors, k, single(larger(weights, spread(FLOOR)) * load(room.inverses, k)))


@inline
def _end_word(v, share, room, change):
    """By how much the labels of the word have changed."""
    for k in range(_ZERO, np.uint64(room.own.shape[0]), _LANES):
        if change is not None:
            store_double(change, (v, k), spread(share) * load(room.own, k))
        store(room.own, k, spread(0.0))


@inline
def _sweep_words(
    n_replicas, n_components, topic_words, labels, starts, entries, token_starts, keys, firsts, room, change, drawn
):  # fmt: skip
    share, n_words, n_columns = 1.0 / n_replicas, len(topic_words.ids), np.uint64(room.own.shape[0])
    n_components, n_replicas = np.uint64(n_components), np.uint64(n_replicas)
    for v in range(n_words):
        gained, place, following = np.float32(0), _ZERO, min(v + 1, n_words - 1)
        for k in range(_ZERO, n_columns, _LINE):
            prefetch(topic_words.array, topic_words.ids[following], k)
            if change is not None:
                prefetch(change, following, k)
        _begin_word(v, token_starts, topic_words, room, drawn)
        word = room.word if drawn is None else topic_words.array[np.uint64(topic_words.ids[v])]
        # the token that waits for its draw, and the one before it
        waiting = last = waiting_row = waiting_key = draw = _ZERO
        e, left, t = starts[v] - 1, 0, _ZERO
        for p in range(token_starts[v], token_starts[v + 1]):
            is_first = left == 0  # of its entry: no processor can predict the end of a loop over its tokens
            e += is_first
            left = (entries[e, 2] if is_first else left) - 1
            t = np.uint64(entries[e, 1]) * n_replicas if is_first else t + n_replicas
            d, ahead = entries[e, 0], min(e + _AHEAD, entries.shape[0] - 1)
            row = np.uint64(d) * n_columns
            prefetch(labels, np.uint64(entries[ahead, 1]) * n_replicas)
            for k in range(_ZERO, n_columns, _LANES):
                prefetch(room.held, np.uint64(entries[ahead, 0]) * n_columns + k)
            if labels[t] >= 0:
                for r in range(n_replicas):
                    _count(np.uint64(labels[t + r]), -1, share, row, word, room)
            _weigh(row, place, n_columns, room)
            place = n_columns + _ENDS - place
            if p > token_starts[v]:
                _draw(
                    waiting, last, waiting_key, draw, gained, place, n_columns, n_components, n_replicas,
                    labels, room,
                )  # fmt: skip
                if drawn is not None:
                    drawn[p - 1] = labels[waiting]
                gained = _count_drawn(waiting, waiting_row, row, n_replicas, share, labels, word, room)
            last, waiting = waiting, t
            waiting_row, waiting_key, draw = row, keys[d], t - np.uint64(firsts[d])
        if token_starts[v + 1] > token_starts[v]:
            place = n_columns + _ENDS - place
            _draw(
                waiting, last, waiting_key, draw, gained, place, n_columns, n_components, n_replicas, labels, room
            )  # fmt: skip
            if drawn is not None:
                drawn[token_starts[v + 1] - 1] = labels[waiting]
            _count_drawn(waiting, waiting_row, waiting_row, n_replicas, share, labels, word, room)
        _end_word(v, share, room, change)


@uncounted
def _sweep(
    seed, rows, topic_words, n_components, n_replicas, labels, starts, entries, token_starts, tokens, keys, firsts,
    room, change, drawn,
):  # fmt: skip
    for d in range(rows.shape[0]):
        keys[d], firsts[d] = key(seed, rows[d]), tokens[d] * n_replicas
    for k in range(n_components):
        room.inverses[k] = 1.0 / max(room.totals[k], FLOOR)
    if n_replicas == 1:  # of a constant number, loops over labels cost nothing
        _sweep_words(
            1, n_components, topic_words, labels, starts, entries, token_starts, keys, firsts, room, change, drawn
        )  # fmt: skip
    else:
        _sweep_words(
            n_replicas, n_components, topic_words, labels, starts, entries, token_starts, keys, firsts, room, change,
            drawn,
        )  # fmt: skip


class FewTopics(Sampler):
    """A number of labels of each topic for each document."""

    def _prepare(self, totals: np.ndarray, n_docs: int) -> tuple[Any, ...]:
        n_columns, n_replicas = len(totals), self.n_replicas
        self.held = buffers.empty((n_docs, n_columns), np.float32)
        hold_labels(self.tokens, self.labels, n_replicas, self.held)
        room = _Room(
            held=self.held.reshape(-1),
            word=buffers.empty(n_columns, np.float64),
            own=buffers.zeros(n_columns, np.float64),
            totals=totals,
            inverses=buffers.zeros(n_columns, np.float64),
            factors=buffers.empty(n_columns, np.float32),
            sums=buffers.zeros(2 * (n_columns + 2 * LANES), np.float32),
            gains=np.zeros(n_replicas, np.float32),
            prior=buffers.empty(n_columns, np.float32),
            one_hot=buffers.empty(LANES * LANES, np.float32),
        )
        room.prior[:] = n_replicas * padded_prior(self.prior, n_columns, np.dtype(np.float64))
        room.one_hot[:] = np.eye(LANES).reshape(-1)
        return np.empty(n_docs, np.uint64), np.empty(n_docs, np.int64), room

    def sweep(self, seed: int) -> None:
        """Draw all labels once more."""
        _sweep(int(seed), *self.inputs, self.labels, *self.by_word, self.tokens, *self.room, *self.outputs)

    def fill_doc_topics(self, doc_topics: np.ndarray) -> None:
        """Prior and labels of each document, divided by their sum."""
        held = self.held[:, : len(self.prior)]
        np.divide(held, self.n_replicas, out=doc_topics, dtype=doc_topics.dtype)
        doc_topics += self.prior
        doc_topics /= doc_topics.sum(axis=1, keepdims=True)
