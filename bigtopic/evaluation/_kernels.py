"""Compiled loops of the measures: dividing documents, scoring held-out words, counting co-occurrence."""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.kernels.support.random import key, uniform

__all__ = ["count_pairs", "count_windows", "held_out_log", "observed_tokens", "observed_types"]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def observed_tokens(indptr, counts, rows, seed, ratio, observed):
    """observed[j] <- how many of the tokens of entry j are observed: a uniformly random subset of a document's tokens.

    Of N >= 2 tokens round(ratio N) are observed, at least 1 and at most N - 1; of fewer, none. Each token in turn is
    chosen with probability (still wanted) / (still to come): sequential sampling without replacement.
    """
    for d in range(len(rows)):
        n_tokens = 0
        for j in range(indptr[d], indptr[d + 1]):
            observed[j] = 0
            n_tokens += int(counts[j])
        if n_tokens < 2:
            continue
        wanted = min(max(int(ratio * n_tokens + 0.5), 1), n_tokens - 1)
        row_key = key(seed, rows[d])
        draw = 0
        for j in range(indptr[d], indptr[d + 1]):
            for _ in range(int(counts[j])):
                if uniform(row_key, draw) * (n_tokens - draw) < wanted:
                    observed[j] += 1
                    wanted -= 1
                draw += 1


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def observed_types(indptr, counts, rows, seed, ratio, observed):
    """The same by distinct words: observed[j] <- counts[j] for the words observed, else 0."""
    for d in range(len(rows)):
        n_types = indptr[d + 1] - indptr[d]
        wanted = min(max(int(ratio * n_types + 0.5), 1), n_types - 1)
        row_key = key(seed, rows[d])
        for i in range(n_types):
            j = indptr[d] + i
            observed[j] = 0
            if uniform(row_key, i) * (n_types - i) < wanted:
                observed[j] = counts[j]
                wanted -= 1


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def held_out_log(indptr, words, held_out, doc_topics, topic_words, out):
    """out[d] += sum_j held_out[j] log sum_k doc_topics[d, k] topic_words[words[j], k], in float64."""
    for d in range(len(indptr) - 1):
        for j in range(indptr[d], indptr[d + 1]):
            if held_out[j] > 0:
                probability = 0.0
                for k in range(doc_topics.shape[1]):
                    probability += doc_topics[d, k] * topic_words[words[j], k]
                out[d] += held_out[j] * np.log(probability)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def count_pairs(indptr, words, first, places, counts):
    """counts[t, i, j] += 1 for each document that holds both the i-th and the j-th top word of topic t (i <= j).

    Parameters
    ----------
    indptr, words : documents
    first, places : word w is a top word at `places[first[w] : first[w + 1]]`, each topic * n + position
    counts : int64 (n_components, n, n); the diagonal counts the documents of each word
    """
    n_components, n = counts.shape[0], counts.shape[1]
    present = np.empty((n_components, n), np.int64)
    n_present = np.zeros(n_components, np.int64)
    touched = np.empty(n_components, np.int64)
    for d in range(len(indptr) - 1):
        n_touched = 0
        for entry in range(indptr[d], indptr[d + 1]):
            word = words[entry]
            for at in range(first[word], first[word + 1]):
                topic = places[at] // n
                if n_present[topic] == 0:
                    touched[n_touched] = topic
                    n_touched += 1
                present[topic, n_present[topic]] = places[at] % n
                n_present[topic] += 1
        for at in range(n_touched):
            topic = touched[at]
            for a in range(n_present[topic]):
                for b in range(n_present[topic]):
                    if present[topic, a] <= present[topic, b]:
                        counts[topic, present[topic, a], present[topic, b]] += 1
            n_present[topic] = 0


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def count_windows(indptr, words, first, places, window, counts):
    """The same by window of text: counts[t, i, j] += 1 for each run of `window` tokens, see `evaluation.cooccurrence`.

    A word is in the window from the step at which it enters to the one at which it leaves: of each two, the steps that
    they share are added when one of them leaves.

    Parameters
    ----------
    indptr, words : tokens of documents in order, int32; -1 for those that are not top words
    window : tokens
    """
    n_components, n = counts.shape[0], counts.shape[1]
    n_inside = np.zeros(len(first) - 1, np.int64)
    since = np.full(
        (n_components, n), -1, np.int64
    )  # the step at which a word entered; -1: it is not in the window
    for d in range(len(indptr) - 1):
        start, stop = indptr[d], indptr[d + 1]
        if start == stop:
            continue
        n_steps = max(stop - start - window, 0) + 1
        # token `at` enters at step at - start - window + 1, or with the first, and leaves `window` steps later
        for at in range(start, stop + window):
            step = max(at - start - window + 1, 0)
            leaves, word = at - window, -1
            if leaves >= start:
                word = words[leaves]
            if word >= 0:
                n_inside[word] -= 1
                if n_inside[word] == 0:
                    end = min(step, n_steps)
                    for place in range(first[word], first[word + 1]):
                        t, i = places[place] // n, places[place] % n
                        for j in range(n):
                            if since[t, j] >= 0:
                                counts[t, min(i, j), max(i, j)] += end - max(since[t, i], since[t, j])
                        since[t, i] = -1
            if at < stop and words[at] >= 0:
                word = words[at]
                n_inside[word] += 1
                if n_inside[word] == 1:
                    for place in range(first[word], first[word + 1]):
                        since[places[place] // n, places[place] % n] = step
