"""How a model declares its global arrays. The runtime owns them; a model only says what they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ArraySpec", "Model"]


@dataclass(frozen=True)
class ArraySpec:
    """One global array, row-major by id of its axis: (axis size, n_components).

    Attributes
    ----------
    axis : "word", "author", or "none" (one row)
    prior : name of the setting that holds its prior, or None for an array without one
    normalised_over : "axis" when a column sums to one over the axis (topics over words), "components" when a row
        sums to one over the components (an author's topics)
    """

    axis: str
    prior: str | None = None
    normalised_over: str = "axis"


@dataclass(frozen=True)
class Model:
    """A model: its name and its global arrays."""

    name: str
    arrays: Mapping[str, ArraySpec]
