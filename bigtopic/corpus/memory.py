"""A corpus in memory, made from a matrix: the same interface as a stored one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock, document_tokens, take
from bigtopic.corpus.order import checked_seed, document_keys
from bigtopic.corpus.readers.support.columns import id_texts
from bigtopic.corpus.readers.support.counts import LARGEST
from bigtopic.corpus.readers.support.vocabulary import check_characters, read_vocabulary
from bigtopic.corpus.sparse import check_columns, checked_csr, checked_dense
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.stored.schema import PART_DOCUMENTS, PART_ENTRIES
from bigtopic.corpus.vocabulary import Vocabulary, word_array
from bigtopic.errors import InputError, SettingError, VocabularyMismatch
from bigtopic.support.deprecations import renamed
from bigtopic.types import Block

__all__ = ["MemoryPart", "from_block", "from_matrix"]


@dataclass(frozen=True, eq=False)
class MemoryPart:
    """A part whose documents are a block in memory."""

    name: str
    block: Block
    document_ids: np.ndarray | None = None
    extra: Mapping[str, np.ndarray] = field(default_factory=dict)
    document_texts: np.ndarray | None = None

    @property
    def n_docs(self) -> int:
        return self.block.n_docs

    @property
    def nnz(self) -> int:
        return len(self.block.words)

    @property
    def has_text(self) -> bool:
        return self.document_texts is not None

    @cached_property
    def n_tokens(self) -> float:
        return float(self.block.counts.sum(dtype=np.float64))

    @property
    def n_bytes(self) -> int:
        block = self.block
        return block.indptr.nbytes + block.words.nbytes + block.counts.nbytes + block.rows.nbytes

    @cached_property
    def fingerprint(self) -> str:
        crc = 0
        for array in (self.block.indptr, self.block.words, self.block.counts, self.block.rows):
            crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
        return f"{self.n_docs}-{self.nnz}-{crc:08x}"

    def read(self, start: int, stop: int) -> Block:
        return self.block[start:stop]

    def rows(self, start: int, stop: int) -> np.ndarray:
        return self.block.rows[start:stop]

    def entries(self, start: int, stop: int) -> np.ndarray:
        return np.diff(self.block.indptr[start : max(start, min(stop, self.n_docs)) + 1])

    def tokens(self, start: int, stop: int) -> np.ndarray:
        return document_tokens(self.block[start:stop])

    def ids(self, start: int, stop: int) -> np.ndarray:
        if self.document_ids is not None:
            return self.document_ids[start:stop]
        return word_array([str(row) for row in self.rows(start, stop).tolist()])

    def columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        return {name: self.extra[name][start:stop] for name in names}

    def texts(self, start: int, stop: int) -> np.ndarray:
        if self.document_texts is None:
            return np.full(len(self.rows(start, stop)), "", object)
        return self.document_texts[start:stop]


def from_block(block: RawBlock, words: Sequence[str] | None, n_words: int) -> Corpus:
    """What a reader parsed, as a corpus. Words are the block's own, else `words`, else `n_words` numbers or more."""
    words = words if block.vocabulary is None else block.vocabulary
    ids, counts = block.words.astype(np.int32, copy=False), block.counts.astype(np.float32, copy=False)
    documents = Block(block.indptr, ids, counts, np.arange(block.n_docs), block.author_indptr, block.authors)
    return Corpus(
        [MemoryPart("documents", documents)],
        Vocabulary(None, max(n_words, int(ids.max(initial=-1)) + 1)) if words is None else Vocabulary(words),
        author_vocabulary=None if block.author_names is None else Vocabulary(block.author_names),
    )


@renamed(seed="random_state")
def from_matrix(
    X: Any,
    vocabulary: Iterable[str] | Vocabulary | None = None,
    shuffle: bool = True,
    random_state: int = 0,
    ids: Iterable[str] | None = None,
) -> Corpus:
    """Make a corpus in memory from a document-by-word matrix; columns keep their order.

    Parameters
    ----------
    X : scipy sparse matrix or array, or anything that NumPy converts to two dimensions, (n_docs, n_words),
        counts >= 0. Fractional values are accepted as weights.
    vocabulary : the words of the columns, (n_words,); None leaves columns without names
    shuffle : store documents in the order of a hash of (random_state, row), so that every run of them is a random
        minibatch; False keeps the order of the rows
    random_state : seed of the order
    ids : document ids (n_docs,)

    Raises
    ------
    InputError
        For negative, infinite or NaN values (names the row), a matrix without rows or columns, or a word that is there
        twice.
    VocabularyMismatch
        When the vocabulary's length is not the number of columns.
    SettingError
        When the vocabulary holds anything but words, or the vocabulary or the ids are a text.
    """
    block, n_words = _checked(X)
    for name, given, what in (("vocabulary", vocabulary, "words"), ("ids", ids, "ids")):
        if isinstance(given, str):
            raise SettingError(
                f"{name}={given!r:.60}: give a list of {what}; bigtopic.ingest reads them from files"
            )
    if vocabulary is None:
        known = Vocabulary(size=n_words)
    else:
        known = vocabulary if isinstance(vocabulary, Vocabulary) else Vocabulary(read_vocabulary(vocabulary))
        if known.size != n_words:
            transposed = known.size == block.n_docs
            hint = "it looks transposed: pass X.T" if transposed else "give one word for each column"
            raise VocabularyMismatch(
                f"the matrix has shape ({block.n_docs}, {n_words}), documents by words, but the vocabulary has "
                f"{known.size} words; {hint}"
            )
    document_ids = None
    if ids is not None:
        texts = id_texts(ids)
        check_characters(texts, "ids: id")
        document_ids = word_array(texts)
        if len(document_ids) != block.n_docs:
            raise InputError(f"ids has {len(document_ids)} entries, but the matrix has {block.n_docs} rows")
    if shuffle:
        order = np.argsort(document_keys(checked_seed(random_state), block.rows))
        block = take(block, order)
        document_ids = None if document_ids is None else document_ids[order]
    counted = Vocabulary(
        known.words,
        n_words,
        np.bincount(block.words, minlength=n_words).astype(np.int64),
        np.bincount(block.words, weights=block.counts, minlength=n_words),
    )
    return Corpus(
        _parts(block, document_ids),
        counted,
        shuffled=shuffle,
        has_ids=ids is not None,
    )


def _checked(X: Any) -> tuple[Block, int]:
    """The matrix as a block with sorted, unique, positive entries."""
    from scipy import sparse

    checked = checked_csr if sparse.issparse(X) else checked_dense
    matrix = sparse.csr_matrix(checked(X, "the matrix"))
    for size, what, names in zip(matrix.shape, ("sample", "feature"), ("documents", "words"), strict=True):
        if size == 0:
            raise InputError(
                f"there are no {names}: the matrix has 0 {what}(s) (shape={matrix.shape}) while a minimum of 1 is "
                "required."
            )
    check_columns(matrix.indices[: matrix.indptr[-1]], matrix.shape[1], "the matrix")
    data = matrix.data
    with np.errstate(invalid="ignore"):
        wrong = ~((data >= 0) & (data <= LARGEST))
    if wrong.any():
        at = int(np.argmax(wrong))
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        problem = "NaN" if np.isnan(data[at]) else "inf" if np.isinf(data[at]) else "A value beyond float32"
        problem = "Negative values" if data[at] < 0 else problem
        raise InputError(
            f"{problem} in data: row {row} of the matrix holds {data[at]!s} at column {matrix.indices[at]}; counts "
            f"must be from 0 to {LARGEST:.1g}: replace such values by 0 or drop the row"
        )
    if not matrix.has_canonical_format or not data.astype(np.float32, copy=False).all():
        if data.dtype.kind != "f":
            matrix = matrix.astype(np.float64)  # the sum of two small integers may not be one
        elif matrix is X or np.shares_memory(matrix.data, getattr(X, "data", data)):
            matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.data = matrix.data.astype(np.float32, copy=False)  # in which the smallest counts are 0
        matrix.eliminate_zeros()
    block = Block(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float32),
        np.arange(matrix.shape[0], dtype=np.int64),
    )
    return block, matrix.shape[1]


def _parts(block: Block, ids: np.ndarray | None) -> list[MemoryPart]:
    """Runs of about `PART_ENTRIES` entries; they share the arrays of the block."""
    parts, start = [], 0
    while start < block.n_docs:
        stop = int(np.searchsorted(block.indptr, block.indptr[start] + PART_ENTRIES, side="right")) - 1
        stop = max(start + 1, min(stop, start + PART_DOCUMENTS, block.n_docs))
        part_ids = None if ids is None else ids[start:stop]
        parts.append(MemoryPart(f"documents {start} to {stop}", block[start:stop], part_ids))
        start = stop
    return parts
