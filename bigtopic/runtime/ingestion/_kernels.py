"""What an ingest does to every entry between the parser and the codec: counting its word, and moving documents."""

# mypy: allow-untyped-defs

import numpy as np
from numba import njit

__all__ = ["count_entries", "rearrange"]

_SHORT = 20  # entries; longer documents are sorted digit by digit
_U = np.uint64


@njit(nogil=True, cache=True, error_model="numpy")
def count_entries(words, counts, totals):
    """Add documents and tokens of every word to `totals` (n_words, 2); every entry counts one document."""
    for entry in range(len(words)):
        totals[words[entry], 0] += 1.0
        totals[words[entry], 1] += counts[entry]


@njit(nogil=True, cache=True, error_model="numpy")
def rearrange(indptr, words, counts, positions, new_ids, new_indptr, new_words, new_counts):
    """The documents at `positions`, in that order, as a new CSR; returns its entries.

    Words get the ids `new_ids[word]`, and entries that get -1 are dropped; without new ids (an empty array) documents
    are copied as they are. New ids are unique, and ascend within each document afterwards. `counts` are four bytes of
    anything, seen as uint32.
    """
    keys = np.empty(0, np.uint64)  # (word, count) of a document, twice
    n_new = 0
    new_indptr[0] = 0
    for i in range(len(positions)):
        first = n_new
        last = np.int32(-1)
        ascending = True
        for entry in range(indptr[positions[i]], indptr[positions[i] + 1]):
            word = words[entry]
            if len(new_ids):
                word = new_ids[word]
                if word < 0:
                    continue
                ascending &= word > last
                last = word
            new_words[n_new] = word
            new_counts[n_new] = counts[entry]
            n_new += 1
        new_indptr[i + 1] = n_new
        if ascending:
            continue
        if n_new - first <= _SHORT:
            _insertion_sort(new_words[first:n_new], new_counts[first:n_new])
            continue
        if 2 * (n_new - first) > len(keys):
            keys = np.empty(4 * (n_new - first), np.uint64)
        _radix_sort(new_words[first:n_new], new_counts[first:n_new], keys)
    return n_new


@njit(nogil=True, cache=True, error_model="numpy")
def _insertion_sort(words, counts):
    for entry in range(1, len(words)):
        word, count = words[entry], counts[entry]
        place = entry
        while place > 0 and words[place - 1] > word:
            words[place], counts[place] = words[place - 1], counts[place - 1]
            place -= 1
        words[place], counts[place] = word, count


@njit(nogil=True, cache=True, error_model="numpy")
def _radix_sort(words, counts, keys):
    """Six bits of the word at a time, from the lowest; `keys` has room for two keys an entry."""
    n = len(words)
    here, there = keys[:n], keys[n : 2 * n]
    bits = _U(0)
    for entry in range(n):
        word = _U(words[entry])
        bits |= word
        here[entry] = word << _U(32) | _U(counts[entry])
    begins = np.empty(64, np.int64)
    shift = _U(32)
    while bits:
        begins[:] = 0
        for entry in range(n):
            begins[(here[entry] >> shift) & _U(63)] += 1
        before = 0
        for digit in range(64):
            before, begins[digit] = before + begins[digit], before
        for entry in range(n):
            digit = (here[entry] >> shift) & _U(63)
            there[begins[digit]] = here[entry]
            begins[digit] += 1
        here, there = there, here
        bits >>= _U(6)
        shift += _U(6)
    for entry in range(n):
        words[entry] = here[entry] >> _U(32)
        counts[entry] = here[entry] & _U(0xFFFFFFFF)
