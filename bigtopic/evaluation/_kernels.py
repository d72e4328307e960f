"""Compiled loops of the measures: dividing documents, scoring held-out words, counting co-occurrence."""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.kernels.support.random import key, uniform

__all__ = [
    "add_documents",
    "count_pairs",
    "count_postings",
    "count_windows",
    "fill_postings",
    "held_out_log",
    "left_to_right",
    "observed_tokens",
    "observed_types",
    "shuffled_tokens",
]


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
def shuffled_tokens(indptr, words, counts, rows, seed, starts, tokens):
    """tokens[starts[d] : starts[d + 1]] <- as many words of document d, each token once, in random order.

    Fisher and Yates, keyed by (seed, rows[d]).
    """
    for d in range(len(rows)):
        n_tokens = 0
        for j in range(indptr[d], indptr[d + 1]):
            n_tokens += int(counts[j])
        own = np.empty(n_tokens, np.int32)
        at = 0
        for j in range(indptr[d], indptr[d + 1]):
            for _ in range(int(counts[j])):
                own[at] = words[j]
                at += 1
        row_key = key(seed, rows[d])
        for i in range(starts[d + 1] - starts[d]):
            other = i + min(int(uniform(row_key, i) * (n_tokens - i)), n_tokens - i - 1)
            own[i], own[other] = own[other], own[i]
            tokens[starts[d] + i] = own[i]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def _drawn(weights, counts, alpha, word_topics, u):
    """A label drawn in proportion to (counts + alpha) word_topics; `weights` is room."""
    total = 0.0
    for k in range(len(alpha)):
        total += (counts[k] + alpha[k]) * word_topics[k]
        weights[k] = total
    wanted = u * total
    for k in range(len(alpha) - 1):
        if wanted < weights[k]:
            return k
    return len(alpha) - 1


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def left_to_right(
    starts, tokens, rows, seed, topic_words, alpha, n_chains, n_unused, n_sweeps, by_position, by_chain
):
    """The estimates of the log probability of documents from chains of labels of their prefixes.

    At each position a chain makes n_unused + n_sweeps sweeps over the labels before it, and p is the mean over the last
    n_sweeps of sum_k (n_k + alpha_k) / (sum alpha + i) topic_words[w_i, k].

    Parameters
    ----------
    starts, tokens : document d has tokens[starts[d] : starts[d + 1]], rows of `topic_words`
    topic_words : float64 (n_words, n_components); alpha : float64 (n_components,)
    by_position : [d] <- sum over positions of the log of the mean of p over chains
    by_chain : [d] <- log of the mean over chains of the product of p over positions
    """
    n_components = len(alpha)
    weights, counts = np.empty(n_components), np.empty(n_components)
    logs, alpha_sum = np.empty(n_chains), alpha.sum()
    for d in range(len(rows)):
        first, n_tokens = starts[d], starts[d + 1] - starts[d]
        row_key, draw = key(seed, rows[d]), 0
        means, labels = np.zeros(n_tokens), np.empty(n_tokens, np.int64)
        for chain in range(n_chains):
            logs[chain] = 0.0
            counts[:] = 0.0
            for i in range(n_tokens):
                word_topics, total = topic_words[tokens[first + i]], 0.0
                for sweep in range(n_unused + n_sweeps):
                    for j in range(i):
                        counts[labels[j]] -= 1.0
                        own = topic_words[tokens[first + j]]
                        labels[j] = _drawn(weights, counts, alpha, own, uniform(row_key, draw))
                        counts[labels[j]] += 1.0
                        draw += 1
                    if sweep >= n_unused:
                        for k in range(n_components):
                            total += (counts[k] + alpha[k]) * word_topics[k]
                p = total / (n_sweeps * (alpha_sum + i))
                means[i] += p / n_chains
                logs[chain] += np.log(p)
                labels[i] = _drawn(weights, counts, alpha, word_topics, uniform(row_key, draw))
                counts[labels[i]] += 1.0
                draw += 1
        by_position[d] = np.log(means).sum()
        largest = logs.max()
        by_chain[d] = largest + np.log(np.exp(logs - largest).sum() / n_chains)


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
    topics, positions = places // n, places % n
    present = np.empty((n_components, n), np.int64)
    n_present = np.zeros(n_components, np.int64)
    touched = np.empty(n_components, np.int64)
    for d in range(len(indptr) - 1):
        n_touched = 0
        for entry in range(indptr[d], indptr[d + 1]):
            word = words[entry]
            for at in range(first[word], first[word + 1]):
                topic = topics[at]
                if n_present[topic] == 0:
                    touched[n_touched] = topic
                    n_touched += 1
                present[topic, n_present[topic]] = positions[at]
                n_present[topic] += 1
        for at in range(n_touched):
            topic = touched[at]
            for a in range(n_present[topic]):
                i = present[topic, a]
                for b in range(a + 1):
                    j = present[topic, b]
                    counts[topic, min(i, j), max(i, j)] += 1
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


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def fill_postings(indptr, words, first, after, documents):
    """documents[after[w]] <- the number of each document that holds w, from `first` on; after[w] moves on by one."""
    for d in range(len(indptr) - 1):
        for entry in range(indptr[d], indptr[d + 1]):
            documents[after[words[entry]]] = first + d
            after[words[entry]] += 1


_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_EIGHTS, _BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_1, _2, _4, _56, _63 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56), np.uint64(63)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def count_postings(starts, documents, ids, bits, counts):
    """counts[t, i, j] <- documents that hold both the i-th and the j-th top word of topic t (i <= j).

    Parameters
    ----------
    starts, documents : word w is in the documents `documents[starts[w] : starts[w + 1]]`
    ids : words, int64 (n_components, n); -1 for those that are in no document
    bits : uint64 (n, at least documents / 64), scratch
    """
    n_components, n = ids.shape
    for t in range(n_components):
        bits[:] = 0
        for i in range(n):
            if ids[t, i] >= 0:
                for at in range(starts[ids[t, i]], starts[ids[t, i] + 1]):
                    if documents[at] >> 6 < bits.shape[1]:  # a damaged file must not write elsewhere
                        bits[i, documents[at] >> 6] |= _1 << (np.uint64(documents[at]) & _63)
        for i in range(n):
            for j in range(i, n):
                total = np.uint64(0)
                for at in range(bits.shape[1]):
                    both = bits[i, at] & bits[j, at]  # and its bits, counted in pairs, fours and eights
                    both -= (both >> _1) & _PAIRS
                    both = (both & _FOURS) + ((both >> _2) & _FOURS)
                    both = (both + (both >> _4)) & _EIGHTS
                    total += (both * _BYTES) >> _56
                counts[t, i, j] = total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def add_documents(rows, tokens, doc_topics, best_rows, best_weights):
    """best_rows, best_weights (n_topics, n), the largest weights first, <- with further documents that have tokens; of
    equal weights, the lower row comes first."""
    most = best_rows.shape[1]
    for d in range(len(rows) if most > 0 else 0):
        for k in range(doc_topics.shape[1] if tokens[d] > 0 else 0):
            weight, at = doc_topics[d, k], most
            own, others = best_weights[k], best_rows[k]
            while at > 0 and (weight > own[at - 1] or (weight == own[at - 1] and rows[d] < others[at - 1])):
                at -= 1
            if at < most:
                for i in range(most - 1, at, -1):
                    own[i], others[i] = own[i - 1], others[i - 1]
                own[at], others[at] = weight, rows[d]
