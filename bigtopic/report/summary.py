"""Everything a report says about a model, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.evaluation import Coherence, LogPredictive, Prevalence, coherence, log_predictive, prevalence
from bigtopic.evaluation.source import TopicSource, top_words, topics_of

__all__ = ["Summary", "Topic", "summarise"]

_N_AUTHORS = 4
_COHERENCE_WORDS = 10


@dataclass(frozen=True)
class Topic:
    """One topic.

    Attributes
    ----------
    number : its column in the model
    words : (word, probability), most probable first
    share : of the corpus' tokens, or None without a corpus
    npmi : coherence of the ten most probable words on the corpus, or None
    authors : (name, share of the topic's tokens), largest first
    documents : (document id, weight of the topic in it), largest first
    """

    number: int
    words: Sequence[tuple[str, float]]
    share: float | None = None
    npmi: float | None = None
    authors: Sequence[tuple[str, float]] = ()
    documents: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True)
class Summary:
    """A model and, if one was given, how it describes a corpus.

    Attributes
    ----------
    topics : largest share first, or in the model's order without a corpus
    n_words : size of the model's vocabulary
    n_docs, n_tokens : of the corpus, or None
    coherence, held_out : measures, or None
    history : dicts of the model's `history_`
    """

    topics: Sequence[Topic]
    n_words: int
    n_docs: int | None = None
    n_tokens: float | None = None
    coherence: Coherence | None = field(default=None, repr=False)
    held_out: LogPredictive | None = None
    history: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @property
    def has_authors(self) -> bool:
        return any(topic.authors for topic in self.topics)


def summarise(
    model: Any,
    corpus: Corpus | None = None,
    *,
    test: Corpus | None = None,
    n_words: int = 12,
    n_documents: int = 3,
    client: Any = None,
    n_threads: int | None = None,
    vocabulary: Any = None,
) -> Summary:
    """Collect what a report says.

    Parameters
    ----------
    model : see `bigtopic.evaluation.topics_of`, to which `vocabulary` is passed
    corpus : documents for shares, authors and coherence; two passes. None: words only
    test : documents for the held-out score; None: without
    n_words : words of each topic, at most the vocabulary's
    n_documents : documents named for each topic
    client, n_threads : see `bigtopic.evaluation.log_predictive`
    """
    source = topics_of(model, vocabulary)
    words = _words(source, min(n_words, source.n_words))
    work = {"client": client, "n_threads": n_threads}
    history = tuple(getattr(model, "history_", ()))
    held_out = None if test is None else log_predictive(source, test, **work)
    if corpus is None:
        topics = [Topic(number, own) for number, own in enumerate(words)]
        return Summary(topics, source.n_words, held_out=held_out, history=history)
    found = prevalence(source, corpus, n_documents, **work)
    judged = _coherence(source, corpus, work)
    authors, documents = _authors(found, corpus), _documents(found, corpus)
    topics = [
        Topic(
            int(k),
            words[k],
            float(found.share[k]),
            None if judged is None or np.isnan(judged.per_topic[k]) else float(judged.per_topic[k]),
            authors[k],
            documents[k],
        )
        for k in np.argsort(-found.share, kind="stable")
    ]
    return Summary(topics, source.n_words, len(corpus), corpus.n_tokens, judged, held_out, history)


def _words(source: TopicSource, n: int) -> list[list[tuple[str, float]]]:
    ids, probabilities = top_words(source, n)
    names = source.vocabulary
    return [
        [(str(names[int(i)]), float(p)) for i, p in zip(*own, strict=True)]
        for own in zip(ids, probabilities, strict=True)
    ]


def _coherence(source: TopicSource, corpus: Corpus, work: dict[str, Any]) -> Coherence | None:
    """NPMI, or None where it cannot be: a vocabulary of one word has no pairs."""
    n_words = min(_COHERENCE_WORDS, source.n_words)
    return coherence(source, corpus, topn=n_words, **work) if n_words > 1 else None


def _authors(found: Prevalence, corpus: Corpus) -> list[list[tuple[str, float]]]:
    if found.author_tokens is None or corpus.authors is None:
        return [[] for _ in found.share]
    names, tokens = corpus.authors, found.author_tokens
    totals = np.maximum(tokens.sum(axis=0), 1e-30)
    best = np.argsort(-tokens, axis=0, kind="stable")[:_N_AUTHORS].T
    return [
        [(names[a], float(tokens[a, k] / totals[k])) for a in own if tokens[a, k] > 0]
        for k, own in enumerate(best)
    ]


def _documents(found: Prevalence, corpus: Corpus) -> list[list[tuple[str, float]]]:
    chosen = corpus.select(rows=np.unique(found.rows))
    names = dict(zip(chosen.rows().tolist(), chosen.document_ids().tolist(), strict=True))
    return [
        [(str(names[row]), float(weight)) for row, weight in zip(rows.tolist(), weights, strict=True)]
        for rows, weights in zip(found.rows, found.weights, strict=True)
    ]
