"""Diversity: the share of different words among the top words of all topics.

    diversity = |union over k of top_n(k)| / (K n)

It is 1 where no two topics share a top word, and 1 / K where all topics have the same ones.

References
----------
Dieng, Ruiz, Blei: Topic modeling in embedding spaces. TACL 8 (2020), section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Measure, Score, Setting
from bigtopic.evaluation.source import top_words
from bigtopic.evaluation.subject import Subject

__all__ = ["MEASURE"]


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> np.ndarray:
    return top_words(subject.source, settings["n_top"])[0]


def _finish(ids: np.ndarray, total: None) -> Score:
    return Score(len(np.unique(ids)) / ids.size)


MEASURE = Measure(
    name="diversity",
    prepare=_prepare,
    of_block=None,
    combine=None,
    finish=_finish,
    settings={"n_top": Setting(25, "Top words per topic, for diversity.")},
    meaning="share of different words among the top words of all topics",
    paper="Dieng, Ruiz, Blei 2020",
)
