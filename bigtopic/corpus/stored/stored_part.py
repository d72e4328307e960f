"""Parts and names on disk: opened where they are used, and checked then: type, length, chunks."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from bigtopic.corpus.columns import absent, array_name, converted, kinds_of
from bigtopic.corpus.stored.manifest import Manifest, NameList, PartRecord, read_manifest
from bigtopic.corpus.stored.schema import TYPES
from bigtopic.corpus.vocabulary import Vocabulary, fingerprint_words, word_array
from bigtopic.errors import CorpusDamaged
from bigtopic.storage.chunks import REMEDY, ChunkedArray, read_metadata, read_strings, remedy_of_missing
from bigtopic.storage.json_rules import LARGEST
from bigtopic.storage.place import Place
from bigtopic.types import Block

__all__ = [
    "StoredNames",
    "StoredPart",
    "read_any",
    "stored_kinds",
    "stored_names",
    "stored_parts",
    "typed_array",
]

# Parts a process keeps open, each with 16 bytes a document and a few decoded chunks: one for every thread that reads.
OPEN_PARTS = max(4, (os.cpu_count() or 1) + 2)


@dataclass(frozen=True)
class StoredPart:
    """A part of a stored corpus. Pickles to a few hundred bytes and opens its arrays where it is used.

    `session` tells one opening of a corpus from the next, so that nothing kept from an old one is used for a store
    that was replaced since.
    """

    root: Place
    record: PartRecord
    n_words: int
    n_authors: int
    n_rows: int
    column_types: Mapping[str, str]
    session: str

    def __hash__(self) -> int:
        return hash((self.root.url, self.record.path, self.session))

    @property
    def name(self) -> str:
        return f"{self.root.url}/{self.record.path}"

    @property
    def n_docs(self) -> int:
        return self.record.n_docs

    @property
    def nnz(self) -> int:
        return self.record.nnz

    @property
    def n_tokens(self) -> float:
        return self.record.n_tokens

    @property
    def n_bytes(self) -> int:
        return self.record.n_bytes

    @property
    def has_text(self) -> bool:
        return self.record.has_text

    @property
    def has_ids(self) -> bool:
        """Whether its documents were given ids."""
        return self.has("obs/document_id")

    def has(self, array: str) -> bool:
        """Whether an array is there."""
        return array in self.record.crc32

    @property
    def fingerprint(self) -> str:
        crc = "".join(self.record.crc32[name] for name in sorted(self.record.crc32))
        return f"{self.n_docs}-{self.nnz}-{crc}"

    def read(self, start: int, stop: int) -> Block:
        return _open(self).read(start, stop)

    def rows(self, start: int, stop: int) -> np.ndarray:
        return _open(self).rows[start:stop]

    def entries(self, start: int, stop: int) -> np.ndarray:
        return np.diff(_open(self).indptr[start : max(start, min(stop, self.n_docs)) + 1])

    def tokens(self, start: int, stop: int) -> np.ndarray:
        return self._checked("obs/n_tokens", _open(self).array("obs/n_tokens", self.n_docs)[start:stop], 0)

    def ids(self, start: int, stop: int) -> np.ndarray:
        if not self.has_ids:
            return word_array([str(row) for row in self.rows(start, stop).tolist()])
        return read_any(self.root, f"{self.record.path}/obs/document_id", start, stop, self.n_docs, text=True)

    def columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        return {name: self._column(name, start, stop) for name in names}

    def _column(self, name: str, start: int, stop: int) -> np.ndarray:
        """In the corpus's type; "" or NaN when another part has the column and this one not."""
        dtype, path = self.column_types[name], f"obs/{array_name(name)}"
        if not self.has(path):
            return absent(len(self.rows(start, stop)), dtype)  # not as many as a manifest claims
        values = read_any(self.root, f"{self.record.path}/{path}", start, stop, self.n_docs)
        if values.dtype == object and dtype != "string":
            raise CorpusDamaged(f"{self.name}/{path} holds strings, but the manifest says {dtype}; {REMEDY}")
        return converted(values, dtype)

    def texts(self, start: int, stop: int) -> np.ndarray:
        if not self.has_text:
            return np.full(len(self.rows(start, stop)), "", object)
        return _open(self).texts(start, stop)

    def _checked(self, array: str, values: np.ndarray, least: float, below: float = np.inf) -> np.ndarray:
        """Values that no writer writes are a damaged chunk, or one that Zarr filled in."""
        if len(values) and not (values.min() >= least and values.max() < below):
            raise CorpusDamaged(
                f"{self.name}/{array} holds values outside {least} .. {below}: a chunk is missing or damaged; {REMEDY}"
            )
        return values


class _OpenPart:
    """The arrays of a part, with the index of its documents in memory."""

    def __init__(self, part: StoredPart) -> None:
        self._part = part
        self.words = self.array("X/indices", part.nnz)
        self.counts = self.array("X/data", part.nnz)
        self.indptr = _offsets(part, "X/indptr", part.nnz)
        rows = self.array("obs/source_row", part.n_docs)[:]
        self.rows = part._checked("obs/source_row", rows, 0, part.n_rows)
        self.authors: ChunkedArray | None = None
        if "authors/indices" in part.record.crc32:
            self.authors = self.array("authors/indices", None)
            self.author_indptr = _offsets(part, "authors/indptr", len(self.authors))
        elif part.n_authors:  # another part has authors, this one not
            self.author_indptr = np.zeros(part.n_docs + 1, np.int64)

    def array(self, name: str, size: int | None) -> ChunkedArray:
        return typed_array(self._part.root, self._part.record.path_of(name), size)

    def read(self, start: int, stop: int) -> Block:
        part = self._part
        start, stop, _ = slice(start, stop).indices(part.n_docs)
        stop = max(start, stop)
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        author_indptr = authors = None
        if part.n_authors:
            a, b = int(self.author_indptr[start]), int(self.author_indptr[stop])
            author_indptr = self.author_indptr[start : stop + 1] - a
            authors = np.zeros(0, np.int32) if self.authors is None else self.authors[a:b]
            authors = part._checked("authors/indices", authors, 0, part.n_authors)
        return Block(
            self.indptr[start : stop + 1] - first,
            part._checked("X/indices", self.words[first:last], 0, part.n_words),
            part._checked("X/data", self.counts[first:last], np.nextafter(np.float32(0), np.float32(1))),
            self.rows[start:stop],
            author_indptr,
            authors,
        )

    @cached_property
    def _text(self) -> tuple[ChunkedArray, np.ndarray]:
        """UTF-8, one document after the other, and the offsets of all documents."""
        utf8 = self.array("text/utf8", None)
        return utf8, _offsets(self._part, "text/indptr", len(utf8))

    def texts(self, start: int, stop: int) -> np.ndarray:
        start, stop, _ = slice(start, stop).indices(self._part.n_docs)
        utf8, indptr = self._text
        cuts = indptr[start : max(start, stop) + 1]
        data = utf8[int(cuts[0]) : int(cuts[-1])].tobytes()
        try:
            return word_array([data[a:b].decode() for a, b in pairwise((cuts - cuts[0]).tolist())])
        except UnicodeDecodeError as error:
            raise CorpusDamaged(f"{self._part.name}/text/utf8 is not UTF-8 ({error}); {REMEDY}") from error


def _offsets(part: StoredPart, name: str, last: int) -> np.ndarray:
    """Where the entries of each document begin and end, int64 (n_docs + 1,)."""
    indptr = typed_array(part.root, part.record.path_of(name), part.n_docs + 1)[:]
    part._checked(name, np.diff(indptr), 0)
    if indptr[0] != 0 or indptr[-1] != last:
        raise CorpusDamaged(f"{part.name}/{name} runs from {indptr[0]} to {indptr[-1]}, not 0 to {last}")
    return indptr


_open = lru_cache(OPEN_PARTS)(_OpenPart)


def stored_parts(root: Place, manifest: Manifest, session: str) -> list[StoredPart]:
    """The parts of a manifest; for `session` see `StoredPart`."""
    n_words, n_authors = manifest.vocabulary.size, 0 if manifest.authors is None else manifest.authors.size
    return [
        StoredPart(root, record, n_words, n_authors, manifest.n_rows, manifest.columns, session)
        for record in manifest.parts
    ]


def stored_kinds(root: Place, manifest: Manifest, names: Sequence[str]) -> dict[str, frozenset[str]]:
    """The kinds (`bigtopic.corpus.columns`) of the values in some columns; one part is in memory at a time."""
    kinds: dict[str, frozenset[str]] = {}
    for part in stored_parts(root, manifest, "kinds") if names else ():
        for name, values in part.columns(names, 0, part.n_docs).items():
            kinds[name] = kinds.get(name, frozenset()) | kinds_of(values)
    return kinds


@dataclass(frozen=True)
class StoredNames:
    """Loads the arrays of a vocabulary, or of author names, when they are needed.

    An append replaces them by longer ones: in a corpus opened before it, the first `size` words stay the same, and
    frequencies are the current ones.
    """

    root: Place
    names: NameList

    def load(self, name: str) -> np.ndarray | None:
        """The array, or None for the frequencies of authors, which are not stored."""
        if name != "words" and self.names.path.startswith("authors/"):
            return None
        try:
            return self._read(self.names, name)
        except CorpusDamaged:
            now = self._replaced_by()
            if now is None:
                raise
            return self._read(now, name)[: self.names.size]

    def _read(self, names: NameList, name: str) -> np.ndarray:
        path = f"{names.path}/{name}"
        if name == "words":
            return read_any(self.root, path, size=names.size, text=True)
        values = typed_array(self.root, path, names.size)[:]
        most = LARGEST if values.dtype.kind == "i" else sys.float_info.max
        if len(values) and not (values.min() >= 0 and values.max() <= most):
            raise CorpusDamaged(f"{self.root.url}/{path} holds values that are not counts; {REMEDY}")
        return values

    def _replaced_by(self) -> NameList | None:
        """The names that took the place of these since, if these are still the first of them."""
        manifest = read_manifest(self.root)
        folder = self.names.path.split("/")[0]
        now = manifest.vocabulary if folder == "vocabulary" else manifest.authors
        if now is None or now.path == self.names.path or now.size < self.names.size:
            return None
        words = self._read(now, "words")[: self.names.size] if now.named else None
        same = fingerprint_words(words, self.names.size) == self.names.fingerprint
        return now if same else None


def stored_names(root: Place, names: NameList) -> Vocabulary:
    """A vocabulary, or author names, whose arrays are read when they are needed."""
    return Vocabulary.stored(StoredNames(root, names), names.size, names.named, names.fingerprint)


def typed_array(root: Place, path: str, size: int | None) -> ChunkedArray:
    """An array of numbers of the format, which must have the type that belongs to its name, and this many values.

    Raises
    ------
    CorpusDamaged
        When it is missing, or is another array.
    """
    what = f"{root.url}/{path}"
    array = ChunkedArray(root / path, what)
    _check_length(what, array.shape, size)
    expected = TYPES[path.rpartition("/")[2]]
    if array.dtype != np.dtype(expected):
        raise CorpusDamaged(f"{what} has the type {array.dtype}, but must have {expected}; {REMEDY}")
    return array


def _check_length(what: str, shape: tuple[int, ...], size: int | None) -> None:
    if len(shape) != 1:
        raise CorpusDamaged(f"{what} has {len(shape)} dimensions, but must have one; {REMEDY}")
    if size is not None and shape[0] != size:
        raise CorpusDamaged(f"{what} has {shape[0]} values, but the manifest says {size}; {REMEDY}")


def read_any(
    root: Place,
    path: str,
    start: int | None = None,
    stop: int | None = None,
    size: int | None = None,
    text: bool = False,
) -> np.ndarray:
    """Part of a one-dimensional array of any type; strings come as objects.

    Parameters
    ----------
    size : values that the array must have, if that is known
    text : whether it must hold strings

    Raises
    ------
    CorpusDamaged
        When the array or one of its chunks is missing or damaged.
    """
    what = f"{root.url}/{path}"
    metadata = read_metadata(root / path, what)
    _check_length(what, metadata.shape, size)
    if not metadata.text:
        if text:
            raise CorpusDamaged(f"{what} holds numbers, but must hold strings; {REMEDY}")
        return ChunkedArray(root / path, what)[slice(start, stop)]
    start, stop, _ = slice(start, stop).indices(metadata.shape[0])
    try:
        return read_strings(root / path, metadata, start, stop)
    except (FileNotFoundError, ValueError, MemoryError) as error:
        remedy = remedy_of_missing() if isinstance(error, FileNotFoundError) else REMEDY
        raise CorpusDamaged(f"{what} is missing or damaged ({error}); {remedy}") from error
