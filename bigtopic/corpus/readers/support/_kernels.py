"""Bytes of bag-of-words files to arrays, in one pass without the interpreter's lock.

Every parser returns a code and the position of what it stopped at; the caller makes the message. Buffers are uint8
arrays of whole lines; the bytes `space` are blank, tab, comma and carriage return.

What nearly every line looks like is read eight bytes at a time: ids of up to seven digits by the arithmetic of
`_value`, counts of one digit, and, in triples, a document's number only where it differs from the line before. What
looks otherwise is read byte by byte.
"""

import numpy as np
from numba import njit

__all__ = ["BAD_COUNT", "BAD_ID", "BAD_LINE", "BAD_ORDER", "FRACTION", "OK"]

OK, BAD_LINE, BAD_ID, BAD_COUNT, FRACTION, BAD_ORDER = 0, 1, 2, 3, 4, 5

_compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
_U = np.uint64
_TENS = np.array([float(f"1e{power}") for power in range(23)])  # exact


@_compiled
def _eight(buffer, at):
    """Bytes `at` to `at + 7`, the first one lowest; the compiler makes one load of it. They must be there."""
    eight = _U(0)
    for i in range(8):
        eight |= _U(buffer[_U(at) + _U(i)]) << _U(8 * i)
    return eight


@_compiled
def _digits(eight):
    """How many of the eight bytes are digits before the first that is none."""
    values = eight ^ _U(0x3030303030303030)
    others = (values | (values + _U(0x7676767676767676))) & _U(0x8080808080808080)  # exact up to the first
    if others == 0:
        return 8
    first = others & (~others + _U(1))
    return np.int64(((first >> _U(7)) * _U(0x0001020304050607)) >> _U(56))


@_compiled
def _value(eight, n_digits):
    """The number that the first 1 to 8 bytes spell: neighbouring digits, then pairs, then fours are joined at once."""
    value = (eight ^ _U(0x3030303030303030)) << _U(64 - 8 * n_digits)
    value = (value * _U(10) + (value >> _U(8))) & _U(0x00FF00FF00FF00FF)
    value = (value * _U(100) + (value >> _U(16))) & _U(0x0000FFFF0000FFFF)
    return np.int64((value * _U(10000) + (value >> _U(32))) & _U(0xFFFFFFFF))


@_compiled
def _id(buffer, at):
    """(value, end); end == at where there is none."""
    if at + 8 <= len(buffer):
        eight = _eight(buffer, at)
        n_digits = _digits(eight)
        if 0 < n_digits < 8:
            return _value(eight, n_digits), at + n_digits
    return _integer(buffer, at)


@_compiled
def _skip_space(buffer, at):
    n = len(buffer)
    while at < n and (buffer[at] == 32 or buffer[at] == 9 or buffer[at] == 13 or buffer[at] == 44):
        at += 1
    return at


@_compiled
def _integer(buffer, at):
    """(value, end); end == at where there is none. Saturates far above any id."""
    n = len(buffer)
    value = np.int64(0)
    while at < n and buffer[at] >= 48 and buffer[at] <= 57:
        if value < 1 << 58:
            value = value * 10 + (buffer[at] - 48)
        at += 1
    return value, at


@_compiled
def _number(buffer, at):
    """(value, end): digits with optional sign, fraction and exponent; end == at where there is none."""
    n = len(buffer)
    start = at
    negative = at < n and buffer[at] == 45
    if at < n and (buffer[at] == 45 or buffer[at] == 43):
        at += 1
    mantissa = np.int64(0)
    digits = power = 0
    point = False
    while at < n:
        digit = np.int64(buffer[at]) - 48
        if 0 <= digit <= 9:
            digits += 1
            if mantissa < 1 << 58:
                mantissa = mantissa * 10 + digit
                power -= point
            else:  # beyond what a double holds
                power += not point
        elif digit == -2 and not point:
            point = True
        else:
            break
        at += 1
    if digits == 0:
        return 0.0, start
    if at < n and (buffer[at] == 101 or buffer[at] == 69):
        sign = at + 1
        first = sign + (sign < n and (buffer[sign] == 45 or buffer[sign] == 43))
        exponent, end = _integer(buffer, first)
        if end > first:
            power += -exponent if buffer[sign] == 45 else exponent
            at = end
    value = float(mantissa)
    if mantissa and power:
        ten = _TENS[abs(power)] if abs(power) < len(_TENS) else 10.0 ** float(abs(power))
        value = value * ten if power > 0 else value / ten
    return -value if negative else value, at


@_compiled
def _count(buffer, at):
    """Equivalent to `_number`; sooner where nothing but digits comes before the next white space."""
    value, end = _id(buffer, at)
    if at < end < at + 8 and (end == len(buffer) or buffer[end] <= 32):
        return float(value), end
    return _number(buffer, at)


@_compiled
def _ends_line(buffer, at):
    return at >= len(buffer) or buffer[at] == 10


@_compiled
def _line_end(buffer, at):
    while not _ends_line(buffer, at):
        at += 1
    return at


@_compiled
def _check_count(value, weights):
    # `not >=` also catches NaN.
    if not value >= 0.0 or value > 3.0e38:
        return BAD_COUNT
    if not weights and value != np.floor(value):
        return FRACTION
    return OK


@_compiled
def count_lines(buffer):
    """Lines that hold anything but white space."""
    n = len(buffer)
    newlines = filled = 0
    for i in range(1, n):  # without a branch: most files have something before every newline
        newline = buffer[i] == 10
        newlines += newline
        filled += newline & (buffer[i - 1] > 32)
    if newlines == filled and n and buffer[0] > 32 and buffer[n - 1] == 10:
        return newlines
    lines = 0
    anything = False
    for byte in buffer:
        if byte == 10:
            lines += anything
            anything = False
        elif byte > 32:
            anything = True
    return lines + anything


@_compiled
def next_document(buffer, start):
    """Position of the first line after `start` whose first number differs from the line's before; -1 for none.

    Only complete lines are looked at, and nothing before the first line that begins after `start`.
    """
    n = len(buffer)
    at = _line_end(buffer, start) + 1
    last = np.int64(-1)
    while at < n:
        line = at
        value, end = _integer(buffer, _skip_space(buffer, at))
        at = _line_end(buffer, end)
        if at >= n:
            return -1
        at += 1
        if last >= 0 and value != last:
            return line
        last = value
    return -1


@_compiled
def parse_triples(buffer, first_row, n_docs, n_words, has_count, weights, indptr, words, counts):
    """Lines "document word count", ids from 1, documents ascending.

    Fills indptr (n_docs + 1,), and as much of words and counts as there are entries above zero.
    Returns (code, position, entries, zeros, unsorted), unsorted telling whether words fail to ascend within a document.
    """
    n = len(buffer)
    at = nnz = zeros = unsorted = 0
    row = previous = np.int64(0)
    last_word = np.int64(-1)
    indptr[0] = 0
    # The line before began with these bytes, up to its word: the first eight and the last eight of them, or all.
    mask, first, last = _U(0), _U(1), _U(1)
    length = tail = 0
    while at < n:
        line = at
        known = at + 16 <= n and (_eight(buffer, at) & mask) == first
        known = known and (_eight(buffer, at + tail) & mask) == last
        if known:
            at = _skip_space(buffer, at + length)
        else:
            at = _skip_space(buffer, at)
            if _ends_line(buffer, at):
                at += 1
                continue
            document, end = _integer(buffer, at)
            if end == at:
                return BAD_LINE, line, nnz, zeros, unsorted
            at = _skip_space(buffer, end)
            if at == end:
                return BAD_LINE, line, nnz, zeros, unsorted
            row = document - 1 - first_row
            length = at - line
        word, end = _id(buffer, at)
        if end == at:
            return BAD_LINE, line, nnz, zeros, unsorted
        if (
            has_count
            and end + 3 <= n
            and buffer[end] == 32
            and buffer[end + 2] == 10
            and 48 <= buffer[end + 1] <= 57
        ):
            value = float(buffer[end + 1] - 48)
            at = end + 3
        else:
            at = _skip_space(buffer, end)
            value = 1.0
            if has_count:
                if at == end:
                    return BAD_LINE, line, nnz, zeros, unsorted
                value, end = _count(buffer, at)
                if end == at:
                    return BAD_COUNT, line, nnz, zeros, unsorted
                at = _skip_space(buffer, end)
            if not _ends_line(buffer, at):
                return BAD_LINE, line, nnz, zeros, unsorted
            at += 1
        if not known:
            if row < previous or row >= n_docs:
                return BAD_ORDER, line, nnz, zeros, unsorted
            for begun in range(previous, row):
                indptr[begun + 1] = nnz
            if row != previous:
                last_word = -1
            previous = row
            mask, first, last, tail = _U(0), _U(1), _U(1), 0
            if length <= 16 and line + 16 <= n:
                tail = max(0, length - 8)
                mask = ~_U(0) >> _U(64 - 8 * min(length, 8))
                first, last = _eight(buffer, line) & mask, _eight(buffer, line + tail) & mask
        if word < 1 or word > n_words:
            return BAD_ID, line, nnz, zeros, unsorted
        code = _check_count(value, weights)
        if code != OK:
            return code, line, nnz, zeros, unsorted
        if np.float32(value) == 0.0:
            zeros += 1
            continue
        if word <= last_word:
            unsorted = 1
        last_word = word
        words[nnz] = word - 1
        counts[nnz] = value
        nnz += 1
    for begun in range(previous, n_docs):
        indptr[begun + 1] = nnz
    return OK, n, nnz, zeros, unsorted


@_compiled
def _skip_query(buffer, at):
    """The end of white space and "qid:number", or `at` where there is no such."""
    name = _skip_space(buffer, at)
    if name == at or name + 4 > len(buffer) or buffer[name] != 113:
        return at
    if buffer[name + 1] != 105 or buffer[name + 2] != 100 or buffer[name + 3] != 58:
        return at
    _, end = _integer(buffer, name + 4)
    ended = end == len(buffer) or buffer[end] <= 32
    return end if end > name + 4 and ended else at


@_compiled
def parse_pairs(buffer, base, n_words, check_head, weights, indptr, words, counts, heads):
    """Lines "head id:count id:count ... [# comment]". A query's id ("qid:3") may follow the head and is passed over.

    `check_head`: the head is the number of pairs (LDA-C), which no query follows. Fills indptr (n_lines + 1,), words,
    counts, heads.
    Returns (code, position, documents, entries, zeros, unsorted).
    """
    n = len(buffer)
    at = docs = nnz = zeros = unsorted = 0
    while at < n:
        line = at
        at = _skip_space(buffer, at)
        if _ends_line(buffer, at) or buffer[at] == 35:  # a blank line or a comment
            at = _line_end(buffer, at) + 1
            continue
        head, end = _number(buffer, at)
        if end == at:
            return BAD_LINE, line, docs, nnz, zeros, unsorted
        heads[docs] = head
        at = end if check_head else _skip_query(buffer, end)
        pairs = 0
        last_word = np.int64(-1)
        while True:
            at = _skip_space(buffer, at)
            if _ends_line(buffer, at):
                break
            if buffer[at] == 35:
                at = _line_end(buffer, at)
                break
            word, end = _id(buffer, at)
            if end == at or end >= n or buffer[end] != 58:
                return BAD_LINE, line, docs, nnz, zeros, unsorted
            at = end + 1
            if at + 2 <= n and buffer[at + 1] <= 32 and 48 <= buffer[at] <= 57:
                value = float(buffer[at] - 48)
                at += 1
            else:
                value, end = _count(buffer, at)
                if end == at:
                    return BAD_COUNT, line, docs, nnz, zeros, unsorted
                at = end
                if at < n and buffer[at] > 32:
                    return BAD_LINE, line, docs, nnz, zeros, unsorted
            pairs += 1
            word -= base
            if word < 0 or word >= n_words:
                return BAD_ID, line, docs, nnz, zeros, unsorted
            code = _check_count(value, weights)
            if code != OK:
                return code, line, docs, nnz, zeros, unsorted
            if np.float32(value) == 0.0:
                zeros += 1
                continue
            if word <= last_word:
                unsorted = 1
            last_word = word
            words[nnz] = word
            counts[nnz] = value
            nnz += 1
        at += 1
        if check_head and heads[docs] != pairs:
            return BAD_ORDER, line, docs, nnz, zeros, unsorted
        docs += 1
        indptr[docs] = nnz
    return OK, n, docs, nnz, zeros, unsorted


@_compiled
def scan_pairs(buffer):
    """(smallest id, largest id, its position) of lines "head id:count ..."; the largest is -1 without pairs."""
    n = len(buffer)
    smallest = np.int64(1) << 60
    largest = np.int64(-1)
    at = where = 0
    while at < n:
        if buffer[at] <= 32:
            at += 1
            continue
        if buffer[at] == 35:
            at = _line_end(buffer, at)
            continue
        value, end = _id(buffer, at)
        if end > at and end < n and buffer[end] == 58:
            smallest = min(smallest, value)
            if value > largest:
                largest, where = value, at
        at = end
        while at < n and buffer[at] > 32 and buffer[at] != 35:
            at += 1
    return smallest, largest, where
