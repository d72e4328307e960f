"""Files of lines of numbers, parsed by compiled code.

Lines "head id:count id:count ..." are what LDA-C and SVMlight share; a line is a document. Lines "document word
[count]", ids from 1, documents ascending, are what UCI and Matrix Market share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import Chunk, Options, Reader
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.lines import count_documents, sample_lines
from bigtopic.corpus.readers.containers.pieces import PieceStream, chunk_array, count_byte, first_line, pieces
from bigtopic.corpus.readers.support.counts import (
    canonical,
    check_documents,
    check_width,
    check_words,
    count_remedy,
    whole_number,
)
from bigtopic.corpus.readers.support.vocabulary import vocabulary_beside
from bigtopic.errors import InputError, argument
from bigtopic.support import buffers

__all__ = [
    "PairsReader",
    "TripleFile",
    "TriplesReader",
    "check_header",
    "counts_its_pairs",
    "id_range",
    "open_triples",
]

_PAIRS = re.compile(rb"[+-]?[\d.]+(?:[eE][+-]?\d+)?(?:[ \t]+\w+:\S+)*[ \t]*(?:#.*)?\r?")
_NAMED = re.compile(r"(?!\d+:)[^:]*:.*")
_DOCUMENT = re.compile(rb"[\s,]*(\d+)")


def _wrong_count(place: str, fractional: bool) -> InputError:
    problem = "fractional count" if fractional else "count that is negative, too large or not a number"
    return InputError(f"{place} has a {problem}; {count_remedy('fractional' if fractional else '')}")


def counts_its_pairs(file: File) -> bool | None:
    """Whether every line sampled begins with the number of its pairs, as in LDA-C; None if they are not of pairs."""
    lines = sample_lines(file)
    if not any(b":" in line for line in lines) or not all(_PAIRS.fullmatch(line.strip()) for line in lines):
        return None
    return all(line.split()[0] == b"%d" % (len(line.split()) - 1) for line in lines)


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
                place = f"{file.path}, line {line} has a word id of {high}, so there are more than"
                check_words(int(high), size, place)
    return smallest, largest


@dataclass
class PairsReader(Reader):
    """base : the smallest id; counted : a line begins with the number of its pairs, else with a label, which is kept"""

    _: KW_ONLY
    base: int
    counted: bool

    def streams(self) -> list[PieceStream]:
        count, whole = partial(count_documents, skip=(b"#",)), self.options.whole
        return [PieceStream(file, whole, count, independent=True) for file in self.files]

    def parse(self, chunk: Chunk) -> RawBlock:
        from bigtopic.corpus.readers.support import _kernels as kernels

        file = self.file_of(chunk)
        data = chunk_array(chunk, file)
        n_lines, n_pairs = count_byte(data, b"\n") + 1, count_byte(data, b":")
        indptr, heads = np.zeros(n_lines + 1, np.int64), np.empty(n_lines, np.float64)
        words, counts = buffers.empty(n_pairs, np.int32), buffers.empty(n_pairs, np.float32)
        n_words, weights = self.n_words or 0, self.options.weights
        code, position, n_docs, nnz, zeros, unsorted = kernels.parse_pairs(
            data, self.base, n_words, self.counted, weights, indptr, words, counts, heads
        )
        if code != kernels.OK:
            raise self._error(code, data, position, chunk, file)
        indptr, words, counts = indptr[: n_docs + 1], words[:nnz], counts[:nnz]
        if unsorted:
            indptr, words, counts = canonical(indptr, words, counts)
        columns = {} if self.counted else {"label": heads[:n_docs].copy()}
        return RawBlock(indptr, words, counts, columns=columns, n_zeros=zeros)

    def _error(self, code: int, data: np.ndarray, position: int, chunk: Chunk, file: File) -> InputError:
        from bigtopic.corpus.readers.support import _kernels as kernels

        line = first_line(chunk, file) + count_byte(data[:position], b"\n")
        place = f"{chunk.name}, line {line}"
        if code == kernels.BAD_ID:
            low, high = self.base, self.base + (self.n_words or 0) - 1
            of = "the vocabulary has no more words" if self.vocabulary else "as in the rest of the file"
            return InputError(
                f"{place} has a word id outside {low} .. {high} ({of}); give the vocabulary that belongs to the file"
            )
        if code in (kernels.BAD_COUNT, kernels.FRACTION):
            return _wrong_count(place, code == kernels.FRACTION)
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


@dataclass(frozen=True)
class TripleFile:
    """One file and the contents of its header.

    begin : bytes of the header; offset : row of its first document in the whole source; has_count : a third number;
    dense : numbers without their places, which this class cannot read; independent : other files may be read meanwhile
    """

    file: File
    begin: int
    n_docs: int
    n_words: int
    n_entries: int
    has_count: bool = True
    dense: bool = False
    offset: int = 0
    independent: bool = True

    def chunks(self) -> Iterator[Chunk]:
        """Chunks that end where a document ends, each knowing its rows: documents without entries are kept."""
        from bigtopic.corpus.readers.support._kernels import count_lines, next_document

        def find(buffer: bytes, start: int) -> int:
            return int(next_document(np.frombuffer(buffer, np.uint8), start))

        entries, row, waiting, last = 0, 0, None, 0
        for piece in pieces(self.file, find, begin=self.begin):
            data = chunk_array(piece, self.file)
            entries += int(count_lines(data))
            if waiting is not None:
                document = _document(data)  # beyond the last one: the parser says so
                if document < last:
                    raise _out_of_order(f"{self.file.path}, line {first_line(piece, self.file)}", document)
                next_row = max(row, min(document - 1, self.n_docs))
                yield self._chunk(waiting, row, next_row)
                row = next_row
            waiting, last = piece, _document(data[-4096:].tobytes().rstrip().rpartition(b"\n")[2], 0)
        if entries != self.n_entries:
            raise InputError(
                f"{self.file.path}: the header says {self.n_entries} entries but {entries} lines follow it; "
                "the file was cut short or its header is wrong: get it again or correct the header"
            )
        if waiting is not None or self.n_docs:
            empty = Chunk(self.file.path, 0, self.begin, self.begin, b"")
            yield self._chunk(waiting or empty, row, self.n_docs)

    def _chunk(self, piece: Chunk, row: int, stop_row: int) -> Chunk:
        return replace(piece, first_row=self.offset + row, n_docs=max(0, stop_row - row))


def _document(lines: Any, none: int = -1) -> int:
    """The number that begins the first line with anything on it."""
    match = _DOCUMENT.match(lines)
    return whole_number(match[1]) if match else none


def _out_of_order(place: str, document: int) -> InputError:
    return InputError(
        f"{place}: document {document} is out of order; documents must be in ascending order: sort the lines below "
        "the header by their first number (sort -n -k1,1)"
    )


@dataclass
class TriplesReader(Reader):
    """Reads `TripleFile`s of one width."""

    _: KW_ONLY
    triples: list[TripleFile]

    def __post_init__(self) -> None:
        super().__post_init__()
        offsets = np.cumsum([0, *(file.n_docs for file in self.triples)])
        self.triples = [replace(f, offset=int(o)) for f, o in zip(self.triples, offsets, strict=False)]

    def streams(self) -> list[TripleFile]:
        return self.triples

    def parse(self, chunk: Chunk) -> RawBlock:
        from bigtopic.corpus.readers.support import _kernels as kernels

        source = next(f for f in self.triples if f.file.path == chunk.name)
        assert chunk.first_row is not None and chunk.n_docs is not None
        data = chunk_array(chunk, source.file)
        most = len(data) // 4 + 1  # entries: a line has two digits, a blank and its end at least
        indptr = np.empty(chunk.n_docs + 1, np.int64)
        words, counts = buffers.empty(most, np.int32), buffers.empty(most, np.float32)
        first_row, n_words, weights = chunk.first_row - source.offset, source.n_words, self.options.weights
        code, position, nnz, zeros, unsorted = kernels.parse_triples(
            data, first_row, chunk.n_docs, n_words, source.has_count, weights, indptr, words, counts
        )
        if code != kernels.OK:
            raise self._error(code, data, position, chunk, source)
        words, counts = words[:nnz], counts[:nnz]
        if unsorted:
            indptr, words, counts = canonical(indptr, words, counts)
        return RawBlock(indptr, words, counts, first_row=chunk.first_row, n_zeros=zeros)

    def _error(
        self, code: int, data: np.ndarray, position: int, chunk: Chunk, file: TripleFile
    ) -> InputError:
        from bigtopic.corpus.readers.support import _kernels as kernels

        line = first_line(chunk, file.file) + count_byte(data[:position], b"\n")
        text = data[position : position + 200].tobytes()
        shown = text.split(b"\n")[0].decode("utf-8", "replace").strip()
        place = f"{chunk.name}, line {line}: {shown!r}"
        if code == kernels.BAD_ID:
            named = f"{file.n_words} words" + (", as in the vocabulary" if self.vocabulary else "")
            return InputError(
                f"{place} has a word id outside 1 .. {file.n_words}; the header says {named}: "
                "correct the ids (they count from 1) or the header"
            )
        if code in (kernels.BAD_COUNT, kernels.FRACTION):
            return _wrong_count(place, code == kernels.FRACTION)
        if code == kernels.BAD_ORDER:
            document = _document(text)
            if 1 <= document <= file.n_docs:
                return _out_of_order(place, document)
            return InputError(
                f"{place} has a document id outside 1 .. {file.n_docs}, which the header says; "
                "correct the ids (they count from 1) or the header"
            )
        wanted = "three numbers: document, word, count" if file.has_count else "two numbers: document, word"
        return InputError(f"{place} is not {wanted}; correct the line or force another format")


def open_triples(name: str, files: list[TripleFile], options: Options) -> TriplesReader:
    """The reader of files with these headers, and of the vocabulary beside them.

    Raises
    ------
    InputError, VocabularyMismatch
    """
    vocabulary, taken = vocabulary_beside(options.vocabulary, files[0].file, files[0].n_words)
    check_header(files, vocabulary)
    options = replace(options, vocabulary=vocabulary)
    paths = tuple(triples.file for triples in files)
    return TriplesReader(name, options, taken=taken, width=files[0].n_words, files=paths, triples=files)


def check_header(files: Sequence[TripleFile], vocabulary: list[str] | None) -> None:
    """All files and the vocabulary have one width, and no header claims what cannot be.

    Raises
    ------
    InputError, VocabularyMismatch
    """
    size = sum(file.file.size for file in files)
    for file in files:
        check_documents(file.n_docs, file.file, f"{file.file.path}: the header says")
        if vocabulary is None:
            check_words(file.n_words, size, f"{file.file.path}: the header says")
        if file.n_words != files[0].n_words:
            raise InputError(
                f"{file.file.path} has {file.n_words} words but {files[0].file.path} has {files[0].n_words}; "
                "files of one source share one vocabulary: ingest them one after the other instead"
            )
    first = files[0]
    if vocabulary is not None and len(vocabulary) < first.n_words and len(vocabulary) != first.n_docs:
        raise InputError(
            f"{first.file.path} uses {first.n_words} word ids but the vocabulary has only {len(vocabulary)} words; "
            "give the vocabulary that belongs to the file"
        )
    check_width((first.n_docs, first.n_words), vocabulary, first.file.path)
