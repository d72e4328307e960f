"""Duplicates: documents whose ids a corpus has already, found where a source is parsed, before its words are counted.

An id stands for its BLAKE2b of 16 bytes, which no two texts share in practice, so that the ids of ten million documents
are 160 MB. Only ids that documents were given count: where a part or a source has none, nothing is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from bigtopic.corpus.blocks import RawBlock, take_authors, take_segments
from bigtopic.corpus.columns import Cells
from bigtopic.corpus.stored.manifest import Manifest
from bigtopic.corpus.stored.schema import STRING_CHUNK
from bigtopic.corpus.stored.stored_part import StoredPart, stored_parts
from bigtopic.errors import InputError, argument, either
from bigtopic.ingestion.spill import Spilled, spill
from bigtopic.storage.place import Place

__all__ = ["ON_DUPLICATE", "KnownIds", "digests", "ids_in_store", "positions_of"]

ON_DUPLICATE = ("error", "skip", "replace")
_SIZE = 16
_NONE = np.zeros(0, f"S{_SIZE}")


def digests(ids: Iterable[str]) -> np.ndarray:
    """What stands for each id: S16 (n,)."""
    found = b"".join(
        [blake2b(one.encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest() for one in ids]
    )
    return np.frombuffer(found, f"S{_SIZE}")


@dataclass(frozen=True)
class KnownIds:
    """The ids of a corpus in a scratch file, ascending, and what happens to a document that has one of them.

    corpus : its URL, for messages
    """

    ids: Spilled
    on_duplicate: str
    corpus: str

    def checked(self, block: RawBlock) -> tuple[RawBlock, np.ndarray]:
        """The documents to store, and the digests of the ids that the corpus has.

        Raises
        ------
        InputError
            Naming the first of them, if they are to be refused.
        """
        if block.ids is None:
            return block, _NONE
        known, own = self.ids.read_once("ids"), digests(block.ids)
        there = known[np.minimum(np.searchsorted(known, own), len(known) - 1)] == own
        if not there.any():
            return block, _NONE
        if self.on_duplicate == "error":
            raise InputError(
                f"{self.corpus} has a document {block.ids[int(np.argmax(there))]!r} already; to leave such documents "
                f"out, pass {argument('on_duplicate', 'skip')}; to replace the stored ones, pass "
                f"{argument('on_duplicate', 'replace')}; or give other ids{either(' with ids=', '')}"
            )
        return (_chosen(block, ~there) if self.on_duplicate == "skip" else block), own[there]


def ids_in_store(root: Place, manifest: Manifest, scratch: Place, on_duplicate: str) -> KnownIds | None:
    """The ids of a corpus; None if its documents have none."""
    parts = [part for part in stored_parts(root, manifest, "ids") if part.has_ids]
    if not parts:
        return None
    known, done = np.empty(sum(part.n_docs for part in parts), f"S{_SIZE}"), 0
    for part in parts:
        for start, ids in _pieces(part):
            known[done + start : done + start + len(ids)] = digests(ids)
        done += part.n_docs
    known.sort()
    return KnownIds(spill(scratch / "ids", {"ids": known}), on_duplicate, root.url)


def positions_of(part: StoredPart, gone: np.ndarray) -> np.ndarray:
    """Mask (n_docs,) of the documents whose ids have one of these digests."""
    there = np.zeros(part.n_docs, bool)
    for start, ids in _pieces(part):
        there[start : start + len(ids)] = np.isin(digests(ids), gone)
    return there


def _pieces(part: StoredPart) -> Iterator[tuple[int, list[str]]]:
    """The ids that its documents were given, a chunk at a time, and where each chunk begins."""
    for start in range(0, part.n_docs if part.has_ids else 0, STRING_CHUNK):
        yield start, part.ids(start, min(start + STRING_CHUNK, part.n_docs)).tolist()


def _chosen(block: RawBlock, keep: np.ndarray) -> RawBlock:
    """Some documents of a block; its words and authors stay, whether they occur or not."""
    where = np.flatnonzero(keep)
    indptr, entries = take_segments(block.indptr, where)
    author_indptr, authors = take_authors(block, where)
    return replace(
        block,
        indptr=indptr,
        words=block.words[entries],
        counts=block.counts[entries],
        ids=None if block.ids is None else [block.ids[i] for i in where.tolist()],
        columns={name: _taken(values, where) for name, values in block.columns.items()},
        author_indptr=author_indptr,
        authors=authors,
        texts=None if block.texts is None else [block.texts[i] for i in where.tolist()],
        rows=None if block.rows is None else block.rows[where],
    )


def _taken(values: np.ndarray | Cells, where: np.ndarray) -> np.ndarray | Cells:
    return Cells(values.texts[where], values.kinds) if isinstance(values, Cells) else values[where]
