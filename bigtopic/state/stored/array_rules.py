"""What the stored parts of a global array may contain. Checked before a model is written, and when it is read."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np

from bigtopic.state.contract.scheme_steps import LARGEST_PRIOR
from bigtopic.state.lazy_array import SMALLEST_SCALE
from bigtopic.state.running_mean import COUNT
from bigtopic.state.stored.model_rules import MOST_STEPS
from bigtopic.storage.json_rules import LARGEST, FieldError

__all__ = ["FREQUENCIES", "PARTS", "check_frequency", "check_parts", "check_range"]

PARTS = ("raw", "scale", "prior", "sums")  # of a `LazyArray`
FREQUENCIES = {"document_frequency": "int64", "frequency": "float64"}  # of the words in what was learned from
_BLOCK_ROWS = 1 << 14
_DRIFT = 0.01  # of sums: a few millionths after 15,000 updates; more is damage


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
        When a value is not finite or outside its range, or the sums are not those of the statistics.
    """
    raw, scale = parts["raw"], parts["scale"]
    for part in ("raw", "sums"):
        least = -sys.float_info.max if normalised_over is None else -_rounding(parts[part], raw.dtype)
        check_range(f"{name}/{part}", parts[part], least)
    check_range(f"{name}/scale", scale, SMALLEST_SCALE)
    check_range(f"{name}/prior", parts["prior"], 0.0, LARGEST_PRIOR)
    if raw.dtype.kind == "f" and _largest(raw) * scale.max() > np.finfo(raw.dtype).max:
        raise FieldError(f"{name} holds values whose products with their scale are not finite")
    if name.endswith(f".{COUNT}"):
        check_range(name, parts["prior"] + raw[:1, :1] * scale[:1], most=MOST_STEPS)
    _check_sums(name, raw, scale, parts["sums"])


def _check_sums(name: str, raw: np.ndarray, scale: np.ndarray, sums: np.ndarray) -> None:
    """Sums are kept beside the rows, which are rounded to their type at each addition, and drift from them."""
    found, size = np.zeros(len(sums)), np.zeros(len(sums))
    for start in range(0, len(raw), _BLOCK_ROWS):
        rows = raw[start : start + _BLOCK_ROWS] * scale
        found += rows.sum(axis=0)
        size += np.abs(rows, out=rows).sum(axis=0)
    if not (np.abs(found - sums) <= _DRIFT * max(size.max(initial=0.0), 1e-30)).all():
        column = int(np.argmax(np.abs(found - sums)))
        raise FieldError(
            f"{name}/sums of column {column} is {sums[column]:g}, but scale times the rows of raw add up to "
            f"{found[column]:g}"
        )


def check_frequency(name: str, values: np.ndarray) -> None:
    """Check how often words occur: numbers of documents that JSON could carry, so that more can be added, and tokens.

    Raises
    ------
    FieldError
    """
    check_range(name, values, most=LARGEST if values.dtype.kind == "i" else sys.float_info.max)


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
