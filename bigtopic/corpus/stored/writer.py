"""Writing parts and names, and verifying them against their manifest.

Everything written here is invisible until a manifest that lists it is committed.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import numpy as np

from bigtopic.corpus.blocks import document_tokens
from bigtopic.corpus.columns import array_name
from bigtopic.corpus.documents import DocumentsInParts
from bigtopic.corpus.part import ENTRIES_AT_ONCE, PartView
from bigtopic.corpus.stored.manifest import NameList, PartRecord
from bigtopic.corpus.stored.schema import CHUNK, FILL, STRING_CHUNK, TYPES
from bigtopic.corpus.stored.stored_part import StoredPart, read_any
from bigtopic.corpus.vocabulary import Vocabulary, fingerprint_words
from bigtopic.errors import CorpusDamaged
from bigtopic.storage.chunks import REMEDY, ChunkedArray, chunk_codecs, read_metadata, write_chunk
from bigtopic.storage.place import Place, zarr_store
from bigtopic.support import buffers
from bigtopic.types import Block

__all__ = ["ArrayWriter", "PartWriter", "VerifyReport", "crc32_of", "verify", "verify_part", "write_names"]


def crc32_of(values: np.ndarray, before: int = 0) -> int:
    """CRC-32 of the little-endian bytes of numbers, or of the UTF-8 of strings, each ended by a zero byte."""
    if values.dtype.kind == "O":
        return zlib.crc32("".join(f"{text}\0" for text in values.tolist()).encode("utf-8", "replace"), before)
    return zlib.crc32(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data, before)


class ArrayWriter:
    """Fills a new one-dimensional array of known size from front to back.

    Numbers are compressed in the thread that adds them; strings go through Zarr.
    """

    def __init__(self, root: Place, group: Any, name: str, size: int, dtype: str) -> None:
        self._text = dtype == "string"
        chunk = max(1, min(STRING_CHUNK if self._text else CHUNK, size))
        self._fill = FILL.get(name, "" if self._text else 0)
        self._array = group.create_array(
            name,
            shape=(size,),
            dtype=dtype,
            chunks=(chunk,),
            fill_value=self._fill,
            compressors="auto" if self._text else chunk_codecs(),
            attributes={
                "encoding-type": "string-array" if self._text else "array",
                "encoding-version": "0.2.0",
            },
            config={"write_empty_chunks": True},
        )
        self._place = root / self._array.path
        self._size = size
        self._waiting = np.empty(chunk, object) if self._text else buffers.empty(chunk, dtype)
        self._n_waiting = self._n_written = 0
        self._crc = 0

    def add(self, values: np.ndarray) -> None:
        """The next values."""
        values = np.asarray(values).astype(self._waiting.dtype, copy=False)
        self._crc = crc32_of(values, self._crc)
        done = 0
        while done < len(values):
            some = values[done : done + len(self._waiting) - self._n_waiting]
            self._waiting[self._n_waiting : self._n_waiting + len(some)] = some
            self._n_waiting += len(some)
            done += len(some)
            if self._n_waiting == len(self._waiting):
                self._write()

    def _write(self) -> None:
        if self._text:
            stop = self._n_written + self._n_waiting
            self._array[self._n_written : stop] = self._waiting[: self._n_waiting]
        else:
            self._waiting[self._n_waiting :] = self._fill
            write_chunk(self._place, self._n_written // len(self._waiting), self._waiting)
        self._n_written += self._n_waiting
        self._n_waiting = 0

    def close(self) -> str:
        """Write what is left; returns the CRC-32 of all values, 8 hex digits."""
        if self._n_waiting:
            self._write()
        assert self._n_written == self._size, (self._array.path, self._n_written, self._size)
        return f"{self._crc:08x}"


class PartWriter:
    """Writes one part, document by document in stored order; the sizes are known before.

    Parameters
    ----------
    root, path : of the corpus, and of the part below it
    n_docs, nnz : sizes
    n_words : size of the vocabulary
    columns : {name: type} of further columns
    has_ids : whether document ids follow
    n_pairs : (document, author) pairs, or None without authors
    n_text : bytes of all texts as UTF-8, or None without texts
    """

    def __init__(
        self,
        root: Place,
        path: str,
        n_docs: int,
        nnz: int,
        n_words: int,
        columns: Mapping[str, str],
        has_ids: bool,
        n_pairs: int | None = None,
        n_text: int | None = None,
    ) -> None:
        import zarr

        self._root, self._path = root, path
        self._n_docs, self._nnz, self._n_tokens = n_docs, nnz, 0.0
        self._entries = self._pairs = self._text = 0
        self._columns = tuple(columns)
        self._has_ids = has_ids
        part = zarr.open_group(zarr_store(root), path=path, mode="a")
        part.create_group("X", attributes=_CSR | {"shape": [n_docs, n_words]})
        part.create_group("obs", attributes=_frame_attributes(has_ids, self._columns))
        sizes = {"X/indptr": n_docs + 1, "X/indices": nnz, "X/data": nnz}
        sizes |= {"obs/source_row": n_docs, "obs/n_tokens": n_docs}
        if has_ids:
            sizes["obs/document_id"] = n_docs
        types = {f"obs/{array_name(name)}": dtype for name, dtype in columns.items()}
        sizes |= dict.fromkeys(types, n_docs)
        if n_pairs is not None:
            sizes |= {"authors/indptr": n_docs + 1, "authors/indices": n_pairs}
        if n_text is not None:
            sizes |= {"text/indptr": n_docs + 1, "text/utf8": n_text}
        self._arrays: dict[str, ArrayWriter] = {}
        for name, size in sizes.items():
            folder, _, array = name.partition("/")
            dtype = types.get(name) or TYPES[array]
            self._arrays[name] = ArrayWriter(root, part.require_group(folder), array, size, dtype)
            if array == "indptr":
                self._arrays[name].add(np.zeros(1, np.int64))

    def add(self, block: Block, ids: np.ndarray | None, columns: Mapping[str, np.ndarray]) -> None:
        """The next documents."""
        arrays = self._arrays
        tokens = document_tokens(block)
        arrays["X/indptr"].add(block.indptr[1:] + self._entries)
        arrays["X/indices"].add(block.words)
        arrays["X/data"].add(block.counts)
        arrays["obs/source_row"].add(block.rows)
        arrays["obs/n_tokens"].add(tokens)
        if self._has_ids and ids is not None:
            arrays["obs/document_id"].add(ids)
        for name in self._columns:
            arrays[f"obs/{array_name(name)}"].add(columns[name])
        if block.author_indptr is not None and block.authors is not None:
            arrays["authors/indptr"].add(block.author_indptr[1:] + self._pairs)
            arrays["authors/indices"].add(block.authors)
            self._pairs += len(block.authors)
        self._entries += len(block.words)
        self._n_tokens += float(tokens.sum())

    def add_texts(self, texts: Sequence[str]) -> None:
        """The texts of the next documents; they may be ahead of the documents, or behind."""
        encoded = [text.encode() for text in texts]
        ends = self._text + np.cumsum([len(text) for text in encoded], dtype=np.int64)
        self._arrays["text/indptr"].add(ends)
        self._arrays["text/utf8"].add(np.frombuffer(b"".join(encoded), np.uint8))
        self._text = int(ends[-1])

    def close(self) -> PartRecord:
        """Write what is left and make it durable."""
        crc = {name: array.close() for name, array in self._arrays.items()}
        place = self._root / self._path
        place.sync()
        return PartRecord(self._path, self._n_docs, self._nnz, self._n_tokens, place.n_bytes(), crc)


_CSR = {"encoding-type": "csr_matrix", "encoding-version": "0.1.0"}


def _frame_attributes(has_ids: bool, columns: Sequence[str]) -> dict[str, Any]:
    """AnnData's encoding of a table."""
    order = [*(["source_row"] if has_ids else []), "n_tokens", *map(array_name, columns)]
    index = "document_id" if has_ids else "source_row"
    return {
        "encoding-type": "dataframe",
        "encoding-version": "0.2.0",
        "_index": index,
        "column-order": order,
    }


def write_names(root: Place, path: str, names: Vocabulary) -> NameList:
    """Words or author names with their frequencies, below `path`; durable when this returns."""
    import zarr

    group = zarr.open_group(zarr_store(root), path=path, mode="a")
    for name, dtype in (("words", "string"), ("document_frequency", "int64"), ("frequency", "float64")):
        values = getattr(names, name)
        if values is not None:
            writer = ArrayWriter(root, group, name, names.size, dtype)
            for start in range(0, len(values), STRING_CHUNK):
                writer.add(values[start : start + STRING_CHUNK])
            writer.close()
    (root / path).sync()
    return NameList(path, names.size, names.named, names.fingerprint)


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
