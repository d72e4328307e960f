"""Shares of topics in groups of documents, for the plots of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.base import Setting
from bigtopic.questions.groups import GroupShares

__all__ = ["DATES", "shares_by"]

DATES = {
    "column": Setting("", "Column of the documents whose values group them, or authors."),
    "date_format": Setting("", "How dates are written, such as %d.%m.%Y; %s for seconds since 1970."),
}


def shares_by(subject: Any, settings: Mapping[str, Any], **further: Any) -> GroupShares:
    """Shares of topics by the settings `DATES` and further ones of `topics_over`.

    Raises
    ------
    SettingError
        When no column is named, no document has a value of it, and as `topics_over`.
    """
    column = settings["column"]
    if not column:
        raise SettingError(f"{argument('column', ...)}: name the column that groups the documents")
    found: GroupShares = subject.model._group_shares(
        column, subject.documents, subject.theta, date_format=settings["date_format"], **further
    )
    if not found.n_groups:
        raise SettingError(
            f"{argument('column', column)}: no document has a value of it; name another column"
        )
    return found
