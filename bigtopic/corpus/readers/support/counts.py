"""Counts of a chunk as a `RawBlock`: canonical rows, author CSR, words of a given vocabulary; checked first.

Numbers that a file claims (documents, words, entries, ids) are checked against its size. Documents may be empty and
words unused, so claims can exceed what a file holds; but nothing is allocated for a claim out of all proportion.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.author_names import DoubtfulNames, author_names
from bigtopic.corpus.readers.base import Place
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.stored.schema import MOST_WORDS
from bigtopic.errors import InputError, VocabularyMismatch, argument

__all__ = [
    "LARGEST",
    "WANTED",
    "author_csr",
    "canonical",
    "check_counts",
    "check_documents",
    "check_width",
    "check_words",
    "count_pairs",
    "count_remedy",
    "counts_block",
    "first_wrong",
    "most_words",
    "restrict",
    "shown",
    "whole_number",
]

LARGEST = 3e38  # counts are stored as float32; those that are nothing in it are dropped like zeros
WANTED = {"counts": "a mapping of words to counts", "pairs": "a list of (id, count) pairs"}
_FREE = 1 << 20  # documents and words that need no proof
_COMPRESSED = 8  # documents per byte of a compressed file


def canonical(
    indptr: np.ndarray, words: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort the words of each document and add up repeated ones. Equivalent to `csr_matrix.sum_duplicates`."""
    documents = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    keys = documents << 32 | words  # one sort of integers is several times faster than one by two keys
    if (np.diff(keys) > 0).all():
        return indptr, words, counts
    order = np.argsort(keys, kind="stable")
    words, counts, keys = words[order], counts[order], keys[order]
    first = np.ones(len(words), bool)
    first[1:] = np.diff(keys) != 0
    starts = np.flatnonzero(first)
    if len(starts) == len(words):
        return indptr, words, counts
    sums = np.add.reduceat(counts.astype(np.float64), starts).astype(np.float32)
    return _offsets(first)[indptr], words[starts], sums


def _offsets(kept: np.ndarray) -> np.ndarray:
    """How many entries before each, and before the end, are kept."""
    return np.concatenate([[0], np.cumsum(kept)])


def counts_block(indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, **fields: Any) -> RawBlock:
    """Entries as they come, to a block: zeros are dropped and counted, words sorted and repeated ones added up.

    Parameters
    ----------
    fields : further fields of the block
    """
    counts = counts.astype(np.float32)
    present = counts != 0
    arrays = canonical(_offsets(present)[indptr], words[present].astype(np.int32), counts[present])
    return RawBlock(*arrays, **{"n_zeros": int(len(counts) - present.sum()), **fields})


def restrict(block: RawBlock, index: Mapping[str, int]) -> RawBlock:
    """The same documents with the ids of `index`; words outside it are dropped."""
    assert block.vocabulary is not None
    ids = np.fromiter((index.get(word, -1) for word in block.vocabulary), np.int32, len(block.vocabulary))
    words = ids[block.words]
    known = words >= 0
    indptr, words, counts = canonical(_offsets(known)[block.indptr], words[known], block.counts[known])
    n_unknown = float(block.counts[~known].sum(dtype=np.float64))
    return replace(block, indptr=indptr, words=words, counts=counts, vocabulary=None, n_unknown=n_unknown)


def check_counts(values: np.ndarray, weights: bool) -> tuple[int, str] | None:
    """Position of the first count that is not allowed, and why."""
    bad = ~(np.isfinite(values) & (values >= 0))
    problem = "negative or not finite"
    if not bad.any() and values.dtype.kind == "f":
        bad, problem = values > np.float64(LARGEST), f"above {LARGEST:.1g}"
    if not bad.any() and not weights and values.dtype.kind == "f":
        bad, problem = values != np.floor(values), "fractional"
    return (int(np.argmax(bad)), problem) if bad.any() else None


def first_wrong(
    indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, n_words: int, weights: bool
) -> tuple[int, int, str] | None:
    """Document and position of the first entry that is not allowed; what is wrong with its count, "" for its word."""
    if len(words) and not (words.min() >= 0 and words.max() < n_words):
        at, problem = int(np.argmax((words < 0) | (words >= n_words))), ""
    elif found := check_counts(counts, weights):
        at, problem = found
    else:
        return None
    return int(np.searchsorted(indptr, at, side="right")) - 1, at, problem


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


def author_csr(lists: Sequence[Any], place: Place, separator: str | None = None) -> DocumentAuthors:
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


def shown(body: Any) -> str:
    """The type of a document and its beginning, for messages."""
    text = reprlib.repr(body)  # of the beginning, however long or deep it is
    return f"{type(body).__name__} {text if len(text) < 60 else text[:57] + '...'}"


def count_pairs(
    bodies: Sequence[Any],
    place: Place,
    fixed: bool,
    n_words: int | None,
    most_words: int,
    weights: bool,
) -> RawBlock:
    """Counters or pairs to CSR; words are numbered in the order they appear unless their ids are fixed.

    Parameters
    ----------
    bodies : {word: n} or [(word, n), ...], with ids for words where these are fixed; None is an empty document
    place : names document i, for messages
    fixed : whether they are pairs, whose ids the source fixes
    n_words : ids there are, None if not known; then `most_words` are possible

    Raises
    ------
    InputError
        When a document is not a counter, or an id or a count is not allowed; names it.
    """
    index: dict[Any, int] = {}
    ids: list[int] = []
    values: list[float] = []
    indptr = np.zeros(len(bodies) + 1, np.int64)
    for i, body in enumerate(bodies):
        pairs = () if body is None else body.items() if isinstance(body, Mapping) else body
        try:
            for word, value in pairs:
                ids.append(_id(word) if fixed else index.setdefault(_word(word), len(index)))
                values.append(_value(value))
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"{place(i)}: {shown(body)} is not {WANTED['pairs' if fixed else 'counts']}; correct it"
            ) from None
        indptr[i + 1] = len(ids)
    words, counts = np.array(ids, np.int64), np.array(values, np.float64)
    most = MOST_WORDS if not fixed else most_words if n_words is None else n_words
    if found := first_wrong(indptr, words, counts, most, weights):
        document, at, kind = found
        if kind:
            raise InputError(f"{place(document)}: count {counts[at]:g} is {kind}; {count_remedy(kind)}")
        known = "" if n_words is None else ", as many as the vocabulary has words"
        raise InputError(
            f"{place(document)}: word id {words[at]} is outside 0 .. {most - 1}{known}; ids count from 0: give the "
            "vocabulary they belong to"
        )
    return counts_block(indptr, words, counts, vocabulary=None if fixed else list(index))


def _word(word: Any) -> str:
    if not isinstance(word, str):
        raise TypeError(word)
    return word


def _id(word: Any) -> int:
    number = int(word)
    if number != word:
        raise ValueError(word)
    return min(max(number, -1), 1 << 62)  # one out of range stays so, and fits int64


def _value(value: Any) -> float:
    if not isinstance(value, Number) or isinstance(value, complex):
        raise TypeError(value)
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return float("inf")


def check_width(shape: tuple[int, int], vocabulary: Sequence[str] | None, name: str) -> None:
    """One word per column.

    Raises
    ------
    VocabularyMismatch
        Naming both shapes; it says so when the matrix is transposed.
    """
    if vocabulary is None or shape[1] == len(vocabulary):
        return
    if shape[0] == len(vocabulary):
        remedy = "it looks transposed: documents are rows, so pass its transpose"
    else:
        remedy = "give one word for each column"
    raise VocabularyMismatch(
        f"{name} has shape {shape[0]} x {shape[1]} (documents x words) but the vocabulary has "
        f"{len(vocabulary)} words; {remedy}"
    )


def whole_number(digits: bytes) -> int:
    """The number that some digits spell; one far above any limit for those that are too many."""
    return int(digits) if len(digits) < 19 else 10**18


def check_documents(n_docs: int, file: File, place: str) -> None:
    """As many documents as the file has bytes, or a million.

    Raises
    ------
    InputError
    """
    most = max(_FREE, file.size * (1 if file.compression is None else _COMPRESSED))
    if n_docs > most:
        raise InputError(
            f"{place} {n_docs} documents, but a file of {file.size} bytes can have at most {most}, empty ones "
            "included; correct the number"
        )


def most_words(size: int) -> int:
    """Words that files of `size` bytes may use without a vocabulary: one for each byte, or four million."""
    return min(MOST_WORDS, max(4 * _FREE, size))


def check_words(n_words: int, size: int, place: str) -> None:
    """No more words than `most_words` allows.

    Raises
    ------
    InputError
    """
    most = most_words(size)
    if n_words > most:
        raise InputError(
            f"{place} {n_words} words, but files of {size} bytes can have at most {most} without a vocabulary; correct "
            f"the number or the ids, or give {argument('vocabulary', ...)}"
        )
