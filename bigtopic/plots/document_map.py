"""Documents on a plane, coloured by the topic that each is most about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.errors import require
from bigtopic.evaluation.base import Setting
from bigtopic.plots._base import Plot
from bigtopic.plots._plane import colours_of, legend, scatter
from bigtopic.plots._style import heading, resize
from bigtopic.questions.maps import PLACEMENTS
from bigtopic.questions.words import top_labels
from bigtopic.wording import counted

__all__ = ["PLOT"]

_MOST_POINTS = 50_000  # that are drawn one by one
_PIXELS = 500  # across: fewer than a screen has, so that a pixel of few documents is seen
_LEAST_OPAQUE = 110  # of 255, of a pixel of one document
_NAMES = {"pca": "principal components of their topics", "umap": "UMAP of their topics"}


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    found = subject.model.document_map(
        subject.documents, theta=subject.theta, placement=settings["placement"]
    )
    x, y, topics = (np.asarray(found[name]) for name in ("x", "y", "topic"))
    resize(figure, 8, 7)
    axes, labels = figure.subplots(), top_labels(subject.source)
    if len(x) > _MOST_POINTS:
        _draw_shaded(axes, x, y, topics, labels)
    else:
        scatter(axes, x, y, topics, labels, s=min(20.0, max(2.0, 20_000 / max(len(x), 1))))
    heading(
        figure, f"{counted(len(x), 'document')} by {_NAMES[settings['placement']]}. Colour: largest topic"
    )


def _draw_shaded(axes: Any, x: np.ndarray, y: np.ndarray, topics: np.ndarray, labels: Sequence[str]) -> None:
    """An image in which a pixel has the mean colour of its documents, and is the darker the more there are."""
    datashader, pandas = require("datashader", "maps"), require("pandas", "maps")
    colours, entries = colours_of(topics, labels)
    names, group = np.unique(colours, return_inverse=True)
    table = pandas.DataFrame({"x": x, "y": y, "colour": pandas.Categorical.from_codes(group[topics], names)})
    across, up = _range(x), _range(y)
    canvas = datashader.Canvas(_PIXELS, _PIXELS, x_range=across, y_range=up)
    counts = canvas.points(table, "x", "y", datashader.by("colour", datashader.count()))
    image = datashader.transfer_functions.shade(
        counts, color_key={name: name for name in names.tolist()}, min_alpha=_LEAST_OPAQUE
    )
    axes.imshow(np.asarray(image.to_pil()), extent=(*across, *up), interpolation="nearest")
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_axis_off()
    legend(axes, entries)


def _range(values: np.ndarray) -> tuple[float, float]:
    """What values cover, and more than nothing where they are all equal."""
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (low - 0.5, low + 0.5)


PLOT = Plot(
    "document-map",
    draw,
    summary="documents on a plane, coloured by their largest topic",
    needs=["shares"],
    settings={"placement": Setting("pca", "Principal components, or UMAP.", PLACEMENTS)},
)
