"""Entropy: how widely a topic spreads its probability over the words.

    entropy of topic k = - sum_w p(w | k) log p(w | k)      nats;  value = mean over topics

The entropy of a topic of all V words in equal parts is log V; of one that has a single word it is 0. One pass over the
rows of the topics, or their lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.evaluation.base import Measure, Score
from bigtopic.evaluation.source import rows_of
from bigtopic.evaluation.sparse.lists import lists_of, parts_of
from bigtopic.evaluation.subject import Subject

__all__ = ["MEASURE"]


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> np.ndarray:
    lists = lists_of(subject.source)
    if lists is not None:
        return -parts_of(lists, subject.n_components, _p_log_p).over_words()
    per_topic = np.zeros(subject.n_components)
    for _, rows in rows_of(subject.source):
        per_topic -= _p_log_p(rows).sum(axis=0)
    return per_topic


def _p_log_p(p: np.ndarray) -> np.ndarray:
    return np.asarray(p * np.log(np.maximum(p, np.finfo(np.float64).tiny)))


def _finish(per_topic: np.ndarray, total: None) -> Score:
    return Score(float(per_topic.mean()), per_topic)


MEASURE = Measure(
    name="entropy",
    prepare=_prepare,
    of_block=None,
    combine=None,
    finish=_finish,
    unit="nats",
    describes=True,
    meaning="how widely a topic spreads its probability over the words, in nats",
)
