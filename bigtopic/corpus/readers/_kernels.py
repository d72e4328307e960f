"""Bytes of bag-of-words files to arrays: at millions of non-zeros per second, without the interpreter's lock.

Every parser returns a code and the position of what it stopped at; the caller makes the message. Buffers are uint8
arrays of whole lines; the bytes `space` are blank, tab, comma and carriage return.
"""

import numpy as np
from numba import njit

__all__ = ["BAD_COUNT", "BAD_ID", "BAD_LINE", "BAD_ORDER", "FRACTION", "NOT_UNIQUE", "OK", "UNSORTED"]

OK, BAD_LINE, BAD_ID, BAD_COUNT, FRACTION, BAD_ORDER = 0, 1, 2, 3, 4, 5
UNSORTED, NOT_UNIQUE = 1, 2


@njit(nogil=True, cache=True)
def _skip_space(buffer, at):
    n = len(buffer)
    while at < n and (buffer[at] == 32 or buffer[at] == 9 or buffer[at] == 13 or buffer[at] == 44):
        at += 1
    return at


@njit(nogil=True, cache=True)
def _integer(buffer, at):
    """(value, end); end == at where there is none. Saturates far above any id."""
    n = len(buffer)
    value = np.int64(0)
    while at < n and buffer[at] >= 48 and buffer[at] <= 57:
        if value < 1 << 58:
            value = value * 10 + (buffer[at] - 48)
        at += 1
    return value, at


@njit(nogil=True, cache=True)
def _number(buffer, at):
    """(value, end): digits with optional sign, fraction and exponent; end == at where there is none."""
    n = len(buffer)
    start = at
    sign = 1.0
    if at < n and (buffer[at] == 45 or buffer[at] == 43):
        if buffer[at] == 45:
            sign = -1.0
        at += 1
    first = at
    whole, at = _integer(buffer, at)
    value = float(whole)
    if whole >= 1 << 58:  # saturated
        value = 0.0
        for i in range(first, at):
            value = value * 10.0 + (buffer[i] - 48)
    digits = at - first
    if at < n and buffer[at] == 46:
        at += 1
        scale = 1.0
        while at < n and buffer[at] >= 48 and buffer[at] <= 57:
            scale *= 0.1
            value += scale * (buffer[at] - 48)
            at += 1
            digits += 1
    if digits == 0:
        return 0.0, start
    if at < n and (buffer[at] == 101 or buffer[at] == 69):
        back = at
        at += 1
        minus = at < n and buffer[at] == 45
        if at < n and (buffer[at] == 45 or buffer[at] == 43):
            at += 1
        exponent, end = _integer(buffer, at)
        if end == at:
            at = back
        else:
            at = end
            value *= 10.0 ** float(-exponent if minus else exponent)
    return sign * value, at


@njit(nogil=True, cache=True)
def _ends_line(buffer, at):
    return at >= len(buffer) or buffer[at] == 10


@njit(nogil=True, cache=True)
def _check_count(value, weights):
    # `not >=` also catches NaN.
    if not value >= 0.0 or value > 3.0e38:
        return BAD_COUNT
    if not weights and value != np.floor(value):
        return FRACTION
    return OK


@njit(nogil=True, cache=True)
def count_lines(buffer):
    """Lines that hold anything but white space."""
    lines = 0
    filled = False
    for byte in buffer:
        if byte == 10:
            lines += filled
            filled = False
        elif byte > 32:
            filled = True
    return lines + filled


@njit(nogil=True, cache=True)
def first_document(buffer):
    """The number that begins the first line with anything on it, or -1."""
    at = 0
    while at < len(buffer):
        at = _skip_space(buffer, at)
        if _ends_line(buffer, at):
            at += 1
            continue
        value, end = _integer(buffer, at)
        return value if end > at else -1
    return -1


@njit(nogil=True, cache=True)
def next_document(buffer, start):
    """Position of the first line after `start` whose first number differs from the line's before; -1 for none.

    Only complete lines are looked at, and nothing before the first line that begins after `start`.
    """
    n = len(buffer)
    at = start
    while at < n and buffer[at] != 10:
        at += 1
    at += 1
    last = np.int64(-1)
    while at < n:
        line = at
        value, end = _integer(buffer, _skip_space(buffer, at))
        at = end
        while at < n and buffer[at] != 10:
            at += 1
        if at >= n:
            return -1
        at += 1
        if last >= 0 and value != last:
            return line
        last = value
    return -1


@njit(nogil=True, cache=True)
def parse_triples(buffer, first_row, n_docs, n_words, has_count, weights, indptr, words, counts):
    """Lines "document word count", ids from 1, documents ascending.

    Fills indptr (n_docs + 1,), zeroed, and as much of words and counts as there are entries above zero.
    Returns (code, position, entries, zeros, order), order telling whether words ascend within documents.
    """
    n = len(buffer)
    at = 0
    nnz = 0
    zeros = 0
    order = 0
    previous = np.int64(0)
    last_word = np.int64(-1)
    while at < n:
        line = at
        at = _skip_space(buffer, at)
        if _ends_line(buffer, at):
            at += 1
            continue
        document, end = _integer(buffer, at)
        if end == at:
            return BAD_LINE, line, nnz, zeros, order
        at = _skip_space(buffer, end)
        if at == end:
            return BAD_LINE, line, nnz, zeros, order
        word, end = _integer(buffer, at)
        if end == at:
            return BAD_LINE, line, nnz, zeros, order
        at = _skip_space(buffer, end)
        value = 1.0
        if has_count:
            if at == end:
                return BAD_LINE, line, nnz, zeros, order
            value, end = _number(buffer, at)
            if end == at:
                return BAD_COUNT, line, nnz, zeros, order
            at = _skip_space(buffer, end)
        if not _ends_line(buffer, at):
            return BAD_LINE, line, nnz, zeros, order
        at += 1
        row = document - 1 - first_row
        if row < 0 or row >= n_docs or row < previous:
            return BAD_ORDER, line, nnz, zeros, order
        if word < 1 or word > n_words:
            return BAD_ID, line, nnz, zeros, order
        code = _check_count(value, weights)
        if code != OK:
            return code, line, nnz, zeros, order
        if row != previous:
            last_word = -1
            previous = row
        if np.float32(value) == 0.0:
            zeros += 1
            continue
        if word == last_word:
            order |= NOT_UNIQUE
        elif word < last_word:
            order |= UNSORTED
        last_word = word
        indptr[row + 1] += 1
        words[nnz] = word - 1
        counts[nnz] = value
        nnz += 1
    for row in range(n_docs):
        indptr[row + 1] += indptr[row]
    return OK, n, nnz, zeros, order


@njit(nogil=True, cache=True)
def parse_pairs(buffer, base, n_words, check_head, weights, indptr, words, counts, heads):
    """Lines "head id:count id:count ... [# comment]"; pairs whose id is not a number ("qid:3") are passed over.

    `check_head`: the head is the number of pairs (LDA-C). Fills indptr (n_lines + 1,), words, counts, heads.
    Returns (code, position, documents, entries, zeros, order).
    """
    n = len(buffer)
    at = 0
    docs = 0
    nnz = 0
    zeros = 0
    order = 0
    while at < n:
        line = at
        at = _skip_space(buffer, at)
        if _ends_line(buffer, at) or buffer[at] == 35:  # a blank line or a comment
            while not _ends_line(buffer, at):
                at += 1
            at += 1
            continue
        head, end = _number(buffer, at)
        if end == at:
            return BAD_LINE, line, docs, nnz, zeros, order
        heads[docs] = head
        at = end
        pairs = 0
        last_word = np.int64(-1)
        while True:
            at = _skip_space(buffer, at)
            if _ends_line(buffer, at):
                break
            if buffer[at] == 35:
                while not _ends_line(buffer, at):
                    at += 1
                break
            word, end = _integer(buffer, at)
            if end == at:
                name = at
                while not _ends_line(buffer, at) and buffer[at] > 32 and buffer[at] != 58:
                    at += 1
                if (
                    check_head
                    or at == name
                    or _ends_line(buffer, at)
                    or buffer[at] != 58
                    or buffer[name] == 45
                ):
                    return BAD_LINE, line, docs, nnz, zeros, order
                while not _ends_line(buffer, at) and buffer[at] > 32:
                    at += 1
                continue
            if end >= n or buffer[end] != 58:
                return BAD_LINE, line, docs, nnz, zeros, order
            at = end + 1
            value, end = _number(buffer, at)
            if end == at:
                return BAD_COUNT, line, docs, nnz, zeros, order
            at = end
            if at < n and buffer[at] > 32:
                return BAD_LINE, line, docs, nnz, zeros, order
            pairs += 1
            word -= base
            if word < 0 or word >= n_words:
                return BAD_ID, line, docs, nnz, zeros, order
            code = _check_count(value, weights)
            if code != OK:
                return code, line, docs, nnz, zeros, order
            if np.float32(value) == 0.0:
                zeros += 1
                continue
            if word == last_word:
                order |= NOT_UNIQUE
            elif word < last_word:
                order |= UNSORTED
            last_word = word
            words[nnz] = word
            counts[nnz] = value
            nnz += 1
        at += 1
        if check_head and heads[docs] != pairs:
            return BAD_ORDER, line, docs, nnz, zeros, order
        docs += 1
        indptr[docs] = nnz
    return OK, n, docs, nnz, zeros, order


@njit(nogil=True, cache=True)
def scan_pairs(buffer):
    """(smallest id, largest id) of lines "head id:count ..."; the largest is -1 where there are no pairs."""
    n = len(buffer)
    smallest = np.int64(1) << 60
    largest = np.int64(-1)
    at = 0
    while at < n:
        if buffer[at] == 35:
            while not _ends_line(buffer, at):
                at += 1
        value, end = _integer(buffer, at)
        if end > at:
            if end < n and buffer[end] == 58 and (at == 0 or buffer[at - 1] <= 32):
                smallest = min(smallest, value)
                largest = max(largest, value)
            at = end
        else:
            at += 1
    return smallest, largest
