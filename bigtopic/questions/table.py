"""Answers as tables: a pandas DataFrame where pandas is installed, else a `Table` with the same columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.support.table import Table

__all__ = ["Table", "frame", "square"]


def frame(columns: Mapping[str, Any]) -> Any:
    """The columns as a `pandas.DataFrame`, or as a `Table` where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return Table(columns)
    return pandas.DataFrame(dict(columns))


def square(values: np.ndarray, topics: Sequence[int] | None = None) -> Any:
    """A matrix of topics by topics (None: all), as a `pandas.DataFrame`, or as it is where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return values
    numbers = pandas.Index(range(len(values)) if topics is None else topics, name="topic")
    return pandas.DataFrame(values, index=numbers, columns=numbers)
