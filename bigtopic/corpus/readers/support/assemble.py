"""Pieces of a `RawBlock`: canonical rows, author CSR, and words restricted to a given vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.beside.author_names import DoubtfulNames, author_names
from bigtopic.errors import argument

__all__ = ["LARGEST", "DocumentAuthors", "author_csr", "canonical", "check_counts", "restrict"]

LARGEST = 3e38  # counts are stored as float32; those that are nothing in it are dropped like zeros


def canonical(
    indptr: np.ndarray, words: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort the words of each document and add up repeated ones. Equivalent to `csr_matrix.sum_duplicates`."""
    documents = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    keys = documents << 32 | words  # one sort of integers is several times faster than one by two keys
    order = np.argsort(keys, kind="stable")
    words, counts, keys = words[order], counts[order], keys[order]
    first = np.ones(len(words), bool)
    first[1:] = np.diff(keys) != 0
    starts = np.flatnonzero(first)
    if len(starts) == len(words):
        return indptr, words, counts
    sums = np.add.reduceat(counts.astype(np.float64), starts).astype(np.float32)
    ends = np.concatenate([[0], np.cumsum(first)])
    return ends[indptr], words[starts], sums


def check_counts(values: np.ndarray, weights: bool) -> tuple[int, str] | None:
    """Position of the first count that is not allowed, and what is wrong with it."""
    bad = ~(np.isfinite(values) & (values >= 0))
    problem = "negative or not finite"
    if not bad.any() and values.dtype.kind == "f":
        bad, problem = values > np.float64(LARGEST), f"above {LARGEST:.1g}"
    if not bad.any() and not weights and values.dtype.kind == "f":
        bad, problem = values != np.floor(values), "fractional"
    return (int(np.argmax(bad)), problem) if bad.any() else None


def count_remedy(problem: str) -> str:
    """What to do about a count that is not allowed."""
    if problem == "fractional":
        return f"counts must be whole numbers; pass {argument('weights', True)} if weights are meant"
    return f"counts must be from 0 to {LARGEST:.1g}; correct the source"


class DocumentAuthors(NamedTuple):
    """Authors of each document as CSR; the fields of a `RawBlock`."""

    author_indptr: np.ndarray
    author_names: list[str]
    authors: np.ndarray
    doubtful_author: str | None


def author_csr(
    lists: Sequence[Any], place: Callable[[int], str], separator: str | None = None
) -> DocumentAuthors:
    """Authors of each document.

    Parameters
    ----------
    lists : for each document what `author_names` takes. A name is kept once per document.
    place : where document i is, for messages
    separator : what stands between the names in a text, see `split_names`

    Raises
    ------
    InputError
        As `author_names`.
    """
    index: dict[str, int] = {}
    ids: list[int] = []
    indptr = np.zeros(len(lists) + 1, np.int64)
    doubtful = DoubtfulNames()
    for i, given in enumerate(lists):
        own = dict.fromkeys(author_names(given, i, place, separator))
        if separator is None and len(own) == 1 and isinstance(given, str):
            doubtful.add(given)
        ids.extend(index.setdefault(name, len(index)) for name in own)
        indptr[i + 1] = len(ids)
    return DocumentAuthors(indptr, list(index), np.array(ids, np.int32), doubtful.example)


def restrict(block: RawBlock, index: Mapping[str, int]) -> RawBlock:
    """The same documents with the ids of `index`; words outside it are dropped."""
    assert block.vocabulary is not None
    ids = np.fromiter((index.get(word, -1) for word in block.vocabulary), np.int32, len(block.vocabulary))
    words = ids[block.words]
    known = words >= 0
    indptr = np.concatenate([[0], np.cumsum(known)])[block.indptr]
    indptr, words, counts = canonical(indptr, words[known], block.counts[known])
    n_unknown = float(block.counts[~known].sum(dtype=np.float64))
    return replace(block, indptr=indptr, words=words, counts=counts, vocabulary=None, n_unknown=n_unknown)
