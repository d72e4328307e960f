"""Matrix Market: `%%MatrixMarket matrix coordinate integer|real|pattern general`, comments, a line
"documents words entries", then lines "document word count", ids from 1.

Written row by row (gensim, scipy from CSR) it is read in pieces. Written column by column, or dense, documents are
scattered over the whole file, and it is read into memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bigtopic.corpus.readers._files import File
from bigtopic.corpus.readers._triples import TripleFile, TriplesReader, check_header
from bigtopic.corpus.readers.base import Options
from bigtopic.errors import InputError

__all__ = ["match", "open_reader"]

_HEADER = re.compile(
    rb"%%MatrixMarket\s+matrix\s+(coordinate|array)\s+(\w+)\s+(\S+)[^\n]*\n"
    rb"(?:[ \t]*(?:%[^\n]*)?\r?\n)*[ \t]*(\d+)[ \t]+(\d+)(?:[ \t]+(\d+))?[ \t\r]*(?:\n|\Z)",
    re.IGNORECASE,
)


def match(file: File) -> float:
    if file.sample[:14].lower() == b"%%matrixmarket":
        return 1.0
    return 0.9 if file.name.lower().endswith(".mtx") else 0.0  # the header is wrong, and is said to be


def open_reader(files: Sequence[File], options: Options) -> Any:
    headers = [_read_header(file) for file in files]
    if all(triples is not None and _ascending(triples) for triples in headers):
        triples = [header for header in headers if header is not None]
        check_header(triples, options.vocabulary)
        return TriplesReader("matrix_market", triples, options.vocabulary, options.weights)
    if len(files) > 1:
        raise InputError(
            f"{files[0].path} and others are written column by column or dense; give one such file at a time"
        )
    return _in_memory(files[0], options)


def _read_header(file: File) -> TripleFile | None:
    """The header, or None for a file that is not written entry by entry."""
    header = _HEADER.match(file.sample)
    if header is None:
        raise InputError(
            f"{file.path}: the header is not that of a Matrix Market file ('%%MatrixMarket matrix coordinate integer "
            "general', comments, then 'rows columns entries'); correct it"
        )
    layout, field, symmetry, *sizes = header.groups()
    if field.lower() == b"complex" or symmetry.lower() != b"general":
        raise InputError(
            f"{file.path} holds a {symmetry.decode()} {field.decode()} matrix; documents x words must be general and "
            "integer, real or pattern"
        )
    if layout.lower() == b"array":
        return None
    if sizes[2] is None:
        raise InputError(f"{file.path}: the line of sizes must be 'rows columns entries'; correct the header")
    n_docs, n_words, n_entries = map(int, sizes)
    return TripleFile(file, header.end(), n_docs, n_words, n_entries, has_count=field.lower() != b"pattern")


def _ascending(triples: TripleFile) -> bool:
    """Whether the entries sampled come document by document."""
    lines = triples.file.sample[triples.begin :].split(b"\n")
    complete = lines[:-1] if len(lines) > 1 else lines
    rows = [line.split()[0] for line in complete if line.strip()]
    if not all(row.isdigit() for row in rows):
        return True  # the parser says which line is wrong
    numbers = list(map(int, rows))
    return numbers == sorted(numbers)


def _in_memory(file: File, options: Options) -> Any:
    from scipy.io import mmread
    from scipy.sparse import csr_array

    from bigtopic.corpus.readers import matrix

    with file.open() as stream:
        try:
            read = mmread(stream, spmatrix=True)
        except (ValueError, OverflowError) as error:
            raise InputError(f"{file.path}: {error}; the file was cut short or its header is wrong") from None
    return matrix.open_reader(csr_array(read), options, name=file.path)
