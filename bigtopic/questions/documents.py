"""Documents and their topics as questions read them, in batches (stored, remembered or inferred), and the answers:
means and correlation of topics, the documents that are most about a topic, the topics of one document and its words.

All cost one pass; the correlation takes n_components^2 numbers. Of very many topics, which are lists, a document has
few: topics of which it has no tokens, only what the prior gives to each, are left out of its shares.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.documents import Document
from bigtopic.corpus.part import PartView
from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.source import Largest, part_of
from bigtopic.parallel.progress import Progress
from bigtopic.questions.marked import Piece
from bigtopic.questions.table import Table, frame
from bigtopic.state.machine_memory import refuse_beyond
from bigtopic.support.cards import card, lines
from bigtopic.types import nbytes_of
from bigtopic.wording import printable

__all__ = [
    "MOST_BYTES",
    "SAME_SHARE",
    "DocumentShares",
    "DocumentTopics",
    "LastTopics",
    "Shares",
    "Theta",
    "about_topic",
    "add_sparse",
    "checked",
    "correlation",
    "further_columns",
    "leaders",
    "mean_shares",
    "other_documents",
    "selected",
    "topics_in",
    "topics_of_document",
    "with_text",
    "with_tokens",
    "word_topics",
]


class DocumentShares(NamedTuple):
    """Some documents.

    positions : int64 (n,), in the order in which `Theta.documents` are stored, ascending
    shares : csr_matrix (n, n_components), rows sum to 1
    """

    positions: np.ndarray
    shares: Any


@dataclass(frozen=True)
class Theta:
    """Topics of documents.

    Attributes
    ----------
    documents : their ids, source rows and columns
    n_components : number of topics
    pieces : gives csr_matrix after csr_matrix of topics, in the order in which the documents are stored; rows sum to
        1, or to 0 for documents without a word that the model knows
    chosen : bool (n_docs,), the documents that were asked for; None for all
    progress : whether to show a bar; None shows it in terminals and notebooks, after two seconds
    """

    documents: Corpus
    n_components: int
    pieces: Callable[[], Iterator[Any]]
    chosen: np.ndarray | None = None
    progress: bool | None = None

    def batches(self, description: str) -> Iterator[DocumentShares]:
        """The documents that were asked for and have a known word, a batch at a time, under a progress bar."""
        start = 0
        with Progress(description, self.documents.n_docs, " docs", self.progress) as bar:
            for shares in self.pieces():
                stop = start + shares.shape[0]
                wanted = np.asarray(shares.sum(axis=1)).ravel() > 0
                if self.chosen is not None:
                    wanted &= self.chosen[start:stop]
                if wanted.any():
                    yield DocumentShares(start + np.flatnonzero(wanted), shares[wanted])
                bar.update(stop - start)
                start = stop

    def read_column(self, name: str, positions: np.ndarray) -> np.ndarray:
        """A column of the documents at these ascending positions, (n,)."""
        return self.documents.at(positions).read_column(name, order="stored")


def selected(documents: Corpus, where: Mapping[str, Any] | None) -> np.ndarray | None:
    """The documents of one part that `Corpus.select(**where)` selects, bool (n_docs,); None for all.

    Raises
    ------
    SettingError
        When there is no such column, or a condition is not allowed.
    """
    if not where:
        return None
    chosen = np.zeros(documents.n_docs, bool)
    for part in checked(documents, where).parts:
        chosen[np.asarray(part.documents) if isinstance(part, PartView) else slice(None)] = True
    return chosen


def checked(documents: Corpus, where: Mapping[str, Any] | None) -> Corpus:
    """`documents.select(**where)`.

    Raises
    ------
    SettingError
        When `where` is not a mapping, or as `Corpus.select`.
    """
    if where is not None and not isinstance(where, Mapping):
        raise SettingError(
            f"{argument('where', where)}: give a mapping, {{column: condition}}, as Corpus.select takes"
        )
    return documents.select(**where) if where else documents


def with_tokens(doc_topics: np.ndarray, prior: np.ndarray) -> Any:
    """The topics of which documents have tokens, csr_matrix (n_docs, n_components) of float64; rows sum to 1, or to 0.

    Of others, a document has the share (alpha_k + 0) / (sum alpha + tokens), the least share by prior of all topics.

    Parameters
    ----------
    doc_topics : float32 (n_docs, n_components), rows sum to 1, or to 0 for documents without a known word
    prior : alpha, or in proportion to it, (n_components,)
    """
    from scipy.sparse import csr_matrix

    ratios = doc_topics * (1 / prior).astype(np.float32)
    found = ratios > ratios.min(axis=1, keepdims=True) * np.float32(1 + SAME_SHARE)
    shares = csr_matrix(
        (doc_topics[found].astype(np.float64), np.nonzero(found)[1], _ends(found)), doc_topics.shape
    )
    sums = shares.sum(axis=1).A1
    shares.data /= np.repeat(sums, np.diff(shares.indptr))
    return shares


def _ends(found: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(found.sum(axis=1))])


def other_documents(document: str, row: int) -> SettingError:
    """The error for a document of a store of topics that another one is in the place of in the corpus."""
    return SettingError(
        f"{argument('theta')}: document {document!r} is not in row {row} of the corpus; the store was written from "
        "other documents: give their corpus, or write the topics of this one with transform_to"
    )


SAME_SHARE = 1e-5  # relative difference of shares in float32 that are the same but for rounding
MOST_BYTES = 1 << 26  # of topics: 160,000 documents with 100 topics


class LastTopics:
    """Topics of one corpus under one version of a model. Copies and pickles begin without any."""

    def __init__(self) -> None:
        self._key: Hashable = None
        self._pieces: list[Any] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return LastTopics, ()

    def pieces(self, key: Hashable, infer: Callable[[], Iterator[Any]]) -> Iterator[Any]:
        """The topics, arrays or csr_matrix (n_docs, n_components) each: those in memory, or those that `infer` gives,
        of which no more than `MOST_BYTES` are kept.

        Parameters
        ----------
        key : of the documents and the model
        """
        if key == self._key:
            yield from self._pieces
            return
        self._key, self._pieces = None, []
        pieces, n_bytes = list[Any](), 0
        for piece in infer():
            n_bytes += nbytes_of(piece)
            if n_bytes > MOST_BYTES:
                pieces.clear()
            else:
                pieces.append(piece)
            yield piece
        if n_bytes <= MOST_BYTES:
            self._key, self._pieces = key, pieces


_ROUNDING = 1e-12  # of a mean of squares: a variance below it is rounding


class Shares(NamedTuple):
    """share : float64 (n_components,), mean over documents; n_led : documents in which the topic is the largest"""

    share: np.ndarray
    n_led: np.ndarray


def mean_shares(theta: Theta) -> Shares:
    """Mean share of each topic, and the documents that it leads; ties go to the lower topic."""
    sums, led, n_docs = np.zeros(theta.n_components), np.zeros(theta.n_components, np.int64), 0
    for _, shares in theta.batches("adding up"):
        sums += np.asarray(shares.sum(axis=0)).ravel()
        led += np.bincount(leaders(shares), minlength=theta.n_components)
        n_docs += shares.shape[0]
    return Shares(sums / max(n_docs, 1), led)


def leaders(shares: Any) -> np.ndarray:
    """The largest topic of each document. Equivalent to `shares.argmax(axis=1)`, which looks at one after the other."""
    largest = np.maximum.reduceat(shares.data, shares.indptr[:-1])
    n_topics = np.diff(shares.indptr)
    best = np.flatnonzero(shares.data == np.repeat(largest, n_topics))
    documents = np.repeat(np.arange(len(n_topics)), n_topics)[best]
    leaders: np.ndarray = shares.indices[best[np.unique(documents, return_index=True)[1]]]
    return leaders


def correlation(theta: Theta, topics: Sequence[int] | None = None) -> np.ndarray:
    """Pearson's correlation of the shares of topics over documents, float64 (n_components, n_components).

    Equivalent to `np.corrcoef(shares.T)`; nan for a topic that has the same share of all documents.

    Parameters
    ----------
    topics : only these; None for all

    Raises
    ------
    SettingError
        When the machine has no room for two numbers for each pair of topics.
    """
    n = theta.n_components if topics is None else len(topics)
    remedy = f"give {argument('topics', ...)}, such as the largest"
    refuse_beyond(16 * n * n, remedy, f"the correlation of {n:,} topics needs")
    sums, products, n_docs = np.zeros(n), np.zeros((n, n)), 0
    for _, shares in theta.batches("correlating"):
        own = shares if topics is None else shares[:, topics]
        sums += np.asarray(own.sum(axis=0)).ravel()
        add_sparse(products, own.T @ own)
        n_docs += shares.shape[0]
    mean = sums / max(n_docs, 1)
    squares = np.diagonal(products) / max(n_docs, 1)
    products /= max(n_docs, 1)
    for row, own_mean in zip(products, mean, strict=True):
        row -= own_mean * mean
    variance = np.diagonal(products)
    deviation = np.sqrt(np.where(variance > _ROUNDING * squares, variance, np.nan))
    products /= deviation
    products /= deviation[:, None]
    return products


def add_sparse(total: np.ndarray, values: Any) -> None:
    """total += values, a sparse matrix, which costs the numbers that it has."""
    if 2 * values.nnz >= total.size:
        total += values.toarray()
        return
    entries = values.tocoo()
    entries.sum_duplicates()
    total[entries.row, entries.col] += entries.data


def about_topic(theta: Theta, topic: int, n: int) -> tuple[Corpus, dict[str, list[Any]]]:
    """The documents with the largest shares of a topic, largest first; ties go to the one that is stored first.

    Returns
    -------
    documents : a view of them
    columns : document (ids), row (source rows) and share; documents without any of the topic are left out
    """
    best = Largest(1, n)
    for positions, shares in theta.batches("searching"):
        best.add(positions, shares[:, [topic]].toarray())
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
    """The columns to show beside the answer's own.

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
        When the documents are not in the corpus.
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
    """A document, its topics, and the topics of its words.

    Attributes
    ----------
    document : `Document`: id, text, columns and counts; None if only the topics are known
    topics : table of topic, label and share, largest first
    words : table of word, count, topic, label and probability: the topic that most of the word's tokens have in this
        document, and their share; None if only the topics are known
    pieces : the text in pieces, each with the topic of its word or None; None without a text, and where its tokeniser
        has functions or a pattern that are not stored
    """

    document: Document | None
    topics: Any
    words: Any
    pieces: Sequence[Piece] | None = None

    def __repr__(self) -> str:
        one = self.document
        head = [] if one is None else [one.id, *(one.text or "").splitlines()]
        return "\n\n".join([*map(printable, head), *(table.text() for table in self._tables())])

    def _repr_html_(self) -> str:
        tables = [table._repr_html_() for table in self._tables()]
        if self.document is None:
            return card("", *tables)
        return card(self.document.id, lines(self.document.text or ""), *tables)

    def _tables(self) -> list[Table]:
        return [Table.of(table) for table in (self.topics, self.words) if table is not None]


def topics_of_document(shares: np.ndarray, labels: list[str]) -> Any:
    """The topics of a document with these shares, (n_components,), as `DocumentTopics` has them."""
    order = [k for k in np.argsort(-shares, kind="stable").tolist() if shares[k] > 0]
    return frame(
        {"topic": order, "label": [labels[k] for k in order], "share": [float(shares[k]) for k in order]}
    )


def topics_in(source: Any, ids: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The most probable topic of words in a document with these shares, (n_components,), and its probability, (n_ids,).

    Topics without a share are not looked at."""
    some = np.flatnonzero(shares > 0) if shares.any() else np.zeros(1, np.int64)
    rows = part_of(source, ids, some) * shares[some]
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    best = rows.argmax(axis=1)
    return some[best], rows[np.arange(len(ids)), best]


def word_topics(source: Any, counts: Mapping[str, float], shares: np.ndarray, labels: list[str]) -> Any:
    """The topics of a document's words, most frequent first: p(k | w) in proportion to share_k p(w | k).

    Words that the model does not know have no topic.
    """
    names = sorted(counts, key=lambda word: (-counts[word], word))
    ids = source.vocabulary.index_of(names)
    known = np.flatnonzero(ids >= 0)
    best, probability = topics_in(source, ids[known], shares)
    found: dict[str, list[Any]] = {name: [None] * len(names) for name in ("topic", "label", "probability")}
    for w, k, p in zip(known.tolist(), best.tolist(), probability.tolist(), strict=True):
        found["topic"][w], found["label"][w], found["probability"][w] = k, labels[k], p
    return frame({"word": names, "count": [counts[word] for word in names], **found})
