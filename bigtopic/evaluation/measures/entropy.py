"""Entropy: how widely a topic spreads its probability over the words.

    entropy of topic k = - sum_w p(w | k) log p(w | k)      nats;  value = mean over topics

The entropy of a topic of all V words in equal parts is log V; of one that has a single word it is 0. One pass over the
rows of the topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Measure, Score
from bigtopic.evaluation.subject import Subject

__all__ = ["MEASURE"]

_ROWS = 1 << 15  # words at a time


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> np.ndarray:
    source = subject.source
    per_topic = np.zeros(source.n_components)
    for start in range(0, source.n_words, _ROWS):
        ids = np.arange(start, min(start + _ROWS, source.n_words), dtype=np.int32)
        rows = source.gather(ids)[:, : source.n_components].astype(np.float64)
        per_topic -= (rows * np.log(np.maximum(rows, np.finfo(np.float64).tiny))).sum(axis=0)
    return per_topic


def _finish(per_topic: np.ndarray, total: None) -> Score:
    return Score(float(per_topic.mean()), per_topic)


MEASURE = Measure(
    name="entropy",
    prepare=_prepare,
    of_block=None,
    combine=None,
    finish=_finish,
    unit="nats",
    meaning="how widely a topic spreads its probability over the words, in nats",
)
