"""Prevalence: each topic's share of a corpus, its authors, and the documents that are most about it.

    share_k = sum_d N_d theta_dk / sum_d N_d,  N_d the tokens of document d that the model knows

theta comes from the fold-in that all models share, until its Dirichlet parameters move by less than 0.001 on average,
or for 100 iterations; of very many topics, which are lists, from the model's own method. One pass; a document with
several authors counts for each of them in equal parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bigtopic.errors import InputError, SettingError, argument
from bigtopic.evaluation import _kernels
from bigtopic.evaluation.base import Measure, Result, Setting
from bigtopic.evaluation.measuring import result_of
from bigtopic.evaluation.subject import CorpusOrPath, Documents, Subject, documents_of
from bigtopic.support.deprecations import renamed
from bigtopic.types import Block

__all__ = ["MEASURE", "Prevalence", "prevalence"]

_AUTHOR_CELLS = 50_000_000  # 400 MB of float64


@dataclass(frozen=True, repr=False)
class Prevalence(Result):
    """Topics of a whole corpus.

    Attributes
    ----------
    share : float64 (n_components,), sums to 1
    author_tokens : float64 (n_authors, n_components), expected tokens; None without authors, or when authors x topics
        would be more than 50 million cells
    rows : int64 (n_components, n_documents), source rows of the documents with the largest weights of each topic, in
        descending order
    weights : float32 (n_components, n_documents), those weights. Documents without a word that the model knows are
        not among them
    n_tokens : tokens of the documents that the model knows; share * n_tokens are the tokens of the topics
    """

    share: np.ndarray
    author_tokens: np.ndarray | None = field(repr=False)
    rows: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    n_tokens: float = field(default=float("nan"), repr=False)

    reported: ClassVar[tuple[str, ...]] = ("value", "share", "rows", "weights")

    @property
    def value(self) -> float:  # type: ignore[override]
        """Effective number of topics: exp of the entropy of the shares."""
        share = self.share[self.share > 0]
        return float(np.exp(-share @ np.log(share)))

    @property
    def per_topic(self) -> np.ndarray:  # type: ignore[override]
        """The shares."""
        return self.share

    def text(self) -> str:
        return f"{self.value:.1f} of {len(self.share)}"

    def __repr__(self) -> str:
        least, most = self.share.min(), self.share.max()
        return f"Prevalence({self.text()} topics in use, with shares of {least:.1%} to {most:.1%})"

    def details(self) -> dict[str, str]:
        """A line for each topic, largest share first: its share, and the rows of `rows` with their weights."""
        return {
            f"topic {self.topic_name(k)}": f"{self.share[k]:.1%} of the tokens{self._documents(k)}"
            for k in np.argsort(-self.share, kind="stable")
        }

    def _documents(self, topic: int) -> str:
        found = zip(self.rows[topic], self.weights[topic], strict=True)
        named = ", ".join(f"{row} ({weight:.0%})" for row, weight in found)
        return f"; documents in rows {named}" if named else ""


class _Piece(NamedTuple):
    tokens: np.ndarray  # (n_components,)
    authors: tuple[np.ndarray, np.ndarray] | None  # ids, expected tokens (n, n_components)
    best: tuple[np.ndarray, np.ndarray]  # rows, weights


class _Total(NamedTuple):
    tokens: np.ndarray
    authors: np.ndarray | None  # float64 (n_authors, n_components), expected tokens
    best: tuple[np.ndarray, np.ndarray]
    n_documents: int


class _State(NamedTuple):
    n_components: int
    n_authors: int  # 0: they are not counted
    n_documents: int


@renamed(n_top="n_documents")
def prevalence(
    model: Any,
    corpus: CorpusOrPath,
    n_documents: int = 3,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
) -> Prevalence:
    """Shares of the topics in a corpus.

    Parameters
    ----------
    model : see `topics_of`, to which `vocabulary` is passed
    corpus : any documents, or the path of their corpus; words are matched by name
    n_documents : documents to name for each topic, at least 0
    client, n_threads : see `measure`

    Raises
    ------
    SettingError
        When `n_documents` is not allowed.
    InputError
        When the model knows no word of the documents.
    """
    subject = Subject(model, documents_of(corpus), vocabulary)
    return result_of(MEASURE, subject, {"n_documents": n_documents}, client, n_threads)


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> _State:
    n_documents = settings["n_documents"]
    if n_documents < 0:
        raise SettingError(
            f"{argument('n_documents')}: must be a whole number of at least 0, found {n_documents!r}"
        )
    n_components, n_authors = subject.source.n_components, subject.corpus.n_authors
    return _State(n_components, n_authors if n_authors * n_components <= _AUTHOR_CELLS else 0, n_documents)


def _start(state: _State) -> _Total:
    authors = np.zeros((state.n_authors, state.n_components)) if state.n_authors else None
    nothing = np.zeros((state.n_components, 0), np.int64), np.zeros((state.n_components, 0), np.float32)
    return _Total(np.zeros(state.n_components), authors, nothing, state.n_documents)


def _of_block(state: _State, documents: Documents) -> _Piece:
    theta, tokens = documents.doc_topics, documents.tokens
    weighted = theta * tokens[:, None]
    authors = _by_author(documents.block, weighted) if state.n_authors else None
    n = min(state.n_documents, int((tokens > 0).sum()))
    best = np.full((state.n_components, n), -1), np.full((state.n_components, n), -1.0, np.float32)
    _kernels.add_documents(documents.docs.rows, tokens, theta, *best)
    return _Piece(weighted.sum(axis=0), authors, best)


def _combine(total: _Total, piece: _Piece) -> _Total:
    total.tokens[:] += piece.tokens
    if total.authors is not None and piece.authors is not None:
        ids, values = piece.authors
        total.authors[ids] += values
    return total._replace(best=_largest([total.best, piece.best], total.n_documents))


def _finish(state: _State, total: _Total) -> Prevalence:
    n_tokens = total.tokens.sum()
    if not n_tokens:
        raise InputError(
            f"{argument('corpus')}: the model knows no word of these documents; pass documents that have some"
        )
    return Prevalence(total.tokens / n_tokens, total.authors, *total.best, float(n_tokens))


def _by_author(block: Block, weighted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Authors of the block and their expected tokens of each topic."""
    assert block.author_indptr is not None and block.authors is not None
    n_each = np.diff(block.author_indptr)
    documents = np.repeat(np.arange(block.n_docs), n_each)
    ids, local = np.unique(block.authors, return_inverse=True)
    values = np.zeros((len(ids), weighted.shape[1]))
    np.add.at(values, local, weighted[documents] / n_each[documents, None])
    return ids, values


def _largest(
    found: Iterable[tuple[np.ndarray, np.ndarray]], n_documents: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and weights of the largest weights of each topic; independent of the division into blocks."""
    rows, weights = (np.hstack(arrays) for arrays in zip(*found, strict=True))
    order = np.lexsort((rows, -weights), axis=1)[:, :n_documents]
    return np.take_along_axis(rows, order, 1), np.take_along_axis(weights, order, 1)


MEASURE = Measure(
    name="prevalence",
    prepare=_prepare,
    start=_start,
    of_block=_of_block,
    combine=_combine,
    finish=_finish,
    doc_topics=True,
    settings={"n_documents": Setting(3, "Documents to name for each topic.", formerly="n_top")},
    describes=True,
    title="topics in use",
    meaning="effective number of topics in the documents: exp of the entropy of their shares",
)
