"""Compiled parsers against regular expressions: whatever lines look like, and whatever is wrong with them."""

import re
from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from bigtopic.corpus.blocks import offsets
from bigtopic.corpus.readers.containers.pieces import count_byte
from bigtopic.corpus.readers.support import _kernels as kernels
from bigtopic.corpus.readers.support.counts import canonical

SPACE = rb"[ \t\r,]"
NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
TRIPLE = re.compile(rb"%s*(\d+)%s+(\d+)%s+(%s)%s*" % (SPACE, SPACE, SPACE, NUMBER, SPACE))
HEAD = re.compile(rb"%s*(%s)(?=\s|,|\Z)" % (SPACE, NUMBER))
QUERY = re.compile(rb"%s+qid:\d+(?=\s|\Z)" % SPACE)
PAIR = re.compile(rb"%s+(\d+):(%s)(?=\s|\Z)" % (SPACE, NUMBER))


def counted(text, weights):
    """The count, or the code of what is wrong with it."""
    value = float(text)
    if not 0 <= value <= 3e38:
        return None, kernels.BAD_COUNT
    return float(np.float32(value)), kernels.OK if weights or value == int(value) else kernels.FRACTION


def triples(text, first_row, n_docs, n_words, weights):
    """(code, position, {row: [(word, count)]})"""
    at, previous, found = 0, 0, {}
    for line in text.split(b"\n"):
        start, at = at, at + len(line) + 1
        if re.fullmatch(SPACE + rb"*", line):
            continue
        match = TRIPLE.fullmatch(line)
        if match is None:
            return "refused", start, None
        row, word = int(match[1]) - 1 - first_row, int(match[2])
        if not previous <= row < n_docs:
            return kernels.BAD_ORDER, start, None
        if not 1 <= word <= n_words:
            return kernels.BAD_ID, start, None
        value, code = counted(match[3], weights)
        if code != kernels.OK:
            return code, start, None
        previous = row
        if value:
            found.setdefault(row, []).append((word - 1, value))
    return kernels.OK, None, found


def parsed_triples(text, first_row, n_docs, n_words, weights):
    data = np.frombuffer(text, np.uint8)
    indptr = np.full(n_docs + 1, -1)
    words, counts = np.empty(len(data) // 4 + 1, np.int32), np.empty(len(data) // 4 + 1, np.float32)
    code, position, nnz, _, _ = kernels.parse_triples(
        data, first_row, n_docs, n_words, True, weights, indptr, words, counts
    )
    if code != kernels.OK:
        return "refused" if code == kernels.BAD_LINE else code, position, None
    assert indptr[0] == 0 and indptr[-1] == nnz and (np.diff(indptr) >= 0).all()
    rows = [list(zip(words[a:b].tolist(), counts[a:b].tolist(), strict=True)) for a, b in pairwise(indptr)]
    return kernels.OK, None, {row: entries for row, entries in enumerate(rows) if entries}


def some(rng, *choices):
    return choices[rng.integers(len(choices))]


def number(rng, most):
    """Of 1 to 9 digits, now and then with zeros before it."""
    value = int(rng.integers(1, 10 ** rng.integers(1, len(str(most)) + 1)))
    return b"%s%d" % (some(rng, b"", b"", b"", b"0", b"000000000"), min(value, most))


def odd_triples(rng, n_lines, first_row, n_docs, n_words):
    rows = np.sort(rng.integers(0, max(1, n_docs // int(some(rng, 1, 50))), n_lines)) + first_row + 1
    blank = some(rng, b" ", b" ", b"\t", b"  ", b", ")
    end = some(rng, b"\n", b"\n", b"\r\n", b" \n")
    lines = []
    for row in rows:
        count = some(rng, b"1", b"2", b"0", b"12", b"1e2", b"3.0", b"4.", b"+5", b"123456789", b"7.50")
        line = blank.join([some(rng, b"", b"", b"", b"00") + b"%d" % row, number(rng, n_words), count])
        lines.append(
            some(rng, b"", b"", b"", b" ") + line + end + some(rng, b"", b"", b"", b"", b"\n", b" \n")
        )
    text = b"".join(lines)
    return text.rstrip() if rng.random() < 0.3 else text


@pytest.mark.parametrize("seed", range(150))
def test_triples(seed):
    rng = np.random.default_rng(seed)
    first_row = int(some(rng, 0, 0, 5, 999_990, 99_999_990, 10**15))
    shape = first_row, int(some(rng, 3, 100, 5000)), int(some(rng, 9, 99_999, 10**9)), bool(rng.integers(2))
    text = odd_triples(rng, int(rng.integers(1, 60)), *shape[:3])
    expected = triples(text, *shape)
    assert parsed_triples(text, *shape) == expected
    for _ in range(20):  # one byte is another
        wrong = bytearray(text)
        wrong[rng.integers(len(wrong))] = rng.choice(list(b"0123456789 \n\t\r,.-+e:x\0\xff"))
        found, expected = parsed_triples(bytes(wrong), *shape), triples(bytes(wrong), *shape)
        if expected[0] == "refused" and found[0] == kernels.BAD_COUNT:  # a count that is no number
            expected = kernels.BAD_COUNT, *expected[1:]
        assert found == expected, bytes(wrong)


def test_lines_that_hold_something():
    rng = np.random.default_rng(0)
    for _ in range(300):
        text = rng.choice(np.frombuffer(b"1 \n\n\r", np.uint8), rng.integers(0, 12)).tobytes()
        data = np.frombuffer(text, np.uint8)
        assert kernels.count_lines(data) == sum(bool(line.strip()) for line in text.split(b"\n"))
        assert count_byte(data, b"\n") == text.count(b"\n")


@pytest.mark.parametrize("n_words", [5, 2**31 - 1])
def test_canonical_rows(n_words):
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 12, 200)
    indptr, words = offsets(lengths), rng.integers(n_words - 5, n_words, lengths.sum()).astype(np.int32)
    counts = rng.integers(1, 9, len(words)).astype(np.float32)
    expected = csr_array((counts.copy(), words.copy(), indptr.copy()), (200, n_words))
    expected.sum_duplicates()
    for found, wanted in zip(canonical(indptr, words, counts), _parts(expected), strict=True):
        assert found.tolist() == wanted.tolist()


def _parts(matrix):
    return matrix.indptr, matrix.indices, matrix.data


def pairs(text, base, n_words, check_head, weights):
    """(code, position, [(head, [(word, count)])]); comments are not tried."""
    at, found = 0, []
    for line in text.split(b"\n"):
        start, at = at, at + len(line) + 1
        if re.fullmatch(SPACE + rb"*", line):
            continue
        head = HEAD.match(line)
        if head is None:
            return "refused", start, None
        entries, end = [], head.end()
        if not check_head and (query := QUERY.match(line, end)):
            end = query.end()
        while pair := PAIR.match(line, end):
            end = pair.end()
            if not base <= int(pair[1]) < base + n_words:
                return kernels.BAD_ID, start, None
            value, code = counted(pair[2], weights)
            if code != kernels.OK:
                return code, start, None
            entries.append((int(pair[1]) - base, value))
        if line[end:].strip(b" \t\r,"):
            return "refused", start, None
        if check_head and float(head[1]) != len(entries):
            return kernels.BAD_ORDER, start, None
        found.append((float(head[1]), [entry for entry in entries if entry[1]]))
    return kernels.OK, None, found


def parsed_pairs(text, base, n_words, check_head, weights):
    data = np.frombuffer(text, np.uint8)
    n_lines, n_pairs = text.count(b"\n") + 1, text.count(b":")
    indptr, heads = np.zeros(n_lines + 1, np.int64), np.empty(n_lines)
    words, counts = np.empty(n_pairs, np.int32), np.empty(n_pairs, np.float32)
    code, position, n_docs, _, _, _ = kernels.parse_pairs(
        data, base, n_words, check_head, weights, indptr, words, counts, heads
    )
    if code != kernels.OK:
        return "refused" if code == kernels.BAD_LINE else code, position, None
    return (
        kernels.OK,
        None,
        [
            (heads[d], list(zip(words[a:b].tolist(), counts[a:b].tolist(), strict=True)))
            for d, (a, b) in enumerate(pairwise(indptr[: n_docs + 1]))
        ],
    )


@pytest.mark.parametrize("seed", range(60))
def test_pairs(seed):
    rng = np.random.default_rng(seed)
    base, n_words = int(rng.integers(2)), int(some(rng, 9, 99_999, 10**9))
    check_head, weights = bool(rng.integers(2)), bool(rng.integers(2))
    blank, end = some(rng, b" ", b" ", b"\t", b"  "), some(rng, b"\n", b"\r\n", b" \n")
    lines, ids = [], []
    for _ in range(rng.integers(1, 20)):
        entries = []
        for _ in range(rng.integers(0, 9)):
            word, count = (
                number(rng, n_words - 1 + base),
                some(rng, b"1", b"2", b"0", b"12", b"3.0", b"123456789"),
            )
            ids.append(int(word))
            entries.append(word + b":" + count)
        head = b"%d" % len(entries) if check_head else some(rng, b"-1", b"+1", b"0.5")
        lines.append(blank.join([head, *entries]) + end)
    text = b"".join(lines)
    settings = base, n_words, check_head, weights
    assert parsed_pairs(text, *settings) == pairs(text, *settings)
    low, high, _ = kernels.scan_pairs(np.frombuffer(text, np.uint8))
    assert (low, high) == ((min(ids), max(ids)) if ids else (1 << 60, -1))
    for _ in range(20):
        wrong = bytearray(text)
        wrong[rng.integers(len(wrong))] = rng.choice(list(b"0123456789 \n\t\r.-+e:"))
        found, expected = parsed_pairs(bytes(wrong), *settings), pairs(bytes(wrong), *settings)
        if found[0] == kernels.BAD_COUNT or (expected[0] == "refused" and found[0] != kernels.OK):
            assert found[1] == expected[1], bytes(
                wrong
            )  # of two things wrong with a line either may be named
        else:
            assert found == expected, bytes(wrong)
