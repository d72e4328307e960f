"""Compiled loops over topics as lists; for the arguments see `types.Lists`."""

import numpy as np
from numba import njit

__all__ = ["add_products", "copy", "frex", "largest", "probabilities_of", "take_columns"]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def _insert(word, score, n, words, scores):
    """Insert a word into the best, of which there are n, largest score first; of equal ones the word that comes first.
    Returns how many there are then."""
    at = n
    while at > 0 and (score > scores[at - 1] or (score == scores[at - 1] and word < words[at - 1])):
        at -= 1
    if at == len(words):
        return n
    n = min(n + 1, len(words))
    for i in range(n - 1, at, -1):
        words[i], scores[i] = words[i - 1], scores[i - 1]
    words[at], scores[at] = word, score
    return n


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def largest(starts, stops, columns, values, factor, offset, weights, order, words, scores):
    """words, scores (n_topics, n) <- the words with the largest p(w | k) * weights[w] of each topic.

    `order` has all words, the largest weight first: the order of words of which a topic has no statistics.
    """
    n_topics, most = words.shape
    n_best, n_others = np.zeros(n_topics, np.int64), np.zeros(n_topics, np.int64)
    for w in range(len(starts)):
        for t in range(starts[w], stops[w]):
            k = columns[t]
            p = values[t] * factor[k] + offset[k]
            if p > offset[k]:
                n_best[k] = _insert(w, p * weights[w], n_best[k], words[k], scores[k])
    listed, waiting, n_waiting = np.full(n_topics, -1, np.int64), np.arange(n_topics), n_topics
    for w in order:
        if n_waiting == 0:
            break
        for t in range(starts[w], stops[w]):
            k = columns[t]
            if values[t] * factor[k] + offset[k] > offset[k]:
                listed[k] = w
        n = 0
        for i in range(n_waiting):
            k, waits = waiting[i], True
            if listed[k] != w:
                score = offset[k] * weights[w]
                n_best[k] = _insert(w, score, n_best[k], words[k], scores[k])
                n_others[k] += 1
                waits = n_others[k] < most and (n_best[k] < most or score >= scores[k, most - 1])
            if waits:
                waiting[n] = k
                n += 1
        n_waiting = n


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def take_columns(starts, stops, columns, values, factor, offset, places, out):
    """out[w, places[k]] <- p(w | k) of the topics with a place from 0."""
    for k in range(len(places)):
        if places[k] >= 0:
            for w in range(len(starts)):
                out[w, places[k]] = offset[k]
    for w in range(len(starts)):
        for t in range(starts[w], stops[w]):
            k = columns[t]
            if places[k] >= 0:
                out[w, places[k]] = values[t] * factor[k] + offset[k]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def probabilities_of(starts, stops, columns, values, factor, offset, words, topics, out):
    """out[i] <- p(words[i] | topics[i])."""
    for i in range(len(words)):
        k, low, stop = topics[i], starts[words[i]], stops[words[i]]
        high = stop
        while low < high:
            middle = (low + high) // 2
            if columns[middle] < k:
                low = middle + 1
            else:
                high = middle
        out[i] = offset[k]
        if low < stop and columns[low] == k:
            out[i] += values[low] * factor[k]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def copy(starts, stops, columns, values, factor, offset, out_columns, out_values):
    """The lists, one after another, with p(w | k) for values."""
    n = 0
    for w in range(len(starts)):
        for t in range(starts[w], stops[w]):
            k = columns[t]
            out_columns[n], out_values[n] = k, values[t] * factor[k] + offset[k]
            n += 1


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def add_products(indptr, columns, values, other_indptr, other_columns, other_values, topics, above, out):
    """out[i, j] += sum over rows w of values[w, topics[i]] * other_values[w, j]; `topics` ascend.

    above : leave out j up to topics[i]; both are then of the same lists
    """
    for w in range(len(indptr) - 1):
        t, stop = indptr[w], indptr[w + 1]
        for i in range(len(topics)):
            k, high = topics[i], stop
            while t < high:
                middle = (t + high) // 2
                if columns[middle] < k:
                    t = middle + 1
                else:
                    high = middle
            if t == stop:
                break
            if columns[t] == k:
                value, row = values[t], out[i]
                for u in range(t + 1 if above else other_indptr[w], other_indptr[w + 1]):
                    row[other_columns[u]] += value * other_values[u]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def frex(indptr, listed_words, p, offset, inverses, ascending, order, words, scores):
    """words, scores (n_topics, n) <- the words with the largest harmonic mean of two ranks, see `questions.words`.

    indptr, listed_words, p : the words of each topic, with a p(w | k) above the offset
    inverses : 1 / sum_k p(w | k); `ascending` has them in order, and `order` has the words with the largest first
    """
    n_words, most = len(inverses), words.shape[1]
    last = np.full(n_words, -1, np.int64)
    for k in range(len(words)):
        ids, own = listed_words[indptr[k] : indptr[k + 1]], p[indptr[k] : indptr[k + 1]]
        as_others, exclusive = inverses[ids], own / offset[k] * inverses[ids]  # both in parts of the offset
        n_others, own_order, n, n_seen = n_words - len(ids), np.sort(own), 0, 0
        as_others.sort()
        exclusive.sort()
        last[ids] = k
        for i in range(len(ids) + n_words):
            w = ids[i] if i < len(ids) else order[i - len(ids)]
            if i >= len(ids) and last[w] == k:
                continue
            x = (own[i] / offset[k] if i < len(ids) else 1.0) * inverses[w]
            rank = np.searchsorted(ascending, x, "right") + np.searchsorted(exclusive, x, "right")
            rank -= np.searchsorted(as_others, x, "right")
            own_rank = n_others + (np.searchsorted(own_order, own[i], "right") if i < len(ids) else 0)
            n = _insert(w, 2 / (n_words / rank + n_words / own_rank), n, words[k], scores[k])
            n_seen += i >= len(ids)
            if n_seen == most:
                break
