"""Files of bags of words as numbers: UCI's bag of words, LDA-C, SVMlight, Matrix Market.

`bag_of_words`: three lines with the numbers of documents, words and entries, then lines "document word count", ids from
1. The words are in `vocab.NAME.txt` beside `docword.NAME.txt`, one per line.

`lda_c`: a document per line, "n id:count id:count ...", ids from 0, n the number of pairs. The words are in `vocab.txt`
or `NAME.vocab` beside it.

`svmlight`: a document per line, "label id:count id:count ... # comment". The label is kept as a column; a query's id
("qid:3") behind it is passed over. The words may be in `NAME.vocab` beside it. Ids count from 1, as the format says; if
any line has an id of 0 they count from 0. To know that, and the width, the files are read once more.

`matrix_market`: `%%MatrixMarket matrix coordinate integer|real|pattern general`, comments, a line "documents words
entries", then lines "document word count", ids from 1. Written row by row (gensim, scipy from CSR) it is read in
pieces. Written column by column, or dense, documents are scattered over the whole file, and it is read into memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import IO, Any

from bigtopic.corpus.readers.base import Format, Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.pieces import pieces
from bigtopic.corpus.readers.formats import matrix
from bigtopic.corpus.readers.support.counts import whole_number
from bigtopic.corpus.readers.support.number_lines import (
    PairsReader,
    TripleFile,
    TriplesReader,
    check_header,
    counts_its_pairs,
    id_range,
    open_triples,
)
from bigtopic.corpus.readers.support.vocabulary import vocabulary_beside
from bigtopic.errors import InputError
from bigtopic.wording import printable

__all__ = ["FORMATS", "read_transposed"]

_HEADER = re.compile(rb"\s*(\d+)[ \t\r]*\n\s*(\d+)[ \t\r]*\n\s*(\d+)[ \t\r]*(?:\n|\Z)")
_IN_MEMORY = 1 << 31  # bytes of a decompressed file that is read into memory
_FIELDS = (b"integer", b"unsigned-integer", b"real", b"double", b"pattern")  # as SciPy reads them
_MARKET = re.compile(
    rb"%%MatrixMarket\s++matrix\s++(coordinate|array)\s++(\S++)\s++(\S++)[^\n]*+\n"
    rb"(?:[ \t\r]*+(?:%[^\n]*+)?\n)*+[ \t]*(\d+)[ \t]+(\d+)(?:[ \t]+(\d+))?[ \t\r]*(?:\n|\Z)",
    re.IGNORECASE,
)


def _is_bag_of_words(file: File) -> float:
    """The header is three lines of one number each, followed by a line of three."""
    header = _HEADER.match(file.sample)
    if header is None:
        return 0.0
    line = file.sample[header.end() :].lstrip().split(b"\n")[0]
    return 0.9 if len(line.split()) == 3 or header.end() == len(file.sample) else 0.0


def _open_bag_of_words(files: Sequence[File], options: Options) -> TriplesReader:
    return open_triples("bag_of_words", [_read_header(file) for file in files], options)


def _read_header(file: File) -> TripleFile:
    header = _HEADER.match(file.sample)
    if header is None:
        raise InputError(
            f"{file.path}, line 1: a bag-of-words file begins with three lines of one whole number each (documents, "
            "words, entries); correct the header or force another format"
        )
    n_docs, n_words, n_entries = map(whole_number, header.groups())
    return TripleFile(file, header.end(), n_docs, n_words, n_entries)


def _open_lda_c(files: Sequence[File], options: Options) -> PairsReader:
    """Without a vocabulary the files are read once more, for the largest id."""
    vocabulary, taken = vocabulary_beside(options.vocabulary, files[0])
    n_words = len(vocabulary) if vocabulary is not None else id_range(files)[1] + 1
    options = replace(options, vocabulary=vocabulary)
    return PairsReader("lda_c", options, files=tuple(files), width=n_words, base=0, counted=True, taken=taken)


def _open_svmlight(files: Sequence[File], options: Options) -> PairsReader:
    smallest, largest = id_range(files, options.vocabulary)
    base = 0 if smallest == 0 else 1
    n_words = max(0, largest - base + 1)
    vocabulary, taken = vocabulary_beside(options.vocabulary, files[0], n_words)
    n_words = n_words if vocabulary is None else len(vocabulary)
    options = replace(options, vocabulary=vocabulary)
    return PairsReader(
        "svmlight", options, files=tuple(files), width=n_words, base=base, counted=False, taken=taken
    )


def _is_matrix_market(file: File) -> float:
    if file.sample[:14].lower() == b"%%matrixmarket":
        return 0.95
    return 0.9 if file.name.lower().endswith(".mtx") else 0.0  # a wrong header gets a message


def _open_matrix_market(files: Sequence[File], options: Options) -> TriplesReader | matrix.MatrixReader:
    headers = [_read_market(file) for file in files]
    reader = open_triples("matrix_market", headers, options)
    if all(not header.dense and _ascending(header) for header in headers):
        return reader
    if len(files) > 1:
        raise InputError(
            f"{files[0].path} and others are written column by column or dense; give one such file at a time"
        )
    whole = matrix.open_reader(_whole(headers[0]), reader.options, name=files[0].path)
    return replace(whole, taken=reader.taken)


def _read_market(file: File) -> TripleFile:
    header = _MARKET.match(file.sample)
    if header is None:
        raise InputError(
            f"{file.path}: not a Matrix Market header ('%%MatrixMarket matrix coordinate integer general', comments, "
            "then 'rows columns entries'); correct it"
        )
    layout, field, symmetry, *sizes = header.groups()
    if field.lower() not in _FIELDS or symmetry.lower() != b"general":
        kind = b"%s %s" % (symmetry, field)
        raise InputError(
            f"{file.path} holds a {printable(kind.decode('utf-8', 'backslashreplace'))[:60]} matrix; documents x words "
            "must be general and integer, real or pattern"
        )
    if layout.lower() == b"array":
        n_docs, n_words = map(whole_number, sizes[:2])
        return TripleFile(file, header.end(), n_docs, n_words, n_docs * n_words, dense=True)
    if sizes[2] is None:
        raise InputError(f"{file.path}: the line of sizes must be 'rows columns entries'; correct the header")
    n_docs, n_words, n_entries = map(whole_number, sizes)
    return TripleFile(file, header.end(), n_docs, n_words, n_entries, has_count=field.lower() != b"pattern")


def _ascending(triples: TripleFile) -> bool:
    """Whether the entries sampled come document by document."""
    lines = triples.file.sample[triples.begin :].split(b"\n")
    complete = lines[:-1] if len(lines) > 1 else lines
    rows = [line.split()[0] for line in complete if line.strip()]
    if not all(row.isdigit() for row in rows):
        return True  # the parser says which line is wrong
    numbers = list(map(whole_number, rows))
    return numbers == sorted(numbers)


def read_transposed(file: File) -> Any:
    """The matrix of a file whose rows are words: a `csr_array` (documents, words), in memory.

    Raises
    ------
    InputError
    """
    header = _read_market(file)
    check_header([header], None)
    return _whole(header).T.tocsr()


def _whole(header: TripleFile) -> Any:
    from scipy.io import mmread
    from scipy.sparse import csr_array

    file = header.file
    _check_entries(header)
    with file.open() as stream:
        try:
            return csr_array(mmread(_Forward(stream), spmatrix=True))
        except OverflowError as error:
            raise InputError(
                f"{file.path}: {error} Integers are below 2^63; correct the entry, or the header, where 'real' "
                "instead of 'integer' allows larger ones"
            ) from None
        except (ValueError, MemoryError) as error:
            raise InputError(f"{file.path}: {error}; the file was cut short or its header is wrong") from None


class _Forward:
    """A stream without a position: SciPy would go back in it after an error, and the process ends when it cannot."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.read = stream.read


def _check_entries(header: TripleFile) -> None:
    """SciPy allocates what a header says: no more than what follows it can be."""
    size, n_lines = -header.begin, 0
    longer = re.compile(rb"^[ \t]*(?:[^\s]+[ \t]+){%d}[^\s]" % (3 if header.has_count else 2), re.MULTILINE)
    for chunk in pieces(header.file, whole=True):
        if not bytes(chunk.data[max(0, -size) :]).isascii():  # SciPy may crash
            raise InputError(
                f"{header.file.path} holds other bytes than numbers below its header; get it again"
            )
        wrong = None if header.dense else longer.search(chunk.data, max(0, -size))
        if wrong is not None:  # SciPy passes over the rest
            at = n_lines + chunk.data.count(b"\n", 0, wrong.start()) + 1
            raise InputError(
                f"{header.file.path}, line {at}: there are more numbers than document, word and count; correct the line"
            )
        n_lines += chunk.data.count(b"\n")
        size += len(chunk.data)
        if size > _IN_MEMORY:
            raise InputError(
                f"{header.file.path} is not sorted by documents and is longer than {_IN_MEMORY >> 20} MiB, too long "
                "to be read into memory; sort the lines below the header by their first number (sort -n -k1,1)"
            )
    shortest = 2 if header.dense else 4  # bytes: a digit for each number and what ends it
    if header.n_entries > size // shortest + 1:
        raise InputError(
            f"{header.file.path}: the header says {header.n_entries} entries, more than fit in the {size} bytes that "
            "follow it; the file was cut short or its header is wrong"
        )


FORMATS = {
    "bag_of_words": Format(_open_bag_of_words, match=_is_bag_of_words),
    "lda_c": Format(_open_lda_c, match=lambda file: 0.9 if counts_its_pairs(file) else 0.0),
    "svmlight": Format(_open_svmlight, match=lambda file: 0.8 if counts_its_pairs(file) is False else 0.0),
    "matrix_market": Format(_open_matrix_market, match=_is_matrix_market),
}
