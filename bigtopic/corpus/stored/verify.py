"""Check that a store holds what its manifest says."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from uuid import uuid4

import numpy as np

from bigtopic.corpus.blocks import document_tokens
from bigtopic.corpus.documents import DocumentsInParts
from bigtopic.corpus.part import ENTRIES_AT_ONCE, PartView
from bigtopic.corpus.stored.schema import CHUNK
from bigtopic.corpus.stored.stored_arrays import read_any
from bigtopic.corpus.stored.stored_part import StoredPart
from bigtopic.corpus.stored.writer import crc32_of
from bigtopic.corpus.vocabulary import Vocabulary, fingerprint_words
from bigtopic.errors import CorpusDamaged
from bigtopic.storage.chunks import REMEDY, ChunkedArray, read_metadata

__all__ = ["VerifyReport", "verify", "verify_part"]


@dataclass(frozen=True)
class VerifyReport:
    """The figures of what was read and found correct."""

    n_parts: int
    n_arrays: int
    n_docs: int
    nnz: int


def verify(corpus: DocumentsInParts) -> VerifyReport:
    """See `Corpus.verify`. Of a view, the stored parts behind it are read whole."""
    parts = [part.base if isinstance(part, PartView) else part for part in corpus.parts]
    stored = [part for part in parts if isinstance(part, StoredPart)]
    n_arrays = sum(verify_part(part) for part in stored)
    for part in stored:
        _verify_documents(part)
    _verify_rows(stored)
    _verify_vocabulary(corpus)
    if corpus.author_vocabulary is not None:
        _verify_names(corpus, corpus.author_vocabulary, "the names of the authors")
    return VerifyReport(
        len(parts), n_arrays, sum(part.n_docs for part in parts), sum(part.nnz for part in parts)
    )


def verify_part(part: StoredPart) -> int:
    """Read every chunk of a part afresh and compare checksums; returns the number of arrays.

    Raises
    ------
    CorpusDamaged
        Names the array.
    """
    fresh = replace(part, session=uuid4().hex)
    for name, expected in part.record.crc32.items():
        path = part.record.path_of(name)
        what, crc = f"{part.root.url}/{path}", 0
        if read_metadata(part.root / path, what).text:
            crc = crc32_of(read_any(part.root, path))
        else:
            array = ChunkedArray(part.root / path, what)
            for start in range(0, len(array), 4 * CHUNK):
                crc = crc32_of(array[start : start + 4 * CHUNK], crc)
        if f"{crc:08x}" != expected:
            raise CorpusDamaged(f"{what} does not match the checksum in the manifest; {REMEDY}")
    fresh.read(0, 1)
    return len(part.record.crc32)


def _verify_documents(part: StoredPart) -> None:
    """Check that word ids ascend within each document, and its counts add up to its tokens."""
    step = max(1, ENTRIES_AT_ONCE * part.n_docs // max(part.nnz, 1))
    for start in range(0, part.n_docs, step):
        block = part.read(start, start + step)
        falls = block.words[1:] <= block.words[:-1]
        begins = block.indptr[(block.indptr > 0) & (block.indptr < len(block.words))]
        falls[begins - 1] = False  # the first word of a document has no predecessor
        if falls.any():
            document = np.searchsorted(block.indptr, np.flatnonzero(falls)[0], "right") - 1
            raise CorpusDamaged(
                f"{part.name}/X/indices: the words of document {start + document} are not in ascending order; {REMEDY}"
            )
        wrong = ~np.isclose(document_tokens(block), part.tokens(start, start + step), rtol=1e-9, atol=0)
        if wrong.any():
            raise CorpusDamaged(
                f"{part.name}/obs/n_tokens: the counts of document {start + np.flatnonzero(wrong)[0]} add up to "
                f"another number; {REMEDY}"
            )


def _verify_rows(parts: Sequence[StoredPart]) -> None:
    """Check that no two documents have the same source row."""
    rows = np.sort(np.concatenate([part.rows(0, part.n_docs) for part in parts])) if parts else np.empty(0)
    twice = rows[1:][rows[1:] == rows[:-1]]
    if len(twice):
        raise CorpusDamaged(f"{parts[0].root.url}: obs/source_row has {twice[0]} more than once; {REMEDY}")


def _verify_vocabulary(corpus: DocumentsInParts) -> None:
    known = _verify_names(corpus, corpus.vocabulary, "the words of the vocabulary")
    if corpus.counted:
        df, tf = known.counted
        for name, found, expected in (
            ("document_frequency", df.sum(), corpus.nnz),
            ("frequency", tf.sum(), corpus.n_tokens),
        ):
            if not np.isclose(found, expected, rtol=1e-9):
                raise CorpusDamaged(f"{corpus.url}: {name} of the vocabulary sums to {found}, not {expected}")


def _verify_names(corpus: DocumentsInParts, names: Vocabulary, what: str) -> Vocabulary:
    """Check the fingerprint of words or author names; returns them as they are read now."""
    fresh = copy(names)  # without the arrays that the store can give again
    if fingerprint_words(fresh.words, fresh.size) != names.fingerprint:
        raise CorpusDamaged(f"{corpus.url}: {what} do not match the manifest; {REMEDY}")
    return fresh
