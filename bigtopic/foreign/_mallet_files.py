"""MALLET's text files of a model, line by line; their text is data, and every fault names the file and its line.

    state         #doc source pos typeindex type topic      a line per token, after lines of alpha and beta; gzip
    weights       topic <tab> word <tab> weight             a line per topic and word, prior included
    counts        id word topic:count topic:count ...       a line per word
    topic keys    topic <tab> alpha <tab> word word ...     a line per topic

References
----------
McCallum: MALLET, a machine learning for language toolkit. 2002. The formats are those of MALLET 2.0.8's
`ParallelTopicModel`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bigtopic.corpus.readers.containers.files import File
from bigtopic.errors import InputError
from bigtopic.state.machine_memory import check_params

__all__ = ["Counts", "read_counts", "read_state", "read_topic_keys", "read_weights"]

_LINE_BYTES = 1 << 24
_TOKENS = 1 << 20  # counted at once
_STATE = "#doc source pos typeindex type topic"


class Counts(NamedTuple):
    """What a file says of topics; None where it does not say.

    tokens : float64 (n_components, n_words), of each word in each topic
    """

    tokens: np.ndarray
    words: list[str]
    doc_topic_prior: np.ndarray | None = None
    topic_word_prior: float | None = None
    n_docs: int = 0


def read_state(file: File) -> Counts | None:
    """Of `--output-state`; None for another file."""
    lines = _lines(file)
    if next(lines, (0, ""))[1] != _STATE:
        return None
    alpha = _header(file, next(lines, (2, "")), "#alpha : ")
    beta = _header(file, next(lines, (3, "")), "#beta : ")[0]
    ids: dict[str, int] = {}
    keys, found, n_docs, last = array("q"), [], 0, ""
    for number, line in lines:
        try:
            document, _, _, word, topic = line.rsplit(" ", 4)
            keys.append(ids.setdefault(word, len(ids)) * len(alpha) + _below(topic, len(alpha)))
        except ValueError:
            raise _fault(
                file, number, line, f"doc source pos typeindex type topic, topics 0 .. {len(alpha) - 1}"
            ) from None
        n_docs, last = n_docs + (document != last), document
        if len(keys) == _TOKENS:
            found.append(np.unique(keys, return_counts=True))
            keys = array("q")
    found.append(np.unique(keys, return_counts=True))
    return Counts(_summed(file, found, len(ids), len(alpha)), list(ids), np.array(alpha), beta, n_docs)


def read_weights(file: File) -> Counts | None:
    """Of `--topic-word-weights-file`; None for another file. The prior is the smallest weight: most have no tokens."""
    ids: dict[str, int] = {}
    topics, words, weights = array("q"), array("q"), array("d")
    for number, line in _lines(file):
        try:
            topic, word, weight = line.split("\t")
            topics.append(_below(topic, 1 << 24))
            weights.append(_number(weight))
        except ValueError:
            if number == 1:
                return None
            raise _fault(file, number, line, "topic, word and weight, with tabs between them") from None
        words.append(ids.setdefault(word, len(ids)))
    if not ids:
        return None
    table = _table(file, topics, words, weights)
    prior = float(table.min())
    return Counts(table - prior, list(ids), None, prior)


def read_counts(file: File) -> Counts | None:
    """Of `--word-topic-counts-file`; None for another file."""
    ids: dict[str, int] = {}
    topics, rows, values = array("q"), array("q"), array("d")
    for number, line in _lines(file):
        try:
            id_, word, *pairs = line.split()
            if _below(id_, 1 << 31) != len(ids) or word in ids:
                raise ValueError
            for pair in pairs:
                topic, count = pair.split(":")
                topics.append(_below(topic, 1 << 24))
                values.append(_number(count))
                rows.append(len(ids))
        except ValueError:
            if number == 1:
                return None
            raise _fault(
                file, number, line, f"{len(ids)}, a new word, topic:count, topic:count ..."
            ) from None
        ids[word] = len(ids)
    if not topics:
        return None
    n_components = max(topics) + 1
    keys = np.asarray(rows) * n_components + np.asarray(topics)
    return Counts(_summed(file, [(keys, np.asarray(values))], len(ids), n_components), list(ids))


def read_topic_keys(file: File) -> np.ndarray:
    """The alpha of each topic, float64 (n_components,).

    Raises
    ------
    InputError
        When the file is not one of `--output-topic-keys`.
    """
    found: list[float] = []
    for number, line in _lines(file):
        try:
            topic, alpha, _ = line.split("\t", 2)
            if int(topic) != len(found):
                raise ValueError
            found.append(_number(alpha.replace(",", ".")))  # MALLET writes it as the user's country does
        except ValueError:
            raise _fault(file, number, line, f"topic {len(found)}, alpha and words, with tabs") from None
    if not found:
        raise InputError(f"{file.path} is empty; give the file of --output-topic-keys")
    return np.array(found)


def _lines(file: File) -> Iterator[tuple[int, str]]:
    """Numbers from 1 and texts of the lines that are not blank."""
    with file.open() as stream:
        number = 0
        while data := stream.readline(_LINE_BYTES):
            number += 1
            try:
                line = data.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise InputError(
                    f"{file.path}, line {number}: not UTF-8; convert it with iconv (a model that MALLET saved is not "
                    "text: write it with --output-state)"
                ) from None
            if len(data) == _LINE_BYTES:
                raise InputError(
                    f"{file.path}, line {number}: longer than {_LINE_BYTES >> 20} MiB; no line of MALLET is"
                )
            if line:
                yield number, line


def _header(file: File, numbered: tuple[int, str], begin: str) -> list[float]:
    number, line = numbered
    try:
        if not line.startswith(begin):
            raise ValueError
        values = [_number(value) for value in line.removeprefix(begin).split()]
    except ValueError:
        values = []
    if not values:
        raise _fault(file, number, line, f"{begin.strip()} and numbers")
    return values


def _table(file: File, topics: array[int], words: array[int], weights: array[float]) -> np.ndarray:
    """Weights of every topic and word, which the file must hold once each."""
    n_components, n_words = max(topics) + 1, max(words) + 1
    check_params(n_words, n_components, 8)
    if n_components * n_words == len(weights):
        table = np.full((n_components, n_words), np.nan)
        table[topics, words] = weights
        if not np.isnan(table).any():
            return table
    raise InputError(
        f"{file.path} holds {len(weights)} weights, not one for each of {n_components} topics and {n_words} words; "
        "it was cut short, or two files were joined: write it again"
    )


def _summed(
    file: File, found: list[tuple[np.ndarray, np.ndarray]], n_words: int, n_components: int
) -> np.ndarray:
    """Sums of values by key = word * n_components + topic, as (n_components, n_words)."""
    if not n_words:
        raise InputError(f"{file.path} holds no words; train MALLET on documents first")
    check_params(n_words, n_components, 8)
    total = np.zeros(n_words * n_components)
    for keys, values in found:
        np.add.at(total, keys, values)
    return total.reshape(n_words, n_components).T


def _below(text: str, limit: int) -> int:
    value = int(text)
    if not 0 <= value < limit:
        raise ValueError
    return value


def _number(text: str) -> float:
    value = float(text)
    if not 0 <= value < np.inf:
        raise ValueError
    return value


def _fault(file: File, number: int, line: str, wanted: str) -> InputError:
    return InputError(f"{file.path}, line {number}: expected {wanted}; found {line[:60]!r}")
