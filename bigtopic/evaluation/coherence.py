"""Coherence: whether the top words of a topic occur in the same documents, or are used by the same authors.

Measures of coherence differ in how they score a pair of words, of which D(u), D(v) and D(u, v) of D documents hold the
first, the second and both. Each is a file in `measures/`, made by `of_pairs`; one count of pairs serves all of them.
Pairs with a word that is in no document are left out, and their share is reported.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.errors import WITH_AUTHORS, InputError, SettingError, VocabularyMismatch, argument
from bigtopic.evaluation import measures
from bigtopic.evaluation.base import Measure, Result, Setting
from bigtopic.evaluation.measuring import result_of
from bigtopic.evaluation.source import top_words
from bigtopic.evaluation.subject import CorpusOrPath, Documents, Subject, documents_of
from bigtopic.kernels.support.entry import frozen
from bigtopic.support.aliases import answering
from bigtopic.support.deprecations import renamed, renamed_attribute

__all__ = ["Coherence", "by_author", "coherence", "of_pairs"]


@dataclass(frozen=True)
class Coherence(Result):
    """Coherence of topics on a corpus.

    Attributes
    ----------
    value : mean over topics
    per_topic : float64 (n_components,); nan for a topic without a pair that could be scored
    omitted : share of the pairs left out because a word is in no document of the corpus
    measure, n_top, n_docs : name of the measure, top words per topic, documents of the corpus
    """

    value: float
    per_topic: np.ndarray = field(repr=False)
    omitted: float
    measure: str
    n_top: int
    n_docs: int

    reported: ClassVar[tuple[str, ...]] = ("value", "per_topic", "omitted", "n_top")

    topn = renamed_attribute("topn", "n_top")

    def text(self) -> str:
        omitted = f", {self.omitted:.1%} of the pairs left out" if self.omitted else ""
        return f"{self.value:.4f}, mean of {len(self.per_topic)} topics{omitted}"

    def __repr__(self) -> str:
        return (
            f"Coherence({self.value:.4f} {self.measure}, mean of {len(self.per_topic)} topics, top {self.n_top} words, "
            f"{self.n_docs:,} documents, {self.omitted:.1%} of pairs left out)"
        )


@renamed(topn="n_top")
@answering
def coherence(
    model: Any,
    corpus: CorpusOrPath,
    measure: str = "npmi",
    n_top: int = 10,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
) -> Coherence:
    """Coherence of the topics of a model, in one pass over a corpus.

    Parameters
    ----------
    model : see `topics_of`, or a list of topics, each a list of words, best first
    corpus : the reference documents, or the path of their corpus; a word counts once per document
    measure : "npmi", "umass", or another of `of_pairs`
    n_top : top words of each topic, at least 2
    client, n_threads : see `log_predictive`
    vocabulary : see `topics_of`

    Returns
    -------
    Coherence

    Raises
    ------
    SettingError
        When `measure` or `n_top` is not allowed, or topics given as lists have fewer than `n_top` words.
    VocabularyMismatch
        When no top word is in the corpus.
    """
    known = map(measures.load, measures.names())
    kinds = {found.name: found for found in known if found.of_block is _of_block}
    if measure not in kinds:
        raise SettingError(
            f"{argument('measure')}: must be one of {', '.join(map(repr, kinds))}, found {measure!r}"
        )
    subject = Subject(model, documents_of(corpus), vocabulary)
    return result_of(kinds[measure], subject, {"n_top": n_top}, client, n_threads)


PairScore = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]


def of_pairs(name: str, score: PairScore, *, mean: bool = True, **card: Any) -> Measure:
    """Make a measure of coherence.

    Parameters
    ----------
    name : name of the measure
    score : (higher, lower, both, n_docs) -> the score of each pair: from the numbers of documents that hold its higher
        ranked word, its lower ranked word, and both, float64 (n_components, n_pairs), and of all documents. Scores of
        pairs with a word that is in no document are ignored
    mean : a topic's score is the mean over its pairs; False: the sum
    card : title, meaning and so on, see `Measure`
    """
    finish = partial(_finish, name, score, mean)
    settings = {"n_top": Setting(10, "Top words per topic, for coherence.", formerly="topn")}
    return Measure(name, _prepare, _of_block, operator.add, finish, settings=settings, **card)


class _State(NamedTuple):
    """Where the words of the corpus are among the top words of topics.

    first, places : word w of the corpus is a top word at places[first[w] : first[w + 1]], topic * n_top + position
    shape : (n_components, n_top)
    n_docs : documents of the corpus
    """

    first: np.ndarray
    places: np.ndarray
    shape: tuple[int, int]
    n_docs: int


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> _State:
    n_top, corpus = settings["n_top"], subject.corpus
    if n_top < 2:
        raise SettingError(f"{argument('n_top')}: a pair needs at least 2 words, found {n_top!r}")
    ids = _top_ids(subject, n_top)
    if (ids < 0).all():
        raise VocabularyMismatch(
            "none of the topics' top words is in the corpus; measure on the corpus that the topics come from"
        )
    flat = ids.ravel()
    places = np.argsort(flat, kind="stable")[np.count_nonzero(flat < 0) :]
    first = np.searchsorted(flat[places], np.arange(corpus.n_words + 1))
    return _State(first.astype(np.int64), places.astype(np.int64), ids.shape, corpus.n_docs)


def _top_ids(subject: Subject, n_top: int) -> np.ndarray:
    """Corpus ids of the top words, int64 (n_components, n_top); -1 for words the corpus does not have."""
    topics, vocabulary = subject.model, subject.corpus.vocabulary
    if isinstance(topics, list | tuple):
        short = [number for number, words in enumerate(topics) if len(words) < n_top]
        if short or not topics:
            raise SettingError(f"{argument('n_top', n_top)}: topics {short or 'given'} have fewer words")
        return np.stack([vocabulary.index_of(words[:n_top]) for words in topics]).astype(np.int64)
    source = subject.source
    if n_top > source.n_words:
        raise SettingError(f"{argument('n_top', n_top)}: the model has only {source.n_words} words")
    ids, _ = top_words(source, n_top)
    return source.vocabulary.mapping_to(vocabulary).astype(np.int64)[ids]


def _of_block(state: _State, documents: Documents) -> np.ndarray:
    """Documents of the block that hold pairs of top words, int64 (n_components, n_top, n_top). See `count_pairs`."""
    from bigtopic.evaluation._kernels import count_pairs

    block = documents.block
    counts = np.zeros((*state.shape, state.shape[1]), np.int64)
    where = frozen(state.first, np.int64), frozen(state.places, np.int64)
    count_pairs(frozen(block.indptr, np.int64), frozen(block.words, np.int32), *where, counts)
    return counts


def _finish(name: str, score: PairScore, mean: bool, state: _State, counts: np.ndarray) -> Coherence:
    n_components, n_top = state.shape
    i, j = np.triu_indices(n_top, k=1)
    documents = np.diagonal(counts, axis1=1, axis2=2).astype(np.float64)
    higher, lower, both = documents[:, i], documents[:, j], counts[:, i, j].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = np.where((higher == 0) | (lower == 0), np.nan, score(higher, lower, both, state.n_docs))
    judged = ~np.isnan(pairs)
    total = np.where(judged, pairs, 0).sum(axis=1)
    n_judged = judged.sum(axis=1)
    per_topic = np.full(n_components, np.nan)
    np.divide(total, n_judged if mean else 1, out=per_topic, where=n_judged > 0)
    value = float(np.nanmean(per_topic)) if judged.any() else float("nan")
    return Coherence(value, per_topic, float(1 - judged.mean()), name, n_top, state.n_docs)


def by_author(corpus: Any) -> Corpus:
    """A corpus in memory whose documents are the authors of another; a document counts for each of its authors.

    `coherence(model, by_author(corpus))` is author coherence: two words go together where an author uses both.

    Parameters
    ----------
    corpus : documents with authors, or the path of their corpus

    Returns
    -------
    Corpus
        Ids are the authors' names; authors without words are left out. It takes 8 bytes for each distinct word of each
        author

    Raises
    ------
    InputError
        When the documents have no authors.

    References
    ----------
    Mortensen (2017), "The author-topic model", section 2.4.
    """
    from scipy.sparse import csr_matrix

    corpus = documents_of(corpus)
    if corpus.author_vocabulary is None:
        raise InputError(f"{argument('corpus')}: its documents have no authors; {WITH_AUTHORS}")
    whole = csr_matrix((corpus.n_authors, corpus.n_words), dtype=np.float32)
    for block in corpus.blocks():
        if block.authors is None:
            continue
        shape = block.n_docs, corpus.n_authors
        ones = np.ones(len(block.authors), np.float32)
        wrote = csr_matrix((ones, block.authors, block.author_indptr), shape)
        counts = csr_matrix((block.counts, block.words, block.indptr), (block.n_docs, corpus.n_words))
        whole = whole + wrote.T @ counts
    used = np.flatnonzero(np.diff(whole.indptr))
    names = [corpus.author_vocabulary[int(author)] for author in used]
    return from_matrix(whole[used], corpus.vocabulary, shuffle=False, ids=names)
