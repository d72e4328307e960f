"""The words of topics, by what makes a word good (it is probable, or particular to the topic), and the topics of words.

With p(w | k) of a topic k, its share p(k) of the tokens, and p(w) = sum_k p(k) p(w | k):

    probability   p(w | k)
    lift          p(w | k) / p(w)
    relevance     lambda log p(w | k) + (1 - lambda) log lift(w, k)
    frex          1 / (1/2 / F_k(exclusivity(w, k)) + 1/2 / F_k(p(w | k))),  exclusivity = p(w | k) / sum_j p(w | j)

where F_k(x) is the share of the topic's words whose value is at most x. All but frex cost one pass over the rows of the
topics; frex has the values of `FREX_CELLS` words and topics in memory at a time, and a pass for as many topics. Of
topics that are lists, all cost a pass over the lists: exp(relevance) is p(w | k) p(w)^(lambda - 1).

If all the words W were drawn from one topic, that topic is k with the probability

    p(k | W)  in proportion to  p(k) prod_w p(w | k)

References
----------
Sievert and Shirley, "LDAvis: A method for visualizing and interpreting topics", 2014 (relevance); Airoldi and Bischof,
"Improving and evaluating topic models and other models of text", 2016 (FREX); Taddy, "On estimation and selection for
topic models", 2012 (lift).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.source import (
    Largest,
    columns_of,
    labels_of,
    names_of,
    pairs_of,
    rows_of,
    sums_over_topics,
)
from bigtopic.evaluation.sparse.lists import largest, largest_frex, lists_of

__all__ = ["ORDERS", "WEIGHTS", "best_words", "relevant_words", "shares_of", "top_labels", "topics_of_words"]

FREX_CELLS = 1 << 26  # 256 MiB of float32
ORDERS = ("probability", "relevance", "frex", "lift")


def shares_of(source: Any) -> np.ndarray:
    """p(topic), float64 (n_components,): of the model's weights where it has them, else all the same."""
    weights = np.asarray(getattr(source, "weights", np.ones(source.n_components)), np.float64)
    return weights / weights.sum()


def best_words(
    source: Any, n: int, orders: Mapping[str, float | None], shares: np.ndarray | None = None
) -> dict[str, list[list[str]]]:
    """The n best words of each topic in several orders: {order: for each topic its words, best first}.

    Parameters
    ----------
    source : topics, see `bigtopic.evaluation.topics_of`
    orders : names from `ORDERS`; the value is the lambda of relevance, 0 to 1
    shares : p(topic) for the lift, (n_components,), such as of a corpus; None for the model's own

    Raises
    ------
    SettingError
        When there is no such order, or lambda is outside 0 .. 1.
    """
    for name, value in orders.items():
        if name not in ORDERS:
            raise SettingError(f"order {name!r}: choose one of {', '.join(ORDERS)}")
        if name == "relevance" and not (value is not None and 0 <= value <= 1):
            raise SettingError(
                f"{argument('relevance', value)}: must be from 0 (lift alone) to 1 (probability alone)"
            )
    shares, n = shares_of(source) if shares is None else shares, min(n, source.n_words)

    lists = lists_of(source)
    ids_of = (
        _best_of_rows(source, n, orders, shares)
        if lists is None
        else _best_of_lists(source, n, orders, shares)
    )
    return {name: names_of(source, ids_of[name]) for name in orders}


def _best_of_lists(
    source: Any, n: int, orders: Mapping[str, float | None], shares: np.ndarray
) -> dict[str, np.ndarray]:
    lists, n_components, ids_of = lists_of(source), source.n_components, {}
    for name, weight in orders.items():
        if name == "frex":
            ids_of[name] = largest_frex(lists, n_components, n)
            continue
        of_words = None
        if name != "probability":
            share = weight if name == "relevance" and weight is not None else 0.0
            of_words = sums_over_topics(source, shares) ** (share - 1)
        ids_of[name] = largest(lists, n_components, n, of_words)[0]
    return ids_of


def _best_of_rows(
    source: Any, n: int, orders: Mapping[str, float | None], shares: np.ndarray
) -> dict[str, np.ndarray]:
    best = {name: Largest(source.n_components, n) for name in orders if name != "frex"}
    for ids, rows in rows_of(source) if best else ():
        lift = rows / (rows @ shares)[:, None]
        for name, found in best.items():
            scores = rows if name == "probability" else lift
            if name == "relevance":
                weight = orders[name] or 0.0
                scores = weight * np.log(rows) + (1 - weight) * np.log(lift)
            found.add(ids, scores)
    ids_of = {name: found.positions for name, found in best.items()}
    return ids_of | ({"frex": _by_frex(source, n)} if "frex" in orders else {})


WEIGHTS = tuple(step / 10 for step in range(11))


def relevant_words(
    source: Any, n: int, shares: np.ndarray | None = None, topics: Sequence[int] | None = None
) -> list[list[tuple[str, float, float]]]:
    """For each topic the words that are among its n most relevant at some lambda of `WEIGHTS`, with their probability
    in the topic and their lift; most probable first. `shares` : see `best_words`; `topics` : only these."""
    wanted = np.arange(source.n_components) if topics is None else np.asarray(topics, np.int64)
    shares, n = shares_of(source) if shares is None else shares, min(n, source.n_words)
    lists, of_words = lists_of(source), sums_over_topics(source, shares)
    if lists is None:
        best = [Largest(source.n_components, n) for _ in WEIGHTS]
        for ids, rows in rows_of(source):
            logs = np.log(rows)
            log_lift = logs - np.log(of_words[ids])[:, None]
            for weight, found in zip(WEIGHTS, best, strict=True):
                found.add(ids, weight * logs + (1 - weight) * log_lift)
        positions = np.hstack([found.positions[wanted] for found in best])
    else:
        positions = np.hstack(
            [
                largest(lists, source.n_components, n, of_words ** (weight - 1))[0][wanted]
                for weight in WEIGHTS
            ]
        )
    own = [np.unique(ids) for ids in positions]
    words, of = np.concatenate(own), np.repeat(np.arange(len(own)), [len(ids) for ids in own])
    probability = pairs_of(source, words, wanted[of]).astype(np.float64)
    order = np.lexsort((-probability, of))  # stable
    words, probability = words[order], probability[order]
    found_words = list(
        zip(
            source.vocabulary[words],
            probability.tolist(),
            (probability / of_words[words]).tolist(),
            strict=True,
        )
    )
    ends = np.cumsum([len(ids) for ids in own]).tolist()
    return [found_words[end - len(ids) : end] for end, ids in zip(ends, own, strict=True)]


def _by_frex(source: Any, n: int) -> np.ndarray:
    """Ids of the n best words of each topic, int64 (n_components, n)."""
    step = max(1, FREX_CELLS // source.n_words)
    best = np.empty((source.n_components, n), np.int64)
    for first in range(0, source.n_components, step):
        topics = range(first, min(first + step, source.n_components))
        # p(w | k) and exclusivity of all words in these topics
        values, exclusive = np.empty((2, len(topics), source.n_words), np.float32)
        for ids, rows in rows_of(source):
            values[:, ids] = rows[:, topics].T
            exclusive[:, ids] = (rows[:, topics] / rows.sum(axis=1, keepdims=True)).T
        for topic, own, exclusivity in zip(topics, values, exclusive, strict=True):
            frex = 2 / (1 / _ranks(exclusivity) + 1 / _ranks(own))
            best[topic] = np.argsort(-frex, kind="stable")[:n]
    return best


def _ranks(values: np.ndarray) -> np.ndarray:
    """Share of the values that are at most each of them, (n,)."""
    order = np.argsort(values)
    ranks = np.empty(len(values))
    ascending = values[order]
    ranks[order] = np.searchsorted(ascending, ascending, side="right")  # faster than in their own order
    return ranks / len(values)


def top_labels(source: Any) -> list[str]:
    """A label for each topic: what people call it or, where they have not said, its three most probable words."""
    given = labels_of(source)
    if all(given):
        return given
    words = best_words(source, 3, {"probability": None})["probability"]
    return [label or " ".join(own) for label, own in zip(given, words, strict=True)]


MOST_COMPARED = 100_000  # words


def topics_of_words(source: Any, words: str | Iterable[str], n: int) -> dict[str, list[Any]]:
    """The topics that words belong to, most probable first, as columns topic, probability, rank and lift.

    The rank of a word in a topic is 1 if it is the topic's most probable word; of several words it is their mean rank,
    and lift the geometric mean of their lifts.

    Raises
    ------
    SettingError
        When there are no words, or the vocabulary lacks one; suggests those that are spelt like it.
    """
    if not isinstance(words, Iterable):
        raise SettingError(f"words={words!r}: give a word, or several")
    names = [words] if isinstance(words, str) else [str(word) for word in words]
    rows = source.gather(_ids(source, names).astype(np.int32)).astype(np.float64)
    logs = np.log(np.maximum(rows, np.finfo(np.float64).tiny))
    shares = shares_of(source)
    joint = np.log(shares) + logs.sum(axis=0)
    probability = np.exp(joint - joint.max())
    probability /= probability.sum()
    lift = np.exp((logs - np.log(rows @ shares)[:, None]).mean(axis=0))
    topics = np.argsort(-probability, kind="stable")[:n]
    columns = columns_of(source, topics)
    ranks = 1 + np.mean([(columns > own[topics]).sum(axis=0) for own in rows], axis=0)
    return {
        "topic": topics.tolist(),
        "probability": probability[topics].tolist(),
        "rank": (ranks.astype(int) if len(names) == 1 else ranks).tolist(),
        "lift": lift[topics].tolist(),
    }


def _ids(source: Any, names: list[str]) -> np.ndarray:
    """Ids of the words."""
    if not names:
        raise SettingError("words: give a word, or several")
    ids = source.vocabulary.index_of(names)
    if (ids < 0).any():
        wrong = names[int(np.argmax(ids < 0))]
        known = source.vocabulary[:]
        if len(known) > MOST_COMPARED:  # only those that begin with the same two letters
            known = [word for word in known if word[:2] == wrong[:2]]
        near = get_close_matches(wrong, known, 3, 0.6)
        hint = f"; similar words: {', '.join(near)}" if near else ""
        raise SettingError(f"the model does not know the word {wrong!r}{hint}")
    return ids
