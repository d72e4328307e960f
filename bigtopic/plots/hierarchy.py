"""The hierarchy of topics: those most alike join first, and where they join is how far apart they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.base import Setting
from bigtopic.plots._base import Plot
from bigtopic.plots._plane import LEAST_DISTANCE
from bigtopic.plots._style import ACCENT, AS_IT_IS, bare, heading, label, largest, resize, shown_of, sizes_of
from bigtopic.questions.compare import MEASURES, distances_of_pairs, tree_of
from bigtopic.questions.words import top_labels

__all__ = ["PLOT"]

_LONGEST = 44  # characters of a name


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    from matplotlib.collections import LineCollection
    from scipy.cluster.hierarchy import leaves_list

    source = subject.source
    if source.n_components < 2:
        raise SettingError(
            "a hierarchy needs two topics or more, and the model has one; fit a model with more"
        )
    topics = np.sort(largest(sizes_of(source, {})[0], settings["n_topics"])).tolist()
    n, labels = len(topics), top_labels(source)
    if n < 2:
        raise SettingError(f"{argument('n_topics', n)}: a hierarchy needs two topics or more")
    resize(figure, 8, 1.3 + 0.2 * n)
    distances = distances_of_pairs(source, settings["measure"], topics)
    tree = tree_of(distances, [labels[k] for k in topics], topics)
    leaves = leaves_list(tree.linkage)
    axes = figure.subplots()
    axes.add_collection(LineCollection([*_joins(tree.linkage, leaves)], colors=ACCENT, linewidths=1.2))
    names = [f"{topics[i]}  {label(tree.labels[i], _LONGEST)}" for i in leaves]
    axes.set_yticks(range(n), names, fontsize="small", **AS_IT_IS)
    axes.set_ylim(n - 0.4, -0.6)
    axes.set_xlim(*_limits(tree.linkage[:, 2]))
    axes.set_xlabel(f"distance at which topics join (1 - {settings['measure']} similarity)")
    axes.grid(axis="x", alpha=0.25)
    bare(axes)
    heading(
        figure,
        f"{shown_of(n, source.n_components, 'topic').capitalize()}: those with the most similar words join first",
    )


def _limits(distances: np.ndarray) -> tuple[float, float]:
    """What the axis covers: not all from 0, where topics are far apart and the differences small."""
    first, last = distances.min(), distances.max()
    if last < LEAST_DISTANCE:
        return 0.0, 1.0
    return max(0.0, first - max(last - first, 0.2 * last)), 1.02 * last


def _joins(linkage: np.ndarray, leaves: np.ndarray) -> np.ndarray:
    """A line around each join, (n_joins, 4, 2): out of the middle of one branch, across, and back to the other."""
    n = len(leaves)
    x, y = np.zeros(n + len(linkage)), np.zeros(n + len(linkage))
    y[leaves] = np.arange(n)
    joins = np.empty((len(linkage), 4, 2))
    for i, (first, second, distance, _) in enumerate(linkage):
        a, b = int(first), int(second)
        x[n + i], y[n + i] = distance, (y[a] + y[b]) / 2
        joins[i] = (x[a], y[a]), (distance, y[a]), (distance, y[b]), (x[b], y[b])
    return joins


PLOT = Plot(
    "hierarchy",
    draw,
    summary="which topics are alike, as a tree",
    settings={
        "n_topics": Setting(500, "Number of topics to show, largest first."),
        "measure": Setting("hellinger", "Similarity of topics.", MEASURES),
    },
)
