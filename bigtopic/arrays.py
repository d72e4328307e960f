"""How a global array is declared: by a model, or by a scheme that remembers something about the rows of one."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ArraySpec"]


@dataclass(frozen=True)
class ArraySpec:
    """One global array, row-major: (size of its axis, number of its columns).

    Attributes
    ----------
    rows : the axis. Documents have ids on "word" (also called "column"), "author" and "row" (the documents themselves,
        by source row), so that a minibatch reads and moves its own rows alone. On any other axis every task reads every
        row: "none" has one, a component count has one for each component, and the size of an axis of the model's own
        is given when a model is made
    columns : the component count of the columns by name, or 1
    prior : name of the setting that holds its prior, or None for an array without one
    normalised_over : "axis" when a column sums to one over the axis (topics over words), "components" when a row sums
        to one over the columns (an author's topics), None when the array is not a set of distributions
    start : initial statistics, (distribution, share) as in `Method.init`; None for zeros
    dtype : "float32", "float64", or "int32" or "int64" for counts
    """

    rows: str
    columns: str | int = "topic"
    prior: str | None = None
    normalised_over: str | None = "axis"
    start: tuple[str, float | None] | None = None
    dtype: str = "float32"
