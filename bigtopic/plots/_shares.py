"""Shares of topics in groups of documents, for the plots of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.base import Setting

__all__ = ["DATES", "GroupShares", "shares_by"]

DATES = {
    "column": Setting("", "Column of the documents whose values group them, or authors."),
    "date_format": Setting("", "How dates are written, such as %d.%m.%Y; %s for seconds since 1970."),
}


class GroupShares(NamedTuple):
    """Mean shares of topics.

    groups : values of the column, or bins, in ascending order
    labels : of the topics
    share, standard_error : float64 (n_groups, n_components)
    n_documents : int64 (n_groups,)
    """

    groups: Sequence[Any]
    labels: Sequence[str]
    share: np.ndarray
    standard_error: np.ndarray
    n_documents: np.ndarray


def shares_by(subject: Any, settings: Mapping[str, Any], **further: Any) -> GroupShares:
    """The answer of `topics_over` to the settings `DATES` and further ones.

    Raises
    ------
    SettingError
        When no column is named, no document has a value of it, and as `topics_over`.
    """
    column = settings["column"]
    if not column:
        raise SettingError(f"{argument('column', ...)}: name the column that groups the documents")
    table = subject.model.topics_over(
        column, subject.documents, theta=subject.theta, date_format=settings["date_format"] or None, **further
    )
    n = subject.source.n_components
    groups = list(table[next(iter(table.columns))])[::n]
    if not groups:
        raise SettingError(
            f"{argument('column', column)}: no document has a value of it; name another column"
        )
    names = ("share", "standard_error", "n_documents")
    share, error, documents = (np.asarray(table[name]).reshape(-1, n) for name in names)
    return GroupShares(groups, list(table["label"])[:n], share, error, documents[:, 0])
