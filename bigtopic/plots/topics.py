"""The most probable words of each topic, a panel for each; bars of one scale are p(word | topic).

Topics are in descending order of their shares of a corpus or, without one, of what the model has counted in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Setting
from bigtopic.evaluation.source import labels_of
from bigtopic.plots._base import Plot
from bigtopic.plots._style import (
    AS_IT_IS,
    BAR,
    bare,
    heading,
    label,
    largest,
    leading_words,
    resize,
    sizes_of,
)
from bigtopic.plots._text_width import fitter, points_across
from bigtopic.wording import counted

__all__ = ["PLOT"]

_COLUMNS = 4
_INDENT = 3  # points
# points of a column that are not its panel's: space between panels, half a number below the axis
_MARGIN = 18


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    words, probabilities = leading_words(subject.source, settings["n_top"])
    sizes, ordered = sizes_of(subject.source, results)
    share = sizes if "prevalence" in results else None
    topics = largest(sizes if ordered else np.zeros(len(words)), settings["n_topics"])
    panels = _panels(figure, len(topics), len(words[0]))
    column_width = points_across(figure) / _grid(len(topics))[1]
    fitted = fitter(column_width - _MARGIN - _INDENT, "small")
    labels = labels_of(subject.source)
    for axes, k in zip(panels, topics, strict=True):
        title = f"topic {k}" if share is None else f"topic {k}, {share[k]:.1%}"
        # of all panels, or of none: they align
        called = f"\n{fitted(label(labels[k], 60))}" if any(labels) else ""
        axes.set_title(f"{title}{called}", loc="left", fontsize="small", fontweight="bold", **AS_IT_IS)
        _draw_words(axes, [fitted(word) for word in words[k]], probabilities[k])
    title = _title(len(topics), len(words), ordered)
    heading(figure, title if share is None else f"{title}, with their shares of the corpus")
    figure.supxlabel("probability of a word in the topic", fontsize="small")


def _panels(figure: Any, n: int, n_words: int) -> Sequence[Any]:
    n_rows, n_columns = _grid(n)
    resize(figure, max(4.5, 2.5 * n_columns), 0.9 + n_rows * (0.35 + 0.165 * n_words))
    panels = figure.subplots(n_rows, n_columns, sharex=True, squeeze=False).ravel()
    for axes in panels[n:]:
        axes.remove()
    for axes in panels[max(0, n - n_columns) : n]:  # the lowest of each column
        axes.xaxis.set_tick_params(labelbottom=True, labelsize="small")
    return panels[:n]


def _grid(n: int) -> tuple[int, int]:
    """Rows and columns of panels."""
    n_rows = -(-n // _COLUMNS)
    return n_rows, -(-n // n_rows)


def _draw_words(axes: Any, words: Sequence[str], probabilities: np.ndarray) -> None:
    rows = np.arange(len(words))
    axes.barh(rows, probabilities, color=BAR, alpha=0.6, height=0.85)
    for row, word in enumerate(words):
        axes.annotate(
            word,
            (0, row),
            (_INDENT, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            in_layout=False,  # panels do not give way to words
            **AS_IT_IS,
        )
    axes.set_ylim(len(words) - 0.5, -0.5)
    axes.set_yticks([])
    axes.locator_params(axis="x", nbins=3)
    bare(axes)


def _title(n: int, n_components: int, ordered: bool) -> str:
    if n == n_components:
        return f"{counted(n, 'topic')}, largest first" if ordered else counted(n, "topic")
    if ordered:
        return f"The {n} largest of {n_components} topics"
    return f"The first {n} of {n_components} topics; with a corpus, the largest"


PLOT = Plot(
    "topics",
    draw,
    summary="the most probable words of each topic",
    measures=["prevalence"],
    settings={
        "n_topics": Setting(20, "Number of topics to show, largest first."),
        "n_top": Setting(10, "Words per topic.", formerly="n_words"),
    },
)
