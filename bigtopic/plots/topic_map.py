"""The topics on a plane: the area of a circle is a topic's share, and topics with similar words are close together."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Setting
from bigtopic.plots._base import Plot
from bigtopic.plots._plane import LEAST_DISTANCE, write_apart
from bigtopic.plots._style import ACCENT, BAR, heading, label, largest, resize, shown_of, sizes_of
from bigtopic.questions.compare import MEASURES
from bigtopic.questions.maps import topic_places
from bigtopic.questions.words import top_labels

__all__ = ["PLOT"]

_MOST = 2000  # circles
_COVERED = 0.2  # of the square around the centres, by circles that did not overlap
_BELOW = -7.0  # points from a circle down to the middle of its name
_LONGEST = 26  # characters of a name


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    source = subject.source
    sizes, known = sizes_of(source, results)
    centres = topic_places(source, settings["measure"])
    named, names, order = largest(sizes, settings["n_topics"]), top_labels(source), largest(sizes, _MOST)
    resize(figure, 8, 7)
    axes = figure.subplots()
    shown = centres[order]
    span = float(np.ptp(shown, axis=0).max())
    span = span if span > LEAST_DISTANCE else 1.0
    radii = span * np.sqrt(_COVERED * sizes / np.pi)
    for k in order:
        x, y = centres[k]
        axes.add_patch(_circle(x, y, radii[k]))
    middle, half = (shown.max(axis=0) + shown.min(axis=0)) / 2, 0.5 * span + 1.3 * radii.max()
    axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    axes.set_aspect("equal")
    axes.set_axis_off()
    numbers = [(*centres[k], 0.0, str(k)) for k in order]
    below = [
        (centres[k, 0], centres[k, 1] - radii[k], _BELOW, f"{k}  {label(names[k], _LONGEST)}") for k in named
    ]
    write_apart(axes, [*chain(*zip(numbers, below, strict=False)), *numbers[len(named) :]])
    about = shown_of(len(order), len(sizes), "topic")
    title = f"{about[0].upper()}{about[1:]}; the closer two are, the more alike are their words"
    heading(figure, f"{title}. Area: share of the tokens" if known else title)


def _circle(x: float, y: float, radius: float) -> Any:
    from matplotlib.patches import Circle

    return Circle((x, y), radius, facecolor=BAR, edgecolor=ACCENT, alpha=0.55, linewidth=0.8)


PLOT = Plot(
    "topic-map",
    draw,
    summary="topics on a plane, by the likeness of their words",
    measures=["prevalence"],
    settings={
        "n_topics": Setting(20, "Number of topics to name, largest first."),
        "measure": Setting("hellinger", "Similarity of topics.", MEASURES),
    },
)
