"""Topics of any model behind one small interface, so that measures are comparable between models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from bigtopic.corpus.readers.support.vocabulary import read_vocabulary
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, SettingError, VocabularyMismatch, argument
from bigtopic.evaluation.sparse.lists import columns_of as columns_of_lists
from bigtopic.evaluation.sparse.lists import largest, lists_of, probabilities_of
from bigtopic.evaluation.sparse.lists import sums_over_topics as of_lists
from bigtopic.state.contract.scheme_steps import LARGEST_PRIOR, SMALLEST_PRIOR
from bigtopic.support.deprecations import renamed
from bigtopic.support.numbers import is_whole

__all__ = [
    "FLOOR",
    "NO_COMMON_WORD",
    "Largest",
    "TopicSource",
    "columns_of",
    "labels_of",
    "names_of",
    "pairs_of",
    "part_of",
    "rows_of",
    "sums_over_topics",
    "top_words",
    "topics_of",
]

FLOOR = 1e-10  # of a word's probability: a topic of another library may hold exact zeros
NO_COMMON_WORD = "the models share no word; compare models of the same language and tokeniser"
_ROWS = 1 << 15  # words at a time
_CELLS = 1 << 25  # words x topics at a time: 128 MiB of float32


class TopicSource(Protocol):
    """What a measure needs of a model."""

    @property
    def n_components(self) -> int:
        """Number of topics."""

    @property
    def doc_topic_prior(self) -> np.ndarray:
        """float64 (n_components,), in the literature alpha."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Words by id."""

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""

    def gather(self, ids: np.ndarray) -> np.ndarray:
        """p(word | topic), float32 (len(ids), n_components); a column sums to 1 over the vocabulary.

        A source of very many topics may also have them as lists, see `bigtopic.evaluation.sparse`: `lists(ids)`.
        """


@dataclass(frozen=True, eq=False)
class DenseTopics:
    """Topics held as one array: topic_words float32 (n_words, n_components)."""

    topic_words: np.ndarray
    doc_topic_prior: np.ndarray
    vocabulary: Vocabulary

    @property
    def n_components(self) -> int:
        return self.topic_words.shape[1]

    @property
    def n_words(self) -> int:
        return self.topic_words.shape[0]

    def gather(self, ids: np.ndarray) -> np.ndarray:
        return self.topic_words[ids]


@dataclass(frozen=True, eq=False)
class WithPrior:
    """The topics of another source, with a document-topic prior of the caller's."""

    source: Any
    doc_topic_prior: np.ndarray

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # which copies and pickles look up before there is a source
            raise AttributeError(name)
        return getattr(self.source, name)


def labels_of(source: Any) -> list[str]:
    """What people call each topic, see `LDA.set_topic_labels`; "" where they have not said."""
    labels = getattr(source, "labels", None) or [None] * source.n_components
    return [label or "" for label in labels]


def topics_of(
    model: Any, vocabulary: Any = None, doc_topic_prior: Any = None, *, name: str = "model"
) -> TopicSource:
    """The topics of a model.

    Parameters
    ----------
    model : an estimator of this package; a fitted scikit-learn model (`components_`); a gensim model
        (`get_topics`); or an array (n_components, n_words) of topic weights, which need not be normalised
    vocabulary : the words of the columns, for arrays and scikit-learn models: a list, a `Vocabulary`, a corpus, or a
        fitted vectoriser, or {word: column}. None matches columns by position
    doc_topic_prior : a number or (n_components,), of a model that has one, too; None for the model's own, or
        1 / n_components for an array
    name : of the argument, for errors

    Raises
    ------
    SettingError
        When `model` is none of these, or the prior is not positive.
    InputError
        When weights are negative, not finite, or all zero in a topic.
    VocabularyMismatch
        When the vocabulary does not have one word per column.
    """
    if isinstance(model, type):
        raise SettingError(
            f"{name}: {model.__name__} is a class, which has no topics; give a fitted model of it"
        )
    if hasattr(model, "topic_source") or (hasattr(model, "gather") and hasattr(model, "n_components")):
        source = model.topic_source() if hasattr(model, "topic_source") else model
        if doc_topic_prior is not None:
            source = WithPrior(source, _prior(doc_topic_prior, source.n_components))
        return source
    if hasattr(model, "get_topics") and hasattr(model, "id2word"):
        weights = model.get_topics()
        words = [model.id2word[i] for i in range(weights.shape[1])] if vocabulary is None else vocabulary
        prior = getattr(model, "alpha", None)
    elif hasattr(model, "components_"):
        weights = model.components_
        words = getattr(model, "feature_names_in_", None) if vocabulary is None else vocabulary
        prior = getattr(model, "doc_topic_prior_", None)
    else:
        weights, words, prior = _as_matrix(model, name), vocabulary, None
    return _dense(np.asarray(weights), words, prior if doc_topic_prior is None else doc_topic_prior, name)


def _as_matrix(model: Any, name: str) -> np.ndarray:
    weights = model if isinstance(model, np.ndarray) else np.array([])
    if weights.ndim != 2 or 0 in weights.shape:
        found = f"an array of shape {model.shape}" if weights is model else type(model).__name__
        raise SettingError(
            f"{name}: {found} has no topics; give a fitted estimator (bigtopic.load_model reads a saved "
            "one), a scikit-learn or gensim model, an array of shape (n_components, n_words), or what bigtopic.foreign "
            "makes of another library's model"
        )
    return weights


def _dense(weights: np.ndarray, words: Any, prior: Any, name: str) -> DenseTopics:
    if weights.ndim != 2:
        raise SettingError(f"{name}: its topics have shape {weights.shape}, not (n_components, n_words)")
    if weights.dtype.kind not in "biuf":
        raise InputError(
            f"{name}: topic weights must be numbers, not {weights.dtype}; convert them, as with astype(float)"
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any(axis=1).all():
        raise InputError(
            f"{name}: topic weights must be finite, not negative, and not all zero within a topic"
        )
    n_components, n_words = weights.shape
    known = Vocabulary(size=n_words) if words is None else _vocabulary(words)
    if known.size != n_words:
        instead = "the matrix transposed" if known.size == n_components else "one word for each column"
        raise VocabularyMismatch(
            f"the topics have shape ({n_components}, {n_words}), topics by words, but the vocabulary has "
            f"{known.size} words; give {instead}"
        )
    topic_words = weights.T / weights.max(axis=1)  # first, as a sum of large weights is infinite
    topic_words /= topic_words.sum(axis=0)
    np.maximum(topic_words, FLOOR, out=topic_words)
    topic_words /= topic_words.sum(axis=0)
    return DenseTopics(np.ascontiguousarray(topic_words, np.float32), _prior(prior, n_components), known)


def _vocabulary(words: Any) -> Vocabulary:
    if isinstance(words, Corpus):
        counted = words.counted  # else its frequencies are of more documents than the view has
        return words.vocabulary if counted else words.vocabulary.with_counts(None, None)
    if isinstance(words, str | set | frozenset):  # in no order
        raise SettingError(
            f"{argument('vocabulary', words)}: give a list of words, a corpus, or a vectoriser"
        )
    return words if isinstance(words, Vocabulary) else Vocabulary(read_vocabulary(words))


def _prior(prior: Any, n_components: int) -> np.ndarray:
    try:
        values = np.asarray(1.0 / n_components if prior is None else prior, dtype=np.float64)
    except (TypeError, ValueError):  # no numbers, or not as many everywhere
        values = np.full(n_components, np.nan)
    allowed = (values >= SMALLEST_PRIOR) & (values <= LARGEST_PRIOR)
    if values.shape not in ((), (n_components,)) or not allowed.all():
        raise SettingError(
            f"{argument('doc_topic_prior')}: must be a positive number or {n_components} of them, from "
            f"{SMALLEST_PRIOR:g} to {LARGEST_PRIOR:g}, found {prior!r}"
        )
    return np.broadcast_to(values, (n_components,)).copy()


def rows_of(source: TopicSource, dtype: Any = np.float64) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """All words in blocks: ids, int32 (n,), and p(word | topic), (n, n_components).

    It costs words times topics; where `lists_of` gives lists, sums over these cost less.
    """
    step = max(1, min(_ROWS, _CELLS // source.n_components))
    for start in range(0, source.n_words, step):
        ids = np.arange(start, min(start + step, source.n_words), dtype=np.int32)
        yield ids, source.gather(ids).astype(dtype, copy=False)


def sums_over_topics(source: Any, weights: np.ndarray) -> np.ndarray:
    """sum_k weights[k] p(word | k), float64 (n_words,), of weights (n_components,)."""
    lists = lists_of(source)
    if lists is not None:
        return of_lists(lists, weights)
    return np.concatenate([rows @ weights for _, rows in rows_of(source)])


def columns_of(source: Any, topics: np.ndarray) -> np.ndarray:
    """p(word | topic) of all words in some topics, float32 (n_words, n_topics)."""
    lists = lists_of(source)
    if lists is not None:
        return columns_of_lists(lists, topics)
    return np.concatenate([rows[:, topics] for _, rows in rows_of(source, np.float32)])


def pairs_of(source: Any, words: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """p(words[i] | topics[i]), float32 (n,)."""
    lists = lists_of(source)
    if lists is not None:
        return probabilities_of(lists, words, topics)
    found = np.empty(len(words), np.float32)
    for ids, rows in rows_of(source, np.float32):
        own = np.flatnonzero((words >= ids[0]) & (words <= ids[-1]))
        found[own] = rows[words[own] - ids[0], topics[own]]
    return found


def part_of(source: Any, ids: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """p(word | topic) of some words in some topics, float32 (n_ids, n_topics)."""
    ids = ids.astype(np.int32)
    if len(topics) == source.n_components or lists_of(source, ids[:0]) is None:
        return np.asarray(source.gather(ids)[:, topics])
    return columns_of_lists(lists_of(source, ids), topics)


def names_of(source: Any, ids: np.ndarray) -> list[list[str]]:
    """The words with these ids, (n, m)."""
    names = source.vocabulary[ids.ravel()]
    return [names[i : i + ids.shape[1]] for i in range(0, ids.size, ids.shape[1])]


@renamed(n="n_top")
def top_words(source: TopicSource, n_top: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """The most probable words of each topic; ties are in the order of the ids.

    Returns
    -------
    ids : int64 (n_components, n_top)
    probabilities : float32 (n_components, n_top), in descending order

    Raises
    ------
    SettingError
        When `n_top` is not between 1 and the size of the vocabulary.
    """
    if not is_whole(n_top) or not 1 <= n_top <= source.n_words:
        raise SettingError(
            f"{argument('n_top')}: must be between 1 and the vocabulary's {source.n_words} words, found {n_top!r}"
        )
    lists = lists_of(source)
    if lists is not None:
        words, probabilities = largest(lists, source.n_components, n_top)
        return words, probabilities.astype(np.float32)
    found = Largest(source.n_components, n_top)
    for ids, rows in rows_of(source, np.float32):
        found.add(ids, rows)
    return found.positions, found.values


_FEW = 8  # times n: rows that are sorted as they are


class Largest:
    """The n largest entries of each column, over blocks of rows; ties go to the earlier row.

    Attributes
    ----------
    positions : int64 (n_columns, n), rows of the entries, largest first; fewer than n if there are fewer rows
    values : (n_columns, n), the entries
    """

    def __init__(self, n_columns: int, n: int) -> None:
        self._n = n
        self.positions = np.zeros((n_columns, 0), np.int64)
        self.values = np.zeros((n_columns, 0), np.float32)

    def add(self, positions: np.ndarray, values: np.ndarray) -> None:
        """Rows `positions` (n,), ascending, with `values` (n, n_columns)."""
        positions, values = self._near(positions, values)
        # What was found so far comes first: a stable sort keeps ties in their order.
        values = np.hstack([self.values, values.T])
        positions = np.hstack([self.positions, np.broadcast_to(positions, (len(values), len(positions)))])
        best = np.argsort(-values, axis=1, kind="stable")[:, : self._n]
        self.positions = np.take_along_axis(positions, best, 1)
        self.values = np.take_along_axis(values, best, 1)

    def _near(self, positions: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows that are among the n largest of some column: a selection costs less than a sort of all of them."""
        if len(positions) < _FEW * self._n:
            return positions, values
        least = np.partition(values, -self._n, axis=0)[-self._n]
        near = (values >= least).any(axis=1)
        return positions[near], values[near]
