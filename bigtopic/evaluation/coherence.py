"""Coherence: whether the top words of a topic occur in the same documents, or are used by the same authors.

Measures of coherence differ in how they score a pair of words, of which D(u), D(v) and D(u, v) of D documents, or of D
windows of their text, hold the first, the second and both. Each is a file in `measures/`, made by `of_pairs` or
`of_topics`; one count of pairs serves all that count documents, and one all that count windows of one size. Pairs with
a word that is in no document are left out, and their share is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.errors import WITH_AUTHORS, InputError, SettingError, argument, did_you_mean
from bigtopic.evaluation import measures
from bigtopic.evaluation.base import Measure, Result, Setting
from bigtopic.evaluation.cooccurrence import (
    Counts,
    State,
    add,
    of_documents,
    of_windows,
    prepare_documents,
    prepare_windows,
)
from bigtopic.evaluation.measuring import result_of
from bigtopic.evaluation.postings import Postings
from bigtopic.evaluation.subject import CorpusOrPath, Subject, documents_of
from bigtopic.support.aliases import answering
from bigtopic.support.deprecations import renamed, renamed_attribute

__all__ = ["Coherence", "by_author", "coherence", "of_pairs", "of_topics"]


@dataclass(frozen=True)
class Coherence(Result):
    """Coherence of topics on a corpus.

    Attributes
    ----------
    value : mean over topics
    per_topic : float64 (n_components,); nan for a topic without a pair that could be scored
    omitted : share of the pairs left out: those with a word that is in no document of the corpus, and, where the
        measure says so, those that never occur together
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
    corpus: CorpusOrPath | Postings,
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
    corpus : the reference documents, or the path of their corpus: those that the model learned from, held-out ones, or
        another corpus; words are matched by name. A word counts once per document, or per window. Or its postings, see
        `bigtopic.evaluate.index`, which save the pass
    measure : by document "npmi", "pmi", "lcp" or "umass"; by window of the text that the corpus has kept "c-npmi",
        "c-uci" or "c-v", also written with underscores
    n_top : top words of each topic, at least 2
    client, n_threads : see `bigtopic.evaluate.measure`
    vocabulary : see `topics_of`

    Returns
    -------
    Coherence

    Raises
    ------
    SettingError
        When `measure` or `n_top` is not allowed, topics given as lists have fewer than `n_top` words, or a measure by
        window is asked of postings, a corpus without texts, of n-grams, or of a tokeniser with functions.
    VocabularyMismatch
        When no top word is in the corpus.
    InputError
        When no topic can be scored because its documents do not hold the words.

    References
    ----------
    Roeder, Both, Hinneburg: Exploring the space of topic coherence measures. WSDM 2015.
    """
    known = map(measures.load, measures.names())
    kinds = {found.name: found for found in known if found.combine is add}
    kind = kinds.get(str(measure).replace("_", "-"))
    if kind is None:
        raise SettingError(
            f"{argument('measure')}: must be one of {', '.join(map(repr, kinds))}, found {measure!r}"
            f"{did_you_mean(measure, kinds)}"
        )
    if isinstance(corpus, Postings):
        kind, corpus = _of_postings(kind, corpus, n_threads), corpus.corpus
    subject = Subject(model, documents_of(corpus), vocabulary)
    return result_of(kind, subject, {"n_top": n_top}, client, n_threads)


def _of_postings(measure: Measure, postings: Postings, n_threads: int | None) -> Measure:
    """The measure, which takes its counts from the postings instead of a pass.

    Raises
    ------
    SettingError
        When it counts windows of text.
    """
    if measure.texts:
        raise SettingError(
            f"{argument('measure', measure.name)}: counts windows of text, which postings do not have; give the corpus"
        )
    return replace(
        measure,
        of_block=None,
        combine=None,
        finish=lambda state, total: measure.finish(state, postings.counts(state, n_threads)),
    )


PairScore = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]
TopicScore = Callable[[np.ndarray, int], np.ndarray]


def of_pairs(name: str, score: PairScore, *, mean: bool = True, window: int = 0, **card: Any) -> Measure:
    """Make a measure of coherence from a score of pairs.

    Parameters
    ----------
    name : name of the measure
    score : (higher, lower, both, n_docs) -> the score of each pair, nan for one that is left out: from the numbers of
        documents that hold its higher ranked word, its lower ranked word, and both, float64 (n_components, n_pairs),
        and of all documents. Pairs with a word that is in no document are left out whatever their score
    mean : a topic's score is the mean over its pairs; False: the sum
    window : count windows of so many tokens instead of documents, see `bigtopic.evaluation.cooccurrence`
    card : title, meaning and so on, see `Measure`
    """
    return _measure(name, partial(_of_pairs, score, mean), window, card)


def of_topics(name: str, score: TopicScore, *, window: int = 0, **card: Any) -> Measure:
    """Make a measure of coherence from a score of whole topics.

    Parameters
    ----------
    name, window, card : see `of_pairs`
    score : (pairs, n_docs) -> float64 (n_components,), nan for a topic that cannot be scored: from `Counts.pairs`,
        float64, below the diagonal too, in which a word that is in no document has zeros, and the number of documents
    """
    return _measure(name, partial(_of_topics, score), window, card)


def _measure(name: str, scored: Any, window: int, card: Mapping[str, Any]) -> Measure:
    settings = {"n_top": Setting(10, "Top words per topic, for coherence.", formerly="topn")}
    prepare = prepare_windows(window) if window else prepare_documents
    of_block = of_windows if window else of_documents
    finish = partial(_finish, name, scored)
    return Measure(name, prepare, of_block, add, finish, settings=settings, texts=window > 0, **card)


def _finish(name: str, scored: Any, state: State, counts: Counts) -> Coherence:
    per_topic, omitted = scored(counts)
    if np.isnan(per_topic).all():
        raise InputError(
            f"{argument('corpus')}: its {state.n_docs:,} documents hold no pair of top words of a topic that {name!r} "
            f"could score; measure on documents that use the topics' words, or take more words: {argument('n_top')}"
        )
    return Coherence(float(np.nanmean(per_topic)), per_topic, omitted, name, state.shape[1], state.n_docs)


def _of_pairs(score: PairScore, mean: bool, counts: Counts) -> tuple[np.ndarray, float]:
    """Scores of topics, from the scores of their pairs, and the share of pairs left out."""
    i, j = np.triu_indices(counts.pairs.shape[1], k=1)
    each = np.diagonal(counts.pairs, axis1=1, axis2=2).astype(np.float64)
    higher, lower, both = each[:, i], each[:, j], counts.pairs[:, i, j].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = np.where((higher == 0) | (lower == 0), np.nan, score(higher, lower, both, counts.n))
    judged = ~np.isnan(pairs)
    total, n_judged = np.where(judged, pairs, 0).sum(axis=1), judged.sum(axis=1)
    per_topic = np.full(len(pairs), np.nan)
    np.divide(total, n_judged if mean else 1, out=per_topic, where=n_judged > 0)
    return per_topic, float(1 - judged.mean())


def _of_topics(score: TopicScore, counts: Counts) -> tuple[np.ndarray, float]:
    """Scores of topics, and the share of pairs with a word that is in no document."""
    upper = counts.pairs.astype(np.float64)
    pairs = upper + np.triu(upper, 1).transpose(0, 2, 1)
    used = np.diagonal(upper, axis1=1, axis2=2) > 0
    i, j = np.triu_indices(upper.shape[1], k=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return score(pairs, counts.n), float(1 - (used[:, i] & used[:, j]).mean())


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
