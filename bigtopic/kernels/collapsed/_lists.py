"""The loops of `sparse_cvb0` where the model has lists: of each word, the topics that it has statistics of.

    W_vk = r_k + e_vk        r_k the same for all words, e_vk > 0 of the topics in the list of v

A draw in proportion to W_vk is one from the list with probability sum_k e_vk / sum_k W_vk, and else one from r.
Statistics are lists, too: the responsibilities of all documents of a slice are kept, and added up word by word. So that
lists stay short, only the candidates with most tokens after a few sweeps remain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bigtopic.kernels.collapsed._candidates import DRAWS, add_draw, found, most_drawn, sweeps_of_pair
from bigtopic.kernels.support.collapsed import PAIR, by_length
from bigtopic.kernels.support.entry import inner, outer
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.vector import LANES, prefetch, spread, store
from bigtopic.support import buffers

__all__ = ["infer", "shares", "statistics"]

_SWEEPS_OF_ALL = 2  # before the best candidates remain
_LEAST = np.float32(1e-7)  # share of an entry: less than single precision tells from none


@inner
def _add_up_blocks(lists, ends, sums):
    """sums[b] <- the sum of e over the list of a word up to its block b; the blocks of word v end at ends[v + 1]."""
    n, ends[0] = 0, 0
    for v in range(lists.starts.shape[0]):
        running, stop = sums.dtype.type(0), lists.stops[v]
        for first in range(lists.starts[v], stop, LANES):
            for t in range(first, min(first + LANES, stop)):
                running += lists.values[t] * lists.factor[lists.columns[t]]
            sums[n] = running
            n += 1
        ends[v + 1] = n


@inner
def _begin_draw(u, word, lists, ends, sums, offset_sums):
    """Begin to draw a topic in proportion to the weights of a word. Returns where its block of the list begins, which
    is prefetched, and the rest of the target; or, of a topic drawn from r, -1 - topic."""
    first, last = ends[word], ends[word + 1] - 1
    listed = sums[last] if last >= first else sums.dtype.type(0)
    target = u * (listed + offset_sums[offset_sums.shape[0] - 1])
    if target >= listed:
        return -1 - found(offset_sums, 0, offset_sums.shape[0] - 1, target - listed), target
    block = found(sums, first, last, target)
    place = lists.starts[word] + (block - first) * LANES
    prefetch(lists.values, place)
    prefetch(lists.columns, place)
    return place, target - (sums[block - 1] if block > first else 0)


@inner
def _end_draw(place, rest, word, lists):
    """The topic of a draw that was begun."""
    if place < 0:
        return -1 - place
    while place < lists.stops[word] - 1:
        rest -= lists.values[place] * lists.factor[lists.columns[place]]
        if rest < 0:
            break
        place += 1
    return np.int64(lists.columns[place])


@inner
def _find_candidates(
    row_key, words, counts, lists, ends, sums, offset_sums, n_explored, drawn, times, places, rests, candidates,
):  # fmt: skip
    """The candidates of a document; returns how many there are.

    All draws of a word, for which there is room in `places` and `rests`, are begun before one is ended, so that they
    wait for memory together.
    """
    n_components, n_words, n_drawn, most = times.shape[0], words.shape[0], 0, places.shape[0]
    if candidates.shape[0] >= n_components:
        for k in range(n_components):
            candidates[k] = k
        return n_components
    for i in range(n_words - 1, -1, -1):
        n_draws = np.int64(min(np.ceil(counts[i]), DRAWS)) * (most // DRAWS)
        for j in range(n_draws):
            u = uniform(row_key, i * most + j)
            places[j], rests[j] = _begin_draw(u, words[i], lists, ends, sums, offset_sums)
        for j in range(n_draws):
            topic = _end_draw(places[j], rests[j], words[i], lists)
            n_drawn = add_draw(topic, drawn, n_drawn, times)
    for j in range(n_explored):
        topic = np.int64(uniform(row_key, n_words * most + j) * n_components)
        n_drawn = add_draw(min(topic, n_components - 1), drawn, n_drawn, times)
    return most_drawn(drawn, n_drawn, times, candidates)


@inner
def _gather(j, words, counts, lists, candidates, n, prior, places, all_counts, block, shares, mass):
    """Copy the weights of the candidates and their prior for the document j of a pair, which has no shares yet."""
    zero, width = block.dtype.type(0), block.shape[2]
    for t in range(width):
        mass[j, t] = prior[candidates[t]] if t < n else zero
    for i in range(words.shape[0]):
        all_counts[i, j], start, stop = counts[i], lists.starts[words[i]], lists.stops[words[i]]
        _find(lists.columns, start, stop, candidates, n, places)
        for t in range(n):
            k = candidates[t]
            weight, place = lists.offset[k], places[t]
            if place < stop and lists.columns[place] == k:
                weight += lists.values[place] * lists.factor[k]
            block[i, j, t] = weight
        for t in range(n, width):
            block[i, j, t] = zero
        for t in range(0, width, LANES):
            store(shares, (i, j, t), spread(zero))


@inner
def _find(topics, start, stop, wanted, n, places):
    """The place of each of n topics in a list, if it is there; all at once, since each step waits for memory."""
    for t in range(n):
        places[t] = start
    length = stop - start
    while length > 1:
        half = length // 2
        for t in range(n):
            places[t] += half * (topics[places[t] + half] <= wanted[t])
        length -= half


@inner
def _take_best(j, n_words, n, candidates, prior, block, shares, mass, factors, places, best):
    """Keep the candidates of document j that have most tokens: their ids at the front of `candidates`, the most
    frequent first, and what there is of them in `best`: block, shares and mass. Destroys `mass[j]`; the document is as
    before a sweep. Returns how many remain."""
    best_block, best_shares, best_mass, topics = best
    n_best, zero = min(n, topics.shape[0]), mass.dtype.type(0)
    for t in range(n):
        last = factors[j] * shares[n_words - 1, j, t] if n_words > 0 else zero
        mass[j, t] += last - prior[candidates[t]]  # its tokens
        places[t] = t
    for m in range(n_best):
        most = m
        for t in range(m + 1, n):
            more = mass[j, places[t]] - mass[j, places[most]]
            if more > 0 or (more == 0 and places[t] < places[most]):
                most = t
        places[m], places[most] = places[most], places[m]
        topics[m] = candidates[places[m]]
        best_mass[j, m] = mass[j, places[m]] + prior[topics[m]]
    factors[j] = zero
    best_mass[j, n_best:] = zero
    candidates[:n_best] = topics[:n_best]
    for i in range(n_words):
        best_block[i, j], best_shares[i, j] = zero, zero
        for m in range(n_best):
            best_block[i, j, m], best_shares[i, j, m] = block[i, j, places[m]], shares[i, j, places[m]]
    return n_best


@inner
def _keep(j, counts, candidates, n, shares, inverses, prior, mass, tokens):
    """Keep the responsibilities of a document, in tokens, if there is room, and sum its mass anew, without errors of
    differences. Returns the tokens of words that no candidate knows."""
    dropped = 0.0
    for t in range(n):
        mass[j, t] = prior[candidates[t]]
    for i in range(counts.shape[0]):
        factor, least = counts[i] * inverses[i, j], counts[i] * _LEAST
        dropped += counts[i] if inverses[i, j] == 0 else 0.0
        for t in range(n):
            own = factor * shares[i, j, t]
            mass[j, t] += own
            if i < tokens.shape[0]:
                tokens[i, t] = 0 if own < least else own  # NaN stays, and the check of statistics refuses it
    return dropped


@outer
def infer(
    seed, rows, indptr, all_words, all_counts, lists, offset_sums, prior, draws_per_token, n_explored, n_sweeps,
    tolerance,
    sums, of_all, of_best, tokens, candidates, n_found, masses,
):  # fmt: skip
    """Infer documents: the first `n_found` of `candidates` (n_docs, n_candidates) become the topics that each document
    has; `masses` (n_docs, n_best) likewise their prior and tokens; and `tokens` (n_entries, n_best), or of no entries,
    the responsibilities of each, in tokens.

    Where `n_best` is less than `n_candidates`, a document is reduced to its best `n_best` after `_SWEEPS_OF_ALL`
    sweeps. `of_all` and `of_best` (2, longest, PAIR, width) are scratch, for weights and shares of all candidates and
    of the best.

    Returns sweeps, of all documents, and tokens of words that no candidate knows.
    """
    n_docs, room, dtype, n_best = rows.shape[0], of_all.shape[1], of_all.dtype, masses.shape[1]
    n_components, ends = offset_sums.shape[0], np.empty(lists.starts.shape[0] + 1, np.int64)
    places = np.empty(candidates.shape[1], np.int64)
    drawn, times = np.empty(n_components, np.int64), np.zeros(n_components, np.int64)
    draw_places, draw_rests = np.empty(DRAWS * draws_per_token, np.int64), np.empty(DRAWS * draws_per_token)
    counts, inverses = np.empty((room, PAIR), dtype), np.empty((room, PAIR), dtype)
    left, factors, order = np.empty(PAIR, np.int64), np.empty(PAIR, dtype), np.empty(n_docs, np.int64)
    mass, before = np.empty((2, PAIR, of_all.shape[3]), dtype)
    best_mass, best_before = np.empty((2, PAIR, of_best.shape[3]), dtype)
    lengths, best_topics = np.empty(PAIR, np.int64), np.empty(n_best, candidates.dtype)
    prunes = n_best < candidates.shape[1]
    n_first = min(_SWEEPS_OF_ALL, n_sweeps - 1) if prunes else n_sweeps
    sweeps, dropped, limit = 0, 0.0, tolerance * n_components
    by_length(indptr, order)  # a pair ends together
    _add_up_blocks(lists, ends, sums)
    for first in range(0, n_docs, PAIR):
        n_pair, block, shares, last_mass = min(PAIR, n_docs - first), of_all[0], of_all[1], mass
        lengths[:], factors[:], inverses[:] = 0, 0, 0
        for j in range(n_pair):
            d = order[first + j]
            own = slice(indptr[d], indptr[d + 1])
            words, of_words, lengths[j] = all_words[own], all_counts[own], indptr[d + 1] - indptr[d]
            n_found[d] = _find_candidates(
                key(seed, rows[d]), words, of_words, lists, ends, sums, offset_sums, n_explored, drawn, times,
                draw_places, draw_rests, candidates[d],
            )  # fmt: skip
            _gather(
                j, words, of_words, lists, candidates[d], n_found[d], prior, places, counts, block, shares, mass
            )  # fmt: skip
        left[:] = lengths
        sweeps += sweeps_of_pair(n_first, limit, left, counts, block, shares, inverses, mass, factors, before)
        if prunes:
            for j in range(n_pair):
                d = order[first + j]
                n_found[d] = _take_best(
                    j, lengths[j], n_found[d], candidates[d], prior, block, shares, mass, factors, places,
                    (of_best[0], of_best[1], best_mass, best_topics),
                )  # fmt: skip
            block, shares, last_mass = of_best[0], of_best[1], best_mass
            left[:] = lengths
            sweeps += sweeps_of_pair(
                n_sweeps - n_first, limit, left, counts, block, shares, inverses, best_mass, factors, best_before
            )  # fmt: skip
        for j in range(n_pair):
            d = order[first + j]
            own, n = slice(indptr[d], indptr[d + 1]), n_found[d]
            dropped += _keep(
                j, all_counts[own], candidates[d], n, shares, inverses, prior, last_mass, tokens[own]
            )
            masses[d, :n] = last_mass[j, :n]
    return sweeps, dropped


@outer
def _add_up_words(
    indptr, words, tokens, candidates, n_found, n_components, out_indptr, out_topics, out_tokens
):
    """Add up the tokens of each word by topic: lists of topics, ascending, between `out_indptr` (n_words + 1,).

    Returns the length of all lists together.
    """
    n_words, n_entries = out_indptr.shape[0] - 1, words.shape[0]
    entries, documents = np.empty(n_entries, np.int64), np.empty(n_entries, np.int64)
    ends = np.zeros(n_words + 1, np.int64)
    for i in range(n_entries):
        ends[words[i] + 1] += 1
    for v in range(n_words):
        ends[v + 1] += ends[v]
    for d in range(indptr.shape[0] - 1):
        for i in range(indptr[d], indptr[d + 1]):
            at = ends[words[i]]
            entries[at], documents[at] = i, d
            ends[words[i]] += 1
    sums, seen = np.zeros(n_components, out_tokens.dtype), np.empty(n_components, np.int64)
    n, at, out_indptr[0] = 0, 0, 0
    for v in range(n_words):
        n_seen = 0
        while at < ends[v]:
            i, d = entries[at], documents[at]
            for t in range(n_found[d]):
                k = candidates[d, t]
                if tokens[i, t] != 0:
                    if sums[k] == 0:
                        seen[n_seen] = k
                        n_seen += 1
                    sums[k] += tokens[i, t]
            at += 1
        topics = seen[:n_seen]
        topics.sort()
        for t in range(n_seen):
            out_topics[n], out_tokens[n] = topics[t], sums[topics[t]]
            sums[topics[t]] = 0
            n += 1
        out_indptr[v + 1] = n
    return n


def statistics(
    indptr: np.ndarray,
    words: np.ndarray,
    tokens: np.ndarray,
    candidates: np.ndarray,
    n_found: np.ndarray,
    shape: tuple[int, int],
) -> Any:
    """The tokens of each word by topic, a `csr_array` of this shape; for the arguments see `infer`."""
    from scipy.sparse import csr_array

    ends = np.empty(shape[0] + 1, np.int64)
    topics, values = buffers.empty(tokens.size, np.int32), buffers.empty(tokens.size, np.float32)
    n = _add_up_words(indptr, words, tokens, candidates, n_found, shape[1], ends, topics, values)
    return csr_array((values[:n].copy(), topics[:n].copy(), ends), shape=shape)


def shares(prior: np.ndarray, candidates: np.ndarray, n_found: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """The topics of each document, (n_docs, n_components): prior and tokens, divided by their sum."""
    candidates = candidates[:, : masses.shape[1]]
    found_topics = np.arange(masses.shape[1]) < n_found[:, None]
    topics = np.broadcast_to(prior.astype(np.float32), (len(candidates), len(prior))).copy()
    topics[np.nonzero(found_topics)[0], candidates[found_topics]] = masses[found_topics]
    topics /= topics.sum(axis=1, keepdims=True)
    return topics
