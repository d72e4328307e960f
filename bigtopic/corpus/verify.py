"""Does the store hold what its manifest says?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from bigtopic.corpus.chunks import ChunkedArray, read_metadata
from bigtopic.corpus.part import PartView
from bigtopic.corpus.schema import CHUNK
from bigtopic.corpus.stored import StoredPart, read_any
from bigtopic.corpus.vocabulary import fingerprint_words
from bigtopic.corpus.writer import crc32_of
from bigtopic.errors import CorpusDamaged

if TYPE_CHECKING:
    from bigtopic.corpus.store import Corpus
__all__ = ["VerifyReport", "verify", "verify_part"]


@dataclass(frozen=True)
class VerifyReport:
    """What was read and found right."""

    n_parts: int
    n_arrays: int
    n_docs: int
    nnz: int


def verify(corpus: Corpus) -> VerifyReport:
    """See `Corpus.verify`. Of a view, the stored parts behind it are read whole."""
    parts = [part.base if isinstance(part, PartView) else part for part in corpus.parts]
    stored = [part for part in parts if isinstance(part, StoredPart)]
    n_arrays = sum(verify_part(part) for part in stored)
    _verify_vocabulary(corpus)
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
        path = f"{part.record.path}/{name}"
        crc = 0
        if read_metadata(part.root / path, f"{part.name}/{name}").text:
            crc = crc32_of(read_any(part.root, path))
        else:
            array = ChunkedArray(part.root / path, f"{part.name}/{name}")
            for start in range(0, len(array), 4 * CHUNK):
                crc = crc32_of(array[start : start + 4 * CHUNK], crc)
        if f"{crc:08x}" != expected:
            raise CorpusDamaged(
                f"{part.name}/{name} does not match the checksum in the manifest; "
                "restore the corpus from a copy, or ingest the source again"
            )
    fresh.read(0, 1)
    return len(part.record.crc32)


def _verify_vocabulary(corpus: Corpus) -> None:
    known = corpus.vocabulary
    if fingerprint_words(known.words, known.size) != known.fingerprint:
        raise CorpusDamaged(f"{corpus.url}: the words of the vocabulary do not match the manifest")
    if corpus.counted:
        df, tf = known.counted
        for name, found, expected in (
            ("document_frequency", df.sum(), corpus.nnz),
            ("frequency", tf.sum(), corpus.n_tokens),
        ):
            if not np.isclose(found, expected, rtol=1e-9):
                raise CorpusDamaged(f"{corpus.url}: {name} of the vocabulary sums to {found}, not {expected}")
