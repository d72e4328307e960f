"""Compiled loops of synthetic corpora: drawing documents, and the lines of a bag-of-words file."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.sparse import csr_array

from bigtopic.support._kernels import uniform

__all__ = ["bag_of_words_lines", "draw_documents", "fill_alias_table"]

_LINE_BYTES = 33  # three numbers of at most ten digits, two spaces, a line feed


def bag_of_words_lines(counts: csr_array, first: int) -> bytes:
    """Equivalent to `"".join(f"{first + d + 1} {w + 1} {c}\\n" for each non-zero)` as ASCII bytes."""
    text = np.empty(counts.nnz * _LINE_BYTES, dtype=np.uint8)
    indptr, words = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)
    n_bytes = _format_lines(indptr, words, counts.data.astype(np.int64), first + 1, text)
    return text[:n_bytes].tobytes()


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def _format_lines(indptr, words, counts, first, text):
    at = 0
    for document in range(len(indptr) - 1):
        for entry in range(indptr[document], indptr[document + 1]):
            at = _format_number(first + document, text, at, 32)
            at = _format_number(words[entry] + 1, text, at, 32)
            at = _format_number(counts[entry], text, at, 10)
    return at


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def _format_number(number, text, at, separator):
    """Digits of `number`, then `separator`; the position after them."""
    n_digits = 1
    limit = 10
    while number >= limit:
        n_digits += 1
        limit *= 10
    for position in range(at + n_digits - 1, at - 1, -1):
        text[position] = 48 + number % 10
        number //= 10
    text[at + n_digits] = separator
    return at + n_digits + 1


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def fill_alias_table(probabilities, table):
    """Vose's alias table of float64 (n_words,): uint32 (n_words, 2).

    A word in a uniformly random cell is kept with probability `table[cell, 0] / 2**32`, else it is `table[cell, 1]`.
    """
    n_words = len(probabilities)
    share = probabilities * n_words
    small, large = np.empty(n_words, np.int64), np.empty(n_words, np.int64)
    n_small = n_large = 0
    for word in range(n_words):
        table[word, 0], table[word, 1] = 0xFFFFFFFF, word
        if share[word] < 1.0:
            small[n_small] = word
            n_small += 1
        else:
            large[n_large] = word
            n_large += 1
    while n_small > 0 and n_large > 0:
        n_small -= 1
        word, donor = small[n_small], large[n_large - 1]
        table[word, 0], table[word, 1] = np.uint32(share[word] * 2.0**32), donor
        share[donor] -= 1.0 - share[word]
        if share[donor] < 1.0:
            n_large -= 1
            small[n_small] = donor
            n_small += 1


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def draw_documents(keys, starts, tables, prior, topics, words, counts, indptr):
    """Tokens by the Polya urn, then entries: words of a document in order, equal ones added.

    The n-th token of a document is in topic k with probability
    (prior + earlier tokens of k) / (n_components prior + n). It takes the draws 2 n + 1 and 2 n + 2 of the key.

    Parameters
    ----------
    keys : uint64 (n_docs,)
    starts : int64 (n_docs + 1,), first token of each document
    tables : uint32 (n_components, n_words, 2), alias tables of the topics
    prior : symmetric Dirichlet parameter of the documents' topics
    topics : int32 (n_tokens,), filled
    words, counts, indptr : int32 and float32 (n_tokens,), int64 (n_docs + 1,), the first indptr[-1] entries filled
    """
    n_components, n_words = tables.shape[:2]
    n_entries = 0
    for d in range(len(keys)):
        start, stop = starts[d], starts[d + 1]
        for n in range(stop - start):
            ball = uniform(keys[d], 2 * n + 1) * (n_components * prior + n)
            if ball < n_components * prior:
                topics[start + n] = min(int(ball / prior), n_components - 1)
            else:  # the topic of an earlier token
                topics[start + n] = topics[start + min(int(ball - n_components * prior), n - 1)]
        for n in range(stop - start):
            topic = topics[start + n]
            place = uniform(keys[d], 2 * n + 2) * n_words
            cell = int(place)
            kept = (place - cell) * 2.0**32 < tables[topic, cell, 0]
            words[start + n] = cell if kept else tables[topic, cell, 1]
        words[start:stop].sort()
        for at in range(start, stop):
            if at > start and words[at] == words[n_entries - 1]:
                counts[n_entries - 1] += 1
            else:
                words[n_entries] = words[at]
                counts[n_entries] = 1
                n_entries += 1
        indptr[d + 1] = n_entries
