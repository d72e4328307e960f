"""What a page can show of topics, words and documents, as JSON values.

A page holds everything that it shows: the words of each topic that are among the best at some relevance, the topics of
the most frequent words, and the texts of the documents that its topics name. Of topics that are lists, it costs the
lists, and for each topic shown the lists of its words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.evaluation.source import TopicSource, rows_of, sums_over_topics
from bigtopic.evaluation.sparse.lists import lists_of, parts_of
from bigtopic.evaluation.subject import Documents, Inference, Subject, in_source_order, over_blocks
from bigtopic.questions.compare import similarity
from bigtopic.questions.documents import word_topics
from bigtopic.questions.groups import GroupShares
from bigtopic.questions.maps import places, topic_places
from bigtopic.questions.marked import marked
from bigtopic.questions.words import relevant_words, shares_of
from bigtopic.report.summary import Summary
from bigtopic.types import Block

__all__ = ["contents"]

_WORDS = 30  # of a topic that are shown
_SIMILAR = 8  # topics
_INDEXED = 30_000  # words
_TOPICS_OF_WORD = 5
_TOPICS_OF_WORDS = 1000  # of a document that its words may have
_COMPARED = 256  # topics at once
_CHARACTERS = 600_000  # of all texts
_LONGEST = 4_000  # characters of a text
_TOPICS_OF_DOCUMENT = 8
_SMALLEST = 0.005  # share of a topic in a document, or of a word in a topic, that is listed


def contents(summary: Summary) -> dict[str, Any]:
    """Everything that a page shows on demand.

    Returns
    -------
    topics : of each topic its number, label, share, scores, place on the map, words, documents and authors
    similar : for each topic the topics most like it
    index : words, most frequent first, and for each its topics as k, p(k | w), k, ...
    documents : {source row: id, columns, topics, pieces of its text}
    time, groups : shares of topics over time, and in groups of documents
    """
    source = summary.source
    topics: list[dict[str, Any]] = [
        {
            "topic": topic.number,
            "label": topic.label,
            "share": topic.share,
            "size": topic.share,
            "unused": topic.unused,
            "scores": [(title, topic.scores.get(name)) for name, title in summary.score_titles.items()],
            "words": [(word, p, None) for word, p in topic.words],
            "documents": [
                (row, name, weight) for row, (name, weight) in zip_longest(topic.rows, topic.documents)
            ],
            "authors": topic.authors,
            "x": None,
            "y": None,
        }
        for topic in summary.topics
    ]
    found: dict[str, Any] = {"topics": topics, "similar": {}, "index": {"words": [], "topics": []}}
    found["documents"] = {}
    numbers = [own["topic"] for own in topics]
    if source is not None:
        sizes, shown = _sizes(summary, source), np.zeros(source.n_components, bool)
        shown[numbers] = True
        plane, alike = _likeness(source, sorted(numbers))
        others = np.flatnonzero(shown)
        for k, scores in alike:
            order = others[np.argsort(-scores[others], kind="stable")[: _SIMILAR + 1]].tolist()
            found["similar"][k] = [(j, scores[j]) for j in order if j != k][:_SIMILAR]
        for own, words in zip(topics, relevant_words(source, _WORDS, sizes, numbers), strict=True):
            k = own["topic"]
            own["words"], own["size"], (own["x"], own["y"]) = words, sizes[k], plane[k]
        found["index"] = _index(source, sizes, shown)
        if summary.named is not None:
            found["documents"] = _documents(summary.named, source, shown)
    found["time"] = None if summary.time is None else _by_topic(summary.time, numbers)
    found["groups"] = [_by_topic(own, numbers) for own in summary.groups]
    return _plain(found)


def _likeness(source: TopicSource, numbers: list[int]) -> tuple[np.ndarray, Iterator[tuple[int, np.ndarray]]]:
    """Places of all topics, and of each of these its similarity to all."""
    if lists_of(source) is None:
        alike = similarity(source)
        return places(1 - alike), ((k, alike[k]) for k in numbers)
    blocks = [numbers[i : i + _COMPARED] for i in range(0, len(numbers), _COMPARED)]
    rows = (pair for own in blocks for pair in zip(own, similarity(source, topics=own), strict=True))
    return topic_places(source), rows


def _sizes(summary: Summary, source: TopicSource) -> np.ndarray:
    """p(topic), float64 (n_components,): of the corpus, or else of what the model has counted."""
    result = summary.share
    return shares_of(source) if result is None else result


def _index(source: TopicSource, shares: np.ndarray, shown: np.ndarray) -> dict[str, Any]:
    """The most frequent words, and their topics of those shown."""
    frequency = sums_over_topics(source, shares)
    order = np.argsort(-frequency, kind="stable")[:_INDEXED]
    entries = _of_lists if lists_of(source) is not None else _of_rows
    words, topics, probability = entries(source, shares, frequency, shown)
    best = np.lexsort((topics, -probability, words))
    starts = np.searchsorted(words[best], np.arange(source.n_words + 1))
    names = source.vocabulary[order]
    found = []
    for word in order.tolist():
        own = best[starts[word] : min(starts[word] + _TOPICS_OF_WORD, starts[word + 1])]
        pairs = zip(topics[own].tolist(), probability[own].tolist(), strict=True)
        found.append([value for pair in pairs for value in pair])
    return {"words": names, "topics": found}


def _of_lists(
    source: TopicSource, shares: np.ndarray, frequency: np.ndarray, shown: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words, topics shown of which they have statistics, and p(topic | word) that are listed."""
    parts = parts_of(lists_of(source), source.n_components)
    words, topics = np.repeat(np.arange(parts.n_words), np.diff(parts.indptr)), parts.columns
    probability = (parts.values + parts.of_others[topics]) * shares[topics] / frequency[words]
    kept = np.flatnonzero(shown[topics] & (probability >= _SMALLEST))
    return words[kept], topics[kept], probability[kept]


def _of_rows(
    source: TopicSource, shares: np.ndarray, frequency: np.ndarray, shown: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `_of_lists`, of all topics shown."""
    found = []
    for ids, rows in rows_of(source):
        probability = rows * shares / frequency[ids][:, None]
        words, topics = np.nonzero((probability >= _SMALLEST) & shown)
        found.append((ids[words], topics, probability[words, topics]))
    words, topics, probabilities = (np.concatenate(own) for own in zip(*found, strict=True))
    return words, topics, probabilities


def _documents(named: Subject, source: TopicSource, shown: np.ndarray) -> dict[str, Any]:
    """The documents by source row."""
    corpus, n = named.corpus, source.n_components
    ask = partial(_largest, named.inference)
    pieces = over_blocks(ask, corpus, "reading documents", n_components=n)
    rows, topics, doc_topics = in_source_order(pieces)
    ids = corpus.document_ids().tolist()
    columns, counts = corpus.read_columns(), corpus.to_scipy()
    texts = corpus.read_texts() if corpus.has_text and corpus.text_settings else None
    longest = min(_LONGEST, _CHARACTERS // max(corpus.n_docs, 1))
    found: dict[str, Any] = {}
    for i, (row, own, some) in enumerate(zip(rows.tolist(), topics, doc_topics, strict=True)):
        first = list(zip(own[:_TOPICS_OF_DOCUMENT].tolist(), some.tolist(), strict=False))
        found[row] = {
            "id": ids[i],
            "columns": {column: values[i] for column, values in columns.items()},
            "topics": [(k, share) for k, share in first if share >= _SMALLEST and shown[k]],
            "pieces": None,
        }
        if texts is not None and texts[i]:
            words = [corpus.vocabulary[int(w)] for w in counts[i].indices]
            text = texts[i] if len(texts[i]) <= longest else f"{texts[i][:longest]}…"
            shares = np.zeros(n)
            shares[own] = some
            found[row]["pieces"] = _pieces(text, words, shares, source, corpus)
    return found


def _largest(inference: Inference, block: Block) -> tuple[np.ndarray, ...]:
    """Source rows, and the largest topics of each document with their shares, (n_docs, n)."""
    doc_topics = Documents(block, inference).doc_topics
    n = min(doc_topics.shape[1], _TOPICS_OF_WORDS)
    topics = np.argsort(-doc_topics, axis=1, kind="stable")[:, :n]
    return block.rows, topics, np.take_along_axis(doc_topics, topics, axis=1)


def _pieces(text: str, words: Sequence[str], shares: np.ndarray, source: TopicSource, corpus: Corpus) -> Any:
    """The text of a document with the topics of its words."""
    table = word_topics(source, dict.fromkeys(words, 1.0), shares, [""] * source.n_components)
    assert corpus.text_settings is not None
    pieces = marked(text, corpus.text_settings, dict(zip(table["word"], table["topic"], strict=True)))
    return pieces or [(text, None)]


def _by_topic(table: GroupShares, numbers: Sequence[int]) -> dict[str, Any]:
    """Shares in groups, of the topics with these numbers."""
    return {
        "column": table.column,
        "freq": table.freq,
        "groups": [_text(group) for group in table.groups],
        "years": table.years,
        "share": {k: table.share[:, k] for k in numbers},
        "error": {k: table.standard_error[:, k] for k in numbers},
        "n": table.n_documents,
        "n_groups": table.n_groups,
        "n_without": table.n_without,
    }


def _text(group: Any) -> str:
    """A value of a column, or a bin; numbers of which some are missing are floats."""
    if isinstance(group, tuple):
        return " to ".join(map(_text, group))
    return str(int(group)) if isinstance(group, float) and group.is_integer() else str(group)


def _plain(value: Any) -> Any:
    """The value as JSON has it: numbers with four significant digits, None for nan."""
    if isinstance(value, Mapping):
        return {str(name): _plain(own) for name, own in value.items()}
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, Sequence):
        return [_plain(own) for own in value]
    if isinstance(value, float):
        return float(f"{value:.4g}") if np.isfinite(value) else None
    return value
