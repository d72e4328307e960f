"""A model, during and after learning: params, the contents of their axes, method, and the position of the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import ModelError
from bigtopic.ingestion.text import left_out
from bigtopic.methods import Method
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.plan.cursor import Cursor
from bigtopic.state.axes import mapping
from bigtopic.state.documents.document_state import DocumentState
from bigtopic.state.documents.state_files import State
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
from bigtopic.state.running_mean import mean_of
from bigtopic.state.sparse.array import SparseArray
from bigtopic.state.views import mean_lists, mean_rows
from bigtopic.types import Hyper, Kernel, Lists

__all__ = ["ModelTopics", "TopicModel", "count_blocks", "unused_topics"]


@dataclass
class TopicModel:
    """The complete state of a model.

    Attributes
    ----------
    method : the method, with its schedule as set
    params : the global arrays
    axes : contents of each axis on which documents have ids, see `state.axes`; always has "word"
    components : {name: number} of each component count
    options : all options of the kernel
    seed : seed of all randomness
    cursor : pass and round of the run
    text : tokeniser settings of the training corpus, or None
    history : one dict per pass or score
    document_state : what the kernel remembers about the documents it saw, or None
    """

    method: Method
    params: Params
    axes: dict[str, Vocabulary]
    components: dict[str, int]
    options: dict[str, Any]
    seed: int = 0
    cursor: Cursor = field(default_factory=Cursor)
    text: dict[str, Any] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    document_state: DocumentState | None = None

    @property
    def n_components(self) -> int:
        """In the literature K; the first of several component counts."""
        return self.components[self.method.model.components[0]]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the history of the phase that the model is in."""
        return [row for row in self.history if row.get("phase", "") == self.method.phase]

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the word axis."""
        return self.axes["word"]

    @property
    def doc_topic_prior(self) -> np.ndarray:
        """The current prior, float64 (n_components,); 1 / n_components in a model without one."""
        n = self.n_components
        if DOC_TOPIC_PRIOR not in self.params.arrays:
            return np.full(n, 1 / n)
        return self.estimate(DOC_TOPIC_PRIOR).first_row()

    @property
    def shares_without_words(self) -> np.ndarray | None:
        """Shares of topics in a document without a known word, float64 (n_components,); None with a single topic."""
        return None if self.n_components == 1 else self.doc_topic_prior / self.doc_topic_prior.sum()

    @property
    def known_share(self) -> float:
        """Share of the tokens of the training texts whose word passed limits such as min_df."""
        return float((self.text or {}).get("known_share", 1.0)) or 1.0

    @property
    def left_out(self) -> frozenset[str]:
        """Words that the training texts were left without: stop words, and those that were too common or named."""
        return left_out(self.text)

    @property
    def dropped_share(self) -> float | None:
        """Of the statistics of sparse rows, the share that was dropped, of the array with most; None without such."""
        arrays = self.params.arrays.values()
        return max((a.dropped_share for a in arrays if isinstance(a, SparseArray)), default=None)

    @property
    def topic_words(self) -> LazyArray:
        """The array of the topics' weights over the words, as it learns. Raises like `topic_words_name`."""
        return self.params[self.topic_words_name]

    @property
    def topic_words_name(self) -> str:
        """Name of the array of `topic_words`.

        Raises
        ------
        ModelError
            When the model has none.
        """
        for name, spec in self.method.model.arrays.items():
            if spec.rows in ("word", "column") and spec.normalised_over == "axis":
                return name
        raise ModelError(f"model {self.method.model.name!r} has no distributions over words")

    def estimate(self, name: str) -> LazyArray:
        """The array that inference, evaluation and users read: a copy with its mean where the method averages."""
        return mean_of(self.params.arrays, name)

    def estimates(self) -> dict[str, LazyArray]:
        """The arrays of the model, each as `estimate` gives it."""
        return {name: self.estimate(name) for name in self.method.model.arrays}

    def hyper(self, **options: Any) -> Hyper:
        """The hyper-parameters of the kernel during learning, without those in the params."""
        return Hyper(
            np.zeros(0),
            self.n_components,
            {**self.options, **options},
            components=self.components,
            doc_topics=False,
            statistics=tuple(self.method.load_kernel().statistics),
            begun=self.method.begun,
        )

    def load_inference(self) -> Kernel:
        """The kernel that infers the topics of documents: the method's, or the one that learns where topics are sparse
        and the method's reads dense rows."""
        kernel, arrays = self.method.load_inference(), self.params.arrays
        sparse = any(arrays[name].is_sparse for name in kernel.views if name in arrays)
        chosen = isinstance(self.method.inference, Kernel)
        reads_lists = "sparse_mean" in kernel.views.values()
        return kernel if chosen or not sparse or reads_lists else self.method.load_kernel()

    def inference_hyper(self) -> Hyper:
        """The same for the inference kernel: its options, with the model's values for those they share."""
        kernel = self.load_inference()
        known = {name: value for name, value in self.options.items() if name in kernel.options}
        options = {**kernel.options, **known, **({"bound": False} if "bound" in kernel.options else {})}
        return self.hyper()._replace(options=options, doc_topics=True, statistics=())

    def id_maps(self, corpus: Any) -> dict[str, np.ndarray | None]:
        """For each axis the model's id of each id of a corpus, -1 unknown; None where they agree."""
        maps = {"word": self.word_map(corpus.vocabulary)}
        if "author" in self.axes and corpus.author_vocabulary is not None:
            maps["author"] = mapping(corpus.author_vocabulary, self.axes["author"], "authors")
        return maps

    def word_map(self, vocabulary: Vocabulary) -> np.ndarray | None:
        """The model's id of each word of another vocabulary (-1 unknown); None when the ids agree.

        Raises
        ------
        VocabularyMismatch
            When words have no names and the widths differ.
        """
        return mapping(vocabulary, self.vocabulary)

    def remembered(self, part: int, start: int, stop: int) -> State:
        """What the kernel remembers about documents start:stop of a part of its last training corpus.

        Returns
        -------
        {array name: (n_entries, ...), (n_tokens, ...) or (n_docs, ...)}; in stored order. Entries and tokens that the
        kernel has not seen have the value that it declares for them

        Raises
        ------
        ModelError
            When the kernel remembers nothing, or its document state is not with this model: see `DocumentState`.
        """
        if self.document_state is None:
            raise ModelError(f"method {self.method.name!r} remembers nothing about documents")
        return self.document_state.read(part, start, stop, self.cursor)

    def topic_source(self, labels: Sequence[str | None] | None = None) -> ModelTopics:
        return ModelTopics(self, labels)


class ModelTopics:
    """The topics as probabilities, by rows: the interface of a model for evaluation.

    Of a model with `mixing`, topics are mixtures of its distributions over words.

    labels : what people call the topics, (n_components,), None for a topic without a label; or None
    """

    def __init__(self, model: TopicModel, labels: Sequence[str | None] | None = None) -> None:
        self.labels = labels
        self._topic_words = model.estimate(model.topic_words_name)
        mixing = model.method.model.mixing
        self._mixed = None if mixing is None else model.estimate(mixing)
        self._mixing: np.ndarray | None = None
        if self._mixed is not None:  # weights of the mixtures, (n_components, distributions over words)
            self._mixing = self._mixed.gather(None)[:, : self._mixed.n_components].astype(np.float64)
        self.n_components = model.n_components
        self.doc_topic_prior = model.doc_topic_prior
        self.vocabulary = model.vocabulary
        self.known_share, self.left_out = model.known_share, model.left_out
        self.n_words = len(model.vocabulary)

    @property
    def weights(self) -> np.ndarray:
        """Weight of each topic, prior included, in tokens for most methods: float64 (n_components,)."""
        return self._topic_words.weight_totals() if self._mixing is None else self._mixing.sum(axis=1)

    def weights_of(self, ids: np.ndarray) -> np.ndarray | None:
        """The weights of these words, prior included, (n_ids, n_components); None of mixtures."""
        words = self._topic_words
        return words.gather(ids)[:, : words.n_components] if self._mixing is None else None

    @cached_property
    def unused(self) -> np.ndarray:
        """Topics that the model does not use, bool (n_components,), see `unused_topics`.

        Of a model with `mixing`, its distributions over words take the place of the words.
        """
        if self._mixed is not None:
            counts = np.concatenate([*count_blocks(self._mixed)]).T
            return unused_topics(counts.sum(axis=0), [counts])
        array, frequency = self._topic_words, self.vocabulary.frequency
        n_tokens = None if frequency is None else float(frequency.sum())
        return unused_topics(array.totals()[: self.n_components], count_blocks(array), n_tokens)

    def lists(self, ids: np.ndarray | None = None) -> Lists | None:
        """The same of these words (all for None) as lists, in place; None where the model has dense rows."""
        words = self._topic_words
        if not isinstance(words, SparseArray) or self._mixing is not None:
            return None
        return mean_lists(words, words.rows_of(ids))

    def gather(self, ids: np.ndarray | None) -> np.ndarray:
        """p(word | topic) of these words, float32 (n_ids, n_components); sums to 1 over all words."""
        words, mixing = self._topic_words, self._mixing
        rows = mean_rows(words, ids)[:, : words.n_components]
        if mixing is None:
            return rows
        topics: np.ndarray = (rows @ (mixing / mixing.sum(axis=1, keepdims=True)).T).astype(np.float32)
        return topics


_BURSTS = 2.0
_CELLS = 1 << 20  # words x topics at once
_CHANCES = 1 << 7  # of so many topics the chance is always computed


def unused_topics(sizes: np.ndarray, blocks: Iterable[Any], n_tokens: float | None = None) -> np.ndarray:
    """Which topics a model does not use, bool (n_components,): few tokens, and the words of the corpus as a whole.

    A model with more topics than its documents need spreads a few tokens over each spare topic: the share that the
    documents' prior gives to every topic. The words of such a topic look like tokens drawn from the corpus at random.
    So may the words of a topic that is used, but has fewer than a few hundred tokens, of tens of thousands of words.
    With n_kv tokens of word v in topic k, prior excluded, n_k = sum_v n_kv, N = sum_k n_k, and the frequencies
    u_v = sum_k n_kv / N, topic k is unused where both hold:

        n_k < N / (2 K)                                                        less than half of an equal share
        sum_v n_kv log(n_kv / m_kv) <= 2 sum_v m_kv log(1 + 1 / m_kv),         m_kv = n_k u_v

    The left side of the second is half of the G statistic (log likelihood ratio) of the topic's words against u. Of n_k
    tokens drawn independently from u, its expectation is at most the sum on the right: for a Poisson variable n of mean
    m, E[n log(n / m)] = m E[log((1 + n) / m)] <= m log((1 + m) / m) by Jensen's inequality. Words come in bursts, so
    that tokens of a few documents vary more than independent ones: hence twice that.

    The first condition counts large topics of common words as used, and all topics of a model that has not learned
    yet. A topic that repeats another one, or a part of it, is used. A method that keeps no sizes of topics (`ml-*`)
    has no unused ones.

    Cost: a logarithm of each statistic above 0 of topics that pass the first condition, and two of each word for each
    of one or two hundred of these topics.

    References: Dunning (1993), "Accurate methods for the statistics of surprise and coincidence"; Church and Gale
    (1995), "Poisson mixtures", for bursts.

    Parameters
    ----------
    sizes : statistics of each topic, prior excluded, float64 (n_components,)
    blocks : the same by word, see `count_blocks`, all words together
    n_tokens : tokens that the model has learned from, to which the statistics are scaled; None where they are tokens
    """
    held = float(sizes.sum())
    unused = sizes < held / (2 * len(sizes))
    few = np.flatnonzero(unused)
    if not len(few):
        return unused
    surprise, of_words = np.zeros(len(sizes)), []
    scale = (n_tokens or held) / held
    for block in blocks:
        of_block, words, topics, counts = _entries(block, unused)
        mean, counts = of_block[words] / held * sizes[topics] * scale, counts * scale
        ratio = np.divide(counts, mean, out=np.ones_like(mean), where=mean > 0)
        surprise += np.bincount(topics, counts * np.log(ratio), minlength=len(sizes))
        of_words.append(of_block)
    u = np.concatenate(of_words) / held * scale
    unused[few] = _is_chance(surprise[few], sizes[few], u)
    return unused


def _entries(block: Any, unused: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Statistics of the words of a block, and those above 0 of the topics that may be unused: words, topics, counts."""
    if isinstance(block, np.ndarray):
        counts = np.maximum(block, 0.0)  # rounding may leave less
        few = np.flatnonzero(unused)
        words, own = np.nonzero(counts[:, few])
        return counts.sum(axis=1), words, few[own], counts[words, few[own]]
    words = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    kept = unused[block.indices] & (block.data > 0)
    return block.sum(axis=1), words[kept], block.indices[kept], block.data[kept]


def _is_chance(surprise: np.ndarray, sizes: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Whether the surprise of topics of these sizes is at most what chance gives. That grows with the size: it is
    computed for some topics, and for others only where these leave it open."""
    order = np.argsort(sizes)
    known = np.append(order[:: max(1, len(order) // _CHANCES)], order[-1])
    chances = _BURSTS * _chance(sizes[known], u)
    at = np.searchsorted(sizes[known], sizes)  # the first that is not smaller
    is_chance = surprise <= chances[np.maximum(at - 1, 0)]
    is_open = np.flatnonzero(~is_chance & (surprise <= chances[at]))
    is_chance[is_open] = surprise[is_open] <= _BURSTS * _chance(sizes[is_open], u)
    return is_chance


def _chance(sizes: np.ndarray, u: np.ndarray) -> np.ndarray:
    """sum_v m_v log(1 + 1 / m_v), m_v = size u_v, of each size."""
    from scipy.special import xlogy

    chances, step = np.empty(len(sizes)), max(1, _CELLS // len(u))
    for start in range(0, len(sizes), step):
        mean = np.outer(sizes[start : start + step], u)
        chances[start : start + step] = (xlogy(mean, mean + 1) - xlogy(mean, mean)).sum(axis=1)
    return chances


def count_blocks(array: LazyArray) -> Iterator[Any]:
    """The statistics of an array, prior excluded, in blocks of rows: float64 (n, n_components) each, of sparse rows a
    `csr_array`."""
    n = array.n_components
    if isinstance(array, SparseArray):
        for _, block in array.raw.csr_blocks(_CELLS):
            block.data = block.data * array.scale[block.indices]
            yield block
        return
    step = max(1, _CELLS // n)
    for start in range(0, array.n_rows, step):
        yield array.raw[start : start + step, :n] * array.scale[:n]
