"""Files of lines "head id:count id:count ...": what LDA-C and SVMlight share. A line is a document."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import Chunk
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.lines import LineStream
from bigtopic.corpus.readers.containers.pieces import chunk_array, count_byte, first_line, pieces
from bigtopic.corpus.readers.support.assemble import canonical, count_remedy
from bigtopic.corpus.readers.support.claims import check_words
from bigtopic.errors import InputError, argument
from bigtopic.support import buffers

__all__ = ["PairsReader", "counts_its_pairs", "id_range", "looks_like_pairs"]

_LINE = re.compile(rb"[+-]?[\d.]+(?:[eE][+-]?\d+)?(?:[ \t]+\w+:\S+)*[ \t]*(?:#.*)?\r?")

_NAMED = re.compile(r"(?!\d+:)[^:]*:.*")


def sample_lines(file: File, limit: int = 200) -> list[bytes]:
    """The first complete lines that hold anything but a comment."""
    lines = file.sample.split(b"\n")
    if len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")][:limit]


def looks_like_pairs(file: File) -> bool:
    """Whether every line sampled is a number and pairs, and some line has a pair."""
    lines = sample_lines(file)
    return any(b":" in line for line in lines) and all(_LINE.fullmatch(line.strip()) for line in lines)


def counts_its_pairs(file: File) -> bool:
    """Whether the first number of every line sampled is the number of its pairs, as in LDA-C."""
    return all(line.split()[0] == b"%d" % (len(line.split()) - 1) for line in sample_lines(file))


def id_range(files: Sequence[File], vocabulary: list[str] | None = None) -> tuple[int, int]:
    """Smallest and largest word id; reads the files once. (large, -1) where there are no pairs.

    Raises
    ------
    InputError
        Naming the line of an id that no file of this size can have, unless there is a vocabulary.
    """
    from bigtopic.corpus.readers.support._kernels import scan_pairs

    smallest, largest, size = 1 << 60, -1, sum(file.size for file in files)
    for file in files:
        for piece in pieces(file, whole=True):
            low, high, at = scan_pairs(np.frombuffer(piece.data, np.uint8))
            smallest, largest = min(smallest, int(low)), max(largest, int(high))
            if vocabulary is None:
                line = first_line(piece, file) + piece.data.count(b"\n", 0, at)
                check_words(
                    int(high),
                    size,
                    f"{file.path}, line {line} has a word id of {high}, so there are more than",
                )
    return smallest, largest


@dataclass
class PairsReader:
    """base : the smallest id; check_head : the head counts the pairs; head : column to keep the heads in, or None"""

    name: str
    files: tuple[File, ...]
    n_words: int
    vocabulary: list[str] | None
    weights: bool
    whole: bool
    base: int
    check_head: bool
    head: str | None
    unit: str = "B"
    taken: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def streams(self) -> list[Any]:
        return [LineStream(file, self.whole, skip=(b"#",), independent=True) for file in self.files]

    def parse(self, chunk: Chunk) -> RawBlock:
        from bigtopic.corpus.readers.support import _kernels as kernels

        file = next(file for file in self.files if file.path == chunk.name)
        data = chunk_array(chunk, file)
        n_lines, n_pairs = count_byte(data, b"\n") + 1, count_byte(data, b":")
        indptr, heads = np.zeros(n_lines + 1, np.int64), np.empty(n_lines, np.float64)
        words, counts = buffers.empty(n_pairs, np.int32), buffers.empty(n_pairs, np.float32)
        code, position, n_docs, nnz, zeros, order = kernels.parse_pairs(
            data, self.base, self.n_words, self.check_head, self.weights, indptr, words, counts, heads
        )
        if code != kernels.OK:
            raise self._error(code, data, position, chunk, file)
        indptr, words, counts = indptr[: n_docs + 1], words[:nnz], counts[:nnz]
        if order:
            indptr, words, counts = canonical(indptr, words, counts)
        columns = {} if self.head is None else {self.head: heads[:n_docs].copy()}
        return RawBlock(indptr, words, counts, columns=columns, n_zeros=zeros)

    def _error(self, code: int, data: np.ndarray, position: int, chunk: Chunk, file: File) -> InputError:
        from bigtopic.corpus.readers.support import _kernels as kernels

        line = first_line(chunk, file) + count_byte(data[:position], b"\n")
        place = f"{chunk.name}, line {line}"
        if code == kernels.BAD_ID:
            low, high = self.base, self.base + self.n_words - 1
            of = "the vocabulary has no more words" if self.vocabulary else "as in the rest of the file"
            return InputError(
                f"{place} has a word id outside {low} .. {high} ({of}); give the vocabulary that belongs to the file"
            )
        if code == kernels.BAD_COUNT:
            return InputError(
                f"{place} has a count that is negative, too large or not a number; {count_remedy('')}"
            )
        if code == kernels.FRACTION:
            return InputError(f"{place} has a fractional count; {count_remedy('fractional')}")
        if code == kernels.BAD_ORDER:
            return InputError(
                f"{place}: the number it begins with is not the number of its pairs; the line was cut short, "
                f"or the file is SVMlight: force that with {argument('format', 'svmlight')}"
            )
        text = (
            data[position : position + 10_000].tobytes().split(b"\n")[0].decode("utf-8", "backslashreplace")
        )
        named = next((pair for pair in text.partition("#")[0].split() if _NAMED.fullmatch(pair)), None)
        if named is not None:
            return InputError(
                f"{place} is not a number followed by id:count pairs: the id of {named[:60]!r} is not a whole number; "
                'correct it, or give documents whose words are named as JSON lines: {"counts": {"word": 3}}'
            )
        return InputError(f"{place} is not a number followed by id:count pairs; correct the line")
