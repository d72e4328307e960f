"""pandas' tables and columns as documents: whole, or as the partitions of a Dask DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.support.arrow import check_unique
from bigtopic.corpus.readers.support.columns import id_texts, series_values
from bigtopic.corpus.readers.support.documents import Documents, kind_of_all
from bigtopic.corpus.readers.support.tables import (
    TableLayout,
    holds_counts,
    only_text,
    table_documents,
    table_layout,
)

__all__ = [
    "as_frame",
    "column_names",
    "frame_documents",
    "frame_kind",
    "frame_layout",
    "is_frame",
    "is_matrix",
]


def is_frame(source: Any, package: str) -> bool:
    """Whether this is a Series or a DataFrame of the package."""
    kind = type(source)
    return kind.__name__ in ("Series", "DataFrame") and kind.__module__.startswith(f"{package}.")


def as_frame(source: Any) -> Any:
    """A column becomes a table of texts."""
    return source.to_frame("text") if type(source).__name__ == "Series" else source


def column_names(frame: Any) -> list[str]:
    return [str(name) for name in frame.columns]


def is_matrix(frame: Any, options: Options) -> bool:
    """Whether each column holds the counts of a word."""
    return holds_counts(column_names(frame), [dtype.kind in "biuf" for dtype in frame.dtypes], options)


def frame_layout(frame: Any, options: Options, where: str) -> TableLayout:
    """Which column is what; a table without rows will do."""
    names = column_names(frame)
    layout = table_layout(
        names, options, where, only_text(names, [dtype.kind in "OU" for dtype in frame.dtypes])
    )
    check_unique(layout, where)
    return layout


def frame_kind(frame: Any, layout: TableLayout) -> str:
    """The kind of the documents, from the first rows."""
    return kind_of_all(series_values(frame.iloc[:1000, layout.body]), layout.body_name)


def frame_documents(frame: Any, layout: TableLayout, place: Callable[[int], str]) -> Documents:
    """A document per row; an index that is not of integers names them, unless a column does."""
    used = layout.positions
    columns = [series_values(frame.iloc[:, i]) if i in used else () for i in range(len(layout.names))]
    documents = table_documents(columns, layout, place)
    if layout.id is None and frame.index.inferred_type != "integer":
        return replace(documents, ids=id_texts(frame.index))
    return documents
