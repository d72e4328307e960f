"""What a page can show of topics, words and documents, as JSON values.

A page holds everything that it shows: the words of each topic that are among the best at some relevance, the topics of
the most frequent words, and the texts of the documents that its topics name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.evaluation.source import TopicSource, rows_of
from bigtopic.evaluation.subject import Documents, Subject, in_source_order, over_blocks
from bigtopic.questions.compare import similarity
from bigtopic.questions.documents import word_topics
from bigtopic.questions.groups import GroupShares
from bigtopic.questions.maps import places
from bigtopic.questions.marked import marked
from bigtopic.questions.words import relevant_words, shares_of
from bigtopic.report.summary import Summary

__all__ = ["contents"]

_WORDS = 30  # of a topic that are shown
_SIMILAR = 8  # topics
_INDEXED = 30_000  # words
_TOPICS_OF_WORD = 5
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
            "documents": [(None, name, weight) for name, weight in topic.documents],
            "authors": topic.authors,
            "x": None,
            "y": None,
        }
        for topic in summary.topics
    ]
    found: dict[str, Any] = {"topics": topics, "similar": {}, "index": {"words": [], "topics": []}}
    found["documents"] = {}
    if source is not None:
        sizes = _sizes(summary, source)
        alike = similarity(source)
        plane, words = places(1 - alike), relevant_words(source, _WORDS, sizes)
        for own in topics:
            k = own["topic"]
            own["words"], own["size"], (own["x"], own["y"]) = words[k], sizes[k], plane[k]
            order = [j for j in np.argsort(-alike[k], kind="stable").tolist() if j != k][:_SIMILAR]
            found["similar"][k] = [(j, alike[k, j]) for j in order]
        found["index"] = _index(source, sizes)
        if summary.named is not None:
            found["documents"] = _documents(summary.named, source, topics)
    found["time"] = None if summary.time is None else _by_topic(summary.time)
    found["groups"] = [_by_topic(own) for own in summary.groups]
    return _plain(found)


def _sizes(summary: Summary, source: TopicSource) -> np.ndarray:
    """p(topic), float64 (n_components,): of the corpus, or else of what the model has counted."""
    if any(topic.share is None for topic in summary.topics):
        return shares_of(source)
    sizes = np.zeros(source.n_components)
    for topic in summary.topics:
        sizes[topic.number] = topic.share
    return sizes


def _index(source: TopicSource, shares: np.ndarray) -> dict[str, Any]:
    """The most frequent words, and their topics."""
    n_topics = min(_TOPICS_OF_WORD, source.n_components)
    pieces = []
    for ids, rows in rows_of(source):
        joint = rows * shares
        frequency = joint.sum(axis=1)
        best = np.argsort(-joint, axis=1, kind="stable")[:, :n_topics]
        pieces.append((ids, frequency, best, np.take_along_axis(joint, best, axis=1) / frequency[:, None]))
    ids, frequency, best, probability = (np.concatenate(own) for own in zip(*pieces, strict=True))
    order = np.argsort(-frequency, kind="stable")[:_INDEXED]
    names = source.vocabulary
    return {
        "words": [str(names[i]) for i in ids[order].tolist()],
        "topics": [
            [value for k, p in zip(ks, ps, strict=True) if p >= _SMALLEST for value in (k, p)]
            for ks, ps in zip(best[order].tolist(), probability[order].tolist(), strict=True)
        ],
    }


def _documents(named: Subject, source: TopicSource, topics: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The documents by source row; `topics` get the rows of those that they name."""
    corpus = named.corpus
    inference = named.inference
    pieces = over_blocks(
        lambda block: (block.rows, Documents(block, inference).doc_topics), corpus, "reading documents"
    )
    rows, doc_topics = in_source_order(pieces)
    ids = corpus.document_ids().tolist()
    for own in topics:
        shares = doc_topics[:, own["topic"]]
        best = np.argsort(-shares, kind="stable")[: len(own["documents"])].tolist()
        own["documents"] = [(rows[i], ids[i], shares[i]) for i in best]
    columns, counts = corpus.read_columns(), corpus.to_scipy()
    texts = corpus.read_texts() if corpus.has_text and corpus.text_settings else None
    longest = min(_LONGEST, _CHARACTERS // max(corpus.n_docs, 1))
    found: dict[str, Any] = {}
    for i, (row, shares) in enumerate(zip(rows.tolist(), doc_topics, strict=True)):
        order = np.argsort(-shares, kind="stable")[:_TOPICS_OF_DOCUMENT].tolist()
        found[row] = {
            "id": ids[i],
            "columns": {column: values[i] for column, values in columns.items()},
            "topics": [(k, shares[k]) for k in order if shares[k] >= _SMALLEST],
            "pieces": None,
        }
        if texts is not None and texts[i]:
            words = [corpus.vocabulary[int(w)] for w in counts[i].indices]
            text = texts[i] if len(texts[i]) <= longest else f"{texts[i][:longest]}…"
            found[row]["pieces"] = _pieces(text, words, shares, source, corpus)
    return found


def _pieces(text: str, words: Sequence[str], shares: np.ndarray, source: TopicSource, corpus: Corpus) -> Any:
    """The text of a document with the topics of its words."""
    table = word_topics(source, dict.fromkeys(words, 1.0), shares, [""] * source.n_components)
    assert corpus.text_settings is not None
    pieces = marked(text, corpus.text_settings, dict(zip(table["word"], table["topic"], strict=True)))
    return pieces or [(text, None)]


def _by_topic(table: GroupShares) -> dict[str, Any]:
    return {
        "column": table.column,
        "freq": table.freq,
        "groups": [_text(group) for group in table.groups],
        "years": table.years,
        "share": table.share.T,
        "error": table.standard_error.T,
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
