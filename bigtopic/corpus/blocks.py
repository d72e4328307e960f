"""Operations on blocks of documents: subset, join, map words. Plain NumPy, linear in the entries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bigtopic.types import Block

__all__ = ["concatenate", "document_tokens", "empty_block", "map_words", "offsets", "take", "take_segments"]

_STEP = 1 << 10  # documents at once


def empty_block(authors: bool = False) -> Block:
    """A block of no documents."""
    indptr = np.zeros(1, np.int64)
    none = np.zeros(0, np.int32)
    return Block(
        indptr,
        none,
        np.zeros(0, np.float32),
        np.zeros(0, np.int64),
        indptr.copy() if authors else None,
        none.copy() if authors else None,
    )


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
    author_indptr = authors = None
    if block.author_indptr is not None and block.authors is not None:
        author_indptr, pairs = take_segments(block.author_indptr, positions)
        authors = block.authors[pairs]
    return Block(
        indptr, block.words[entries], block.counts[entries], block.rows[positions], author_indptr, authors
    )


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

    `new_ids` must rise wherever it is not -1, so that the words of a document stay sorted.
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
