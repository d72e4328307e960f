"""Exclusivity: how much a topic's top words belong to that topic alone.

    exclusivity(w, k) = p(w | k) / sum_j p(w | j)
    value of topic k  = mean over its top words

It lies between 0 and 1: 1 where no other topic has the words, 1 / K where all topics are the same. All topics count the
same, however much of the corpus is about them.

References
----------
Bischof, Airoldi: Summarizing topical content with word frequency and exclusivity. ICML 2012, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Measure, Score, Setting
from bigtopic.evaluation.source import sums_over_topics, top_words
from bigtopic.evaluation.subject import Subject

__all__ = ["MEASURE"]


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> np.ndarray:
    source = subject.source
    ids, own = top_words(source, settings["n_top"])
    everywhere = sums_over_topics(source, np.ones(source.n_components))
    per_topic: np.ndarray = (own / everywhere[ids]).mean(axis=1)
    return per_topic


def _finish(per_topic: np.ndarray, total: None) -> Score:
    return Score(float(per_topic.mean()), per_topic)


MEASURE = Measure(
    name="exclusivity",
    prepare=_prepare,
    of_block=None,
    combine=None,
    finish=_finish,
    settings={"n_top": Setting(10, "Top words per topic, for exclusivity.")},
    meaning="how much the top words of a topic belong to it alone, from 0 to 1",
    paper="Bischof and Airoldi 2012",
)
