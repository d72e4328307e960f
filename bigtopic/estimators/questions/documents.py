"""Questions to a fitted model about documents: their topics, those about a topic, change over time, and labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from bigtopic.errors import WITH_TEXT, SettingError
from bigtopic.estimators.inputs import require_positive
from bigtopic.estimators.questions.topics import TopicQuestions
from bigtopic.evaluation import coherence
from bigtopic.questions import words
from bigtopic.questions.documents import (
    SAME_SHARE,
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
    with_tokens,
    word_topics,
)
from bigtopic.questions.groups import (
    GroupShares,
    columns_to_group,
    grouping,
    over_groups,
    shares_of_groups,
)
from bigtopic.questions.maps import document_places
from bigtopic.questions.marked import marked
from bigtopic.questions.table import frame, square
from bigtopic.state.identity import model_identity

__all__ = ["DocumentQuestions"]


class DocumentQuestions(TopicQuestions):
    """Questions about the documents of a corpus, `X`, or of a store that `transform_to` wrote, `theta`, or both.

    With `theta` nothing is inferred again: it takes a pass over the store, and memory for a batch. `X` then adds
    what the store has not: text, authors, words. Without `theta`, the topics of the last documents stay in memory, if
    they take at most 64 MiB. `where` is what `Corpus.select` takes, as a mapping, such as {"year": slice(2000, None)}.

    Of a model of very many topics, a document has shares of those alone of which it has tokens.
    """

    _last_topics: LastTopics | None = None

    def set_topic_labels(
        self,
        labels: Mapping[int, str] | Sequence[str] | Callable[[list[str], list[str]], str],
        X: Any = None,
        *,
        theta: Any = None,
        n_top: int = 10,
        n_documents: int = 3,
    ) -> Self:
        """Name topics: {topic: label}, a label for each, or by a function. Saved with the model.

        Tables, pages, plots and the command line show the labels. An empty one takes a label away.

        Parameters
        ----------
        labels : a mapping, which leaves the other topics as they are; a list; or a function, such as one that asks a
            language model, that names a topic from its `n_top` most relevant words and the texts of the `n_documents`
            documents most about it
        X, theta : a corpus that keeps texts, and a store of its topics, for the function; without X it gets no texts

        Raises
        ------
        SettingError
            When there is no such topic, a label is not text, has more than 200 characters, a line end or another
            control character, there are not as many labels as topics, or the documents have no texts.
        """
        if callable(labels):
            labels = self._named_by(labels, X, theta, n_top, n_documents)
        return super().set_topic_labels(labels)

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
            shares = self._shares_of(corpus.select(rows=[found.row]))
        else:
            raise SettingError("give X, the corpus of the document, or theta, a store with its topics")
        own = pieces = None
        if found is not None:
            own = word_topics(self.topic_source(), found.counts, shares, labels)
            if found.text is not None and corpus.text_settings is not None:
                known = zip(own["word"], own["topic"], strict=True)
                of_words = {word: int(k) for word, k in known if k is not None and k == k}
                pieces = marked(found.text, corpus.text_settings, of_words)
        return DocumentTopics(found, topics_of_document(shares, labels), own, pieces)

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
        columns, how = columns_to_group(column), {"freq": freq, "bins": bins, "date_format": date_format}
        wanted = self._topics(topics)
        only = None if topics is None else wanted
        found = self._over_groups(columns, X, theta, how, where, storage_options, only)
        labels, n_groups = self._labels_of(wanted), len(found["groups"])
        others: dict[str, Any] = {
            "topic": wanted * n_groups,
            "label": labels * n_groups,
            "share": found["share"].ravel(),
            "standard_error": found["standard_error"].ravel(),
            "n_documents": np.repeat(found["n_documents"], len(wanted)),
        }
        values = [found["groups"]] if len(columns) == 1 else zip(*found["groups"], strict=True)
        own = {}
        for name, groups_of_column in zip(columns, values, strict=True):
            free = name if name not in others else "group" if len(columns) == 1 else f"group_{name}"
            own[free] = [value for value in groups_of_column for _ in wanted]
        return frame({**own, **others})

    def document_map(
        self,
        X: Any = None,
        *,
        placement: str = "pca",
        theta: Any = None,
        where: Mapping[str, Any] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Any:
        """The documents on a plane, on which those with similar topics are close together.

        Parameters
        ----------
        X, theta, where : see `documents`
        placement : "pca", principal components of the square roots of topics, or "umap", with the extra `maps`, which
            has the topics of all documents in memory

        Returns
        -------
        table of document (id), row (in the source), x, y, and topic (the largest) with its label; in the order in which
        the documents are stored
        """
        source = self._theta(X, theta, where, storage_options)
        found = document_places(source, placement)
        view = source.documents.at(found.pop("positions"))
        own = {"document": view.document_ids(order="stored"), "row": view.rows(order="stored"), **found}
        return frame({**own, "label": np.array(self.topic_labels_, object)[found["topic"]]})

    def topic_correlation(
        self,
        X: Any = None,
        *,
        theta: Any = None,
        where: Mapping[str, Any] | None = None,
        topics: Iterable[int] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Any:
        """Pearson's correlation of the shares of topics over documents, (n_components, n_components).

        See `documents` for X, theta and where. What a store keeps of a document is scaled to sum to 1.

        Parameters
        ----------
        topics : only these, (n_topics, n_topics); None for all

        Raises
        ------
        SettingError
            When there is no such topic, or the machine has no room for two numbers for each pair of topics.
        """
        wanted = None if topics is None else self._topics(topics)
        return square(correlation(self._theta(X, theta, where, storage_options), wanted), wanted)

    def _over_groups(
        self,
        columns: Sequence[str],
        X: Any,
        theta: Any,
        how: Mapping[str, Any],
        where: Mapping[str, Any] | None = None,
        storage_options: Mapping[str, Any] | None = None,
        topics: Sequence[int] | None = None,
    ) -> dict[str, Any]:
        """Shares of topics, see `over_groups`; `how` has the further arguments of `grouping`."""
        corpus = self._opened(X)
        source = self._theta(corpus, theta, where, storage_options)
        return over_groups(source, grouping(source, columns, corpus, **how), columns, topics)

    def _group_shares(
        self,
        column: str,
        X: Any,
        theta: Any,
        freq: str = "",
        bins: Any = None,
        date_format: str | None = None,
    ) -> GroupShares:
        """What pages and pictures show of `topics_over`."""
        how = {"freq": freq or None, "bins": bins, "date_format": date_format or None, "only_format": True}
        return shares_of_groups(self._over_groups([column], X, theta, how), column, freq)

    def _named_by(
        self, name: Callable[[list[str], list[str]], str], X: Any, theta: Any, n_top: int, n_documents: int
    ) -> list[str]:
        """The name that a function gives each topic."""
        require_positive("n_top", n_top)
        relevant = words.best_words(self.topic_source(), n_top, {"relevance": 0.6})["relevance"]
        texts: list[list[str]] = [[] for _ in relevant]
        if X is not None:
            corpus = self._opened(X)
            if not corpus.has_text:
                raise SettingError(f"X: its documents have no texts; {WITH_TEXT}")
            for topic, own in enumerate(texts):
                own += map(str, self.documents(topic, corpus, n_documents, theta=theta)["text"])
        return [name(own, about) for own, about in zip(relevant, texts, strict=True)]

    def _theta(self, X: Any, theta: Any, where: Any, storage_options: Mapping[str, Any] | None) -> Theta:
        """Topics of the documents: stored, or inferred from those that were asked for."""
        if theta is not None:
            store = self._stored(theta, storage_options)
            chosen = selected(store.documents, where)
            matrices = partial(store.matrices, self._fitted().shares_without_words)
            return Theta(store.documents, store.n_components, matrices, chosen, self.progress)
        if X is None:
            raise SettingError("give X, a corpus of documents, or theta, a store that transform_to wrote")
        corpus = self._known_corpus(checked(self._opened(X), where))

        def pieces() -> Iterator[Any]:
            from scipy.sparse import csr_matrix

            for doc_topics in self._topics_to_ask(corpus):
                yield csr_matrix(doc_topics, dtype=np.float64)

        return Theta(corpus, self._fitted().n_components, pieces, None, False)

    def _topics_to_ask(self, corpus: Any) -> Iterator[Any]:
        """Topics of documents in stored order, (n, n_components) each: float32, or csr_matrix where topics are lists;
        the last are remembered. Documents without a known word have none."""
        model = self._fitted()
        are_lists = self.topic_source().lists() is not None

        def infer() -> Iterator[Any]:
            prior = model.shares_without_words
            for piece in self._infer(corpus):
                topics, without = piece.doc_topics, piece.n_tokens == 0
                if (
                    prior is not None and without.any()
                ):  # by its authors, a document without words may have topics
                    same = np.isclose(topics, prior, rtol=SAME_SHARE, atol=0).all(axis=1)
                    topics = np.where((without & same)[:, None], np.float32(0), topics)
                yield with_tokens(topics, prior) if are_lists and prior is not None else topics

        if "author" in model.axes:  # which the fingerprint of documents leaves out
            return infer()
        if self._last_topics is None:
            self._last_topics = LastTopics()
        key = id(model), json.dumps(model_identity(model)), corpus.fingerprint
        return self._last_topics.pieces(key, infer)

    def _shares_of(self, corpus: Any) -> np.ndarray:
        """Topics of the one document of a corpus, float64 (n_components,)."""
        topics, prior = self.transform(corpus), self._fitted().shares_without_words
        if self.topic_source().lists() is None or prior is None:
            return np.asarray(topics[0], np.float64)
        return np.asarray(with_tokens(topics, prior).toarray()[0])

    def _opened(self, X: Any) -> Any:
        return None if X is None else self._documents(X)
