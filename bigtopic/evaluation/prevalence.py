"""How much of a corpus each topic is about, who writes about it, and which documents are most about it.

    share_k = sum_d N_d theta_dk / sum_d N_d,  N_d the tokens of document d that the model knows

One pass; a document with several authors counts for each of them in equal parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.evaluation.fold_in import fold_in, local_docs, topic_rows, word_map
from bigtopic.evaluation.source import TopicSource, topics_of
from bigtopic.evaluation.streaming import documents_of, over_blocks
from bigtopic.types import Block, Docs

__all__ = ["Prevalence", "prevalence"]

_AUTHOR_CELLS = 50_000_000  # 200 MB of float32


@dataclass(frozen=True)
class Prevalence:
    """Topics of a whole corpus.

    Attributes
    ----------
    share : float64 (n_components,), sums to 1
    author_tokens : float32 (n_authors, n_components), expected tokens; None without authors, or when authors x topics
        would be more than 50 million cells
    rows : int64 (n_components, n_top), source rows of the documents with the largest weight of each topic, falling
    weights : float32 (n_components, n_top), those weights
    """

    share: np.ndarray
    author_tokens: np.ndarray | None = field(repr=False)
    rows: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)


class _Piece(NamedTuple):
    tokens: np.ndarray  # (n_components,)
    authors: tuple[np.ndarray, np.ndarray] | None  # ids, expected tokens (n, n_components)
    rows: np.ndarray
    weights: np.ndarray


def prevalence(
    model: Any,
    corpus: Corpus,
    n_top: int = 3,
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
    n_top : documents to name for each topic
    client, n_threads : see `log_predictive`
    """
    corpus = documents_of(corpus)
    source = topics_of(model, vocabulary)
    n_cells = corpus.n_authors * source.n_components
    with_authors = 0 < n_cells <= _AUTHOR_CELLS
    measure = _Measure(source, word_map(corpus, source), corpus.n_words, n_top, with_authors)
    tokens = np.zeros(source.n_components)
    author_tokens = np.zeros((corpus.n_authors, source.n_components), np.float32) if with_authors else None
    best = _nothing(source.n_components)
    for piece in over_blocks(measure, corpus, "topic shares", client, n_threads):
        tokens += piece.tokens
        if author_tokens is not None and piece.authors is not None:
            ids, values = piece.authors
            author_tokens[ids] += values
        best = _largest([best, (piece.rows, piece.weights)], n_top)
    return Prevalence(tokens / max(tokens.sum(), 1e-300), author_tokens, *best)


@dataclass(frozen=True, eq=False)
class _Measure:
    """The measure of one block of documents: pure, and picklable for workers."""

    source: TopicSource
    id_map: np.ndarray | None
    n_words: int
    n_top: int
    with_authors: bool

    def __call__(self, block: Block) -> _Piece:
        docs, ids = local_docs(block, self.n_words, self.id_map)
        theta = fold_in(docs, topic_rows(self.source, ids), self.source, 100, 1e-3)
        lengths = _tokens(docs)
        weighted = theta * lengths[:, None].astype(np.float32)
        authors = _by_author(block, weighted) if self.with_authors else None
        rows = np.broadcast_to(docs.rows, (theta.shape[1], docs.n_docs))
        best = _largest([(rows, theta.T)], self.n_top)
        return _Piece(weighted.sum(axis=0, dtype=np.float64), authors, *best)


def _tokens(docs: Docs) -> np.ndarray:
    documents = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    return np.bincount(documents, weights=docs.counts, minlength=docs.n_docs)


def _by_author(block: Block, weighted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Authors of the block and their expected tokens of each topic."""
    assert block.author_indptr is not None and block.authors is not None
    n_each = np.diff(block.author_indptr)
    documents = np.repeat(np.arange(block.n_docs), n_each)
    ids, local = np.unique(block.authors, return_inverse=True)
    values = np.zeros((len(ids), weighted.shape[1]), np.float32)
    np.add.at(values, local, weighted[documents] / n_each[documents, None].astype(np.float32))
    return ids, values


def _nothing(n_components: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((n_components, 0), np.int64), np.zeros((n_components, 0), np.float32)


def _largest(found: Iterable[tuple[np.ndarray, np.ndarray]], n_top: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and weights of the largest weights of each topic; the same whatever the blocks were."""
    rows, weights = (np.hstack(arrays) for arrays in zip(*found, strict=True))
    order = np.lexsort((rows, -weights), axis=1)[:, :n_top]
    return np.take_along_axis(rows, order, 1), np.take_along_axis(weights, order, 1)
