"""The words of one topic by relevance: how frequent each is in all topics, and how much of that is in this topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.base import Setting
from bigtopic.evaluation.source import labels_of
from bigtopic.plots._base import Plot
from bigtopic.plots._style import (
    ACCENT,
    AS_IT_IS,
    BAR,
    bare,
    check_n_top,
    heading,
    label,
    percent,
    resize,
    sizes_of,
)
from bigtopic.questions.words import best_words

__all__ = ["PLOT"]


def draw(figure: Any, subject: Any, results: Any, settings: Mapping[str, Any]) -> None:
    source, topic = subject.source, settings["topic"]
    if not 0 <= topic < source.n_components:
        raise SettingError(f"{argument('topic')}: must be from 0 to {source.n_components - 1}, found {topic}")
    check_n_top(settings["n_top"])
    sizes, known = sizes_of(source, results)
    words = best_words(source, settings["n_top"], {"relevance": settings["relevance"]}, sizes)["relevance"][
        topic
    ]
    # words without names are numbers of columns
    ids = source.vocabulary.index_of(words) if source.vocabulary.named else np.array(words).astype(np.int32)
    shares = source.gather(ids) * sizes
    resize(figure, 6.5, 1.5 + 0.22 * len(words))
    axes, rows = figure.subplots(), np.arange(len(words))
    axes.barh(rows, shares.sum(axis=1), color=BAR, height=0.78, label="in all topics")
    axes.barh(rows, shares[:, topic], color=ACCENT, height=0.78, label="in this topic")
    axes.set_yticks(rows, [label(word) for word in words], fontsize="small", **AS_IT_IS)
    axes.set_ylim(len(words) - 0.4, -0.6)
    axes.xaxis.set_major_formatter(percent)
    axes.set_xlabel("share of all tokens" if known else "share of all tokens, if topics are equally large")
    axes.legend(
        frameon=False, fontsize="small", ncols=2, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0
    )
    bare(axes)
    share = f", {sizes[topic]:.1%} of the tokens" if known else ""
    called = f": {label(labels_of(source)[topic], 60)}" if labels_of(source)[topic] else ""
    heading(figure, f"Topic {topic}{called}{share}. Words by relevance ({settings['relevance']:g})")


PLOT = Plot(
    "words",
    draw,
    summary="words of one topic by relevance, and how often other topics have them",
    measures=["prevalence"],
    settings={
        "topic": Setting(0, "Number of the topic."),
        "relevance": Setting(0.6, "Weight of the probability beside the lift, 0 to 1."),
        "n_top": Setting(30, "Number of words."),
    },
)
