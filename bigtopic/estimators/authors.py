"""Questions to a fitted author-topic model: its authors, who is like whom, and who wrote what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, SettingError, did_you_mean, require
from bigtopic.estimators.inference import TopicInference
from bigtopic.estimators.inputs import require_positive
from bigtopic.estimators.topic_stores.similarity import MEASURES, check_measure
from bigtopic.estimators.topic_stores.stored_topics import TopicRows
from bigtopic.evaluation.subject import over_blocks
from bigtopic.inference.authors import MappedModel, Values, candidates, likeliest, log_probabilities
from bigtopic.inference.bounds import bound_of, document_bounds
from bigtopic.models.author_topic import AUTHOR_TOPICS
from bigtopic.questions.maps import principal_axes, projected
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.views import mean_rows
from bigtopic.support.numbers import is_number, is_whole

__all__ = ["AuthorQueries"]

_ROWS = 1 << 16  # authors at once
_SHOWN = 200  # characters of a name in messages


class AuthorQueries(TopicInference):
    """Methods of an author-topic model that has been fitted."""

    @property
    def authors_(self) -> Vocabulary:
        return self._fitted().axes["author"]

    @property
    def author_topic_prior_(self) -> np.ndarray:
        return self._fitted().doc_topic_prior

    def author_topics(self, names: str | Sequence[str]) -> np.ndarray:
        """Topics of authors by name: float32 (n_components,) of one, (n_names, n_components) of several; sums are 1.

        `array("author_topics")` has the topics of all authors.

        Raises
        ------
        SettingError
            When the model does not know an author; suggests the nearest names.
        """
        if isinstance(names, str | bytes) or not isinstance(names, Iterable):
            return self.author_topics([names])[0]
        return self._topics_of(self._author_array(), self._ids(list(names)))

    def similar_authors(
        self, name: str, n_top: int = 10, *, measure: str = "hellinger", min_documents: int = 1
    ) -> list[tuple[str, float]]:
        """The authors most like one in their topics: [(name, similarity from 0 to 1), ...].

        Parameters
        ----------
        measure : "hellinger", "jensen-shannon" or "cosine", as in `similar_documents`
        min_documents : authors of fewer documents are left out, because little is known of their topics

        Raises
        ------
        SettingError
            When the model does not know the author, there is no such measure, `n_top` is below 1, or `min_documents`
            is not a whole number.
        """
        _check_ranking(n_top, measure, min_documents)
        (own,) = self._ids([name])
        array = self._author_array()
        return self._most_similar(array, self._topics_of(array, [own])[0], n_top, measure, min_documents, own)

    def authors_like(
        self, X: Any, n_top: int = 10, *, measure: str = "hellinger", min_documents: int = 1
    ) -> list[list[tuple[str, float]]]:
        """For each document, in the caller's order, the authors whose topics are most like its own.

        A document's topics come from `transform`; the rest is as in `similar_authors`.
        """
        _check_ranking(n_top, measure, min_documents)
        array = self._author_array()  # once: where the method averages, it is computed
        topics = self._doc_topics(self._known_corpus(X))
        return [self._most_similar(array, row, n_top, measure, min_documents) for row in topics]

    def predict_authors(
        self, X: Any, n_top: int = 5, *, threshold: float | None = None, min_documents: int = 1
    ) -> list[list[tuple[str, float]]]:
        """For each document, in the caller's order, the authors under whom it is likeliest, had one written it alone.

        Its own authors are not looked at. Each document is compared with every author.

        Parameters
        ----------
        X : corpus, its path, a matrix, or texts
        threshold : leave out authors under whom it is less likely than this, in nats per token; None keeps all
        min_documents : authors of fewer documents are left out

        Returns
        -------
        list of [(name, log probability in nats per token), ...], the likeliest first; empty for a document of which the
        model knows no word

        Raises
        ------
        SettingError
            When `n_top` is below 1, `threshold` is not a number, or `min_documents` not a whole number.
        """
        require_positive("n_top", n_top)
        _check_least(min_documents)
        if threshold is not None and (not is_number(threshold) or threshold != threshold):
            raise SettingError(
                f"threshold={threshold!r:.60}: must be a number of nats per token, or None for all"
            )
        corpus, model = self._known_corpus(X), self._fitted()
        found = self._over(corpus, partial(likeliest, MappedModel.of(model, corpus), n_top, min_documents))
        _, *ranked = _in_order(found)
        least = -np.inf if threshold is None else threshold
        return [
            [(self.authors_[int(i)], float(v)) for i, v in zip(*own, strict=True) if least <= v < 0]
            for own in zip(*ranked, strict=True)
        ]

    def log_likelihood(self, X: Any) -> np.ndarray:
        """Log probability of each document given its authors, float64 (n_docs,), in nats, in source order.

        Topics of authors and words are at their posterior means; authors that the model does not know are left out.

        Raises
        ------
        InputError
            When the model knows no author of a document.
        """
        return self._values(X, log_probabilities).values

    def author_perplexity(self, X: Any) -> float:
        """exp(-log probability per token) of documents given their authors; lower is better.

        Raises
        ------
        InputError
            When the model knows no author of a document, or there are no words.
        """
        found = self._values(X, log_probabilities)
        if not found.n_tokens.sum():
            raise InputError(
                "the documents have no words that the model knows; pass documents that have some"
            )
        return float(np.exp(-found.values.sum() / found.n_tokens.sum()))

    def document_bounds(self, X: Any) -> np.ndarray:
        """The terms of the method's variational bound of each document, float64 (n_docs,), in nats, in source order.

        They belong to the document alone, with the topics of its authors as they are; for held-out documents, too.
        `bigtopic.evaluate.bound` adds the terms of the topics and of the authors.

        Raises
        ------
        InputError
            When the model knows no author of a document.
        SettingError
            When the method has no bound.
        """
        bound_of(self._fitted())
        return self._values(X, document_bounds).values

    def authors_frame(self, min_documents: int = 1) -> Any:
        """The authors as a pandas DataFrame, those with most documents first.

        Columns: author, documents, tokens, x, y, and topic_0, topic_1, ... The coordinates x and y are the first
        principal components of the square roots of the topics, whose distances are Hellinger's.

        Raises
        ------
        MissingExtra
            When pandas is not installed.
        SettingError
            When `min_documents` is not a whole number.
        """
        _check_least(min_documents)
        frame = require("pandas", "pandas").DataFrame
        ids = candidates(self._fitted(), min_documents)
        documents, tokens = (counted[ids] for counted in self.authors_.counted)
        order = np.argsort(-documents, kind="stable")
        ids, topics = ids[order], self._topics_of(self._author_array(), ids[order])
        names = [self.authors_[int(i)] for i in ids]
        columns = {"author": names, "documents": documents[order], "tokens": tokens[order]}
        columns |= dict(zip("xy", _places(topics).T, strict=True))
        return frame(columns | {f"topic_{k}": topics[:, k] for k in range(topics.shape[1])})

    # ------------------------------------------------------------------ inside

    def _most_similar(
        self,
        array: LazyArray,
        one: np.ndarray,
        n_top: int,
        measure: str,
        min_documents: int,
        without: int = -1,
    ) -> list[tuple[str, float]]:
        ids = candidates(self._fitted(), min_documents)
        ids = ids[ids != without]
        blocks = [ids[start : start + _ROWS] for start in range(0, len(ids), _ROWS)]
        query = one / one.sum(dtype=np.float64)
        values = np.zeros(0)
        for block in blocks:
            topics = self._topics_of(array, block)
            shares = topics / topics.sum(axis=1, keepdims=True, dtype=np.float64)
            (n_rows, n), number = topics.shape, np.arange(topics.shape[1])
            rows = TopicRows(n * np.arange(n_rows + 1), np.tile(number, n_rows), shares.ravel())
            values = np.append(values, MEASURES[measure](rows, query))
        best = np.argsort(-values, kind="stable")[:n_top]
        return [(self.authors_[int(ids[i])], float(values[i])) for i in best]

    def _values(self, X: Any, ask: Any) -> Values:
        """Of all documents, in source order."""
        corpus = self._known_corpus(X)
        mapped = MappedModel.of(self._fitted(), corpus)
        return Values(*_in_order(self._over(corpus, partial(ask, mapped))))

    def _over(self, corpus: Any, function: Any) -> Iterator[Any]:
        return over_blocks(function, corpus, "asking", **self._workers(False))

    def _topics_of(self, array: LazyArray, ids: Any) -> np.ndarray:
        """Posterior means of these authors' topics, float32 (n_ids, n_components)."""
        return mean_rows(array, np.asarray(ids, np.int32))[:, : self._fitted().n_components]

    def _author_array(self) -> LazyArray:
        return self._fitted().estimate(AUTHOR_TOPICS)

    def _ids(self, names: Sequence[str]) -> np.ndarray:
        """Ids of authors.

        Raises
        ------
        SettingError
            When there is no such author; suggests the nearest names.
        """
        for name in names:
            if not isinstance(name, str):
                raise SettingError(f"the model knows no author {_shown(name)}; give the name as text")
        ids, known = self.authors_.index_of(names), self.authors_.words
        if (ids >= 0).all():
            return ids
        name = names[int(np.argmin(ids))]
        suggestion = did_you_mean(name, known.tolist()) if known is not None and len(name) <= _SHOWN else ""
        raise SettingError(f"the model knows no author {_shown(name)}{suggestion}")


def _check_ranking(n_top: Any, measure: Any, min_documents: Any) -> None:
    require_positive("n_top", n_top)
    check_measure(measure)
    _check_least(min_documents)


def _check_least(min_documents: Any) -> None:
    if not is_whole(min_documents) or min_documents < 0:
        raise SettingError(f"min_documents={min_documents!r:.60}: must be a whole number, 0 or more")


def _shown(name: Any) -> str:
    shown = repr(name)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."


def _in_order(found: Iterator[Any]) -> list[np.ndarray]:
    """The three arrays of all pieces, of which the first are source rows, in source order."""
    pieces = list(found) or [(np.zeros(0),) * 3]
    arrays = [np.concatenate(each) for each in zip(*pieces, strict=True)]
    order = np.argsort(arrays[0], kind="stable")
    return [array[order] for array in arrays]


def _places(topics: np.ndarray) -> np.ndarray:
    """Rows on their principal axes, float64 (n, 2); the first author is on the positive side of both."""
    found = projected(topics, *principal_axes([topics], topics.shape[1]))
    return np.asarray(found * np.where(found[:1] < 0, -1.0, 1.0)) if len(found) else found
