"""Streams that forget: the half-life of documents, and the words that leave a vocabulary that is full.

A half-life of H documents means that an update of n documents leaves 0.5^(n / H) of what was learned before. The
weights of all documents then add up to n / (1 - 0.5^(n / H)), about H / log 2 documents: the size of such a stream. A
duration becomes a number of documents, call by call: the time that passed since the call before is divided evenly among
the documents of a call, which leaves 0.5^(time passed / duration), however many documents there are.

A word is forgotten by dropping its row of every array: statistics and, where it has one, its own prior. Topics are then
distributions over the words that are left, in the same proportions as before:

    p(w | k) = (prior_w + s_wk) / sum of (prior_v + s_vk) over the words v that are left

A word that comes back is a new one. The weight of a word is sum_k s_wk, which fades like all statistics.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import OR_NONE, InputError, SettingError, argument
from bigtopic.estimators.inputs import require_positive
from bigtopic.methods import Method
from bigtopic.methods.table import TABLE
from bigtopic.questions.dates import Dates, instant_texts
from bigtopic.schemes.dirichlet import LearnedPrior
from bigtopic.state.model import TopicModel, count_blocks
from bigtopic.support.numbers import is_number

__all__ = ["MOST_ROWS", "check", "forget", "half_life_of", "instant_of", "seconds_of", "window"]

MOST_ROWS = 10_000  # of the history of a stream
_SHOWN = 10  # words
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(r"(\d+(?:\.\d+)?) *(s|min|h|d|w)")


def check(estimator: Any, method: Method) -> None:
    """Check the settings of streams.

    Raises
    ------
    SettingError
        When `half_life` or `max_words` is not allowed, or the method cannot heed it.
    """
    if (words := estimator.max_words) is not None:
        require_positive("max_words", words, OR_NONE)
        _refuse_memory(method, argument("max_words", words))
    if (half_life := estimator.half_life) is None:
        return
    given = argument("half_life", half_life)
    number = is_number(half_life) and 0 < half_life < math.inf
    if not number and not (isinstance(half_life, str) and seconds_of(half_life)):
        raise SettingError(
            f"{given}: must be a number of documents above 0, or a duration such as '12h', '7d' or '2w'{OR_NONE}"
        )
    _refuse_memory(method, given)
    if not _takes_half_life(method):
        able = ", ".join(one.name for one in TABLE if _takes_half_life(one) and _fits(one, method))
        raise SettingError(f"{given}: method {method.name!r} cannot forget so; choose one of {able}")
    if estimator.total_samples is not None:
        raise SettingError(
            f"{argument('total_samples', estimator.total_samples)}: the size of a stream that forgets follows from "
            f"{given}; leave it out"
        )
    if "decay" in (estimator.options or {}):
        raise SettingError(
            f"{given} sets the decay of each update; leave {argument('decay')} out of the options"
        )


def _refuse_memory(method: Method, given: str) -> None:
    if method.load_kernel().state == "run":
        raise SettingError(
            f"{given}: method {method.name!r} remembers every document, and so forgets nothing; choose another one, "
            "such as 'online-cvb0'"
        )


def _takes_half_life(method: Method) -> bool:
    moving = [scheme for scheme in method.schemes.values() if not isinstance(scheme, LearnedPrior)]
    return all(getattr(scheme, "takes_half_life", False) for scheme in moving) and (
        method.load_kernel().state != "run"
    )


def _fits(method: Method, other: Method) -> bool:
    return method.model.name == other.model.name


def seconds_of(duration: str) -> float:
    """Seconds of a duration such as "30min" or "7d"; 0 where it is none."""
    found = _DURATION.fullmatch(duration.strip())
    return float(found[1]) * _UNITS[found[2]] if found else 0.0


def instant_of(time: Any, corpus: Corpus) -> float:
    """When a batch arrived, in seconds since the day before year 1: a date, or the latest one of a column.

    Raises
    ------
    SettingError
        When it is neither a date nor a column, or the values of the column are not dates.
    """
    if isinstance(time, str) and time in corpus.columns:
        dates = Dates(time, argument("time", time), None)
        return max(dates.edge(value) for value in set(corpus.read_column(time).tolist()))
    try:
        return Dates("time", argument("time"), None).edge(time)
    except SettingError as error:
        have = ", ".join(corpus.columns) or "none"
        raise SettingError(
            f"{argument('time', time)}: give a date, such as a datetime or '2005-03-01T18:00', or the name of a column "
            f"of dates; columns of these documents: {have}"
        ) from error


def half_life_of(
    half_life: float | str | None, n_docs: int, now: float | None, before: float | None
) -> float | None:
    """The half-life for the documents of one call, in documents, infinite if no time has passed; None without one.

    Parameters
    ----------
    half_life : of the estimator, checked
    n_docs : of this call
    now, before : instants of this call and of the call before it; None where none was given

    Raises
    ------
    SettingError
        When a duration comes without a time.
    InputError
        When the time is before the time of the last call.
    """
    if now is not None and before is not None and now < before:
        is_now, was = instant_texts(np.array([now, before]))
        raise InputError(
            f"{argument('time')}: {is_now} is before {was}, the time of the documents that were learned from last; "
            "pass documents in the order of their times"
        )
    if not isinstance(half_life, str):
        return half_life
    if now is None:
        raise SettingError(
            f"{argument('half_life', half_life)}: a duration needs the time of the documents; pass "
            f"{argument('time')}, a datetime or the name of a column of dates, or a number of documents as half-life"
        )
    passed = 0.0 if before is None else now - before
    return n_docs * seconds_of(half_life) / passed if passed else math.inf


def window(half_life: float | None, n_docs: int) -> float:
    """The number of documents to which the weights of all documents of a stream add up; updates have `n_docs`.

    Examples
    --------
    >>> window(100.0, 100)
    200.0
    """
    if half_life is None or half_life == math.inf:
        return math.inf
    return n_docs / -math.expm1(-n_docs / half_life * math.log(2.0))


def forget(model: TopicModel, max_words: int | None) -> dict[str, Any] | None:
    """Forget the words of least weight beyond `max_words`; ties go to the words that came first.

    Returns
    -------
    {"n_words": how many were forgotten, "most_frequent": some of them, with most tokens}; None if none was

    Raises
    ------
    SettingError
        When the columns of the model have no names.
    """
    known = model.vocabulary
    if max_words is None or len(known) <= max_words:
        return None
    if not known.named:
        raise SettingError(
            f"{argument('max_words', max_words)}: words without names cannot be forgotten; pass "
            f"{argument('vocabulary', ...)} with a matrix, or texts"
        )
    weights = np.concatenate([block.sum(axis=1) for block in count_blocks(model.topic_words)])
    order = np.argsort(-weights, kind="stable")
    kept, gone = np.sort(order[:max_words]).astype(np.int32), order[max_words:]
    tokens = weights if known.frequency is None else known.frequency
    most = gone[np.argsort(-tokens[gone], kind="stable")][:_SHOWN]
    told = {"n_words": len(gone), "most_frequent": [str(known[int(i)]) for i in most]}
    model.axes["word"] = known.taken(kept)
    for array in model.params.arrays.values():
        if array.axis == "word":
            array.keep(kept)
    return told
