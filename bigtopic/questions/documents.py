"""The documents that are most about a topic, and the topics of one document and of its words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bigtopic.corpus.documents import Document
from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, argument
from bigtopic.questions.table import Table, frame
from bigtopic.questions.theta import Theta, other_documents
from bigtopic.support.cards import card, lines
from bigtopic.wording import printable

__all__ = [
    "DocumentTopics",
    "about_topic",
    "further_columns",
    "topics_of_document",
    "with_text",
    "word_topics",
]


def about_topic(theta: Theta, topic: int, n: int) -> tuple[Corpus, dict[str, list[Any]]]:
    """The documents with the largest shares of a topic, largest first; ties go to the one that is stored first.

    Returns
    -------
    documents : a view of them
    columns : document (ids), row (source rows) and share; documents without any of the topic are left out
    """
    only = np.zeros(theta.n_components)
    only[topic] = 1.0
    from bigtopic.evaluation.largest import Largest

    best = Largest(1, n)
    for positions, shares in theta.batches("searching"):
        best.add(positions, (shares @ only)[:, None])
    found = best.values[0] > 0
    positions, values = best.positions[0][found], best.values[0][found]
    view = theta.documents.at(np.sort(positions))
    back = np.argsort(np.argsort(positions))
    columns = {
        "document": view.document_ids(order="stored")[back].tolist(),
        "row": view.rows(order="stored")[back].tolist(),
        "share": values.tolist(),
    }
    return view, columns


def further_columns(names: Sequence[str], has_text: bool) -> list[str]:
    """The columns to show beside those of the answer.

    Raises
    ------
    SettingError
        When they are not a list, or one has the name of a column of the answer.
    """
    if isinstance(names, str):
        raise SettingError(f"{argument('columns', names)}: give a list of names")
    taken = ("document", "row", "share", *(["text"] if has_text else []))
    for name in names:
        if name in taken:
            raise SettingError(
                f"columns: {name!r} is a column of the answer; read the corpus' own with read_column"
            )
    return list(names)


def with_text(columns: dict[str, list[Any]], corpus: Corpus, names: list[str]) -> dict[str, list[Any]]:
    """The columns, and the text and further columns of the documents from their corpus.

    Raises
    ------
    SettingError
        When the documents are not those of the corpus.
    """
    view = corpus.select(rows=columns["row"])
    at = {row: i for i, row in enumerate(view.rows().tolist())}
    ids = view.document_ids()
    for row, document in zip(columns["row"], columns["document"], strict=True):
        if row not in at or str(ids[at[row]]) != document:
            raise other_documents(document, row)
    order = [at[row] for row in columns["row"]]
    added = {}
    if corpus.has_text:
        added["text"] = view.read_texts() if view.has_text else np.full(len(view), "", object)
    added |= view.read_columns(names)
    return {**columns, **{name: values[order].tolist() for name, values in added.items()}}


@dataclass(frozen=True)
class DocumentTopics:
    """A document, its topics, and those of its words.

    Attributes
    ----------
    document : `Document`: id, text, columns and counts; None if only the topics are known
    topics : table of topic, label and share, largest first
    words : table of word, count, topic, label and probability: the topic that most of the word's tokens have in this
        document, and their share; None if only the topics are known
    """

    document: Document | None
    topics: Any
    words: Any

    def __repr__(self) -> str:
        tables = [Table.of(table).text() for table in (self.topics, self.words) if table is not None]
        return "\n\n".join([*self._head(), *tables])

    def _head(self) -> list[str]:
        if self.document is None:
            return []
        text = self.document.text
        return [printable(self.document.id), *([] if text is None else map(printable, text.splitlines()))]

    def _repr_html_(self) -> str:
        tables = [Table.of(table)._repr_html_() for table in (self.topics, self.words) if table is not None]
        if self.document is None:
            return card("", *tables)
        return card(self.document.id, lines(self.document.text or ""), *tables)


def topics_of_document(shares: np.ndarray, labels: list[str]) -> Any:
    """The topics of a document with these shares, (n_components,), as `DocumentTopics` has them."""
    order = [k for k in np.argsort(-shares, kind="stable").tolist() if shares[k] > 0]
    return frame(
        {"topic": order, "label": [labels[k] for k in order], "share": [float(shares[k]) for k in order]}
    )


def word_topics(source: Any, counts: Mapping[str, float], shares: np.ndarray, labels: list[str]) -> Any:
    """The topics of a document's words, most frequent first: p(k | w) in proportion to share_k p(w | k).

    Words that the model does not know have no topic.
    """
    names = sorted(counts, key=lambda word: (-counts[word], word))
    ids = source.vocabulary.index_of(names)
    known = np.flatnonzero(ids >= 0)
    rows = source.gather(ids[known].astype(np.int32))[:, : source.n_components] * shares
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    best = rows.argmax(axis=1)
    found = {names[w]: (int(k), float(row[k])) for w, k, row in zip(known, best, rows, strict=True)}
    none = (None, None)
    return frame(
        {
            "word": names,
            "count": [counts[word] for word in names],
            "topic": [found.get(word, none)[0] for word in names],
            "label": [labels[found[word][0]] if word in found else None for word in names],
            "probability": [found.get(word, none)[1] for word in names],
        }
    )
