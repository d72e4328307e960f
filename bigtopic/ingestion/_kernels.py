"""Compiled loops of an ingest over entries, between the parser and the codec: counting words, moving documents."""

# mypy: allow-untyped-defs

import numpy as np
from numba import njit

__all__ = ["count_entries", "rearrange", "sort_words"]

_SHORT = 20  # entries; longer documents are sorted digit by digit
_U = np.uint64


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def count_entries(words, counts, totals):
    """Add documents and tokens of every word to `totals` (n_words, 2); every entry counts one document."""
    for entry in range(len(words)):
        totals[words[entry], 0] += 1.0
        totals[words[entry], 1] += counts[entry]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def rearrange(indptr, words, counts, positions, new_ids, new_indptr, new_words, new_counts):
    """The documents at `positions`, in that order, as a new CSR; returns its entries.

    Words get the ids `new_ids[word]`, and entries that get -1 are dropped; without new ids (an empty array) documents
    are copied as they are. `counts` are four bytes of anything, seen as uint32.
    """
    n_new = 0
    new_indptr[0] = 0
    for i in range(len(positions)):
        for entry in range(indptr[positions[i]], indptr[positions[i] + 1]):
            word = words[entry]
            if len(new_ids):
                word = new_ids[word]
                if word < 0:
                    continue
            new_words[n_new] = word
            new_counts[n_new] = counts[entry]
            n_new += 1
        new_indptr[i + 1] = n_new
    return n_new


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def sort_words(indptr, words, counts):
    """Sort the words of each document, in place; they are unique. `counts` go with them, seen as uint32."""
    longest = 0
    for document in range(len(indptr) - 1):
        longest = max(longest, indptr[document + 1] - indptr[document])
    keys = np.empty((2, longest), np.uint64)
    begins = np.empty(64, np.int64)
    for document in range(len(indptr) - 1):
        first, stop = indptr[document], indptr[document + 1]
        sorted_to = first + 1
        while sorted_to < stop and words[sorted_to - 1] < words[sorted_to]:
            sorted_to += 1
        if sorted_to >= stop:
            continue
        if stop - first > _SHORT:
            _by_digits(words, counts, first, stop, keys, begins)
            continue
        for entry in range(sorted_to, stop):
            word, count = words[entry], counts[entry]
            place = entry
            while place > first and words[place - 1] > word:
                words[place], counts[place] = words[place - 1], counts[place - 1]
                place -= 1
            words[place], counts[place] = word, count


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def _by_digits(words, counts, first, stop, keys, begins):
    """Six bits of the word at a time, from the lowest: keys (2, n) are word and count, begins (64,) where digits go."""
    n = stop - first
    bits = _U(0)
    for i in range(n):
        word = _U(words[first + i])
        bits |= word
        keys[0, i] = word << _U(32) | _U(counts[first + i])
    here = 0
    shift = _U(32)
    while bits:
        for digit in range(64):
            begins[digit] = 0
        for i in range(n):
            begins[(keys[here, i] >> shift) & _U(63)] += 1
        before = 0
        for digit in range(64):
            before, begins[digit] = before + begins[digit], before
        for i in range(n):
            digit = (keys[here, i] >> shift) & _U(63)
            keys[1 - here, begins[digit]] = keys[here, i]
            begins[digit] += 1
        here = 1 - here
        bits >>= _U(6)
        shift += _U(6)
    for i in range(n):
        words[first + i] = keys[here, i] >> _U(32)
        counts[first + i] = keys[here, i] & _U(0xFFFFFFFF)
