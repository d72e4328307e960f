"""Given starts of a run: `init`, topics of another model or a random joint distribution; seed words.

A start changes where a run ends, not what it has counted. Its effect depends on the scheme:

* a scheme that adds up statistics of documents, and begins with nothing, drops the start at the first update: the first
  labels are drawn from it, and documents alone are counted;
* a scheme that adds to a random start keeps the given one in its place, at its weight, in the literature lambda, which
  includes the prior;
* other schemes replace the start, or take steps away from it, and it is rescaled to the tokens of the corpus, or of a
  document where the array is a mean over documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, SettingError, VocabularyMismatch, argument
from bigtopic.evaluation.records import record_distribution_of
from bigtopic.evaluation.source import TopicSource, topics_of
from bigtopic.models.dual import COLUMN_TOPICS, DUAL, JOINT
from bigtopic.parallel.progress import say
from bigtopic.state.checkpoints.versions import load_newest
from bigtopic.state.model import ModelTopics, TopicModel

__all__ = ["RANDOM_JOINT", "begin_pairs", "begin_with", "seed_prior"]

RANDOM_JOINT = "joint"
_ALL = "the corpus or stream"
_OF_ONE = 1e-3  # from a sum of probabilities
_STREAM = 0x6A6F69 << 32  # keys random numbers of a joint distribution apart from the arrays'


def begin_with(
    model: TopicModel, init: Any, n_tokens: float, n_docs: float, show: bool | None = None
) -> None:
    """Start a new model from the topics of another, matched by word; words that the other lacks get only the prior.

    Parameters
    ----------
    init : the path of a model, or whatever `evaluation.source.topics_of` takes
    n_tokens, n_docs : of the corpus, or of the assumed stream
    show : whether a line on standard error tells the weight that `init` got; None as True

    Raises
    ------
    SettingError
        When the number of topics differs.
    VocabularyMismatch
        When no word is shared.
    InputError
        When weights that are kept are larger than float32 can hold.
    """
    other = _loaded(init)
    source, array = topics_of(other, name="init"), model.topic_words
    if source.n_components != model.n_components:
        raise SettingError(
            f"init has {source.n_components} topics, but {argument('n_components')} is {model.n_components}; make "
            "them equal"
        )
    own, words = model.vocabulary, source.vocabulary
    if not (own.named and words.named) and own.size != words.size:
        without = f"init has {words.size} columns without names, but this corpus has {own.size} words"
        if words.named:
            without = f"init has {words.size} words, but this corpus has {own.size} columns without names"
        raise VocabularyMismatch(
            f"{without}; without names, columns are matched by position, one for each word"
        )
    ids, known = _shared(own, words, "word")
    scheme = model.method.schemes[model.topic_words_name]
    weights = _weights(other, source, ids[known]) if _keeps(scheme) else None
    if weights is None:
        # As many tokens as the statistics will have, evenly: schedules then weigh it like a pass over the whole corpus.
        mean = getattr(scheme, "averages_documents", False)  # the array is as heavy as one document
        held, of = (n_tokens / n_docs, "a document") if mean else (n_tokens, _ALL)
        array.begin(known, source.gather(ids[known]) * (held / model.n_components))
        _say_weight(scheme, held, of if not _keeps(scheme) else _ALL, show)
    else:  # the array adds its prior, which is among them
        most = np.finfo(np.float32).max  # of what kernels read
        if weights.max() > most:
            raise InputError(
                f"init has a weight of {weights.max():.3g} tokens; weights may be up to {most:.3g}"
            )
        prior = array.prior if array.prior.shape[0] == 1 else array.prior[known]
        array.begin(known, np.maximum(weights - prior, 0.0))


def begin_pairs(model: TopicModel, init: Any, n_tokens: float, show: bool | None = None) -> None:
    """Start a new dual topic model from the column topics, matched by name, and the joint distribution of another; or,
    for `RANDOM_JOINT`, from a joint distribution drawn from its prior. Row topics follow from the records.

    Raises
    ------
    SettingError
        When `init` is not a dual topic model, or has other numbers of topics.
    VocabularyMismatch
        When no column is shared.
    """
    joint = model.params[JOINT]
    if isinstance(init, str) and init == RANDOM_JOINT:
        shape = joint.n_rows, joint.n_components
        generator = np.random.Generator(np.random.Philox(key=[model.seed % (1 << 64), _STREAM]))
        prior = np.broadcast_to(joint.prior, shape).ravel()
        joint.begin(slice(None), n_tokens * generator.dirichlet(prior).reshape(shape))
        _say_weight(model.method.schemes[JOINT], n_tokens, _ALL, show)
        return
    other = _loaded(init)
    other = other._fitted() if hasattr(other, "_fitted") else other
    if not isinstance(other, TopicModel) or not set(DUAL.arrays) <= set(other.params.arrays):
        raise SettingError(
            f"init: {type(init).__name__} has no row topics and column topics; give a fitted DualTopicModel, the path "
            f"of one, or {RANDOM_JOINT!r}"
        )
    if other.components != model.components:
        raise SettingError(
            f"init has {' and '.join(f'{n} {name}s' for name, n in other.components.items())}, but this model has "
            f"{' and '.join(str(n) for n in model.components.values())}; make them equal"
        )
    ids, known = _shared(model.vocabulary, other.vocabulary, "column")
    pairs = record_distribution_of(other)
    model.params[COLUMN_TOPICS].begin(
        known, pairs.of_columns(ids[known]) * (n_tokens * pairs.joint.sum(axis=0))
    )
    joint.begin(slice(None), n_tokens * pairs.joint)
    _say_weight(model.method.schemes[JOINT], n_tokens, _ALL, show)


def _shared(own: Vocabulary, other: Vocabulary, what: str) -> tuple[np.ndarray, np.ndarray]:
    """The other's id of each word, and the words that it has."""
    ids = own.mapping_to(other)
    known = np.flatnonzero(ids >= 0)
    if not len(known):
        raise VocabularyMismatch(f"init shares no {what} with this corpus")
    return ids, known


def _loaded(init: Any) -> Any:
    return load_newest(init)[0] if isinstance(init, str | PathLike) else init


def _weights(other: Any, source: TopicSource, ids: np.ndarray) -> np.ndarray | None:
    """The weights of these words, the prior of `other` included, (n_ids, n_components); None where it has nothing but
    probabilities."""
    if isinstance(source, ModelTopics):
        return None if _are_probabilities(source.weights) else source.weights_of(ids)
    state: Any = getattr(other, "state", None)
    if hasattr(state, "get_lambda"):  # of gensim
        weights = state.get_lambda()
    elif hasattr(other, "get_topics") or hasattr(other, "gather"):
        return None
    else:
        weights = getattr(other, "components_", other)
    weights = np.asarray(weights, np.float64)
    return None if _are_probabilities(weights.sum(axis=1)) else weights[:, ids].T


def _are_probabilities(sums: np.ndarray) -> bool:
    return bool((np.abs(sums - 1.0) < _OF_ONE).all())


def _keeps(scheme: Any) -> bool:
    """Whether the scheme adds to what the array begins with."""
    return getattr(scheme, "forgets_start", None) is False


def _say_weight(scheme: Any, n_tokens: float, of: str, show: bool | None) -> None:
    weight = f"{n_tokens:,.0f} tokens, as many as {of} has"
    if _keeps(scheme):
        say(f"init has probabilities, which have no weight: it counts as {weight}", show)
    elif not getattr(scheme, "forgets_start", False):
        say(f"init is rescaled to {weight}", show)


def seed_prior(
    seeds: Mapping[int, Iterable[str]] | Sequence[Iterable[str]],
    vocabulary: Any,
    n_components: int,
    *,
    base: float | None = None,
    weight: float = 100.0,
) -> np.ndarray:
    """A topic-word prior that ties seed words to topics.

    Parameters
    ----------
    seeds : {topic: words}, or one list of words per topic for the first topics
    vocabulary : a `Vocabulary`, a corpus, or the words in order
    n_components : number of topics
    base : prior of every other entry; None for 1 / n_components
    weight : prior of a seed word in its topic, in pseudo-tokens

    Returns
    -------
    float64 (n_components, n_words), for `topic_word_prior=`

    Raises
    ------
    SettingError
        For a topic outside 0 .. n_components - 1 or a word that is not in the vocabulary.

    Examples
    --------
    >>> seed_prior({0: ["cat"]}, ["cat", "dog"], 2, base=0.5, weight=10)
    array([[10. ,  0.5],
           [ 0.5,  0.5]])
    """
    words = getattr(vocabulary, "vocabulary", vocabulary)
    known = words if isinstance(words, Vocabulary) else Vocabulary(list(words))
    prior = np.full((n_components, len(known)), 1.0 / n_components if base is None else base)
    items = seeds.items() if isinstance(seeds, Mapping) else enumerate(seeds)
    for topic, given in items:
        if not 0 <= topic < n_components:
            raise SettingError(f"seeds: topic {topic} is outside 0 .. {n_components - 1}")
        if isinstance(given, str):
            raise SettingError(f"seeds: topic {topic} has {given!r:.60}; give a list of words")
        given = list(given)
        ids = known.index_of(given)
        if (ids < 0).any():
            raise SettingError(f"seeds: the word {given[int(np.argmax(ids < 0))]!r} is not in the vocabulary")
        prior[topic, ids] = weight
    return prior
