"""Whether topics of documents can be written at a place, before the work begins."""

from __future__ import annotations

from typing import Any

from bigtopic.estimators.topic_stores import formats, output, tables
from bigtopic.estimators.topic_stores.sparsity import check_sparsity

__all__ = ["check_target"]


def check_target(
    target: Any, *, format: str | None, overwrite: bool, min_probability: float, top_k: int | None
) -> None:
    """Check what `transform_to` is asked to write, without documents.

    Raises
    ------
    CorpusExists
        When the path is taken and `overwrite` is false, or it holds something other than topics.
    SettingError
        When there is no such format, it cannot be written to an open file, or another setting is out of range.
    """
    check_sparsity(min_probability, top_k)
    kind = formats.target_format(target, format)
    if kind == formats.STORE:
        output.check_store(target, overwrite)
    else:
        tables.check_table(kind, target, overwrite)
