"""Blocks of documents: as a reader returns them (`RawBlock`), and operations on the blocks of a corpus.

Subset, join, map words: plain NumPy, linear in the entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bigtopic.corpus.columns import Cells
from bigtopic.types import Block

__all__ = [
    "RawBlock",
    "concatenate",
    "document_tokens",
    "empty_block",
    "map_words",
    "offsets",
    "take",
    "take_segments",
]

_STEP = 1 << 10  # documents at once


def empty_block(authors: bool = False) -> Block:
    """A block of no documents."""
    indptr, none = np.zeros(1, np.int64), np.zeros(0, np.int32)
    pairs = (indptr.copy(), none.copy()) if authors else (None, None)
    return Block(indptr, none, np.zeros(0, np.float32), np.zeros(0, np.int64), *pairs)


def offsets(lengths: np.ndarray) -> np.ndarray:
    """Where segments of these lengths begin and end, laid one after the other: int64 (n + 1,)."""
    indptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return indptr


def take_segments(indptr: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """New indptr, and the index of every entry of the segments at `positions`, in that order.

    Equivalent to `np.concatenate([np.arange(indptr[p], indptr[p + 1]) for p in positions])`.
    """
    starts = indptr[positions]
    new = offsets(indptr[positions + 1] - starts)
    shift = np.repeat(starts - new[:-1], np.diff(new))
    return new, np.arange(new[-1], dtype=np.int64) + shift


def take(block: Block, positions: np.ndarray) -> Block:
    """The documents at `positions`, in that order."""
    positions = np.asarray(positions)
    if len(positions) == block.n_docs and bool((positions == np.arange(block.n_docs)).all()):
        return block
    indptr, entries = take_segments(block.indptr, positions)
    rows = block.rows[positions]
    return Block(indptr, block.words[entries], block.counts[entries], rows, *take_authors(block, positions))


def take_authors(
    block: Block | RawBlock, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    """`author_indptr` and `authors` of the documents at `positions`; None where the block has none."""
    if block.author_indptr is None or block.authors is None:
        return None, None
    indptr, pairs = take_segments(block.author_indptr, positions)
    return indptr, block.authors[pairs]


def concatenate(blocks: Sequence[Block]) -> Block:
    """Documents of the blocks, one after the other."""
    if len(blocks) == 1:
        return blocks[0]
    if not blocks:
        return empty_block()
    author_indptr = authors = None
    pairs = [
        (b.author_indptr, b.authors) for b in blocks if b.author_indptr is not None and b.authors is not None
    ]
    if len(pairs) == len(blocks):
        author_indptr = offsets(np.concatenate([np.diff(indptr) for indptr, _ in pairs]))
        authors = np.concatenate([ids for _, ids in pairs])
    return Block(
        offsets(np.concatenate([np.diff(block.indptr) for block in blocks])),
        np.concatenate([block.words for block in blocks]),
        np.concatenate([block.counts for block in blocks]),
        np.concatenate([block.rows for block in blocks]),
        author_indptr,
        authors,
    )


def map_words(block: Block, new_ids: np.ndarray) -> Block:
    """Word ids replaced by `new_ids[id]`, int32 (n_words,); entries that map to -1 are dropped.

    The words of a document stay sorted if `new_ids` rises wherever it is not -1.
    """
    words = new_ids[block.words]
    kept = words >= 0
    if kept.all():
        return Block(block.indptr, words, block.counts, block.rows, block.author_indptr, block.authors)
    below = offsets(kept)
    return Block(
        below[block.indptr], words[kept], block.counts[kept], block.rows, block.author_indptr, block.authors
    )


def document_tokens(block: Block) -> np.ndarray:
    """Tokens of each document, float64 (n_docs,)."""
    tokens = np.zeros(block.n_docs)
    filled = np.flatnonzero(np.diff(block.indptr))  # reduceat knows no empty segments
    for first in range(0, len(filled), _STEP):  # it converts all counts that it is given to float64
        rows = filled[first : first + _STEP]
        begins, end = block.indptr[rows], block.indptr[rows[-1] + 1]
        tokens[rows] = np.add.reduceat(block.counts[begins[0] : end], begins - begins[0], dtype=np.float64)
    return tokens


@dataclass(frozen=True)
class RawBlock:
    """Documents of one chunk of a source as CSR. Plain arrays and lists, so that it pickles.

    Attributes
    ----------
    indptr : int64 (n_docs + 1,), starting at 0
    words : int32 (nnz,), ascending and unique within a document; ids into `vocabulary`, or, where that is None,
        ids of the source's own fixed vocabulary
    counts : float32 (nnz,), positive
    vocabulary : this block's own words, or None when the source has fixed ids
    ids : the documents' names, or None
    columns : {name: (n_docs,)}: bool, int64, float64 (NaN where absent), an object array of str ("" where absent), or
        `Cells` where only the rest of the column tells which of these it is
    author_indptr, authors : int64 (n_docs + 1,) and int32 (n_pairs,) into `author_names`, or None
    author_names : this block's own authors
    doubtful_author : a text taken for one author that may name several, or None
    first_row : row of the first document in its source, where the file says so, or None
    n_zeros : explicit zeros that were dropped
    n_unknown : tokens that were dropped because a given vocabulary lacks their word
    parents : where documents were divided: which document of the chunk each is a piece of, int64 (n_docs,)
    rows : source rows, int64 (n_docs,), of documents of another corpus, which know them
    texts : the documents' text, if it is to be kept and the source has one
    stopped : {stop word: tokens of it that were dropped}
    """

    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    vocabulary: list[str] | None = None
    ids: list[str] | None = None
    columns: Mapping[str, np.ndarray | Cells] = field(default_factory=dict)
    author_indptr: np.ndarray | None = None
    author_names: list[str] | None = None
    authors: np.ndarray | None = None
    doubtful_author: str | None = None
    first_row: int | None = None
    n_zeros: int = 0
    n_unknown: float = 0.0
    texts: Sequence[str] | None = None
    stopped: Mapping[str, int] = field(default_factory=dict)
    parents: np.ndarray | None = None
    rows: np.ndarray | None = None

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1
