"""Tables: columns by name, which print in terminals and notebooks, and become a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, require
from bigtopic.support.cards import scrolling
from bigtopic.wording import printable

__all__ = ["Table"]

_WIDEST = 60  # characters of a cell in a terminal


class Table:
    """Columns of equal length by name. Prints as text, and as HTML in notebooks, in which everything is escaped.

    Attributes
    ----------
    columns : {name: values}
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = dict(columns)

    @classmethod
    def of(cls, found: Any) -> Table:
        """A table, or a DataFrame, as a table."""
        return cls({str(name): list(found[name]) for name in found.columns})

    def __getitem__(self, name: str) -> Sequence[Any]:
        if name not in self.columns:
            raise SettingError(f"there is no column {name!r}; columns: {', '.join(self.columns)}")
        return self.columns[name]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows, each with a value per column."""
        return zip(*self.columns.values(), strict=True)

    def to_pandas(self) -> Any:
        """The table as a `pandas.DataFrame`.

        Raises
        ------
        MissingExtra
            When pandas is not installed.
        """
        return require("pandas", "pandas").DataFrame(self.columns)

    def text(self, widest: int = _WIDEST) -> str:
        """Aligned lines; cells longer than `widest` characters are cut."""
        cells = [[printable(name), *map(_cell, values)] for name, values in self.columns.items()]
        cells = [[cell if len(cell) <= widest else f"{cell[: widest - 1]}…" for cell in own] for own in cells]
        sizes = [max(map(len, own)) for own in cells]
        right = [all(isinstance(value, _NUMBERS) for value in own) for own in self.columns.values()]
        lines = (
            "  ".join(
                cell.rjust(n) if by_number else cell.ljust(n)
                for cell, n, by_number in zip(line, sizes, right, strict=True)
            )
            for line in zip(*cells, strict=True)
        )
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return scrolling(list(self.columns), ([_in_html(cell) for cell in row] for row in self.rows()))


_NUMBERS = (bool, int, float, np.generic)


def _cell(value: Any) -> str:
    return printable(" ".join(_shown(value).split()))


def _in_html(value: Any) -> Any:
    return value if isinstance(value, list) else _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):  # the edges of a bin
        return " to ".join(edge if isinstance(edge, str) else f"{edge:g}" for edge in value)
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, float | np.floating):
        return f"{value:.0f}" if float(value).is_integer() else f"{value:.4f}"
    return "" if value is None else str(value)
