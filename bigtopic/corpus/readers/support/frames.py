"""pandas' tables and columns as documents: whole, or as the partitions of a Dask DataFrame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.support.arrow import check_unique
from bigtopic.corpus.readers.support.columns import id_texts, series_values
from bigtopic.corpus.readers.support.documents import Documents, kind_of_all
from bigtopic.corpus.readers.support.tables import joined, table_documents
from bigtopic.corpus.readers.tables.roles import table_layout
from bigtopic.corpus.readers.tables.sample import SAMPLE_ROWS, Sample, TableLayout

__all__ = [
    "as_frame",
    "frame_documents",
    "frame_kind",
    "frame_layout",
    "is_frame",
]


def is_frame(source: Any, package: str) -> bool:
    """Whether this is a Series or a DataFrame of the package."""
    kind = type(source)
    return kind.__name__ in ("Series", "DataFrame") and kind.__module__.startswith(f"{package}.")


def as_frame(source: Any) -> Any:
    """A column becomes a table of texts."""
    return source.to_frame("text") if type(source).__name__ == "Series" else source


def frame_layout(frame: Any, options: Options, where: str, first: Any = None) -> TableLayout:
    """Which column is what; `first` holds rows of a frame that has none itself."""
    begin = (frame if first is None else first).iloc[:SAMPLE_ROWS]
    table = Sample(
        tuple(map(str, frame.columns)),
        lambda i: list(series_values(begin.iloc[:, i])),
        tuple(dtype.kind in "biuf" for dtype in frame.dtypes),
        names_rows=begin.index.inferred_type == "string",
    )
    layout = table_layout(table, options, where)
    if not layout.matrix:
        check_unique(layout, where)
    return layout


def frame_kind(frame: Any, layout: TableLayout) -> str:
    """The kind of the documents, from the first rows."""
    parts = [series_values(frame.iloc[:SAMPLE_ROWS, i]) for i in layout.bodies]
    return kind_of_all(joined(parts), layout.body_name)


def frame_documents(frame: Any, layout: TableLayout, place: Callable[[int], str]) -> Documents:
    """A document per row; an index that is not of integers names them, unless a column does."""
    used = layout.positions
    columns = [series_values(frame.iloc[:, i]) if i in used else () for i in range(len(layout.names))]
    documents = table_documents(columns, layout, place)
    if layout.id is None and frame.index.inferred_type != "integer":
        return replace(documents, ids=id_texts(frame.index))
    return documents
