"""Whole numbers to text: the lines of a bag-of-words file, at the speed of the disk."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.sparse import csr_array

__all__ = ["bag_of_words_lines"]

_LINE_BYTES = 33  # three numbers of at most ten digits, two spaces, a line feed


def bag_of_words_lines(counts: csr_array, first: int) -> bytes:
    """Equivalent to `"".join(f"{first + d + 1} {w + 1} {c}\\n" for each non-zero)` as ASCII bytes."""
    text = np.empty(counts.nnz * _LINE_BYTES, dtype=np.uint8)
    indptr, words = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)
    n_bytes = _format_lines(indptr, words, counts.data.astype(np.int64), first + 1, text)
    return text[:n_bytes].tobytes()


@njit(nogil=True, cache=True)
def _format_lines(indptr, words, counts, first, text):
    at = 0
    for document in range(len(indptr) - 1):
        for entry in range(indptr[document], indptr[document + 1]):
            at = _format_number(first + document, text, at, 32)
            at = _format_number(words[entry] + 1, text, at, 32)
            at = _format_number(counts[entry], text, at, 10)
    return at


@njit(nogil=True, cache=True)
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
