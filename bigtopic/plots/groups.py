"""Groups of documents by topics: the mean share of each topic in the documents of each value of a column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Setting
from bigtopic.plots._base import Plot
from bigtopic.plots._shares import DATES, shares_by
from bigtopic.plots._style import AS_IT_IS, colour_bar, heading, label, largest, percent, resize, shown_of

__all__ = ["PLOT"]

_LONGEST = 28  # characters of a name


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    found = shares_by(subject, settings, bins=settings["bins"] or None)
    labels = subject.model.topic_labels_
    topics = np.sort(largest(found.n_documents @ found.share, settings["n_topics"]))
    groups = np.sort(largest(found.n_documents, settings["n_groups"], "n_groups"))
    resize(figure, max(5.0, 3.4 + 0.3 * len(topics)), 3.0 + 0.24 * len(groups))
    axes = figure.subplots()
    image = axes.imshow(found.share[np.ix_(groups, topics)], cmap="Blues", vmin=0.0, aspect="auto")
    names = [f"{label(_text(found.groups[i]), _LONGEST)}  ({found.n_documents[i]:,})" for i in groups]
    axes.set_yticks(range(len(groups)), names, fontsize="small", **AS_IT_IS)
    names = [f"{k}  {label(labels[k], _LONGEST)}" for k in topics]
    axes.set_xticks(range(len(topics)), names, rotation=90, fontsize="small", **AS_IT_IS)
    colour_bar(figure, image).yaxis.set_major_formatter(percent)
    of_topics = shown_of(len(topics), len(labels), "topic")
    of_groups = shown_of(len(groups), len(found.groups), "group")
    by = f"by {label(settings['column'])} (number of documents)"
    heading(figure, f"Mean share of documents {by}: {of_topics} in {of_groups}")


def _text(group: Any) -> str:
    """A value of the column, or a bin."""
    if isinstance(group, tuple):
        return " to ".join(map(_text, group))
    return f"{group:.10g}" if isinstance(group, float) else str(group)


PLOT = Plot(
    "groups",
    draw,
    summary="share of each topic in groups of documents, as a heat map",
    needs=["shares"],
    settings={
        **DATES,
        "bins": Setting(0, "Number of bins, for numbers and dates; 0 for the values themselves."),
        "n_groups": Setting(30, "Number of groups to show, those with most documents."),
        "n_topics": Setting(30, "Number of topics to show, largest first."),
    },
)
