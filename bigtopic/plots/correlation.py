"""Which topics occur together: the correlation of their shares over documents, as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.base import Setting
from bigtopic.plots._base import Plot
from bigtopic.plots._style import AS_IT_IS, colour_bar, heading, label, largest, resize, shown_of, sizes_of
from bigtopic.questions.compare import tree_of
from bigtopic.questions.words import top_labels

__all__ = ["PLOT"]

_LONGEST = 30  # characters of a name


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    if subject.source.n_components < 2:
        raise SettingError(
            "a correlation needs two topics or more, and the model has one; fit a model with more"
        )
    if settings["n_topics"] == 1:
        raise SettingError(f"{argument('n_topics', 1)}: a correlation needs two topics or more")
    topics = largest(sizes_of(subject.source, {})[0], settings["n_topics"])
    ask = subject.model.topic_correlation
    found = np.array(ask(subject.documents, theta=subject.theta, topics=topics.tolist()))
    order, n = _neighbours(found), len(topics)
    topics, shown = topics[order], found[np.ix_(order, order)]
    np.fill_diagonal(shown, np.nan)
    limit = float(np.abs(np.nan_to_num(shown)).max()) or 1.0
    resize(figure, 3.9 + 0.24 * n, 1.3 + 0.24 * n)
    axes = figure.subplots()
    image = axes.imshow(shown, cmap="PuOr_r", aspect="auto", vmin=-limit, vmax=limit)
    labels = top_labels(subject.source)
    axes.set_yticks(
        range(n), [f"{k}  {label(labels[k], _LONGEST)}" for k in topics], fontsize="small", **AS_IT_IS
    )
    axes.set_xticks(range(n), [str(k) for k in topics], rotation=90, fontsize="small")
    colour_bar(figure, image).set_ylabel("correlation of shares", fontsize="small")
    heading(
        figure,
        f"Topics that occur in the same documents: {shown_of(n, subject.source.n_components, 'topic')}",
    )


def _neighbours(correlation: np.ndarray) -> np.ndarray:
    """An order of the topics in which those that occur together are close; unknown correlations count as 0."""
    from scipy.cluster.hierarchy import leaves_list

    n = len(correlation)
    if n < 3:
        return np.arange(n)
    apart = np.clip((1 - np.nan_to_num(correlation)) / 2, 0, 1)
    return leaves_list(tree_of(apart[np.triu_indices(n, 1)], [""] * n).linkage)


PLOT = Plot(
    "correlation",
    draw,
    summary="correlation of the topics' shares over documents, as a heat map",
    needs=["shares"],
    settings={"n_topics": Setting(40, "Number of topics to show, largest first.")},
)
