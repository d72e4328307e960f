"""Reading a fitted model: topics as words, tables and arrays, under the names used by other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import NotFitted, SettingError, VocabularyMismatch, argument, require
from bigtopic.estimators.base import Estimator
from bigtopic.estimators.inputs import require_positive
from bigtopic.estimators.support.phases import n_passes, n_updates
from bigtopic.estimators.support.run_record import last_score
from bigtopic.evaluation.source import labels_of, names_of, top_words
from bigtopic.questions.words import top_labels
from bigtopic.state.machine_memory import refuse_beyond
from bigtopic.state.model import ModelTopics, TopicModel
from bigtopic.state.views import mean_rows
from bigtopic.support import cards
from bigtopic.support.aliases import answering
from bigtopic.support.deprecations import also_named, renamed
from bigtopic.support.numbers import is_whole
from bigtopic.wording import counted

__all__ = ["FittedArray", "FittedTopics"]

_CELLS = 1 << 24  # words x topics at once
_INSTEAD = (
    "ask for words of topics (topics, show_topic), topics of words (find_topics), or rows of some words "
    "(topic_source().gather(ids))"
)


class FittedArray(NamedTuple):
    """An array of a fitted model.

    values : (n_rows, n_columns). Columns sum to 1 if the model declares the array normalised over the axis (words of a
        topic), rows if over the components (topics of an author); otherwise these are the weights themselves
    names : names of the rows, (n_rows,) str, such as words or authors; None for an axis without names
    """

    values: np.ndarray
    names: np.ndarray | None


class FittedTopics(Estimator):
    """Methods of a fitted estimator with topics over words; the model is in `_model`."""

    _model: TopicModel | None = None
    _labels: Sequence[str | None] | None = None
    _pair_words: list[str] | None = None  # by id, of the (id, count) pairs that it learned from

    @renamed(n="n_top")
    @answering
    def topics(self, n_top: int = 10) -> list[list[tuple[str, float]]]:
        """The most probable words of each topic: [[(word, probability), ...], ...]; see also `unused_topics_`."""

        require_positive("n_top", n_top)
        source = self.topic_source()
        ids, probabilities = top_words(source, min(n_top, len(self.vocabulary_)))
        return [
            list(zip(words, values, strict=True))
            for words, values in zip(names_of(source, ids), probabilities.tolist(), strict=True)
        ]

    @renamed(n="n_top")
    @answering
    def topics_frame(self, n_top: int = 10) -> Any:
        """The most probable words of each topic, as a pandas DataFrame.

        Columns: topic, label, rank, word, probability, and unused, whether the topic is one of `unused_topics_`.

        Raises
        ------
        MissingExtra
            When pandas is not installed.
        """
        topics = zip(self.topic_labels_, self.topics(n_top), self.topic_source().unused, strict=True)
        rows = [
            (k, label, i, *one, unused)
            for k, (label, own, unused) in enumerate(topics)
            for i, one in enumerate(own)
        ]
        columns = ["topic", "label", "rank", "word", "probability", "unused"]
        return require("pandas", "pandas").DataFrame(rows, columns=columns)

    @also_named(topn="n_top")
    @answering
    def show_topic(self, topic: int, n_top: int = 10) -> list[tuple[str, float]]:
        """The most probable words of one topic: [(word, probability), ...].

        `n_top` may also be given as `topn`, as in gensim.
        """
        return self.topics(n_top)[self._topic(topic)]

    @renamed(topn="n_top")
    @answering
    def show_topics(self, n_top: int = 10) -> list[tuple[int, str]]:
        """The topics as text: [(topic, "word word ..."), ...]; "label: word word ..." of those that have a label.

        The text of an unused topic begins with "(unused) ".
        """
        source = self.topic_source()
        marks = np.where(source.unused, "(unused) ", "").tolist()
        heads = [
            mark + (label and f"{label}: ") for mark, label in zip(marks, labels_of(source), strict=True)
        ]
        return [(k, heads[k] + " ".join(word for word, _ in own)) for k, own in enumerate(self.topics(n_top))]

    def get_topics(self) -> np.ndarray:
        """Topic-word probabilities, float32 (n_components, n_words); rows sum to 1.

        Raises
        ------
        SettingError
            When they are larger than the machine's memory.
        """
        source = self.topic_source()
        return self._dense(source.gather, np.float32)

    def array(self, name: str) -> FittedArray:
        """An array of the model by name, with the names of its rows: for what custom methods have learned.

        Raises
        ------
        SettingError
            When the model has no such array, or it is larger than the machine's memory.
        """
        model = self._fitted()
        if name not in model.params.arrays:
            raise SettingError(
                f"name={name!r}: the model has no such array; choose one of: {', '.join(model.params.arrays)}"
            )
        array = model.estimate(name)
        refuse_beyond(
            4 * array.n_rows * array.n_columns, _INSTEAD, f"array {name!r} of numbers for all topics needs"
        )
        rows = array.gather(None) if array.normalised_over is None else mean_rows(array, None)
        axis = model.axes.get(array.axis)
        return FittedArray(rows[:, : array.n_components], None if axis is None else axis.words)

    def name_words(self, vocabulary: Any) -> Self:
        """Name the words of a model that learned from a matrix without names, such as the last step of a pipeline.

        Parameters
        ----------
        vocabulary : the words of the columns, (n_words,), or the fitted vectoriser that made the matrix

        Raises
        ------
        VocabularyMismatch
            When there is not one word for each column.
        SettingError
            When the words have names.
        """
        axes, known = self._fitted().axes, self.vocabulary_
        if known.named:
            raise SettingError(
                f"{argument('vocabulary')}: the words of this model have names, which cannot be changed"
            )
        if hasattr(vocabulary, "get_feature_names_out"):
            vocabulary = vocabulary.get_feature_names_out()
        named = Vocabulary(vocabulary, None, known.document_frequency, known.frequency)
        if len(named) != len(known):
            raise VocabularyMismatch(
                f"vocabulary has {len(named)} words, but the model has {len(known)}; give one word for each column"
            )
        axes.update((axis, named) for axis in ("word", "column") if axis in axes)
        return self

    def topic_source(self) -> ModelTopics:
        """The topics by rows, for evaluations."""
        return self._fitted().topic_source(self._labels)

    @property
    def topic_labels_(self) -> list[str]:
        """The topics' labels, from `set_topic_labels`, else the three most probable words."""
        return top_labels(self.topic_source())

    @property
    def unused_topics_(self) -> np.ndarray:
        """The topics that the model does not use, int64 (n_unused,): few tokens, of words that chance may explain."""
        return np.flatnonzero(self.topic_source().unused)

    @property
    def components_(self) -> np.ndarray:
        model = self._fitted()
        weights = model.estimate(model.topic_words_name)
        return self._dense(weights.gather, np.float64 if weights.dtype.kind == "i" else weights.dtype)

    @property
    def exp_dirichlet_component_(self) -> np.ndarray:
        from scipy.special import psi

        model = self._fitted()
        weights = model.estimate(model.topic_words_name)
        of_totals = psi(weights.weight_totals())
        return self._dense(
            lambda ids: np.exp(
                psi(weights.gather(ids)[:, : model.n_components].astype(np.float64)) - of_totals
            ),
            np.float64,
        )

    def _dense(self, rows: Callable[[np.ndarray], np.ndarray], dtype: Any) -> np.ndarray:
        """Rows of words (n_ids, at least n_components), as topics by words, (n_components, n_words)."""
        n, n_words = self._fitted().n_components, self.n_features_in_
        refuse_beyond(
            np.dtype(dtype).itemsize * n * n_words,
            _INSTEAD,
            f"an array of {n:,} topics x {n_words:,} words needs",
        )
        found, step = np.empty((n, n_words), dtype), max(1, _CELLS // n)
        for start in range(0, n_words, step):
            ids = np.arange(start, min(start + step, n_words), dtype=np.int32)
            found[:, ids] = rows(ids)[:, :n].T
        return found

    @property
    def vocabulary_(self) -> Vocabulary:
        return self._fitted().vocabulary

    @property
    def history_(self) -> list[dict[str, Any]]:
        return self._fitted().history

    @property
    def doc_topic_prior_(self) -> np.ndarray:
        return self._fitted().doc_topic_prior

    @property
    def topic_word_prior_(self) -> Any:
        prior = self._fitted().topic_words.prior
        if prior.size == 1:
            return float(prior[0, 0])
        return prior[:, 0] if prior.shape[1] == 1 else prior.T

    @property
    def n_features_in_(self) -> int:
        return len(self.vocabulary_)

    @property
    def n_batch_iter_(self) -> int:
        self._fitted()
        return n_updates(self)

    @property
    def random_state_(self) -> int:
        return self._fitted().seed

    def get_feature_names_out(self, input_features: Iterable[str] | None = None) -> np.ndarray:
        """Names of the columns of `transform`: lda0, lda1, ..."""
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}{k}" for k in range(self._fitted().n_components)], dtype=object)

    def _topic(self, topic: Any) -> int:
        n = self._fitted().n_components
        if not is_whole(topic) or not 0 <= topic < n:
            raise SettingError(f"{argument('topic', topic)}: must be in 0 .. {n - 1}")
        return int(topic)

    def _fitted(self) -> TopicModel:
        if self._model is None:
            raise NotFitted(f"this {type(self).__name__} has no topics yet; call fit first")
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None

    def _repr_html_(self) -> str:
        if self._model is None:
            return cards.card(repr(self))
        score = last_score(self.history_)
        values = {
            "trained": f"{counted(n_passes(self), 'pass', 'passes')}, {counted(self.n_batch_iter_, 'update')}",
            "words": f"{self.n_features_in_:,}",
            "held-out score": "" if score is None else f"{score:.4f} nats per token",
        }
        topics = cards.scrolling(["topic", "its 8 most probable words"], self.show_topics(8))
        return cards.card(repr(self), cards.figures(values), topics)
