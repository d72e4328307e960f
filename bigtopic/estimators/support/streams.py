"""Streams that forget: the half-life of documents, and the words that leave a vocabulary that is full.

A half-life of H documents means that an update of n documents leaves 0.5^(n / H) of what was learned before. The
weights of all documents then add up to n / (1 - 0.5^(n / H)), about H / log 2 documents: the size of such a stream. A
duration becomes a number of documents, call by call: the time that passed since the call before is divided evenly among
the documents of a call, which leaves 0.5^(time passed / duration), however many documents there are.

A word is forgotten by dropping its row of every array: statistics and, where it has one, its own prior. Topics are then
distributions over the words that are left, in the same proportions as before. A word that comes back is a new one. The
weight of a word v is the sum of its statistics s_vk over topics, which fade like all statistics:

    p(w | k) = (prior_w + s_wk) / sum of (prior_v + s_vk) over the words v that are left
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import OR_NONE, InputError, SettingError, argument
from bigtopic.estimators.inputs import require_positive
from bigtopic.estimators.support import preparation
from bigtopic.methods import Method
from bigtopic.methods.table import TABLE
from bigtopic.questions.dates import Dates, instant_texts
from bigtopic.schemes.dirichlet import LearnedPrior
from bigtopic.state.model import TopicModel, count_blocks
from bigtopic.support.numbers import is_number

__all__ = [
    "MOST_ROWS",
    "after_call",
    "check",
    "forget",
    "forgets",
    "half_life_of",
    "instant_of",
    "size",
    "window",
]

MOST_ROWS = 10_000  # of the history of a stream
_SHOWN = 10  # words
_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_DURATION = re.compile(rf"(\d+(?:\.\d+)?) *({'|'.join(_UNITS)})")


def check(estimator: Any, method: Method) -> None:
    """Check the settings of streams. Raises SettingError when the method cannot heed one, or its value is refused."""
    half_life, remembers = estimator.half_life, method.load_kernel().state == "run"
    if estimator.max_words is not None:
        require_positive("max_words", estimator.max_words, OR_NONE)
    for name in ("max_words", "half_life"):
        if remembers and (value := getattr(estimator, name)) is not None:
            raise SettingError(
                f"{argument(name, value)}: method {method.name!r} remembers every document, and so forgets nothing; "
                "choose another one, such as 'online-cvb0'"
            )
    if half_life is None:
        return
    given = argument("half_life", half_life)
    if not (_seconds(half_life) or (is_number(half_life) and 0 < half_life < math.inf)):
        raise SettingError(
            f"{given}: must be a number of documents above 0, or a duration in {', '.join(_UNITS)}, such as '30min', "
            f"'12h' or '7d'{OR_NONE}"
        )
    if not _fades(method):
        able = ", ".join(one.name for one in TABLE if one.model is method.model and _fades(one))
        raise SettingError(f"{given}: method {method.name!r} cannot forget so; choose one of {able}")
    if estimator.total_samples is not None:
        raise SettingError(
            f"{argument('total_samples', estimator.total_samples)}: the size of a stream that forgets follows from "
            f"{given}; leave it out"
        )
    if (estimator.replicas or 1) > 1:
        raise SettingError(
            f"{given}: each of the {argument('replicas', estimator.replicas)} would forget, and so too much; give "
            f"{argument('replicas', 1)}"
        )
    if "decay" in (estimator.options or {}):
        raise SettingError(
            f"{given} sets the decay of each update; leave {argument('decay')} out of the options"
        )


def _fades(method: Method) -> bool:
    moving = [scheme for scheme in method.schemes.values() if not isinstance(scheme, LearnedPrior)]
    heeded = all(getattr(one, "takes_half_life", False) for one in moving)
    return heeded and method.load_kernel().state != "run"


def _seconds(duration: Any) -> float:
    """Seconds of a duration such as "30min" or "7d"; 0 where it is none."""
    found = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    return float(found[1]) * _UNITS[found[2]] if found else 0.0


def instant_of(time: Any, corpus: Corpus) -> float:
    """A date, or the latest one of a column, in seconds since the day before year 1; cells may be empty, but not all.

    Raises
    ------
    SettingError
        When it is neither, or a cell is not a date.
    """
    if isinstance(time, str) and time in corpus.columns:
        dates = Dates(time, argument("time", time), None)
        cells = [
            cell for cell in set(corpus.read_column(time).tolist()) if cell != "" and cell == cell
        ]  # or NaN
        instead = f"; pass the time at which the documents arrived as {argument('time')}, such as a datetime"
        if not cells:
            raise SettingError(f"{argument('time', time)}: none of these documents has a date there{instead}")
        try:
            return max(map(dates.edge, cells))
        except SettingError as error:
            raise SettingError(error.message.partition("; ")[0] + instead) from error
    if isinstance(time, datetime) and time.tzinfo is not None:
        time = time.astimezone(UTC)
    try:
        return Dates("time", argument("time"), None).edge(time)
    except SettingError as error:
        raise SettingError(
            f"{argument('time', time)}: give a date, such as a datetime or '2005-03-01T18:00', or the name of a column "
            f"of dates; columns of these documents: {', '.join(corpus.columns) or 'none'}"
        ) from error


def half_life_of(half_life: float | str | None, n_docs: int, now: float | None, before: float | None) -> Any:
    """The half-life for the documents of one call, in documents, infinite if no time has passed; None without one.

    Parameters
    ----------
    half_life : of the estimator, checked
    n_docs : of this call
    now, before : instants of this call and of the call before it; None where none was given

    Raises
    ------
    SettingError, InputError
        When a duration comes without a time; when the time is before the time of the last call.
    """
    if now is not None and before is not None and now < before:
        raise InputError(
            f"{argument('time')}: {' is before '.join(instant_texts(np.array([now, before])))}, the time of the "
            "documents that were learned from last; pass documents in the order of their times"
        )
    if not isinstance(half_life, str):
        return half_life
    if now is None:
        raise SettingError(
            f"{argument('half_life', half_life)}: a duration needs the time of the documents; pass "
            f"{argument('time')}, a datetime or the name of a column of dates, or a number of documents as half-life"
        )
    passed = 0.0 if before is None else now - before
    return n_docs * _seconds(half_life) / passed if passed else math.inf


def window(half_life: float | None, n_docs: int) -> float:
    """The documents to which the weights of all documents of a stream add up, with updates of `n_docs`.

    Examples
    --------
    >>> window(100.0, 100)
    200.0
    """
    forgotten = 0.0 if half_life is None else -math.expm1(-n_docs / half_life * math.log(2.0))
    return n_docs / forgotten if forgotten else math.inf


def forget(model: TopicModel, max_words: int | None) -> dict[str, Any]:
    """Forget the words of least weight beyond `max_words`; ties go to the words that came first.

    Returns
    -------
    {"forgotten": {"n_words": how many, "most_frequent": some of them, with most tokens}}; {} if none was

    Raises
    ------
    SettingError
        When the columns of the model have no names.
    """
    known = model.vocabulary
    if max_words is None or len(known) <= max_words:
        return {}
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
    model.axes["word"] = known.taken(kept)
    for array in model.params.arrays.values():
        if array.axis == "word":
            array.keep(kept)
    return {"forgotten": {"n_words": len(gone), "most_frequent": known[most]}}


def forgets(
    estimator: Any, corpus: Corpus, time: Any, of_all: bool = False
) -> tuple[float | None, float | None]:
    """The half-life of a call, in documents, and the instant of its documents; None where there is none.

    Parameters
    ----------
    time : as `partial_fit` takes it
    of_all : whether earlier documents are among these, so that nothing is forgotten
    """
    instant = None if time is None else instant_of(time, corpus)
    half_life, before = None if of_all else estimator.half_life, (estimator.run_ or {}).get("time")
    return half_life_of(half_life, corpus.n_docs, instant, before), instant


def size(estimator: Any, model: TopicModel, corpus: Corpus, half_life: float | None) -> float:
    """The number of documents that a stream has, as methods with a size of the corpus take it."""
    n_seen = estimator.n_docs_seen_
    n_docs = min(estimator._batch_size(n_seen) or corpus.n_docs, corpus.n_docs)
    most = window(half_life, n_docs)
    return preparation.n_documents(model, corpus, estimator.total_samples, min(n_seen, most))


def after_call(estimator: Any, told: dict[str, Any], instant: float | None) -> None:
    """Forget words, and record what a call of a stream did."""
    model = estimator._fitted()
    told |= forget(model, estimator.max_words)
    if told and (model.cursor.inside_pass or not model.history):  # the pass was cut short
        model.history.append({"step": model.cursor.step})
    if told:
        model.history[-1] |= told
    del model.history[:-MOST_ROWS]
    run = {"score": told.get("score"), "time": instant}
    estimator.run_ = {
        **(estimator.run_ or {}),
        **{name: value for name, value in run.items() if value is not None},
    }
