"""Files of lines "document word [count]", ids from 1, documents ascending: what UCI and Matrix Market share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import Chunk
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.pieces import chunk_array, count_byte, first_line, pieces
from bigtopic.corpus.readers.support.assemble import canonical, count_remedy
from bigtopic.corpus.readers.support.claims import check_documents, check_words, whole_number
from bigtopic.corpus.readers.support.matrix import check_width
from bigtopic.errors import InputError
from bigtopic.support import buffers

__all__ = ["TripleFile", "TriplesReader", "check_header"]


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
            waiting, last = piece, _last_document(data)
        if entries != self.n_entries:
            raise InputError(
                f"{self.file.path}: the header says {self.n_entries} entries but {entries} lines follow it; "
                "the file was cut short or its header is wrong: get it again or correct the header"
            )
        if waiting is not None or self.n_docs:
            yield self._chunk(
                waiting or Chunk(self.file.path, 0, self.begin, self.begin, b""), row, self.n_docs
            )

    def _chunk(self, piece: Chunk, row: int, stop_row: int) -> Chunk:
        return replace(piece, first_row=self.offset + row, n_docs=max(0, stop_row - row))


@dataclass
class TriplesReader:
    """Reads `TripleFile`s of one width."""

    name: str
    files: list[TripleFile]
    vocabulary: list[str] | None
    weights: bool
    unit: str = "B"
    taken: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        offsets = np.cumsum([0, *(file.n_docs for file in self.files)])
        self.files = [replace(f, offset=int(o)) for f, o in zip(self.files, offsets, strict=False)]

    @property
    def n_words(self) -> int:
        return self.files[0].n_words

    @property
    def size(self) -> int:
        return sum(file.file.size for file in self.files)

    def streams(self) -> list[TripleFile]:
        return self.files

    def parse(self, chunk: Chunk) -> RawBlock:
        from bigtopic.corpus.readers.support import _kernels as kernels

        source = next(f for f in self.files if f.file.path == chunk.name)
        assert chunk.first_row is not None and chunk.n_docs is not None
        data = chunk_array(chunk, source.file)
        most = len(data) // 4 + 1  # entries: a line has two digits, a blank and its end at least
        indptr = np.empty(chunk.n_docs + 1, np.int64)
        words, counts = buffers.empty(most, np.int32), buffers.empty(most, np.float32)
        first_row = chunk.first_row - source.offset
        code, position, nnz, zeros, order = kernels.parse_triples(
            data,
            first_row,
            chunk.n_docs,
            source.n_words,
            source.has_count,
            self.weights,
            indptr,
            words,
            counts,
        )
        if code != kernels.OK:
            raise self._error(code, data, position, chunk, source)
        words, counts = words[:nnz], counts[:nnz]
        if order:
            indptr, words, counts = canonical(indptr, words, counts)
        return RawBlock(indptr, words, counts, first_row=chunk.first_row, n_zeros=zeros)

    def _error(
        self, code: int, data: np.ndarray, position: int, chunk: Chunk, source: TripleFile
    ) -> InputError:
        from bigtopic.corpus.readers.support import _kernels as kernels

        line = first_line(chunk, source.file) + count_byte(data[:position], b"\n")
        text = data[position : position + 200].tobytes()
        shown = text.split(b"\n")[0].decode("utf-8", "replace").strip()
        place = f"{chunk.name}, line {line}: {shown!r}"
        if code == kernels.BAD_ID:
            named = f"{source.n_words} words" + (", as in the vocabulary" if self.vocabulary else "")
            return InputError(
                f"{place} has a word id outside 1 .. {source.n_words}; the header says {named}: "
                "correct the ids (they count from 1) or the header"
            )
        if code == kernels.BAD_COUNT:
            return InputError(
                f"{place} has a count that is negative, too large or not a number; {count_remedy('')}"
            )
        if code == kernels.FRACTION:
            return InputError(f"{place} has a fractional count; {count_remedy('fractional')}")
        if code == kernels.BAD_ORDER:
            document = _document(text)
            if 1 <= document <= source.n_docs:
                return _out_of_order(place, document)
            return InputError(
                f"{place} has a document id outside 1 .. {source.n_docs}, which the header says; "
                "correct the ids (they count from 1) or the header"
            )
        wanted = "three numbers: document, word, count" if source.has_count else "two numbers: document, word"
        return InputError(f"{place} is not {wanted}; correct the line or force another format")


_DOCUMENT = re.compile(rb"[\s,]*(\d+)")


def _document(lines: Any, none: int = -1) -> int:
    """The number that begins the first line with anything on it."""
    match = _DOCUMENT.match(lines)
    return whole_number(match[1]) if match else none


def _last_document(data: np.ndarray) -> int:
    """The number that begins the last line, 0 where there is none."""
    return _document(data[-4096:].tobytes().rstrip().rpartition(b"\n")[2], 0)


def _out_of_order(place: str, document: int) -> InputError:
    return InputError(
        f"{place}: document {document} is out of order; documents must be in ascending order: sort the lines below "
        "the header by their first number (sort -n -k1,1)"
    )


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
