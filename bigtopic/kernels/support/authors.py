"""The authors of documents, as compiled loops take them, and what collapsed kernels keep and change.

Responsibilities of authors and topics are (n_entries, most_authors, n_components). A collapsed kernel begins with the
counts of the params, changes them as it goes, and returns the changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numba import njit

from bigtopic.errors import InputError, setting
from bigtopic.kernels.support.entry import INNER, State, begins_at_random, csr, frozen, inner, whole_number
from bigtopic.kernels.support.random import uniform
from bigtopic.kernels.support.vector import LANES
from bigtopic.support import buffers
from bigtopic.types import Block, Docs, Hyper, KernelResult, View

__all__ = [
    "FAST",
    "VIEWS",
    "author_documents",
    "author_lists",
    "authors_within",
    "begin",
    "check_signed",
    "collapsed_inputs",
    "counts_of",
    "first_unsigned",
    "moved",
    "remember",
    "remember_no_more",
    "remembered_shares",
    "shares_of",
    "signed_inputs",
    "signed_result",
    "sums_of",
    "unsigned",
]


def author_lists(docs: Docs | Block) -> tuple[np.ndarray, np.ndarray, int]:
    """`author_indptr`, `authors`, and the number of authors of the document with the most.

    Raises
    ------
    InputError
        When a document has tokens and no author.
    """
    check_signed(docs)
    if docs.author_indptr is None or docs.authors is None:
        return np.zeros(docs.n_docs + 1, np.int64), np.empty(0, np.int32), 0
    most = int(np.diff(docs.author_indptr).max(initial=0))
    return frozen(docs.author_indptr, np.int64), frozen(docs.authors, np.int32), most


def check_signed(docs: Docs | Block) -> None:
    """Refuse documents that have tokens and no author.

    Raises
    ------
    InputError
        Names the first one in the source.
    """
    if (row := first_unsigned(docs)) is not None:
        raise unsigned(row)


def first_unsigned(docs: Docs | Block) -> int | None:
    """The first row of the source whose document has tokens and no author; None if all have."""
    n_authors = np.zeros(docs.n_docs) if docs.author_indptr is None else np.diff(docs.author_indptr)
    rows = docs.rows[(n_authors == 0) & (np.diff(docs.indptr) > 0)]
    return int(rows.min()) if len(rows) else None


def unsigned(row: int) -> InputError:
    """The error about a document without authors."""
    return InputError(
        f"the document in row {row} of the source has no author; give it one, or leave it out with "
        "corpus.select(rows=...)"
    )


def signed_inputs(docs: Docs, view: View) -> tuple[tuple[np.ndarray, ...], int]:
    """indptr, words, counts, `author_lists` and "topic_words" of the view; and the most authors of a document.

    Raises
    ------
    InputError
        When a document has tokens and no author.
    """
    topic_words = view.arrays["topic_words"]
    assert topic_words.shape[1] % LANES == 0, "rows come in whole vectors"
    author_indptr, authors, most = author_lists(docs)
    dtype = topic_words.dtype
    return (*csr(docs, dtype), author_indptr, authors, frozen(topic_words, dtype)), most


def signed_result(
    docs: Docs,
    hyper: Hyper,
    stats: dict[str, np.ndarray],
    info: dict[str, float],
    bounds: np.ndarray | None = None,
) -> KernelResult:
    """The result of a kernel that infers no topics of documents; with the number of documents of each author, if
    wanted, and the sum of bounds, if any.

    Parameters
    ----------
    stats, info : of the result; are added to
    bounds : nats (n_docs,)
    """
    if "author_documents" in hyper.statistics:
        stats["author_documents"] = author_documents(docs)
    if bounds is not None:
        info["bound"] = float(bounds.sum())
    return KernelResult(stats, None, None, info)


def collapsed_inputs(docs: Docs, view: View, hyper: Hyper, seed: int, state: State) -> tuple[Any, ...]:
    """What the loops of collapsed kernels take: indptr, words, counts, rows, author_indptr, authors, the seed, whether
    documents begin at random, and `remembered_shares`.

    Raises
    ------
    InputError
        When a document has tokens and no author, or more than `most_authors`.
    SettingError
        When `most_authors` is not a whole number of at least 1.
    """
    room = whole_number(hyper.options, "most_authors", 1)
    signed = authors_within(docs, room)
    begun, shares = (
        begins_at_random(state, view, hyper),
        remembered_shares(docs, room, hyper.n_components, state),
    )
    return (*csr(docs, np.dtype(np.float64)), frozen(docs.rows, np.int64), *signed, int(seed), begun, *shares)


def author_documents(docs: Docs) -> np.ndarray:
    """The number of documents of each author, float32 (n_authors, 1)."""
    authors = np.empty(0, np.int32) if docs.authors is None else docs.authors
    return np.bincount(authors, minlength=docs.n_authors).astype(np.float32)[:, None]


FAST = {"reassoc", "arcp", "nsz"}  # not "contract": a lone token's share, taken out, must leave nothing
_fast = njit(**INNER | {"fastmath": FAST})


def authors_within(docs: Docs | Block, room: int) -> tuple[np.ndarray, np.ndarray]:
    """`author_indptr` and `authors` of documents that have at most `room` authors each, or no tokens.

    Raises
    ------
    InputError
        When a document has more, or tokens and no author.
    """
    author_indptr, authors, _ = author_lists(docs)
    n_authors = np.diff(author_indptr) * (np.diff(docs.indptr) > 0)
    most = int(n_authors.max(initial=0))
    if most > room:
        row = int(docs.rows[np.argmax(n_authors)])
        raise InputError(
            f"the document in row {row} of the source has {most} authors, and there is room for {room}: give "
            f"{setting('most_authors', most)}, or as many as any document has"
        )
    return author_indptr, authors


def remembered_shares(
    docs: Docs, room: int, n_components: int, state: State
) -> tuple[np.ndarray, np.ndarray]:
    """The shares in `state`, to be read, and others to be filled; float32 (n_entries, room, n_components).

    Of new documents both are the same, zeros.
    """
    remembered = buffers.empty((len(docs.words), room, n_components), np.float32)
    if state is None:
        remembered[:] = 0
    return frozen(remembered if state is None else state["shares"], np.float32), remembered


@inner
def begin(first, last, row_key, n_authors, remembered):
    """Put all of each entry of a new document in one author and topic at random."""
    n = remembered.shape[2]
    for i in range(first, last):
        drawn = min(int(uniform(row_key, i - first) * n * n_authors), n * n_authors - 1)
        remembered[i, drawn // n, drawn % n] = 1


@_fast
def _unit(row, n_authors):
    """What the numbers that are remembered of an entry are multiplied by; 0 of one that is not counted yet."""
    whole = 0.0
    for i in range(n_authors):
        own = row[i]
        for k in range(own.shape[0]):
            whole += own[k]
    return 1.0 / whole if whole > 0 else 0.0


@_fast
def shares_of(row, n_authors, share):
    """The remembered shares of an entry; zeros for an entry that is not counted yet."""
    unit = _unit(row, n_authors)
    for i in range(n_authors):
        own, part = row[i], share[i]
        for k in range(own.shape[0]):
            part[k] = unit * own[k]


@_fast
def sums_of(share, n_authors, of_topic, of_author):
    """The sums over the authors, and over the topics."""
    for k in range(of_topic.shape[0]):
        of_topic[k] = 0.0
    for i in range(n_authors):
        part, whole = share[i], 0.0
        for k in range(of_topic.shape[0]):
            of_topic[k] += part[k]
            whole += part[k]
        of_author[i] = whole


@_fast
def remember(unit, fresh, row):
    """Keep the shares `unit` times `fresh` of an author; returns their sum."""
    known = 0.0
    for k in range(row.shape[0]):
        row[k] = unit * fresh[k]
        known += row[k]
    return known


@inner
def remember_no_more(row, n_authors):
    """Zeros for authors that a document does not have."""
    for i in range(n_authors, row.shape[0]):
        own = row[i]
        for k in range(own.shape[0]):
            own[k] = 0


VIEWS = {"topic_words": "counts", "author_topics": "counts"}


def counts_of(view: View, names: Iterable[str] = VIEWS) -> tuple[np.ndarray, ...]:
    """Copies of what the params have in these arrays, float64, to be changed."""
    counts = tuple(buffers.empty(view.arrays[name].shape, np.float64) for name in names)
    for own, name in zip(counts, names, strict=True):
        own[:] = view.arrays[name]
    return counts


def moved(counts: Iterable[np.ndarray], view: View, names: Iterable[str] = VIEWS) -> dict[str, np.ndarray]:
    """By how much the counts have changed, as statistics; takes over their arrays."""
    found = dict(zip(names, counts, strict=True))
    for name, values in found.items():
        values -= view.arrays[name]
    return found
