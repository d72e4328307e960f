"""UCI bag of words: `docword.NAME.txt` with three header lines (documents, words, entries), then lines
"document word count", ids from 1. The words are in `vocab.NAME.txt` beside it (see `vocabulary_names`), one per line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.support.claims import whole_number
from bigtopic.corpus.readers.support.triples import TripleFile, TriplesReader, check_header
from bigtopic.corpus.readers.support.vocabulary import vocabulary_beside
from bigtopic.errors import InputError

__all__ = ["match", "open_reader"]

_HEADER = re.compile(rb"\s*(\d+)[ \t\r]*\n\s*(\d+)[ \t\r]*\n\s*(\d+)[ \t\r]*(?:\n|\Z)")


def match(file: File) -> float:
    """The header is three lines of one number each, followed by a line of three."""
    header = _HEADER.match(file.sample)
    if header is None:
        return 0.0
    line = file.sample[header.end() :].lstrip().split(b"\n")[0]
    return 0.9 if len(line.split()) == 3 or header.end() == len(file.sample) else 0.0


def open_reader(files: Sequence[File], options: Options) -> TriplesReader:
    triples = [_read_header(file) for file in files]
    vocabulary, taken = vocabulary_beside(options.vocabulary, files[0], triples[0].n_words)
    check_header(triples, vocabulary)
    return TriplesReader("bag_of_words", triples, vocabulary, options.weights, taken=taken)


def _read_header(file: File) -> TripleFile:
    header = _HEADER.match(file.sample)
    if header is None:
        raise InputError(
            f"{file.path}, line 1: a bag-of-words file begins with three lines of one whole number each (documents, "
            "words, entries); correct the header or force another format"
        )
    n_docs, n_words, n_entries = map(whole_number, header.groups())
    return TripleFile(file, header.end(), n_docs, n_words, n_entries)
