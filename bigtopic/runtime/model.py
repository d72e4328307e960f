"""A model while it is learnt and afterwards: params, vocabulary, method, and where the run stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError, VocabularyMismatch
from bigtopic.methods import Method
from bigtopic.runtime.memory import check_params
from bigtopic.runtime.params import LazyArray, Params
from bigtopic.runtime.rounds import Cursor
from bigtopic.runtime.views import mean_rows
from bigtopic.types import Hyper

__all__ = ["LARGEST_PRIOR", "SMALLEST_PRIOR", "TopicModel", "TopicSource", "new_model"]

# Kernels compute in float32: a smaller prior is 0 there, and sums of larger ones over words or topics are infinite.
SMALLEST_PRIOR, LARGEST_PRIOR = 1e-30, 1e24


@dataclass
class TopicModel:
    """Everything a model is.

    Attributes
    ----------
    method : with its schedule as it was set
    params : the global arrays
    vocabulary : the words of the word axis
    doc_topic_prior : float64 (n_components,)
    options : of the kernel, complete
    seed : of all randomness
    cursor : the pass and round the run stands at
    text : the tokeniser's settings of the corpus it learnt from, or None
    history : one dict per pass or score
    authors : names of the author axis, or None
    """

    method: Method
    params: Params
    vocabulary: Vocabulary
    doc_topic_prior: np.ndarray
    options: dict[str, Any]
    seed: int = 0
    cursor: Cursor = field(default_factory=Cursor)
    text: dict[str, Any] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def n_components(self) -> int:
        return len(self.doc_topic_prior)

    @property
    def known_share(self) -> float:
        """Share of the tokens of the model's own texts whose word was kept by limits such as min_df."""
        return float((self.text or {}).get("known_share", 1.0)) or 1.0

    @property
    def topic_words(self) -> LazyArray:
        return next(array for array in self.params.arrays.values() if array.axis == "word")

    def hyper(self, **options: Any) -> Hyper:
        """What the kernel is told."""
        priors = {name: float(array.prior.mean()) for name, array in self.params.arrays.items()}
        return Hyper(
            self.doc_topic_prior,
            self.n_components,
            {**self.options, **options},
            priors,
            self.params.axis_sizes(),
        )

    def word_map(self, vocabulary: Vocabulary) -> np.ndarray | None:
        """Ids of the model for those of another vocabulary (-1 unknown); None when they agree.

        Raises
        ------
        VocabularyMismatch
            When words have no names and the widths differ.
        """
        if vocabulary is self.vocabulary or vocabulary.fingerprint == self.vocabulary.fingerprint:
            return None
        if not (vocabulary.named and self.vocabulary.named):
            if len(vocabulary) != len(self.vocabulary):
                raise VocabularyMismatch(
                    f"the documents have {len(vocabulary)} columns, the model {len(self.vocabulary)} words, and the "
                    "columns have no names to match them by; give a matrix with the model's columns, or a corpus "
                    "with a vocabulary"
                )
            return None
        return vocabulary.mapping_to(self.vocabulary)

    def topic_source(self) -> TopicSource:
        return TopicSource(self)


class TopicSource:
    """The topics as probabilities, by rows: what an evaluation needs of a model."""

    def __init__(self, model: TopicModel) -> None:
        self._model = model
        self.n_components = model.n_components
        self.doc_topic_prior = model.doc_topic_prior
        self.vocabulary = model.vocabulary
        self.known_share = model.known_share
        self.n_words = len(model.vocabulary)

    def gather(self, ids: np.ndarray | None) -> np.ndarray:
        """p(word | topic) of these words, float32 (n_ids, n_components); sums to 1 over all words."""
        return mean_rows(self._model.topic_words, ids)[:, : self.n_components]


def new_model(
    method: Method,
    n_components: int,
    vocabulary: Vocabulary,
    *,
    n_tokens: float,
    doc_topic_prior: float | np.ndarray | None = None,
    topic_word_prior: float | np.ndarray | None = None,
    options: Mapping[str, Any] | None = None,
    seed: int = 0,
    axis_sizes: Mapping[str, int] | None = None,
    text: dict[str, Any] | None = None,
) -> TopicModel:
    """A model that has seen nothing: priors, and statistics drawn as the method begins.

    Parameters
    ----------
    n_tokens : of the corpus, for methods that begin with a share of it
    axis_sizes : rows of axes other than "word"

    Raises
    ------
    SettingError
        When a number is outside what is allowed.
    """
    if isinstance(n_components, bool) or not isinstance(n_components, int | np.integer) or n_components < 1:
        raise SettingError(
            f"n_components={n_components!r}: the number of topics must be a whole number, 1 or more"
        )
    n_components = int(n_components)
    check_params(len(vocabulary), n_components)
    alpha = _doc_prior(doc_topic_prior, method.prior("doc_topic_prior", n_components), n_components)
    sizes = {"word": len(vocabulary), "none": 1, **(axis_sizes or {})}
    given = {"topic_word_prior": topic_word_prior}
    arrays = {}
    for number, (name, spec) in enumerate(method.model.arrays.items()):
        default = method.prior(spec.prior, n_components) if spec.prior else None
        prior = _array_prior(spec.prior, given.get(spec.prior or ""), default, sizes[spec.axis], n_components)
        dtype = getattr(method.schemes.get(name), "dtype", "float32")
        check_params(sizes[spec.axis], n_components, np.dtype(dtype).itemsize)
        array = LazyArray.zeros(
            sizes[spec.axis],
            n_components,
            axis=spec.axis,
            prior=prior,
            dtype=dtype,
            normalised_over=spec.normalised_over,
        )
        distribution, share = method.init.get(name, ("uniform", None))
        _draw(array, distribution, None if share is None else share * n_tokens, seed, number)
        arrays[name] = array
    return TopicModel(
        method, Params(arrays), vocabulary, alpha, method.kernel_options(options or {}), seed, Cursor(), text
    )


def _draw(array: LazyArray, distribution: str, total: float | None, seed: int, number: int) -> None:
    """Random statistics that tell the topics apart; scaled to a total when one is given."""
    n = array.n_components
    for block, (start, stop) in enumerate(array.blocks()):
        generator = np.random.Generator(np.random.Philox(key=[seed % (1 << 64), number << 32 | block]))
        size = (stop - start, n)
        if distribution == "gamma":
            array.raw[start:stop, :n] = generator.gamma(100.0, 0.01, size)
        elif distribution == "uniform":
            array.raw[start:stop, :n] = generator.random(size, np.float32) + np.float32(1e-10)
        else:
            raise SettingError(f"init={distribution!r}: must be 'gamma' or 'uniform'")
    if total is not None:
        array.raw *= array.raw.dtype.type(total / max(float(array.raw.sum(dtype=np.float64)), 1e-300))
    array.fold()


def _doc_prior(given: float | np.ndarray | None, default: float | None, n_components: int) -> np.ndarray:
    value: Any = given if given is not None else default if default is not None else 1.0 / n_components
    alpha = _numbers("doc_topic_prior", value)
    if alpha.ndim == 0:
        alpha = np.full(n_components, float(alpha))
    if alpha.shape != (n_components,):
        raise SettingError(
            f"doc_topic_prior has shape {alpha.shape}: give a number, or one per topic, ({n_components},)"
        )
    if not np.all(_allowed(alpha)):
        raise SettingError(f"doc_topic_prior={_short(value)}: {_ALLOWED}")
    return alpha


def _array_prior(
    name: str | None, given: float | np.ndarray | None, default: float | None, n_rows: int, n_components: int
) -> np.ndarray:
    if name is None:
        return np.zeros(())
    value: Any = given if given is not None else default if default is not None else 1.0 / n_components
    prior = _numbers(name, value)
    if prior.shape not in ((), (n_rows,), (n_components, n_rows)):
        raise SettingError(
            f"{name} has shape {prior.shape}: give a number, one per word ({n_rows},), or one per topic and word "
            f"({n_components}, {n_rows})"
        )
    # Some methods have none: theirs alone is 0.
    if not np.all(_allowed(prior) | ((prior == 0) & (given is None))):
        raise SettingError(f"{name}={_short(value)}: {_ALLOWED}")
    return prior


_ALLOWED = f"must be positive, from {SMALLEST_PRIOR:g} to {LARGEST_PRIOR:g}"


def _allowed(prior: np.ndarray) -> np.ndarray:
    return (prior >= SMALLEST_PRIOR) & (prior <= LARGEST_PRIOR)


def _numbers(name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError):
        raise SettingError(f"{name}={value!r}: must be a number or an array of numbers") from None


def _short(value: Any) -> str:
    return repr(value) if np.ndim(value) == 0 else f"array from {np.min(value)} to {np.max(value)}"
