"""Files for the topics of documents, one format per file of this folder, which has the name of the ending.

A file defines `FORMAT`, see `_table.Format`.
"""

from __future__ import annotations

from typing import Any

from bigtopic.errors import SettingError, argument, did_you_mean
from bigtopic.support import discovery

__all__ = ["STORE", "load", "target_format"]

STORE = "zarr"
_PACKAGE = "bigtopic.estimators.topic_stores.formats"


def target_format(path: Any, format: str | None) -> str:
    """The format of a path or URL: the one that is given, or the ending; without one of these endings, a store.

    Raises
    ------
    SettingError
        When there is no such format.
    """
    known = [STORE, *discovery.modules(_PACKAGE)]
    if format is None:
        ending = str(path).rstrip("/").rpartition(".")[2].lower()
        return ending if ending in known else STORE
    if format not in known:
        raise SettingError(
            f"{argument('format', format)}: must be one of {', '.join(known)}{did_you_mean(format, known)}"
        )
    return format


def load(format: str) -> Any:
    """The `Format` of a name that `target_format` returned."""
    return discovery.load(_PACKAGE, format, "FORMAT", "format")
