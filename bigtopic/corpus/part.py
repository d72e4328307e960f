"""Parts: the unit of storage, and views of them. A part is picklable and light; documents are read on demand."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from bigtopic.corpus.blocks import concatenate, document_tokens, empty_block, map_words, take
from bigtopic.types import Block

__all__ = ["Part", "PartView", "Selection"]

ENTRIES_AT_ONCE = 1 << 20  # entries decoded at a time for a scattered selection
Selection = range | np.ndarray


class Part(Protocol):
    """Documents of a corpus that are stored together, or a view of them. Positions count from 0 within the part.

    Attributes
    ----------
    name : where it is, for messages
    n_docs, nnz : documents and entries (distinct words of documents, summed)
    n_tokens : sum of the counts
    n_bytes : on disk or in memory; of a view, its share of the documents
    fingerprint : equal for equal contents
    has_text : whether the documents' text was kept
    """

    @property
    def name(self) -> str: ...
    @property
    def n_docs(self) -> int: ...
    @property
    def nnz(self) -> int: ...
    @property
    def n_tokens(self) -> float: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def has_text(self) -> bool: ...

    def read(self, start: int, stop: int) -> Block:
        """Documents at positions `start` to `stop`, in stored order."""

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Source rows, int64 (n,)."""

    def entries(self, start: int, stop: int) -> np.ndarray:
        """Entries of each document, int64 (n,)."""

    def tokens(self, start: int, stop: int) -> np.ndarray:
        """Tokens of each document, float64 (n,)."""

    def ids(self, start: int, stop: int) -> np.ndarray:
        """Document ids, object (n,) of str; the source rows as strings when the source had no ids."""

    def columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        """Further columns by name, each (n,)."""

    def texts(self, start: int, stop: int) -> np.ndarray:
        """Texts of the documents, object (n,) of str; "" where they were not kept."""


@dataclass(frozen=True, eq=False)
class PartView:
    """Some documents of a part, with some of its words.

    Parameters
    ----------
    base : a part that is stored
    documents : positions in `base`, ascending: a range, or int32 (n_docs,)
    word_map : new id of each word, int32 (n_words,), rising, but -1 for words that are dropped; None for the same ids
    """

    base: Part
    documents: Selection
    word_map: np.ndarray | None = None

    @classmethod
    def of(cls, part: Part, documents: Selection | None = None, word_map: np.ndarray | None = None) -> Part:
        """A view of a part or of a view; never a view of a view."""
        if documents is None:
            documents = range(part.n_docs)
        if isinstance(part, PartView):
            chosen: Selection
            if isinstance(documents, range):
                chosen = part.documents[documents.start : documents.stop]
            elif isinstance(part.documents, range):
                chosen = documents + np.int32(part.documents.start)
            else:
                chosen = part.documents[documents]
            first = part.word_map
            if first is not None:
                word_map = first if word_map is None else np.where(first < 0, np.int32(-1), word_map[first])
            return cls(part.base, chosen, word_map)
        if word_map is None and isinstance(documents, range) and len(documents) == part.n_docs:
            return part
        return cls(part, documents, word_map)

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def n_docs(self) -> int:
        return len(self.documents)

    # Exact figures cost reading the document lengths or, with a word map, one pass.
    @cached_property
    def nnz(self) -> int:
        return int(self.entries(0, self.n_docs).sum())

    @cached_property
    def n_tokens(self) -> float:
        return float(self.tokens(0, self.n_docs).sum())

    @property
    def n_bytes(self) -> int:
        return self.base.n_bytes * self.n_docs // max(self.base.n_docs, 1)

    @property
    def fingerprint(self) -> str:
        if isinstance(self.documents, range):
            chosen = f"{self.documents.start}:{self.documents.stop}"
        else:
            chosen = f"{len(self.documents)}#{zlib.crc32(self.documents.tobytes()):08x}"
        words = "" if self.word_map is None else f"/{zlib.crc32(self.word_map.tobytes()):08x}"
        return f"{self.base.fingerprint}[{chosen}]{words}"

    @property
    def has_text(self) -> bool:
        return self.base.has_text

    def read(self, start: int, stop: int) -> Block:
        block = self._read(self.documents[start:stop])
        return block if self.word_map is None else map_words(block, self.word_map)

    def _read(self, chosen: Selection) -> Block:
        if isinstance(chosen, range):
            return self.base.read(chosen.start, chosen.stop)
        if not len(chosen):
            return self.base.read(0, 0)
        pieces = []
        for near in _together(self.base, chosen):
            first = int(near[0])
            pieces.append(take(self.base.read(first, int(near[-1]) + 1), near - first))
        return concatenate(pieces)

    def rows(self, start: int, stop: int) -> np.ndarray:
        return self._gather(self.base.rows, start, stop)

    def ids(self, start: int, stop: int) -> np.ndarray:
        return self._gather(self.base.ids, start, stop)

    def columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        def column(name: str) -> np.ndarray:
            return self._gather(lambda a, b: self.base.columns([name], a, b)[name], start, stop)

        return {name: column(name) for name in names}

    def texts(self, start: int, stop: int) -> np.ndarray:
        """Of scattered documents only the chunks that hold them are read."""
        chosen = np.asarray(self.documents[start:stop])
        runs = np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1)
        found = [self.base.texts(int(run[0]), int(run[-1]) + 1) for run in runs if len(run)]
        return np.concatenate(found) if found else np.zeros(0, object)

    def entries(self, start: int, stop: int) -> np.ndarray:
        if self.word_map is None:
            return self._gather(self.base.entries, start, stop)
        return self._by_block(lambda block: np.diff(block.indptr), start, stop)

    def tokens(self, start: int, stop: int) -> np.ndarray:
        if self.word_map is None:
            return self._gather(self.base.tokens, start, stop)
        return self._by_block(document_tokens, start, stop)

    def _by_block(self, figure, start: int, stop: int) -> np.ndarray:
        cuts = [*range(start, min(stop, self.n_docs), 8192), min(stop, self.n_docs)]
        pieces = [figure(self.read(a, b)) for a, b in pairwise(cuts)]
        return np.concatenate(pieces) if pieces else figure(empty_block())

    def _gather(self, read, start: int, stop: int) -> np.ndarray:
        chosen = self.documents[start:stop]
        if isinstance(chosen, range):
            return read(chosen.start, chosen.stop)
        if not len(chosen):
            return read(0, 0)
        first = int(chosen[0])
        return read(first, int(chosen[-1]) + 1)[chosen - first]


def _together(part: Part, chosen: np.ndarray) -> list[np.ndarray]:
    """The positions that are read together: from first to last of them are about `ENTRIES_AT_ONCE` entries.

    So scattered ones are read in bounded memory, and no chunk is decoded more than twice.
    """
    first, last = int(chosen[0]), int(chosen[-1])
    ends = np.cumsum(part.entries(first, last + 1))
    number = ends[chosen - first] // ENTRIES_AT_ONCE
    return np.split(chosen, np.flatnonzero(np.diff(number)) + 1)
