"""Topics over time, or over any groups of documents: the mean share of a topic in the documents of each group.

    share_gk = mean of theta_dk over the n_g documents d of group g
    standard error of share_gk = sqrt((mean of theta_dk^2 - share_gk^2) / (n_g - 1))

Every document counts the same, whatever its length. Memory is that of a batch and of the groups times the topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.questions.groups import MOST_CELLS, Grouping
from bigtopic.questions.theta import Theta

__all__ = ["over_groups"]


def over_groups(theta: Theta, groups: Grouping, columns: Sequence[str]) -> dict[str, Any]:
    """Shares of all topics in all groups.

    Returns
    -------
    groups : (n_groups,) ascending; of several columns, tuples
    n_documents : int64 (n_groups,)
    share, standard_error : float64 (n_groups, n_components); the error of a group of one document is nan

    Raises
    ------
    SettingError
        When there are more groups than fit in memory.
    """
    index: dict[Any, int] = {}
    sums, squares = (np.zeros((0, theta.n_components)) for _ in range(2))
    numbers = np.zeros(0, np.int64)
    for positions, shares in theta.batches("grouping"):
        documents, local, names = groups(positions)
        codes = np.array([index.setdefault(name, len(index)) for name in names], np.int64)
        if len(index) * theta.n_components > MOST_CELLS:
            raise SettingError(
                f"column {' and '.join(map(repr, columns))} has {len(index):,} groups or more, too many for "
                f"{theta.n_components} topics; "
                "give freq for dates, bins for numbers, or where for fewer documents"
            )
        sums, squares, numbers = (_grown(values, len(index)) for values in (sums, squares, numbers))
        members = _members(local, documents, (len(names), len(positions)))
        np.add.at(sums, codes, (members @ shares).toarray())
        np.add.at(squares, codes, (members @ shares.power(2)).toarray())
        np.add.at(numbers, codes, np.bincount(local, minlength=len(names)))
    order = sorted(index, key=_sortable)
    at = np.array([index[name] for name in order], np.int64)
    n = numbers[at, None]
    share = sums[at] / n
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(np.maximum(squares[at] / n - share**2, 0) / (n - 1))
    return {"groups": order, "n_documents": numbers[at], "share": share, "standard_error": error}


def _sortable(group: Any) -> Any:
    """Groups of one type are sorted by their values, those of several columns by one column after the other."""
    return [*map(_sortable, group)] if isinstance(group, tuple) else (str(type(group)), group)


def _members(codes: np.ndarray, documents: np.ndarray, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix((np.ones(len(codes)), (codes, documents)), shape=shape)


def _grown(values: np.ndarray, n_rows: int) -> np.ndarray:
    """The sums with room for more groups."""
    if n_rows <= len(values):
        return values
    grown = np.zeros((2 * n_rows, *values.shape[1:]), values.dtype)
    grown[: len(values)] = values
    return grown
