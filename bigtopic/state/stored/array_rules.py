"""What the stored parts of a global array may contain. Checked before a model is written, and when it is read."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

from bigtopic.state.contract.scheme_steps import LARGEST_PRIOR
from bigtopic.state.lazy_array import SMALLEST_SCALE
from bigtopic.storage.json_rules import FieldError

__all__ = ["PARTS", "check_parts", "check_range"]

PARTS = ("raw", "scale", "prior", "sums")  # of a `LazyArray`


def check_parts(name: str, parts: Mapping[str, np.ndarray], normalised_over: str | None) -> None:
    """Check the values of an array's parts.

    Statistics of distributions may be below 0 only by rounding: labels that were added and taken away again in thirds.

    Parameters
    ----------
    name : of the array, for the message
    parts : those of `PARTS`, with the shapes and types of a `LazyArray`
    normalised_over : None where statistics may be negative: changes of a prior, a momentum

    Raises
    ------
    FieldError
        When a value is not finite or outside its range.
    """
    raw, scale = parts["raw"], parts["scale"]
    for part in ("raw", "sums"):
        least = -sys.float_info.max if normalised_over is None else -_rounding(parts[part], raw.dtype)
        check_range(f"{name}/{part}", parts[part], least)
    check_range(f"{name}/scale", scale, SMALLEST_SCALE)
    check_range(f"{name}/prior", parts["prior"], 0.0, LARGEST_PRIOR)
    if raw.dtype.kind == "f" and _largest(raw) * scale.max() > np.finfo(raw.dtype).max:
        raise FieldError(f"{name} holds values whose products with their scale are not finite")


def check_range(name: str, values: np.ndarray, least: float = 0.0, most: float = sys.float_info.max) -> None:
    """Check that all values are in a range; NaN is in none.

    Raises
    ------
    FieldError
        When one is not.
    """
    if values.size and not least <= float(values.min()) <= float(values.max()) <= most:
        raise FieldError(
            f"{name} holds values from {values.min():g} to {values.max():g}, outside {least:g} .. {most:g}"
        )


def _rounding(values: np.ndarray, dtype: np.dtype) -> float:
    """Half of the digits that the largest value has in this type."""
    if dtype.kind != "f":
        return 0.0
    largest = float(values.max(initial=0))
    return float(np.sqrt(np.finfo(dtype).eps)) * min(largest, sys.float_info.max)


def _largest(values: np.ndarray) -> float:
    """The largest absolute value, without a copy of the array."""
    return max(float(values.max(initial=0)), -float(values.min(initial=0)))
