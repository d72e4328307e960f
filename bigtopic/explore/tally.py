"""Figures of the topics over all documents, in one pass over their topics: shares, the documents that are most about
each topic, and sums by group and by date, from which shares and their standard errors follow.

Documents without a word that the model knows are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.blocks import take_segments
from bigtopic.questions.documents import leaders

__all__ = ["KEPT", "Leading", "Stopped", "Sums", "Tally", "load_tally", "save_tally", "tally", "without_pass"]

KEPT = 1000  # documents of each topic


class Stopped(Exception):
    """A pass was ended before its end."""


class Sums(NamedTuple):
    """Sums over the documents of each group.

    shares, squares : float64 (n_topics, n_groups), of the shares of each topic and of their squares; these are nan
        where they are not known yet
    """

    shares: np.ndarray
    squares: np.ndarray

    def means(self, topic: int, of: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        """Mean share of a topic in each group, its standard error, and the documents of the group.

        Parameters
        ----------
        of : the larger group that each group belongs to, int64 (n_groups,); None for the groups themselves
        """
        counts = np.rint(self.shares.sum(axis=0))  # the shares of a document sum to 1
        own = self.shares[topic], self.squares[topic], counts
        sums, squares, n = own if of is None else (np.bincount(of, weights=values) for values in own)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = sums / n
            error = np.sqrt(np.maximum(squares / n - share**2, 0) / (n - 1))
        return share, np.where(n > 1, error, np.nan), np.asarray(n, np.int64)


class Leading(NamedTuple):
    """The documents with the largest shares of each topic, largest first: of topic k at indptr[k]:indptr[k + 1].

    Ties go to the document that is stored first.
    """

    indptr: np.ndarray
    positions: np.ndarray
    shares: np.ndarray

    def of(self, topic: int) -> tuple[np.ndarray, np.ndarray]:
        own = slice(*self.indptr[topic : topic + 2].tolist())
        return np.asarray(self.positions[own]), np.asarray(self.shares[own])


@dataclass(frozen=True)
class Tally:
    """Figures of topics over all documents.

    Attributes
    ----------
    share : mean share of each topic, float64 (n_topics,)
    largest : the largest topic of each document, (n_docs,); ties go to the lower topic; -1 for none
    leading : `Leading`
    sums : `Sums` by column, in the order of the columns
    exact : whether all figures are known
    """

    share: np.ndarray
    largest: np.ndarray
    leading: Leading
    sums: Sequence[Sums]
    exact: bool = True


class _Largest:
    """The largest shares of each topic so far."""

    def __init__(self, n_topics: int) -> None:
        self._n_topics = n_topics
        self._topics, self._positions = np.zeros(0, np.int32), np.zeros(0, np.int64)
        self._shares = np.zeros(0)
        self._least = np.zeros(n_topics)  # what a share must exceed

    def add(self, topics: np.ndarray, positions: np.ndarray, shares: np.ndarray) -> None:
        """Entries of further documents, in ascending order of their positions."""
        near = shares > self._least[topics]
        if not near.any():
            return
        topics = np.concatenate([self._topics, topics[near].astype(np.int32)])
        positions = np.concatenate([self._positions, positions[near]])
        shares = np.concatenate([self._shares, shares[near]])
        order = np.lexsort((-shares, topics))  # stable: ties stay in the order of their positions
        starts = np.searchsorted(topics[order], np.arange(self._n_topics + 1))
        rank = np.arange(len(order)) - np.repeat(starts[:-1], np.diff(starts))
        kept = order[rank < KEPT]
        self._topics, self._positions, self._shares = topics[kept], positions[kept], shares[kept]
        full = np.flatnonzero(np.diff(starts) >= KEPT)
        self._least[full] = shares[order[starts[full] + KEPT - 1]]

    def found(self) -> Leading:
        indptr = np.searchsorted(self._topics, np.arange(self._n_topics + 1))
        return Leading(indptr.astype(np.int64), self._positions, self._shares)


def tally(
    store: Any,
    prior: np.ndarray | None,
    columns: Sequence[tuple[np.ndarray, int, np.ndarray | None]],
    tell: Callable[[int], object],
    groups: Sequence[Sequence[int]] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Tally:
    """The figures of the topics in a store, or of groups of them, whose shares add up.

    Parameters
    ----------
    store : of topics
    prior : of documents without a known word, see `TopicRows.normalised`
    columns : see `Column.numbered`
    tell : called with numbers of documents that have been read
    groups : each topic of the store is in one; None for the topics themselves
    stopped : whether to end now

    Raises
    ------
    Stopped
        When `stopped` says so.
    InputError
        When the store is damaged.
    """
    from scipy.sparse import csr_matrix

    n_topics = store.n_components if groups is None else len(groups)
    group_of = None if groups is None else group_numbers(groups, store.n_components)
    total, largest = np.zeros(n_topics), np.zeros(store.n_docs, _smallest_type(n_topics))
    best = _Largest(n_topics)
    sums = [Sums(*np.zeros((2, n_topics, n))) for _, n, _ in columns]
    for start, (indptr, topics, shares) in store.batches(prior):
        if stopped():
            raise Stopped
        n_docs = len(indptr) - 1
        if group_of is not None:
            joined = csr_matrix((shares, group_of[topics], indptr), shape=(n_docs, n_topics))
            joined.sum_duplicates()
            indptr, topics, shares = joined.indptr, joined.indices, joined.data
        own = csr_matrix((shares, topics, indptr), shape=(n_docs, n_topics))
        documents = np.repeat(np.arange(n_docs), np.diff(indptr))
        total += np.bincount(topics, weights=shares, minlength=n_topics)
        own_sums = np.asarray(own.sum(axis=1)).ravel()
        largest[start : start + n_docs] = np.where(own_sums > 0, leaders(own), -1)
        best.add(topics, start + documents, shares)
        for (codes, n, of_document), (of_shares, of_squares) in zip(columns, sums, strict=True):
            if of_document is None:
                _add(of_shares, of_squares, codes[start : start + n_docs][documents], topics, shares, n)
                continue
            cuts, entries = take_segments(of_document, start + documents)
            times = np.diff(cuts)
            _add(of_shares, of_squares, codes[entries], topics.repeat(times), shares.repeat(times), n)
        tell(n_docs)
    return Tally(total / max(total.sum(), 1), largest, best.found(), sums)


def _add(
    of_shares: np.ndarray,
    of_squares: np.ndarray,
    codes: np.ndarray,
    topics: np.ndarray,
    shares: np.ndarray,
    n: int,
) -> None:
    """Add shares to the sums of their groups, (n_topics, n)."""
    known = codes >= 0
    cells = topics[known].astype(np.int64) * n + codes[known]
    values = shares[known]
    np.add.at(of_shares.reshape(-1), cells, values)
    np.add.at(of_squares.reshape(-1), cells, values**2)


def group_numbers(groups: Sequence[Sequence[int]], n: int) -> np.ndarray:
    """The group of each of n topics, int64 (n,)."""
    found = np.zeros(n, np.int64)
    for number, group in enumerate(groups):
        found[list(group)] = number
    return found


def _smallest_type(n: int) -> Any:
    return np.int16 if n <= np.iinfo(np.int16).max else np.int32


def without_pass(known: Tally, groups: Sequence[Sequence[int]]) -> Tally:
    """What the figures of topics say about groups of them, of which each topic is in one, without a pass.

    Mean shares are exact. A group has the documents of its topics, whose largest topic alone says which group is their
    largest; the standard errors of groups of several topics are nan.
    """
    group_of = group_numbers(groups, len(known.share))
    several = np.array([len(group) > 1 for group in groups])
    sums = []
    for shares, squares in known.sums:
        added = np.array([shares[list(group)].sum(axis=0) for group in groups])
        own = np.where(several[:, None], np.nan, [squares[group[0]] for group in groups])
        sums.append(Sums(added, own))
    largest = np.append(group_of, -1).astype(_smallest_type(len(groups)))[
        known.largest
    ]  # the last one is of none
    share = np.bincount(group_of, weights=known.share, minlength=len(groups))
    return Tally(share, largest, _joined(known.leading, groups), sums, exact=not several.any())


def _joined(leading: Leading, groups: Sequence[Sequence[int]]) -> Leading:
    """The documents of the topics of each group; shares of topics in whose lists they are not are left out."""
    pieces = []
    for group in groups:
        found = [leading.of(topic) for topic in group]
        positions, at = np.unique(np.concatenate([own for own, _ in found]), return_inverse=True)
        shares = np.bincount(at, weights=np.concatenate([own for _, own in found]), minlength=len(positions))
        order = np.argsort(-shares, kind="stable")[:KEPT]
        pieces.append((positions[order], shares[order]))
    indptr = np.cumsum([0, *(len(positions) for positions, _ in pieces)])
    return Leading(indptr, *(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))


# ------------------------------------------------------------------ files


def save_tally(folder: Path, found: Tally) -> None:
    """Write the figures to files of a folder, which exists."""
    arrays = {"share": found.share, "largest": found.largest, **found.leading._asdict()}
    for number, sums in enumerate(found.sums):
        arrays[f"sums-{number}"] = np.stack(sums)
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values, allow_pickle=False)


def load_tally(folder: Path, n_columns: int) -> Tally:
    """The figures that `save_tally` wrote, mapped from their files. Raises OSError or ValueError for damaged files."""

    def array(name: str) -> np.ndarray:
        return np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)

    leading = Leading(*(array(name) for name in Leading._fields))
    sums = [Sums(*array(f"sums-{number}")) for number in range(n_columns)]
    return Tally(array("share"), array("largest"), leading, sums)
