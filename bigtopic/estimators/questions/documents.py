"""Questions to a fitted model about its topics: their labels, words and likeness; and about documents: their topics,
those about a topic, and change over time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.estimators.inference import TopicInference
from bigtopic.estimators.inputs import require_positive
from bigtopic.estimators.support.fits import in_first_phase
from bigtopic.evaluation import coherence
from bigtopic.evaluation.source import topics_of
from bigtopic.questions import compare, words
from bigtopic.questions.compare import TopicTree, tree_of
from bigtopic.questions.documents import (
    DocumentTopics,
    LastTopics,
    Theta,
    about_topic,
    checked,
    correlation,
    further_columns,
    mean_shares,
    selected,
    topics_of_document,
    with_text,
    word_topics,
)
from bigtopic.questions.groups import columns_to_group, grouping, over_groups
from bigtopic.questions.table import frame, square
from bigtopic.questions.words import top_labels, topics_of_words
from bigtopic.state.identity import model_identity

__all__ = ["DocumentQuestions", "TopicQuestions"]


class TopicQuestions(TopicInference):
    """Questions about topics alone. Answers are pandas DataFrames, or tables where pandas is not installed."""

    _priors: ClassVar[Sequence[str]] = ()
    n_docs_seen_: int
    n_iter_: int

    def set_topic_labels(self, labels: Mapping[int, str] | Sequence[str]) -> Self:
        """Name topics: {topic: label}, which leaves the others as they are, or a label for each. Saved with the model.

        Tables, pages, plots and the command line show the labels. An empty one takes a label away.

        Raises
        ------
        SettingError
            When there is no such topic, a label is not text, or there are not as many labels as topics.
        """
        n = self._fitted().n_components
        given = dict(labels) if isinstance(labels, Mapping) else dict(enumerate(labels))
        if not isinstance(labels, Mapping) and (isinstance(labels, str) or len(given) != n):
            raise SettingError(
                f"labels: give one for each of the {n} topics, or a mapping of topics to labels"
            )
        known = list(self._labels or [None] * n)
        for topic, label in given.items():
            if not isinstance(label, str):
                raise SettingError(f"labels: topic {topic} has {label!r:.60}; give text")
            known[self._topic(topic)] = label or None
        self._labels = known
        return self

    def find_topics(self, words: str | Iterable[str], n: int = 10) -> Any:
        """The topics that a word, or several words together, belong to: most probable first.

        Returns
        -------
        table of topic, label, probability (that all the words are drawn from this topic), rank (1: the topic's most
        probable word; the mean of several) and lift (probability in the topic by that in all; the geometric mean)

        Raises
        ------
        SettingError
            When the model does not know a word; suggests similar ones.
        """
        require_positive("n", n)
        found = topics_of_words(self.topic_source(), words, n)
        return frame({"topic": found["topic"], "label": self._labels_of(found["topic"]), **found})

    def similar_topics(self, topic: int | None = None, n: int = 10, measure: str = "hellinger") -> Any:
        """The topics most like one topic in their words; for None, the pairs that are most alike.

        Returns
        -------
        table of topic, label, other, other_label and similarity ("hellinger" or "cosine", from 0 to 1)
        """
        require_positive("n", n)
        scores = compare.similarity(self.topic_source(), measure=measure)
        labels = self.topic_labels_
        first, second = compare.similar_pairs(scores, None if topic is None else self._topic(topic), n)
        return frame(
            {
                "topic": first,
                "label": [labels[k] for k in first],
                "other": second,
                "other_label": [labels[k] for k in second],
                "similarity": scores[first, second],
            }
        )

    def topic_changes(self, other: Any, n_top: int = 8, measure: str = "hellinger") -> Any:
        """What changed between this model and another, a later one; what changed most comes first.

        Topics are matched by their words.

        Parameters
        ----------
        other : an estimator, or another model or array as `bigtopic.evaluate.topics_of` takes it

        Returns
        -------
        table of topic, label, other (its topic in the other model), other_label, similarity, gained and lost (the
        words whose probability rose and fell most). A topic without a match, because the models have different numbers
        of topics, has None for the other, its label, the similarity, or itself
        """

        require_positive("n_top", n_top)
        source = topics_of(other)
        found = compare.changes(self.topic_source(), source, n_top, measure)
        names = {"topic": self.topic_labels_, "other": top_labels(source)}
        own, its = (
            [None if k is None else labels[k] for k in found[which]] for which, labels in names.items()
        )
        table = {"topic": found["topic"], "label": own, "other": found["other"], "other_label": its}
        return frame(table | found)

    def topic_tree(self, measure: str = "hellinger") -> TopicTree:
        """The hierarchy of the topics by how alike their words are; its `cut(n)` gives groups for `merge_topics`."""
        return tree_of(compare.similarity(self.topic_source(), measure=measure), self.topic_labels_)

    def merge_topics(self, groups: Iterable[Iterable[int]]) -> Self:
        """A new model in which the topics of each group are one; this model stays as it is.

        The statistics of the topics add up. Topics are numbered by the lowest of each group; labels stay with topics
        that are not merged. What the new model learns further begins anew, as with `init`.

        Parameters
        ----------
        groups : lists of topics, such as [[1, 4], [2, 3, 9]]; every other topic stays by itself

        Raises
        ------
        SettingError
            When a topic does not exist or is listed twice, or the model has several kinds of topics.
        """
        model = self._fitted()
        all_groups = compare.groups_of(groups, model.n_components)
        goes_on = (
            in_first_phase(self) if model.cursor.phase else model
        )  # documents that it remembers are not merged
        learned = compare.merged_model(goes_on, all_groups)
        priors = {name: self._merged_prior(name, learned) for name in self._priors}
        kept = {name: value for name, value in self.get_params().items() if name not in self._priors}
        merged = type(self)(**{**kept, **priors, "n_components": len(all_groups)})
        merged._model = learned
        merged._pair_words = self._pair_words
        merged.n_docs_seen_, merged.n_iter_ = self.n_docs_seen_, self.n_iter_
        if self._labels is not None:
            merged._labels = [self._labels[own[0]] if len(own) == 1 else None for own in all_groups]
        return merged

    def _merged_prior(self, name: str, learned: Any) -> Any:
        """The prior to begin anew with: the merged topics' own; the default if each topic had its own words."""
        prior = getattr(self, name)
        if np.ndim(prior) == 1 and name != "topic_word_prior":
            return learned.doc_topic_prior
        return prior if np.ndim(prior) < 2 else None

    def _topics(self, topics: int | Iterable[int] | None) -> list[int]:
        if topics is None:
            return list(range(self._fitted().n_components))
        return [self._topic(topic) for topic in (topics if isinstance(topics, Iterable) else [topics])]

    def _labels_of(self, topics: Iterable[int]) -> list[str]:
        labels = self.topic_labels_
        return [labels[topic] for topic in topics]


class DocumentQuestions(TopicQuestions):
    """Questions about the documents of a corpus, `X`, or of a store that `transform_to` wrote, `theta`, or both.

    With `theta` nothing is inferred again: it takes a pass over the store, and memory for a batch. `X` then adds
    what the store has not: text, authors, words. Without `theta`, the topics of the last documents stay in memory, if
    they take at most 64 MiB. `where` is what `Corpus.select` takes, as a mapping, such as {"year": slice(2000, None)}.
    """

    _last_topics: LastTopics | None = None

    def topic_info(
        self,
        X: Any = None,
        *,
        theta: Any = None,
        n_top: int = 10,
        relevance: float = 0.6,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Any:
        """The topics, one per row: topic, label, size (tokens the model has learned from), share, unused and words.

        A topic is unused if it is one of `unused_topics_`.
        The words are those with the largest probability, relevance, FREX and lift, columns words, relevant, frex and
        lift; see `bigtopic.questions.words`.

        Parameters
        ----------
        X : documents for the column npmi, the coherence of the most probable words, if there are two; one pass
        theta : store of topics; share is then the mean over its documents, and n_documents how many each topic leads
        n_top : words in each list
        relevance : weight of the probability beside the lift, 0 to 1; in the literature lambda
        """
        require_positive("n_top", n_top)
        source, model = self.topic_source(), self._fitted()
        columns: dict[str, Any] = {"topic": range(model.n_components), "label": self.topic_labels_}
        columns["size"] = source.weights
        columns["share"] = words.shares_of(source)
        columns["unused"] = source.unused
        if theta is not None:
            found = mean_shares(self._theta(None, theta, None, storage_options))
            columns |= {"share": found.share, "n_documents": found.n_led}
        if X is not None and (n_scored := min(n_top, source.n_words)) > 1:
            scored = coherence(self, self._opened(X), n_top=n_scored, **self._workers(False))
            columns["npmi"] = scored.per_topic
        orders = {"probability": None, "relevance": relevance, "frex": None, "lift": None}
        lists = words.best_words(source, n_top, orders)
        names = {"words": "probability", "relevant": "relevance", "frex": "frex", "lift": "lift"}
        return frame(columns | {name: lists[order] for name, order in names.items()})

    def documents(
        self,
        topic: int,
        X: Any = None,
        n: int = 10,
        *,
        theta: Any = None,
        where: Mapping[str, Any] | None = None,
        columns: Sequence[str] = (),
        storage_options: Mapping[str, Any] | None = None,
    ) -> Any:
        """The documents with the largest shares of a topic, with their text.

        Parameters
        ----------
        topic : its number
        X : corpus, its path, a matrix, or texts; has the text if it was ingested with `keep_text=True`
        n : documents to return, largest share first
        theta : store of topics of these documents, which then are not inferred
        where : only these documents, see `Corpus.select`
        columns : further columns to show

        Returns
        -------
        table of document (id), row (in the source), share, text if X has it, and the columns asked for

        Raises
        ------
        SettingError
            When there is no such topic or column, a column has the name of an answer's column, a condition is not
            allowed, or neither X nor theta is given.
        """
        require_positive("n", n)
        corpus = self._opened(X)
        names = further_columns(columns, corpus is not None and corpus.has_text)
        source = self._theta(corpus, theta, where, storage_options)
        view, found = about_topic(source, self._topic(topic), n)
        return frame(with_text(found, view if corpus is None else corpus, names))

    def document(
        self,
        document_id: str,
        X: Any = None,
        *,
        theta: Any = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> DocumentTopics:
        """A document by its id: its topics, and its words with their topics.

        Parameters
        ----------
        document_id : in the corpus, the store, or both
        X : corpus with the document; None for its topics only
        theta : store with its topics, which then are not inferred

        Raises
        ------
        SettingError
            When there is no such document, or neither X nor theta is given.
        """
        corpus, labels, found = self._opened(X), self.topic_labels_, None
        if corpus is not None:
            found = corpus.document(document_id)
        if theta is not None:
            shares = self._stored(theta, storage_options).row_of(str(document_id))
        elif found is not None:
            shares = self.transform(corpus.select(rows=[found.row]))[0].astype(np.float64)
        else:
            raise SettingError("give X, the corpus of the document, or theta, a store with its topics")
        own = None
        if found is not None:
            own = word_topics(self.topic_source(), found.counts, shares, labels)
        return DocumentTopics(found, topics_of_document(shares, labels), own)

    def topics_over(
        self,
        column: str | Sequence[str],
        X: Any = None,
        *,
        freq: str | Mapping[str, str] | None = None,
        bins: int | Sequence[Any] | Mapping[str, Any] | None = None,
        date_format: str | Mapping[str, str] | None = None,
        topics: int | Iterable[int] | None = None,
        theta: Any = None,
        where: Mapping[str, Any] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Any:
        """The mean share of each topic in groups of documents, with its standard error: over time, classes, authors.

        Every document counts the same. Documents without a value are left out.

        Parameters
        ----------
        column : whose values group the documents, or several such as ["date", "section"]; "authors" groups them by
            author, of whom a document may have several
        X, theta, where : see `documents`
        freq : "decade", "year", "quarter", "month", "week" (of ISO 8601) or "day", of dates: text in ISO 8601, seconds
            or milliseconds since 1970, days such as 20050301, or years, which have decades; None for the values
            themselves
        bins : number of bins of equal width, or their edges, for numbers and dates
        date_format : how dates are written, as `datetime.strptime` takes it, such as "%d.%m.%Y"; "%s" for any number of
            seconds since 1970; None for the forms above
        topics : only these

        Of several columns, freq, bins and date_format belong to the first, or are mappings such as {"date": "month"}.

        Returns
        -------
        table of the values of each column (in ascending order; (lower, upper) of bins), topic, label, share,
        standard_error and n_documents. A column that has the name of one of the others is called "group", or of
        several columns "group_" and its name

        Raises
        ------
        SettingError
            When there is no such column, or it does not hold what `freq` or `bins` need.
        """
        columns, corpus = columns_to_group(column), self._opened(X)
        source = self._theta(corpus, theta, where, storage_options)
        groups = grouping(source, columns, corpus, freq=freq, bins=bins, date_format=date_format)
        found = over_groups(source, groups, columns)
        wanted = self._topics(topics)
        labels, n_groups = self._labels_of(wanted), len(found["groups"])
        others: dict[str, Any] = {
            "topic": wanted * n_groups,
            "label": labels * n_groups,
            "share": found["share"][:, wanted].ravel(),
            "standard_error": found["standard_error"][:, wanted].ravel(),
            "n_documents": np.repeat(found["n_documents"], len(wanted)),
        }
        values = [found["groups"]] if len(columns) == 1 else zip(*found["groups"], strict=True)
        own = {}
        for name, groups_of_column in zip(columns, values, strict=True):
            free = name if name not in others else "group" if len(columns) == 1 else f"group_{name}"
            own[free] = [value for value in groups_of_column for _ in wanted]
        return frame({**own, **others})

    def topic_correlation(
        self,
        X: Any = None,
        *,
        theta: Any = None,
        where: Mapping[str, Any] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Any:
        """Pearson's correlation of the shares of topics over documents, (n_components, n_components).

        See `documents` for X, theta and where. Shares that the store leaves out count as 0.
        """
        return square(correlation(self._theta(X, theta, where, storage_options)))

    def _theta(self, X: Any, theta: Any, where: Any, storage_options: Mapping[str, Any] | None) -> Theta:
        """Topics of the documents: stored, or inferred from those that were asked for."""
        if theta is not None:
            store = self._stored(theta, storage_options)
            chosen = selected(store.documents, where)
            return Theta(store.documents, store.n_components, store.matrices, chosen, self.progress)
        if X is None:
            raise SettingError("give X, a corpus of documents, or theta, a store that transform_to wrote")
        corpus = self._known_corpus(checked(self._opened(X), where))

        def pieces() -> Iterator[Any]:
            from scipy.sparse import csr_matrix

            for doc_topics in self._topics_to_ask(corpus):
                yield csr_matrix(doc_topics, dtype=np.float64)

        return Theta(corpus, self._fitted().n_components, pieces, None, False)

    def _topics_to_ask(self, corpus: Any) -> Iterator[np.ndarray]:
        """Topics of documents in stored order, float32 (n, n_components) each; the last are remembered."""
        model = self._fitted()

        def infer() -> Iterator[np.ndarray]:
            return (piece.doc_topics for piece in self._infer(corpus))

        if "author" in model.axes:  # which the fingerprint of documents leaves out
            return infer()
        if self._last_topics is None:
            self._last_topics = LastTopics()
        key = id(model), json.dumps(model_identity(model)), corpus.fingerprint
        return self._last_topics.pieces(key, 4 * corpus.n_docs * model.n_components, infer)

    def _opened(self, X: Any) -> Any:
        return None if X is None else self._documents(X)
