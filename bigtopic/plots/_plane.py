"""What plots of points on a plane have in common: colours of topics with their legend, and names that stay apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bigtopic.plots._style import AS_IT_IS, OTHER, PALETTE, label, largest
from bigtopic.plots._text_width import points_across, width_in

__all__ = ["LEAST_DISTANCE", "colours_of", "legend", "scatter", "write_apart"]

LEAST_DISTANCE = 1e-3  # of topics that are not equal but for rounding

_MANY = 2000  # points, from which on they are pixels in a picture of lines: else an SVG of them would be megabytes
_PATCH = 28  # points of a legend's entry that are not its text
_AROUND = np.array(
    [12.0, 60.0]
)  # points of the width and height of a figure that are not its axes': title, legend
_LINE = 8.0  # points


def colours_of(topics: np.ndarray, labels: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """A colour for each topic: its own if it is one of those that most points have, else grey.

    Parameters
    ----------
    topics : of points, (n,)
    labels : of all topics

    Returns
    -------
    colours, and entries of a legend of those that there are
    """
    numbers = np.bincount(topics, minlength=len(labels))
    leading = [k for k in largest(numbers, len(PALETTE)).tolist() if numbers[k]]
    colours, entries = [OTHER] * len(labels), []
    for k, colour in zip(leading, PALETTE, strict=False):
        colours[k] = colour
        entries.append((colour, f"{k}  {label(labels[k], 30)}"))
    if np.count_nonzero(numbers) > len(leading):
        entries.append((OTHER, "other topics"))
    return colours, entries


def scatter(
    axes: Any, x: np.ndarray, y: np.ndarray, topics: np.ndarray, labels: Sequence[str], **settings: Any
) -> None:
    """Points in the colours of their topics, with a legend, on axes of one scale that are not drawn."""
    from matplotlib.colors import to_rgba_array

    colours, entries = colours_of(topics, labels)
    own = to_rgba_array(colours)[topics]
    axes.scatter(x, y, c=own, linewidths=0, alpha=0.65, rasterized=len(x) > _MANY, **settings)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()
    legend(axes, entries)


def legend(axes: Any, entries: Sequence[tuple[str, str]]) -> None:
    """Colours and what they mean, below the axes."""
    from matplotlib.patches import Patch

    if not entries:
        return
    widest = _PATCH + max(map(width_in("x-small"), (text for _, text in entries)))
    found = axes.legend(
        handles=[Patch(color=colour, label=text) for colour, text in entries],
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=max(1, min(4, int(points_across(axes.figure) // widest))),
        frameon=False,
        fontsize="x-small",
    )
    for text in found.get_texts():
        text.set_parse_math(False)


def write_apart(axes: Any, texts: Iterable[tuple[float, float, float, str]]) -> None:
    """Write texts on axes whose limits are set; those that would overlap an earlier one are left out.

    Parameters
    ----------
    texts : where each is on the axes (x, y), how much higher its middle is, in points, and the text
    """
    width, scale = width_in("x-small"), _points_per_unit(axes)
    taken = np.zeros((0, 4))
    for x, y, higher, text in texts:
        centre, half = np.array([x, y]) * scale + (0, higher), np.array([width(text), _LINE]) / 2
        low, high = centre - half, centre + half
        over = (taken[:, :2] < high) & (taken[:, 2:] > low)
        if not over.all(axis=1).any():
            taken = np.vstack([taken, [*low, *high]])
            axes.annotate(
                text,
                (x, y),
                (0, higher),
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize="x-small",
                **AS_IT_IS,
            )


def _points_per_unit(axes: Any) -> np.ndarray:
    """Points of the picture per unit of x and y, (2,), about: the layout is known when it is drawn."""
    figure, limits = axes.figure, np.array([axes.get_xlim(), axes.get_ylim()])
    points = 72 * np.array([figure.bbox.width, figure.bbox.height]) / figure.dpi - _AROUND
    scale = np.maximum(points, 1) / np.abs(limits[:, 1] - limits[:, 0])
    return scale if axes.get_aspect() == "auto" else np.full(2, scale.min())
