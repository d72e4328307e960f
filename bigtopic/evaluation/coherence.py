"""Coherence: whether the top words of a topic occur in the same documents.

With D documents, D(u) of which hold u and D(u, v) both u and v, P = D(.) / D:

    NPMI(u, v)  = log(P(u, v) / (P(u) P(v))) / -log P(u, v)                  in [-1, 1], mean over pairs of a topic
    UMass       = sum over pairs, u ranked higher, of log((D(u, v) + 1) / D(u))

A pair that never occurs together has NPMI -1, one that is in every document 0. Pairs with a word that is in no
document are left out, and their share is reported.

References
----------
Lau, Newman, Baldwin: Machine reading tea leaves. EACL 2014 (NPMI).
Mimno, Wallach, Talley, Leenders, McCallum: Optimizing semantic coherence in topic models. EMNLP 2011 (UMass).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, VocabularyMismatch
from bigtopic.evaluation.source import top_words, topics_of
from bigtopic.evaluation.streaming import documents_of, over_blocks
from bigtopic.types import Block

__all__ = ["Coherence", "coherence"]


@dataclass(frozen=True)
class Coherence:
    """Coherence of topics on a corpus.

    Attributes
    ----------
    value : mean over topics
    per_topic : float64 (n_components,); nan for a topic none of whose pairs could be judged
    omitted : share of the pairs left out, because a word is in no document of the corpus
    measure, topn, n_docs : how it was measured
    """

    value: float
    per_topic: np.ndarray = field(repr=False)
    omitted: float
    measure: str
    topn: int
    n_docs: int

    def __repr__(self) -> str:
        return (
            f"Coherence({self.value:.4f} {self.measure}, mean of {len(self.per_topic)} topics, top {self.topn} words, "
            f"{self.n_docs:,} documents, {self.omitted:.1%} of pairs left out)"
        )


def coherence(
    model: Any,
    corpus: Corpus,
    measure: str = "npmi",
    topn: int = 10,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
) -> Coherence:
    """How coherent the topics of a model are, in one pass over a corpus.

    Parameters
    ----------
    model : see `topics_of`, or a list of topics, each a list of words, best first
    corpus : the reference documents, or the path of their corpus; a word counts once per document
    measure : "npmi" or "umass"
    topn : top words of each topic, at least 2
    client, n_threads : see `log_predictive`
    vocabulary : see `topics_of`

    Returns
    -------
    Coherence

    Raises
    ------
    SettingError
        When `measure` or `topn` is not allowed, or topics given as lists have fewer words.
    VocabularyMismatch
        When no top word is in the corpus.
    """
    if measure not in _MEASURES:
        raise SettingError(f"measure: must be one of {', '.join(map(repr, _MEASURES))}, found {measure!r}")
    if topn < 2:
        raise SettingError(f"topn: a pair needs at least 2 words, found {topn!r}")
    corpus = documents_of(corpus)
    ids = _top_ids(model, corpus, topn, vocabulary)
    if (ids < 0).all():
        raise VocabularyMismatch(
            "none of the topics' top words is in the corpus; compare with the corpus they come from"
        )
    counts = sum(
        over_blocks(_PairCounts.of(ids, corpus.n_words), corpus, "coherence", client, n_threads),
        start=np.zeros((*ids.shape, topn), np.int64),
    )
    pairs = _MEASURES[measure](counts, corpus.n_docs)
    judged = ~np.isnan(pairs)
    total = np.where(judged, pairs, 0).sum(axis=1)
    n_judged = judged.sum(axis=1)
    per_topic = np.full(len(ids), np.nan)
    np.divide(total, n_judged if measure == "npmi" else 1, out=per_topic, where=n_judged > 0)
    value = float(np.nanmean(per_topic)) if judged.any() else float("nan")
    return Coherence(value, per_topic, float(1 - judged.mean()), measure, topn, corpus.n_docs)


def _top_ids(model: Any, corpus: Corpus, topn: int, vocabulary: Any) -> np.ndarray:
    """Corpus ids of the top words, int64 (n_components, topn); -1 for words the corpus does not have."""
    if isinstance(model, list | tuple):
        short = [number for number, words in enumerate(model) if len(words) < topn]
        if short or not model:
            raise SettingError(f"topn: {topn} words wanted, but topics {short or 'given'} have fewer")
        return np.stack([corpus.vocabulary.index_of(words[:topn]) for words in model]).astype(np.int64)
    source = topics_of(model, vocabulary)
    if topn > source.n_words:
        raise SettingError(f"topn: {topn} words wanted, but the model has only {source.n_words}")
    ids, _ = top_words(source, topn)
    return source.vocabulary.mapping_to(corpus.vocabulary).astype(np.int64)[ids]


@dataclass(frozen=True, eq=False)
class _PairCounts:
    """Documents that hold pairs of top words: pure, and picklable for workers.

    first, places : word w of the corpus is a top word at places[first[w] : first[w + 1]], topic * topn + position
    shape : (n_components, topn)
    """

    first: np.ndarray
    places: np.ndarray
    shape: tuple[int, int]

    @classmethod
    def of(cls, ids: np.ndarray, n_words: int) -> _PairCounts:
        flat = ids.ravel()
        places = np.argsort(flat, kind="stable")[np.count_nonzero(flat < 0) :]
        first = np.searchsorted(flat[places], np.arange(n_words + 1))
        return cls(first.astype(np.int64), places.astype(np.int64), ids.shape)

    def __call__(self, block: Block) -> np.ndarray:
        from bigtopic.evaluation._kernels import count_pairs
        from bigtopic.kernels._shell import frozen

        counts = np.zeros((*self.shape, self.shape[1]), np.int64)
        documents = frozen(block.indptr, np.int64), frozen(block.words, np.int32)
        count_pairs(*documents, frozen(self.first, np.int64), frozen(self.places, np.int64), counts)
        return counts


def _npmi(counts: np.ndarray, n_docs: int) -> np.ndarray:
    """NPMI of each pair i < j, float64 (n_components, n_pairs); nan where a word is in no document."""
    higher, lower, both = _pair_documents(counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(both * n_docs / (higher * lower)) / -np.log(both / n_docs)
    value = np.where(both == n_docs, 0.0, np.where(both == 0, -1.0, value))
    return np.where((higher == 0) | (lower == 0), np.nan, value)


def _umass(counts: np.ndarray, n_docs: int) -> np.ndarray:
    """Terms of UMass of each pair, as above."""
    higher, lower, both = _pair_documents(counts)
    with np.errstate(divide="ignore"):
        value = np.log((both + 1) / higher)
    return np.where((higher == 0) | (lower == 0), np.nan, value)


def _pair_documents(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Documents of the higher ranked word, of the lower, and of both, each float64 (n_components, n_pairs)."""
    i, j = np.triu_indices(counts.shape[1], k=1)
    documents = np.diagonal(counts, axis1=1, axis2=2).astype(np.float64)
    return documents[:, i], documents[:, j], counts[:, i, j].astype(np.float64)


_MEASURES = {"npmi": _npmi, "umass": _umass}
