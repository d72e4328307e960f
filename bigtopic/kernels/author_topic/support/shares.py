"""Responsibilities of authors and topics that collapsed kernels keep, (n_entries, most_authors, n_components)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numba import njit

from bigtopic.errors import InputError, setting
from bigtopic.kernels.author_topic.support.lists import author_lists
from bigtopic.kernels.support.entry import INNER, frozen
from bigtopic.kernels.support.random import uniform
from bigtopic.support import buffers
from bigtopic.types import Block, Docs

__all__ = [
    "FAST",
    "authors_within",
    "begin",
    "remember",
    "remember_no_more",
    "remembered_shares",
    "shares_of",
    "sums_of",
]

FAST = {"reassoc", "arcp", "nsz"}  # not "contract": a lone token's share, taken out, must leave nothing


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
    docs: Docs, room: int, n_components: int, state: Mapping[str, np.ndarray] | None
) -> tuple[np.ndarray, np.ndarray]:
    """The shares in `state`, to be read, and others to be filled; float32 (n_entries, room, n_components).

    Of new documents both are the same, zeros.
    """
    remembered = buffers.empty((len(docs.words), room, n_components), np.float32)
    if state is None:
        remembered[:] = 0
    return frozen(remembered if state is None else state["shares"], np.float32), remembered


@njit(**INNER)
def begin(first, last, row_key, n_authors, remembered):
    """Put all of each entry of a new document in one author and topic at random."""
    n = remembered.shape[2]
    for i in range(first, last):
        drawn = min(int(uniform(row_key, i - first) * n * n_authors), n * n_authors - 1)
        remembered[i, drawn // n, drawn % n] = 1


@njit(**INNER | {"fastmath": FAST})
def _unit(row, n_authors):
    """What the numbers that are remembered of an entry are multiplied by; 0 of one that is not counted yet."""
    whole = 0.0
    for i in range(n_authors):
        own = row[i]
        for k in range(own.shape[0]):
            whole += own[k]
    return 1.0 / whole if whole > 0 else 0.0


@njit(**INNER | {"fastmath": FAST})
def shares_of(row, n_authors, share):
    """What is remembered of an entry as shares; zeros of one that is not counted yet."""
    unit = _unit(row, n_authors)
    for i in range(n_authors):
        own, part = row[i], share[i]
        for k in range(own.shape[0]):
            part[k] = unit * own[k]


@njit(**INNER | {"fastmath": FAST})
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


@njit(**INNER | {"fastmath": FAST})
def remember(unit, fresh, row):
    """Keep the shares `unit` times `fresh` of an author; returns the sum of what is kept."""
    known = 0.0
    for k in range(row.shape[0]):
        row[k] = unit * fresh[k]
        known += row[k]
    return known


@njit(**INNER)
def remember_no_more(row, n_authors):
    """Zeros for authors that a document does not have."""
    for i in range(n_authors, row.shape[0]):
        own = row[i]
        for k in range(own.shape[0]):
            own[k] = 0
