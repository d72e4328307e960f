"""Text to word ids, hundreds of megabytes per second, without the interpreter's lock; and where records of CSV begin.

Text is first folded, so that words are runs of bytes with one zero after each. A word is then read as two integers of
eight bytes, low and high, found with one look-up in an open-addressing table and compared with what is there. Of views
of bytes as integers, the first byte is the lowest.
"""

import numpy as np
from numba import njit

__all__ = ["AFTER_LETTER", "NOT_HERE", "fold_text", "next_record", "number_words"]

NOT_HERE, AFTER_LETTER = 0x110000, 0x220000
"""Codes from which on `fold_text` treats a character in another way; multiples of the number of characters."""

_BYTES, _TOP_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_ZERO, _ONE, _BYTE = np.uint64(0), np.uint64(1), np.uint64(0xFF)
_MIX_LOW, _MIX_HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def fold_text(text, at, kinds, pages, shifts, is_canonical, folded, end, ends, document):
    """Write the words of documents, lower-cased, with one zero after each.

    Parameters
    ----------
    text : uint8, documents in UTF-8, each followed by a byte that is in none of them
    at : where to begin: the first byte of a document
    kinds : uint8 (256,), of a byte: the ASCII character it stands for in a word; 0 when it is in none; 1 when it
        belongs to a longer character; 2 when it follows a document
    pages, shifts : in a word, a character of code c becomes c + shifts[pages[c >> 8], c & 255]; it is in none when
        that is negative. From `NOT_HERE` on the character is for this function only if the text is canonical; from
        `AFTER_LETTER` on the same holds after a character of a word, and it is in none elsewhere
    is_canonical : bool, whether each word has the one spelling that it is to have
    folded : uint8, at least half as long again as `text` and 24 more: lower case may take three bytes for two
    end : where the first document goes in `folded`
    ends : int64 (n_docs,), where each document ends in `folded`
    document : number of the first document

    Returns
    -------
    at, end, document : where the next document would begin, if `at` is the end of the text; else `at` is where what is
        not UTF-8 or not for this function stands in `document`
    """
    last = np.uint8(0)
    while at < len(text):
        kind = kinds[text[at]]
        if kind == 1:
            lead = np.int64(text[at])
            if lead < 0xE0:
                size, code, smallest = 2, lead & 0x1F, 0x80
            elif lead < 0xF0:
                size, code, smallest = 3, lead & 0x0F, 0x800
            else:
                size, code, smallest = 4, lead & 0x07, 0x10000
            valid = 0xC2 <= lead < 0xF5
            for i in range(at + 1, at + size):
                if text[i] & 0xC0 != 0x80:  # at the latest, the byte after the last document
                    valid = False
                    break
                code = code << 6 | np.int64(text[i]) & 0x3F
            if not valid or code < smallest or code > 0x10FFFF or 0xD800 <= code < 0xE000:
                break
            code += shifts[pages[code >> 8], code & 0xFF]
            if code >= NOT_HERE:
                if code >= AFTER_LETTER and last == 0:
                    code = -1
                elif is_canonical:
                    code %= NOT_HERE
                else:
                    break
            at += size
            if code < 0:
                kind = np.uint8(0)
            elif code < 0x80:
                kind = np.uint8(code)
            else:
                # All bytes but the last, which is written below.
                if code < 0x800:
                    folded[end] = 0xC0 | code >> 6
                    end += 1
                else:
                    if code < 0x10000:
                        folded[end] = 0xE0 | code >> 12
                    else:
                        folded[end] = 0xF0 | code >> 18
                        folded[end + 1] = 0x80 | code >> 12 & 0x3F
                        end += 1
                    folded[end + 1] = 0x80 | code >> 6 & 0x3F
                    end += 2
                kind = np.uint8(0x80 | code & 0x3F)
        else:
            at += 1
            if kind == 2:
                kind = np.uint8(0)
                ends[document] = end + (last != 0)
                document += 1
        folded[end] = kind
        end += (kind | last) != 0
        last = kind
    for i in range(end, end + 24):
        folded[i] = 0
    return at, end, document


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def number_words(folded, eights, ends, slots, tags, begins, words, word_bytes, ids, n_tokens, done):
    """Number the words of two or more characters in the order they appear, as far as there is room for new ones.

    Parameters
    ----------
    folded, eights : uint8 and uint64, two views of what `fold_text` wrote
    ends : int64 (n_docs,), where each document ends in `folded`
    slots : uint64, zeros, a power of two and at least twice as many as there is room for words: the table
    tags, begins : uint64 and int64, room for as many words: their hashes, and where they begin in `words`
    words, word_bytes : uint64 and uint8, two views of the room for the words themselves, each with one to eight zeros
        after it, or more when it is short
    ids : int64, room for the words' numbers, token by token
    n_tokens : int64 (n_docs,), tokens up to the end of each document
    done : int64 (5,), documents, bytes of `folded`, tokens, distinct words and elements of `words` done, at first zeros

    Returns
    -------
    bool
        Whether there was room. If not: call again with the first half of twice the room as it is, and zeros in `slots`.
    """
    document, at, token, n_words, filled = done
    mask = np.uint64(len(slots) - 1)
    for word in range(n_words):
        place = tags[word] & mask
        while slots[place] != 0:
            place = (place + _ONE) & mask
        slots[place] = tags[word] << np.uint64(32) | np.uint64(word + 1)
    room = True
    while room and document < len(ends):
        end = ends[document]
        while at < end:
            # Eight bytes from `at` on and the eight after them, up to the first zero, which ends the word.
            begin = at
            i = at >> 3
            shift = np.uint64(8 * (at & 7))
            back = np.uint64(63) - shift
            low = eights[i] >> shift | eights[i + 1] << _ONE << back
            high = eights[i + 1] >> shift | eights[i + 2] << _ONE << back
            zero = (low - _BYTES) & ~low & _TOP_BITS
            below = ((zero & (_ZERO - zero)) >> np.uint64(7)) - _ONE
            low &= below
            size = (below & _BYTES) * _BYTES >> np.uint64(56)
            second_zero = (high - _BYTES) & ~high & _TOP_BITS
            below = ((second_zero & (_ZERO - second_zero)) >> np.uint64(7)) - _ONE
            below &= _ZERO - np.uint64(zero == 0)
            high &= below
            at += np.int64(size + ((below & _BYTES) * _BYTES >> np.uint64(56)))
            tag = (low * _MIX_LOW ^ high) * _MIX_HIGH
            if (zero | second_zero) == 0:
                while folded[at] != 0:
                    tag = (tag ^ np.uint64(folded[at])) * _MIX_LOW
                    at += 1
            size = at - begin
            first = low & _BYTE
            if size > 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0):
                tag = (tag ^ tag >> np.uint64(29)) * _MIX_LOW >> np.uint64(32)
                place = tag & mask
                word = -1
                while slots[place] != 0:
                    if slots[place] >> np.uint64(32) == tag:
                        word = np.int64(slots[place] & np.uint64(0xFFFFFFFF)) - 1
                        i = begins[word]
                        if words[i] == low and words[i + 1] == high:
                            if size < 16:
                                break
                            i = 8 * i + 16
                            j = begin + 16
                            while j < at and word_bytes[i] == folded[j]:
                                i += 1
                                j += 1
                            if j == at and word_bytes[i] == 0:
                                break
                        word = -1
                    place = (place + _ONE) & mask
                if word < 0:
                    n_eights = max(2, (size >> 3) + 1)
                    if n_words == len(begins) or filled + n_eights > len(words):
                        room = False
                        at = begin
                        break
                    word = n_words
                    n_words += 1
                    slots[place] = tag << np.uint64(32) | np.uint64(n_words)
                    tags[word] = tag
                    begins[word] = filled
                    words[filled] = low
                    words[filled + 1] = high
                    if size >= 16:
                        words[filled + n_eights - 1] = 0
                        for j in range(16, size):
                            word_bytes[8 * filled + j] = folded[begin + j]
                    filled += n_eights
                ids[token] = word
                token += 1
            at += 1
        if room:
            n_tokens[document] = token
            document += 1
    done[0], done[1], done[2], done[3], done[4] = document, at, token, n_words, filled
    return room


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def next_record(buffer, start, delimiter):
    """Records of CSV as Python's `csv` reads them: a quote opens a cell only where the cell begins, and a line feed or
    a carriage return, or both, end a record.

    The buffer begins with a record. Returns the position of the first record that begins after `start`, or -1; and the
    position of the quote that opened the cell in which the buffer ends, or -1.
    """
    at = 0
    n = len(buffer)
    while at < n:
        # A cell begins.
        if buffer[at] == 34:
            opened = at
            at += 1
            while True:
                while at < n and buffer[at] != 34:
                    at += 1
                if at >= n:
                    return -1, opened
                at += 1
                if at >= n or buffer[at] != 34:
                    break
                at += 1
        while at < n and buffer[at] != delimiter and buffer[at] != 10 and buffer[at] != 13:
            at += 1
        if at < n and buffer[at] == 13:
            at += 1
            ends = at < n and buffer[at] != 10
        else:
            ends = at < n and buffer[at] == 10
            at += 1
        if ends and at > start:
            return at, -1
    return -1, -1
