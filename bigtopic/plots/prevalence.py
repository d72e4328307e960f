"""How much of a corpus each topic is: a bar for each, with its label or its most probable words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Setting
from bigtopic.evaluation.source import labels_of
from bigtopic.plots._base import Plot
from bigtopic.plots._style import AS_IT_IS, BAR, bare, heading, label, largest, leading_words, resize
from bigtopic.wording import counted

__all__ = ["PLOT"]

_LONGEST = 44  # characters of the name of a topic


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    share = results["prevalence"].share
    names = [" ".join(own) for own in leading_words(subject.source, settings["n_top"])[0]]
    names = [called or own for called, own in zip(labels_of(subject.source), names, strict=True)]
    topics = largest(share, settings["n_topics"])
    resize(figure, 7.5, 1.1 + 0.24 * len(topics))
    axes, rows = figure.subplots(), np.arange(len(topics))
    axes.barh(rows, share[topics], color=BAR, height=0.75)
    for row, topic in enumerate(topics):
        axes.text(share[topic], row, f" {share[topic]:.1%}", va="center", fontsize="small", **AS_IT_IS)
    axes.set_yticks(rows, [f"{label(names[k], _LONGEST)}  {k}" for k in topics], fontsize="small", **AS_IT_IS)
    axes.set_ylim(len(topics) - 0.4, -0.6)
    axes.set_xlabel("share of the corpus' tokens")
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%")
    bare(axes)
    shown = f"The {len(topics)} largest of {len(share)} topics: {share[topics].sum():.0%} of the tokens"
    everything = f"{counted(len(share), 'topic')}, largest first"
    heading(figure, everything if len(topics) == len(share) else shown)


PLOT = Plot(
    "prevalence",
    draw,
    summary="share of each topic in a corpus, largest first",
    needs=["corpus"],
    measures=["prevalence"],
    settings={
        "n_topics": Setting(30, "Number of topics to show, largest first."),
        "n_top": Setting(4, "Words per topic.", formerly="n_words"),
    },
)
