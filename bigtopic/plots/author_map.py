"""Authors on a plane: the area of a circle is the number of documents, and authors with similar topics are close."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Setting
from bigtopic.plots._base import Plot
from bigtopic.plots._plane import scatter, write_apart
from bigtopic.plots._style import heading, label, largest, resize, shown_of
from bigtopic.questions.words import top_labels

__all__ = ["PLOT"]

_LONGEST = 28  # characters of a name
_LEAST, _LARGEST = 5.0, 300.0  # area of a circle in square points
_ABOVE = 5.0  # points from a circle up to the middle of its name


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    authors = subject.model.authors_frame()
    documents, n = authors["documents"].to_numpy(float), len(authors)
    shown = authors.iloc[largest(documents, settings["n_authors"], "n_authors")]
    x, y, documents = (shown[name].to_numpy(float) for name in ("x", "y", "documents"))
    topics = shown.filter(regex=r"^topic_\d+$").to_numpy().argmax(axis=1)
    resize(figure, 8, 7)
    axes = figure.subplots()
    areas = np.maximum(_LEAST, _LARGEST * documents / documents.max(initial=1))
    scatter(axes, x, y, topics, top_labels(subject.source), s=areas)
    named = largest(documents, settings["n_names"], "n_names")
    above = np.sqrt(areas / np.pi) + _ABOVE
    write_apart(axes, [(x[i], y[i], above[i], label(shown["author"].iloc[i], _LONGEST)) for i in named])
    of_authors = shown_of(len(shown), n, "author")
    heading(figure, f"Authors by their topics: {of_authors}. Colour: largest topic; area: documents")


PLOT = Plot(
    "author-map",
    draw,
    summary="authors on a plane, by the likeness of their topics",
    needs=["authors"],
    settings={
        "n_authors": Setting(2000, "Number of authors to show, those with most documents."),
        "n_names": Setting(40, "Number of authors to name, where there is room."),
    },
)
