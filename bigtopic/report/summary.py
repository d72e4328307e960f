"""The content of a report, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, VocabularyMismatch, argument
from bigtopic.evaluation import Coherence, LogPredictive, Measure, Prevalence, Result
from bigtopic.evaluation import measures as folder
from bigtopic.evaluation.measuring import Evaluation, checked_names, results_of
from bigtopic.evaluation.source import TopicSource, labels_of, names_of, top_words, topics_of
from bigtopic.evaluation.subject import CorpusOrPath, Subject, documents_of
from bigtopic.questions.groups import GroupShares
from bigtopic.questions.words import shares_of
from bigtopic.support import cards
from bigtopic.support.numbers import is_whole

__all__ = ["Summary", "Topic", "columns_of", "summarise"]

_N_AUTHORS = 4


@dataclass(frozen=True)
class Topic:
    """One topic.

    Attributes
    ----------
    number : its column in the model
    words : (word, probability), most probable first
    share : of the corpus' tokens, or None without a corpus
    scores : {name of a measure: the topic's score}, None if it has none
    authors : (name, share of the topic's tokens), largest first; documents without authors are the rest
    documents : (document id, weight of the topic in it), largest first
    unused : whether the model does not use it, see `LDA.unused_topics_`; unknown, False, of other libraries' models
    label : what people call it, see `LDA.set_topic_labels`; "" if they have not said
    rows : source rows of the documents
    """

    number: int
    words: Sequence[tuple[str, float]]
    share: float | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    authors: Sequence[tuple[str, float]] = ()
    documents: Sequence[tuple[str, float]] = ()
    unused: bool = False
    label: str = ""
    rows: Sequence[int] = ()

    @property
    def npmi(self) -> float | None:
        """Coherence of the most probable words on the corpus, or None."""
        return self.scores.get("npmi")


@dataclass(frozen=True)
class Summary:
    """A model and, if one was given, how it describes a corpus.

    Attributes
    ----------
    topics : largest share first, or in the model's order without a corpus
    n_words : size of the model's vocabulary
    n_docs, n_tokens : of the corpus, or None
    results : of the measures, by name
    history : dicts of the model's `history_`
    source : the topics
    named : the documents that topics name, as a subject of the model; None without a corpus
    time, groups : shares of the topics over time and in groups of documents; None and empty if not asked for
    share : of all topics of the model in the corpus, float64 (n_components,); None without a corpus
    """

    topics: Sequence[Topic]
    n_words: int
    n_docs: int | None = None
    n_tokens: float | None = None
    results: Evaluation = field(default_factory=Evaluation, repr=False)
    history: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    source: TopicSource | None = field(default=None, repr=False)
    named: Subject | None = field(default=None, repr=False)
    time: GroupShares | None = field(default=None, repr=False)
    groups: Sequence[GroupShares] = field(default=(), repr=False)
    share: np.ndarray | None = field(default=None, repr=False, compare=False)

    @property
    def coherence(self) -> Coherence | None:
        """NPMI on the corpus, or None."""
        return cast("Coherence | None", self.results.get("npmi"))

    @property
    def held_out(self) -> LogPredictive | None:
        """The held-out score on the test documents, or None."""
        return cast("LogPredictive | None", self.results.get("log-predictive"))

    @cached_property
    def score_titles(self) -> dict[str, str]:
        """{name: title} of the measures that score some topic."""
        measures = self.results.measures
        names = [name for topic in self.topics for name, score in topic.scores.items() if score is not None]
        return {name: measures[name].title if name in measures else name for name in dict.fromkeys(names)}

    def largest(self, n: int) -> Summary:
        """The n largest topics, in the same order, with the documents that these name."""
        if len(self.topics) <= n:
            return self
        if any(topic.share is None for topic in self.topics):
            sizes = -np.ones(len(self.topics)) if self.source is None else -shares_of(self.source)
            kept = {*np.argsort(sizes, kind="stable")[:n].tolist()}
            topics = [topic for topic in self.topics if topic.number in kept]
        else:
            topics = list(self.topics[:n])
        named = self.named
        if named is not None:
            rows = {row for topic in topics for row in topic.rows}
            named = replace(named, documents=named.corpus.select(rows=sorted(rows)))
        return replace(self, topics=topics, named=named)

    @property
    def n_unused(self) -> int:
        """How many topics are unused."""
        return sum(topic.unused for topic in self.topics)

    @property
    def has_authors(self) -> bool:
        return any(topic.authors for topic in self.topics)

    def _repr_html_(self) -> str:
        """Figures, and the table of topics, with the names in them."""
        figures = {
            "documents": _shown(self.n_docs, ","),
            "tokens": _shown(self.n_tokens, ",.0f"),
            "words in the vocabulary": f"{self.n_words:,}",
        }
        names = {
            "words": [[word for word, _ in topic.words] for topic in self.topics],
            "authors": [[f"{name} {share:.0%}" for name, share in topic.authors] for topic in self.topics],
            "documents": [[name for name, _ in topic.documents] for topic in self.topics],
        }
        columns = [*columns_of(self), *((title, cells) for title, cells in names.items() if any(cells))]
        table = cards.scrolling([title for title, _ in columns], zip(*(c for _, c in columns), strict=True))
        return cards.card("Summary", cards.figures({**figures, **self.results.lines()}), table)


def columns_of(summary: Summary) -> list[tuple[str, list[Any]]]:
    """Headings and cells of a table of the topics, without words; a column that would be empty is left out."""
    topics, scores = summary.topics, summary.score_titles.items()
    columns: list[tuple[str, list[Any]]] = [
        ("topic", [topic.number for topic in topics]),
        ("label", [topic.label for topic in topics]),
        ("use", ["unused" if topic.unused else "" for topic in topics]),
        ("share", [_shown(topic.share, ".1%") for topic in topics]),
        *((title, [_shown(topic.scores.get(name), ".2f") for topic in topics]) for name, title in scores),
    ]
    return [(title, cells) for title, cells in columns if any(cell != "" for cell in cells)]


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def summarise(
    model: Any,
    corpus: CorpusOrPath | None = None,
    *,
    test: CorpusOrPath | None = None,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    time: str | None = None,
    freq: str = "year",
    date_format: str | None = None,
    by: str | Sequence[str] = (),
    theta: Any = None,
    n_words: int = 12,
    n_documents: int = 3,
    client: Any = None,
    n_threads: int | None = None,
    vocabulary: Any = None,
    **settings: Any,
) -> Summary:
    """Collect the content of a report.

    Parameters
    ----------
    model : see `bigtopic.evaluation.topics_of`, to which `vocabulary` is passed
    corpus : documents for shares, authors and measures such as coherence, in one pass; None for words only
    test : documents that the model was not trained on, for measures such as the held-out score; None to leave them out
    measures : a name or several, or `bigtopic.evaluate.Measure` objects; None for the default measures that the
        documents allow
    time, freq : column of dates, and "decade", "year", "quarter", "month", "week" or "day", for shares of topics over
        time; of a model of this package, as `by`
    date_format : how dates of `time` are written, such as "%d.%m.%Y", see `LDA.topics_over`; None for the usual forms
    by : a column or several, for shares of topics in groups of documents
    theta : store of the documents' topics, which `transform_to` wrote, for `time` and `by` alone; None infers them
    n_words : words to show per topic, at most the vocabulary's; `n_top` is a setting of the measures
    n_documents : documents to name per topic
    client, n_threads : see `bigtopic.evaluation.log_predictive`
    settings : settings of the measures; each takes those it has, such as `n_top`, the words that coherence compares,
        whose default is at most the vocabulary's size

    Raises
    ------
    SettingError
        When there is no such measure, the documents it needs are not given, none of the measures has a setting, or a
        value is not allowed.
    VocabularyMismatch
        When the texts of the corpus cannot be shown with the topics of their words, because the model's columns have no
        names.
    """
    for name, number, least in (("n_words", n_words, 1), ("n_documents", n_documents, 0)):
        if not (is_whole(number) and number >= least):
            raise SettingError(
                f"{argument(name)}: must be a whole number of at least {least}, found {number!r}"
            )
    if date_format is not None and time is None:
        raise SettingError(
            f"{argument('date_format')}: has no effect without {argument('time')}; give {argument('time', ...)}"
        )
    source = topics_of(model, vocabulary)
    words = _words(source, min(n_words, source.n_words))
    history = tuple(getattr(model, "history_", ()))
    asked = folder.chosen(measures)
    if measures is None and source.n_words <= 1:  # without measures of word pairs
        asked = [one for one in asked if "n_top" not in one.settings]
    settings = {"n_documents": n_documents, **checked_names(asked, settings)}
    corpus, test = (None if given is None else documents_of(given) for given in (corpus, test))
    if corpus is not None:
        _check_names(model, source, corpus)
    shares = folder.load("prevalence")
    subjects = [Subject(model, documents, vocabulary) for documents in (test, corpus)]
    found = _found([*asked, shares], subjects, settings, client, n_threads)
    for one in asked if measures is not None else ():
        if one not in found:
            kind, name = ("unseen documents", "test") if one.held_out else ("documents", "corpus")
            raise SettingError(
                f"{argument('measures')}: {one.name!r} needs {kind}; give {argument(name, ...)}"
            )
    results = Evaluation([(one, found[one]) for one in asked if one in found])
    unused = getattr(source, "unused", np.zeros(source.n_components, bool)).tolist()
    labels, order = labels_of(source), range(source.n_components)
    authors: Sequence[Sequence[tuple[str, float]]] = [()] * source.n_components
    documents = authors
    if corpus is not None:
        prevalence = cast(Prevalence, found[shares])
        authors, documents = _authors(prevalence, corpus), _documents(prevalence, corpus)
        order = np.argsort(-prevalence.share, kind="stable").tolist()
    scores = {name: one.per_topic for name, one in results.items() if one.per_topic is not None}
    topics = [
        Topic(
            k,
            words[k],
            None if corpus is None else float(prevalence.share[k]),
            {name: None if np.isnan(of[k]) else float(of[k]) for name, of in scores.items()},
            authors[k],
            documents[k],
            unused[k],
            labels[k],
            () if corpus is None else prevalence.rows[k].tolist(),
        )
        for k in order
    ]
    n_docs, n_tokens = (None, None) if corpus is None else (len(corpus), corpus.n_tokens)
    named = None
    if corpus is not None:
        named = Subject(model, corpus.select(rows=np.unique(prevalence.rows)), vocabulary)
    columns = [by] if isinstance(by, str) else list(by)
    groups = [_shares_by(model, corpus, theta, column) for column in columns]
    over = None if time is None else _shares_by(model, corpus, theta, time, freq, date_format)
    shared = None if corpus is None else prevalence.share
    return Summary(
        topics, source.n_words, n_docs, n_tokens, results, history, source, named, over, groups, shared
    )


_MOST_GROUPS = 40


def _shares_by(
    model: Any, corpus: Corpus | None, theta: Any, column: str, freq: str = "", date_format: str | None = None
) -> GroupShares:
    """Shares of topics over time or, with an empty `freq`, in the groups with most documents."""
    if not hasattr(type(model), "topics_over"):
        raise SettingError(
            f"{argument('time' if freq else 'by', column)}: needs a fitted LDA, AuthorTopicModel or DualTopicModel"
        )
    found: GroupShares = model._group_shares(column, corpus, theta, freq=freq, date_format=date_format)
    return found if freq else found.largest(_MOST_GROUPS)


def _check_names(model: Any, source: TopicSource, corpus: Corpus) -> None:
    """Refuse columns without names, of another library, where a page would colour texts by the topics of words."""
    if source.vocabulary.named or not (corpus.has_text and corpus.text_settings):
        return
    if not hasattr(type(model), "topic_source"):
        raise VocabularyMismatch(
            f"the columns of the {type(model).__name__} have no names; give {argument('vocabulary', ...)}corpus, if "
            "they are the words of this corpus, or a list of their words"
        )


def _words(source: TopicSource, n: int) -> list[list[tuple[str, float]]]:
    ids, probabilities = top_words(source, n)
    return [
        list(zip(words, values, strict=True))
        for words, values in zip(names_of(source, ids), probabilities.tolist(), strict=True)
    ]


def _found(asked: Sequence[Measure], subjects: Sequence[Subject], *work: Any) -> dict[Measure, Result]:
    """Results of the measures for which there are unseen documents, or documents; one pass over each."""
    found: dict[Measure, Result] = {}
    for subject, held_out in zip(subjects, (True, False), strict=True):
        own = [
            one
            for one in asked
            if one.held_out == held_out and (subject.documents is not None or one.of_block is None)
        ]
        found |= dict(zip(own, results_of(own, subject, *work), strict=True))
    return found


def _authors(found: Prevalence, corpus: Corpus) -> list[list[tuple[str, float]]]:
    if found.author_tokens is None or corpus.authors is None:
        return [[] for _ in found.share]
    names, tokens = corpus.authors, found.author_tokens
    totals = np.maximum(found.share * found.n_tokens, 1e-30)  # with the documents without authors
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
