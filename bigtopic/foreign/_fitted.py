"""A fitted `LDA` from arrays of another library, and the arrays or whole tokens of one for another library."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import BigtopicWarning, InputError, SettingError, VocabularyMismatch, argument
from bigtopic.estimators.lda import LDA
from bigtopic.plan.cursor import Cursor
from bigtopic.state.contract.scheme_steps import SMALLEST_PRIOR
from bigtopic.state.machine_memory import check_params, refuse_beyond
from bigtopic.state.new_model import new_model

__all__ = ["Tokens", "Weights", "fitted", "shortest", "tokens_of", "weights_of"]


class Weights(NamedTuple):
    """Topics of a fitted model, and its priors.

    statistics : float64 (n_components, n_words), weights of the words without their prior
    doc_topic_prior : float64 (n_components,), in the literature alpha
    topic_word_prior : float64, (), (n_words,) or (n_components, n_words); in the literature eta
    words : the words of the columns, or None for columns without names
    """

    statistics: np.ndarray
    doc_topic_prior: np.ndarray
    topic_word_prior: np.ndarray
    words: Sequence[str] | None


def fitted(weights: Weights, *, n_docs: int = 0, n_iter: int = 1, n_updates: int = 1, **settings: Any) -> LDA:
    """An estimator with these topics.

    Statistics below zero, remains of a random start, become zero.

    Parameters
    ----------
    n_docs : documents that the topics were learned from, 0 if unknown
    n_iter : passes over them
    n_updates : updates so far, on which the size of the next step depends
    settings : of `LDA`

    Raises
    ------
    InputError
        When weights are not finite.
    SettingError
        When a prior or a setting is not allowed, or the model is larger than the machine's memory.
    VocabularyMismatch
        When there is not one word for each column.
    """
    n_components, n_words = weights.statistics.shape
    words = weights.words
    if words is not None and len(words) != n_words:
        raise VocabularyMismatch(
            f"vocabulary: has {len(words)} words, but the topics have {n_words} columns; give one for each"
        )
    check_params(n_words, n_components)
    if not np.isfinite(weights.statistics).all():
        raise InputError("topic weights: some are not finite; the model is damaged; train it again")
    priors = {
        "doc_topic_prior": shortest(weights.doc_topic_prior),
        # Models without one have 0, which may not be given.
        "topic_word_prior": shortest(np.maximum(weights.topic_word_prior, SMALLEST_PRIOR)),
    }
    estimator = LDA(n_components, **priors, **settings)
    estimator._check()
    with warnings.catch_warnings():  # of a decay that the other library was given
        warnings.simplefilter("ignore", BigtopicWarning)
        method, options = estimator._method_and_options()
    vocabulary = Vocabulary(size=n_words) if words is None else Vocabulary(words)
    model = new_model(method, n_components, vocabulary, n_tokens=0.0, priors=priors, options=options)
    topics = model.topic_words
    topics.raw[:, :n_components] = np.maximum(weights.statistics, 0.0).T
    topics.fold()
    model.cursor = Cursor(pass_number=1, step=max(1, n_updates))
    estimator._model = model
    estimator.n_docs_seen_, estimator.n_iter_ = n_docs, n_iter
    return estimator


def weights_of(model: Any) -> Weights:
    """The topics and priors of a fitted `LDA`.

    Raises
    ------
    SettingError
        When it is another model, or its topics are too many for arrays of all words in the machine's memory.
    """
    if not isinstance(model, LDA):
        raise SettingError(
            f"model: {type(model).__name__} cannot be written for other libraries, a fitted LDA can; "
            "for the topics of other models as an array, see get_topics()"
        )
    n, n_words = model._fitted().n_components, model.n_features_in_
    refuse_beyond(
        20 * n * n_words,
        "fit a model of fewer topics, or merge topics (merge_topics)",
        f"arrays of {n:,} topics x {n_words:,} words, as other libraries take them, need",
    )
    prior = np.asarray(model.topic_word_prior_, np.float64)
    statistics = np.maximum(model.components_ - prior, 0.0)
    return Weights(statistics, model.doc_topic_prior_, prior, model.vocabulary_[:])


def shortest(prior: Any) -> Any:
    """A prior as a number if all of its values are equal, else as it is."""
    values = np.asarray(prior, np.float64)
    return float(values.flat[0]) if values.size and (values == values.flat[0]).all() else values


_LENGTH = 1000  # tokens of a document: libraries have tables of topics by length


class Tokens(NamedTuple):
    """Tokens of a model, and its priors.

    counts : int64 (n_components, n_words), of each word in each topic
    doc_topic_prior : float64 (n_components,)
    topic_word_prior : of all topics and words
    words : of the columns
    """

    counts: np.ndarray
    doc_topic_prior: np.ndarray
    topic_word_prior: float
    words: list[str]

    def documents(self) -> Iterator[tuple[int, np.ndarray]]:
        """The topic of each document, and the columns of its tokens."""
        for topic, counts in enumerate(self.counts):
            tokens = np.repeat(np.arange(len(counts)), counts)
            yield from ((topic, tokens[i : i + _LENGTH]) for i in range(0, len(tokens), _LENGTH))


def tokens_of(model: Any) -> Tokens:
    """The tokens of a fitted `LDA`, soft counts rounded.

    Where the prior differs between words or topics, its excess over the smallest is rounded with the tokens.

    Raises
    ------
    SettingError
        When it is another model, or has less than one token of any word in a topic.
    """
    weights = weights_of(model)
    smallest = float(weights.topic_word_prior.min())
    counts = np.rint(weights.statistics + (weights.topic_word_prior - smallest)).astype(np.int64)
    if not counts.any():
        raise SettingError(
            "model: has less than one token of every word in every topic, so nothing is left when its counts are "
            f"rounded; train it on more documents, or choose {argument('method', 'cgs')}, which counts whole tokens"
        )
    return Tokens(counts, weights.doc_topic_prior, smallest, list(weights.words or ()))
