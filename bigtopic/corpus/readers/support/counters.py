"""Documents that are counters ({word: n} or [(word, n), ...]) or pairs (the same with ids) to a block."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.support.assemble import canonical, check_counts, count_remedy
from bigtopic.corpus.stored.schema import MOST_WORDS
from bigtopic.errors import InputError

__all__ = ["WANTED", "count_pairs", "shown"]

WANTED = {"counts": "a mapping of words to counts", "pairs": "a list of (id, count) pairs"}


def shown(body: Any) -> str:
    """The type of a document and its beginning, for messages."""
    text = reprlib.repr(body)  # of the beginning, however long or deep it is
    return f"{type(body).__name__} {text if len(text) < 60 else text[:57] + '...'}"


def count_pairs(
    bodies: Sequence[Any],
    place: Callable[[int], str],
    fixed: bool,
    n_words: int | None,
    most_words: int,
    weights: bool,
) -> RawBlock:
    """Counters or pairs to CSR; words are numbered in the order they appear unless their ids are fixed.

    Parameters
    ----------
    bodies : of the documents; None is an empty one
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
    _check(
        place,
        indptr,
        words,
        counts,
        n_words if fixed else None,
        most_words if fixed else MOST_WORDS,
        weights,
    )
    counts = counts.astype(np.float32)
    present = counts != 0
    kept = np.concatenate([[0], np.cumsum(present)])[indptr]
    arrays = canonical(kept, words[present].astype(np.int32), counts[present])
    return RawBlock(*arrays, None if fixed else list(index), n_zeros=int(len(counts) - present.sum()))


def _word(word: Any) -> str:
    if not isinstance(word, str):
        raise TypeError(word)
    return word


def _id(word: Any) -> int:
    number = int(word)
    if number != word:
        raise ValueError(word)
    return min(max(number, -1), 1 << 62)  # what is outside stays so, and fits int64


def _value(value: Any) -> float:
    if not isinstance(value, Number) or isinstance(value, complex):
        raise TypeError(value)
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return float("inf")


def _check(
    place: Callable[[int], str],
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    n_words: int | None,
    most_words: int,
    weights: bool,
) -> None:
    bad = (words < 0) | (words >= (most_words if n_words is None else n_words))
    if bad.any():
        at = int(np.argmax(bad))
        allowed = (
            f"0 .. {most_words - 1}"
            if n_words is None
            else f"0 .. {n_words - 1}, as many as the vocabulary has words"
        )
        problem = (
            f"word id {words[at]} is outside {allowed}; ids count from 0: give the vocabulary they belong to"
        )
    elif found := check_counts(counts, weights):
        at, kind = found
        problem = f"count {counts[at]:g} is {kind}; {count_remedy(kind)}"
    else:
        return
    document = int(np.searchsorted(indptr, at, side="right")) - 1
    raise InputError(f"{place(document)}: {problem}")
