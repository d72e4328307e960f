"""What the kernels of the dual topic model share: counts that change in the course of a call, and starts.

A record is one token of an entry. Of the pairs of topics (k, j), flat arrays have pair k * n_column_topics + j.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bigtopic.kernels.support.entry import counted, frozen, inner
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, Scratch, View

__all__ = [
    "AXES",
    "FLOOR",
    "VIEWS",
    "Counts",
    "counts_of",
    "first_pair",
    "given_pairs",
    "given_topics",
    "moved",
    "padded",
    "records_scratch",
    "starts",
]

VIEWS = {"row_topics": "counts", "column_topics": "counts", "joint": "counts"}
AXES = {"row_topics": "row", "column_topics": "column", "joint": "row_topic"}
FLOOR = 1e-10  # of a weight without its own record: what rounding leaves of it is less


class Counts(NamedTuple):
    """The weights of the params, prior included, to be changed: float64.

    rows : (n_docs, n_columns); columns : (n_words, n_columns), both with padding
    joint : (n_row_topics, n_column_topics)
    row_totals, column_totals : (n_row_topics,), (n_column_topics,), sums of the weights over the whole axes
    """

    rows: np.ndarray
    columns: np.ndarray
    joint: np.ndarray
    row_totals: np.ndarray
    column_totals: np.ndarray


def counts_of(view: View, hyper: Hyper) -> Counts:
    """Copies of what the params have."""
    n_row_topics, n_column_topics = hyper.components["row_topic"], hyper.components["column_topic"]
    return Counts(
        _copy(view.arrays["row_topics"]),
        _copy(view.arrays["column_topics"]),
        np.array(view.arrays["joint"][:, :n_column_topics], np.float64),
        np.array(view.totals["row_topics"][:n_row_topics], np.float64),
        np.array(view.totals["column_topics"][:n_column_topics], np.float64),
    )


def moved(counts: Counts, view: View) -> dict[str, np.ndarray]:
    """By how much the counts have changed, as statistics; takes over their arrays."""
    joint = np.zeros(view.arrays["joint"].shape)
    joint[:, : counts.joint.shape[1]] = counts.joint
    found = {"row_topics": counts.rows, "column_topics": counts.columns, "joint": joint}
    for name, values in found.items():
        values -= view.arrays[name]
    return found


def padded(totals: np.ndarray, width: int) -> np.ndarray:
    """Totals with infinity in the padding, where nothing divided by them is left."""
    out = buffers.empty(width, np.float64)
    out[len(totals) :] = np.inf
    out[: len(totals)] = totals
    return out


def _copy(values: np.ndarray) -> np.ndarray:
    copy = buffers.empty(values.shape, np.float64)
    copy[:] = values
    return copy


def given_topics(view: View, hyper: Hyper) -> bool:
    """Whether a new record begins given what is counted: the run began with given topics."""
    n_column_topics = hyper.components["column_topic"]
    return hyper.begun and counted(view, hyper, "column_topics", "column", n_column_topics)


def starts(docs: Docs, view: View, hyper: Hyper, seed: int) -> tuple[np.ndarray, int, bool, np.ndarray]:
    """How new records begin: keys of the rows, the seed, `given_topics`, and `given_pairs`."""
    return frozen(docs.rows, np.int64), int(seed), given_topics(view, hyper), given_pairs(view, hyper)


def given_pairs(view: View, hyper: Hyper) -> np.ndarray:
    """Running sums of the joint distribution that new records are drawn from, where the run begins with nothing but
    that: float64 (n_row_topics * n_column_topics,), or (0,)."""
    n_column_topics = hyper.components["column_topic"]
    begins = hyper.begun and counted(view, hyper, "joint", "row_topic", n_column_topics)
    if not begins or given_topics(view, hyper):
        return np.zeros(0)
    return np.cumsum(view.arrays["joint"][:, :n_column_topics] - hyper.priors["joint"], dtype=np.float64)


def records_scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """The counts of the entries."""
    return Scratch([size.n_entries * 8])


@inner
def first_pair(u, n_row_topics, n_column_topics, pairs):
    """The pair that a record begins with, for a number u between 0 and 1: (t, t), modulo the sides, t at random; or
    one drawn from the distribution whose running sums are `pairs`.

    Of (t, t), every topic of one side begins with few of the other. From pairs of all kinds, or each drawn given those
    before, far fewer runs came to the best mode of small data.
    """
    if pairs.shape[0] > 0:
        pair = 0
        while pairs[pair] <= u * pairs[-1] and pair < pairs.shape[0] - 1:
            pair += 1
        return pair // n_column_topics, pair % n_column_topics
    longer = max(n_row_topics, n_column_topics)
    t = min(int(u * longer), longer - 1)
    return t % n_row_topics, t % n_column_topics
