"""Postings: the documents that hold each word, indexed once per corpus, for the coherence of many models.

The index is one file: 64 bytes that say what it is and of which corpus, where each word's documents begin, int64
(n_words + 1,), and the documents as positions in stored order, uint32 (entries,), ascending for each word. It is
filled in two passes over the corpus in blocks, and read as a memory map: the system keeps in memory what it has room
for.

To ask for a topic, each of its n top words sets a bit for each of its documents, and pairs are counted by the bits that
two words share: documents of the words + n^2 / 128 documents of the corpus operations, n / 8 bytes for each document.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.cooccurrence import Counts, State
from bigtopic.evaluation.subject import CorpusOrPath, checked_threads, documents_of
from bigtopic.kernels.support.entry import frozen
from bigtopic.storage.local import store_errors
from bigtopic.storage.output_file import check_replaceable, output_file
from bigtopic.storage.place import Place

__all__ = ["Postings", "index"]

_MAGIC = b"bigtopic postings 1".ljust(32)
_HEAD = 64  # bytes: what it is, and the corpus' fingerprint
_LARGEST = np.iinfo(np.uint32).max


@dataclass(frozen=True, eq=False)
class Postings:
    """The documents that hold each word of a corpus. Made by `index`; pass it to `coherence` in the corpus' place.

    Attributes
    ----------
    corpus : the documents
    path : the file
    starts : int64 (n_words + 1,); word w is in documents[starts[w] : starts[w + 1]]
    documents : uint32 (entries,), positions in stored order, read from the file when used
    """

    corpus: Corpus
    path: str
    starts: np.ndarray
    documents: np.ndarray

    def counts(self, state: State, n_threads: int | None = None) -> Counts:
        """How often top words occur together, see `bigtopic.evaluation.cooccurrence`; equal to the counts of a pass."""
        ids = np.full(state.shape, -1, np.int64)
        ids.flat[state.places] = np.repeat(np.arange(len(state.first) - 1), np.diff(state.first))
        parts = np.array_split(ids, checked_threads(n_threads))
        with ThreadPoolExecutor(len(parts)) as pool:
            return Counts(np.concatenate([*pool.map(self._counted, parts)]), self.corpus.n_docs)

    def _counted(self, ids: np.ndarray) -> np.ndarray:
        from bigtopic.evaluation._kernels import count_postings

        n_top = ids.shape[1]
        pairs = np.zeros((len(ids), n_top, n_top), np.int64)
        bits = np.zeros((n_top, -(-self.corpus.n_docs // 64)), np.uint64)
        count_postings(self.starts, self.documents, frozen(ids, np.int64), bits, pairs)
        return pairs

    def __repr__(self) -> str:
        return f"Postings({self.path}: {len(self.documents):,} entries of {self.corpus!r})"


def index(corpus: CorpusOrPath, path: str | PathLike[str]) -> Postings:
    """The postings of a corpus, from the file at a path; it is written if it is not there, or not of these documents.

    A file is complete or absent. It takes 4 bytes for each entry of the corpus, 8 for each word.

    Parameters
    ----------
    corpus : any documents, or the path of their corpus
    path : a local file

    Raises
    ------
    SettingError
        When the path is not local, or the corpus has more than 4 billion documents.
    StoreError
        When there is something else at the path, or the system refuses a write.
    """
    corpus, place = documents_of(corpus), Place.of(path)
    if not place.local:
        raise SettingError(
            f"{argument('path', str(path))}: an index is read from a local file; give its path"
        )
    if corpus.n_docs > _LARGEST:
        raise SettingError(f"{argument('corpus')}: an index has at most {_LARGEST:,} documents")
    head = _MAGIC + corpus.fingerprint.encode()

    def check() -> None:
        check_replaceable(place, (_MAGIC,), "an index of postings")

    check()
    while (
        found := _read(place.url, head, corpus.n_words)
    ) is None:  # or another process has put its own there
        with output_file(place, check) as draft:
            _write(corpus, draft.url, head)
    return Postings(corpus, place.url, *found)


def _read(path: str, head: bytes, n_words: int) -> tuple[np.ndarray, np.ndarray] | None:
    """`starts` and `documents` of a file with this head that is as long as it says; None if there is none."""
    with (
        store_errors("read", path, FileNotFoundError),
        suppress(FileNotFoundError),
        Path(path).open("rb") as file,
    ):
        if file.read(_HEAD) != head:
            return None
        starts = np.fromfile(file, "<i8", n_words + 1)
        ascend = len(starts) == n_words + 1 and starts[0] == 0 and (np.diff(starts) >= 0).all()
        if ascend and os.fstat(file.fileno()).st_size == _HEAD + starts.nbytes + 4 * int(starts[-1]):
            return starts, _documents(file, starts, "r")
    return None


def _write(corpus: Corpus, path: str, head: bytes) -> None:
    from bigtopic.evaluation._kernels import fill_postings

    df = np.zeros(corpus.n_words, np.int64)
    for block in corpus.blocks():
        df += np.bincount(block.words, minlength=corpus.n_words)
    starts = np.concatenate([[0], np.cumsum(df)])
    with Path(path).open("wb") as file:
        file.write(head)
        file.write(starts.astype("<i8").tobytes())
        left = 4 * int(starts[-1])
        while left:  # written, because a full disk is an error here, but ends the process when a map finds it
            left -= file.write(bytes(min(left, 1 << 24)))
    documents = _documents(path, starts, "r+")
    after, first = starts[:-1].copy(), 0
    for block in corpus.blocks():
        indptr, words = frozen(block.indptr, np.int64), frozen(block.words, np.int32)
        fill_postings(indptr, words, first, after, documents)
        first += block.n_docs


def _documents(file: Any, starts: np.ndarray, mode: Any) -> np.ndarray:
    """`documents` of a file, which is open or given by its path."""
    n_entries = int(starts[-1])
    if not n_entries:
        return np.zeros(0, np.uint32)
    return np.memmap(file, "<u4", mode, _HEAD + starts.nbytes, (n_entries,)).view(np.ndarray)
