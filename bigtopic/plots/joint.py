"""The joint distribution of a dual topic model: a row for each row topic, a column for each column topic.

Row topics have their labels; column topics are named by the most probable columns of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Setting
from bigtopic.evaluation.records import record_distribution_of
from bigtopic.evaluation.source import labels_of
from bigtopic.plots._base import Plot
from bigtopic.plots._style import AS_IT_IS, heading, label, resize

__all__ = ["PLOT"]

_LONGEST = 32  # characters of the names of a column topic


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    pairs = record_distribution_of(subject.model)
    n_rows, n_columns = pairs.joint.shape
    resize(figure, max(4.5, 2.0 + 0.3 * n_columns), 2.4 + 0.3 * n_rows)
    axes = figure.subplots()
    image = axes.imshow(pairs.joint, cmap="Blues", vmin=0.0, aspect="auto")
    rows = [f"{k}  {label(own, _LONGEST)}".rstrip() for k, own in enumerate(labels_of(subject.source))]
    axes.set_yticks(range(n_rows), rows, fontsize="small", **AS_IT_IS)
    best = np.argsort(-pairs.of_columns(), axis=0, kind="stable")[: settings["n_top"]].T
    vocabulary = subject.source.vocabulary
    texts = [" ".join(vocabulary[int(i)] for i in own) for own in best]  # the most probable columns of each
    names = [f"{j}  {label(text, _LONGEST)}" for j, text in enumerate(texts)]
    axes.set_xticks(range(n_columns), names, rotation=90, fontsize="small", **AS_IT_IS)
    axes.set_ylabel("row topic")
    axes.set_xlabel("column topic")
    figure.colorbar(image, ax=axes).set_label("probability of the pair", fontsize="small")
    heading(figure, f"{n_rows} row topics and {n_columns} column topics")


PLOT = Plot(
    "joint",
    draw,
    summary="joint distribution of the row topics and column topics of a dual topic model",
    needs=["pairs"],
    settings={"n_top": Setting(3, "Names of columns per column topic.")},
)
