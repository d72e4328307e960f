"""The subject of measures, topics and documents in blocks, and the one pass over a corpus that serves all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.errors import OR_NONE, InputError, SettingError, argument
from bigtopic.evaluation.source import FLOOR, TopicSource, labels_of, topics_of
from bigtopic.evaluation.sparse.lists import lists_of
from bigtopic.inference.infer import topics_of_block, work_of
from bigtopic.kernels import load
from bigtopic.learning.run import Work
from bigtopic.parallel.cluster import default_threads, resolve_client
from bigtopic.parallel.mapping import bounded_map
from bigtopic.parallel.progress import Progress
from bigtopic.parallel.shared_files import corpus_in_reach
from bigtopic.plan.slices import make_docs
from bigtopic.state.axes import mapping
from bigtopic.state.lazy_array import padded
from bigtopic.state.model import TopicModel
from bigtopic.support.numbers import is_whole
from bigtopic.types import Block, Docs, Hyper, View

__all__ = [
    "CorpusOrPath",
    "Documents",
    "Inference",
    "OwnInference",
    "Subject",
    "checked_threads",
    "documents_of",
    "fold_in",
    "in_source_order",
    "learned_model",
    "over_blocks",
    "slices_of",
    "topic_rows",
    "with_counts",
]


CorpusOrPath = Corpus | str | PathLike[str]

_ENTRIES = 1 << 18
_FEWEST_ENTRIES = 1 << 13
_TOPICS = 1 << 25  # documents x topics of a block: 128 MiB of float32
_ROWS = 1 << 26  # words x topics of a fold-in: 256 MiB
_BLOCKS = 8  # of a small corpus, so that every processor has work


def documents_of(corpus: Any, name: str = "corpus") -> Corpus:
    """A corpus, given as it is or by its path; errors begin with the name of the argument.

    Raises
    ------
    SettingError
        When `corpus` is neither.
    InputError
        When it has no documents.
    """
    if isinstance(corpus, str | PathLike):
        corpus = open_corpus(corpus)
    if hasattr(corpus, "topic_source"):
        raise SettingError(
            f"{argument(name)}: {type(corpus).__name__} is a model; give the model first, then the corpus"
        )
    if not isinstance(corpus, Corpus):
        raise SettingError(
            f"{argument(name)}: {type(corpus).__name__} is not a corpus; pass one, or its path: bigtopic.from_matrix "
            "makes one from a matrix, bigtopic.ingest from anything else"
        )
    if not corpus.n_docs:
        raise InputError(f"{argument(name)}: it has no documents; pass a corpus that has some")
    return corpus


def learned_model(model: Any) -> TopicModel | None:
    """What an estimator of this package has learned; None before `fit`, and of a model of another kind."""
    known = getattr(model, "_model", model)
    return known if isinstance(known, TopicModel) else None


def over_blocks(
    measure: Callable[..., Any],
    corpus: Corpus,
    description: str,
    client: Any = None,
    n_threads: int | None = None,
    texts: bool = False,
    n_components: int = 1,
) -> Iterator[Any]:
    """`measure(block)` for blocks of at most about 260 000 entries that together are the corpus, in stored order.

    With `texts`, it is `measure(block, the documents' texts)`. Workers read their own blocks; `measure` is sent to them
    once. Blocks have fewer documents where these times `n_components` are many.
    """

    client = resolve_client(client)
    workers = {"client": client, "n_threads": checked_threads(n_threads)}
    # never by the number of workers
    n_entries = min(_ENTRIES, max(_FEWEST_ENTRIES, corpus.nnz // _BLOCKS))
    entries_per_doc = max(1.0, corpus.nnz / max(1, corpus.n_docs))
    n_entries = max(1, min(n_entries, int(_TOPICS // n_components * entries_per_doc)))
    with Progress(description, corpus.n_docs, "docs") as progress, corpus_in_reach(client, corpus):
        for n_docs, result in bounded_map(
            _run, corpus.spans(n_entries), shared=(_Task(measure, texts),), name="bt-measure", **workers
        ):
            progress.update(n_docs)
            yield result


def in_source_order(pieces: Iterable[Sequence[np.ndarray]]) -> list[np.ndarray]:
    """The arrays of all pieces, each joined and ordered by source row, of which a piece's first array has those."""
    joined = [np.concatenate(arrays) for arrays in zip(*pieces, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    return [array[order] for array in joined]


def checked_threads(n_threads: Any) -> int:
    """The number of threads, all processors for None.

    Raises
    ------
    SettingError
        When it is not a whole number of at least 1.
    """
    if n_threads is not None and (not is_whole(n_threads) or n_threads < 1):
        raise SettingError(f"{argument('n_threads', n_threads)}: must be a whole number, 1 or more{OR_NONE}")
    return int(n_threads or default_threads())


class _Task:
    """Hides a callable from Dask, which would otherwise take it for a task."""

    def __init__(self, measure: Callable[..., Any], texts: bool) -> None:
        self.measure, self.texts = measure, texts


def _run(task: _Task, span: tuple[Any, int, int]) -> tuple[int, Any]:
    part, start, stop = span
    texts = (part.texts(start, stop),) if task.texts else ()
    return stop - start, task.measure(part.read(start, stop), *texts)


def fold_in(
    docs: Docs, topic_words: np.ndarray, source: TopicSource, max_iter: int = 50, tolerance: float = 0.0
) -> np.ndarray:
    """Posterior mean of the topics of each document, float32 (n_docs, n_components).

    Parameters
    ----------
    docs : word ids are rows of `topic_words`
    topic_words : from `topic_rows`
    max_iter, tolerance : iterations, and the mean change of the Dirichlet parameters below which they stop (0: never)
    """
    kernel = load("vb")
    options = {**kernel.options, "max_doc_update_iter": max_iter, "mean_change_tol": tolerance}
    hyper = Hyper(np.asarray(source.doc_topic_prior, np.float64), source.n_components, options)
    doc_topics = kernel.run(docs, View({"topic_words": topic_words}, {}), hyper, 0, None).doc_topics
    assert doc_topics is not None
    return doc_topics


def slices_of(block: Block, n_components: int) -> Iterator[Block]:
    """The documents of a block in slices of as many entries as there may be rows of topics in memory."""
    most, start = _ROWS // n_components, 0
    while start < block.n_docs:
        stop = int(np.searchsorted(block.indptr, block.indptr[start] + most, side="right")) - 1
        stop = min(max(stop, start + 1), block.n_docs)
        yield block if stop - start == block.n_docs else block[start:stop]
        start = stop


def topic_rows(source: TopicSource, ids: np.ndarray) -> np.ndarray:
    """p(word | topic) of these words, no smaller than 1e-10, with columns of zeros as `padded` says."""

    rows = np.zeros((len(ids), padded(source.n_components)), np.float32)
    np.maximum(source.gather(ids), FLOOR, out=rows[:, : source.n_components])
    return rows


def with_counts(docs: Any, counts: np.ndarray) -> Any:
    """The documents (`Docs` or `Block`) with these counts, without the entries that are zero."""
    kept = counts > 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[docs.indptr]
    return replace(docs, indptr=indptr, words=docs.words[kept], counts=counts[kept])


_MAX_ITER, _TOLERANCE = 100, 1e-3


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and the documents it is measured on; what follows from them is computed on demand.

    Attributes
    ----------
    model, vocabulary, doc_topic_prior : see `topics_of`; some measures also accept lists of words
    documents : None for measures of topics alone
    train : the documents that the model learned from, if the caller gave them
    theta : a store with the topics of documents, or its path, for plots
    """

    model: Any
    documents: Corpus | None = None
    vocabulary: Any = None
    doc_topic_prior: Any = None
    train: Corpus | None = None
    theta: Any = None

    @property
    def corpus(self) -> Corpus:
        """The documents.

        Raises
        ------
        SettingError
            When there are none.
        """
        if self.documents is None:
            raise SettingError(
                f"{argument('corpus')}: a measure of documents needs one; give a corpus, or its path"
            )
        return self.documents

    @cached_property
    def source(self) -> TopicSource:
        """The topics."""
        return topics_of(self.model, self.vocabulary, self.doc_topic_prior)

    @property
    def n_components(self) -> int:
        """Number of topics; some measures also accept lists of words."""
        return len(self.model) if isinstance(self.model, list | tuple) else self.source.n_components

    @property
    def topic_labels(self) -> list[str]:
        """What people call each topic, see `labels_of`; lists of words have no labels."""
        return [] if isinstance(self.model, list | tuple) else labels_of(self.source)

    @property
    def n_words(self) -> int:
        """Size of the vocabulary; of lists of words, the length of the shortest."""
        if isinstance(self.model, list | tuple):
            return min(map(len, self.model), default=0)
        return self.source.n_words

    @cached_property
    def inference(self) -> Inference:
        """How the documents' words become topics."""
        model = learned_model(self.model) if self.doc_topic_prior is None else None
        by_method = None if model is None or lists_of(self.source) is None else self.own_inference
        id_map = mapping(self.corpus.vocabulary, self.source.vocabulary)
        return Inference(self.source, id_map, self.corpus.n_words, by_method=by_method)

    @property
    def own_inference(self) -> OwnInference:
        """How the model's method infers topics of the documents.

        Raises
        ------
        SettingError
            When the model is not a fitted estimator of this package.
        """
        model = learned_model(self.model)
        if model is None:
            raise SettingError(
                f"{argument('inference', 'own')}: {kind_of(self.model)} has no inference that bigtopic knows; "
                f"give a fitted estimator of this package, or use {argument('inference', 'common')}"
            )
        return OwnInference(model.estimates(), work_of(model, self.corpus))


def kind_of(model: Any) -> str:
    """What a model is, for messages: its class, or what it says of itself."""
    return str(getattr(model, "kind", type(model).__name__))


@dataclass(frozen=True, eq=False)
class OwnInference:
    """The topics of documents by the method of a model, as its `transform` infers them. Picklable for workers."""

    arrays: Mapping[str, Any]
    work: Work

    def __call__(self, block: Block, width: int | None = None) -> np.ndarray:
        """float32 (n_docs, width), with columns of zeros after the topics, or none for None; words are the corpus'."""
        topics = topics_of_block(block, self.arrays, self.work)
        if width is None:
            return topics
        found = np.zeros((len(topics), width), np.float32)
        found[:, : topics.shape[1]] = topics
        return found


@dataclass(frozen=True, eq=False)
class Inference:
    """The topics of a corpus' documents by the fold-in of every model. Picklable for workers.

    source : the topics
    id_map : the model's id of each word of the corpus, int32 (n_words,), -1 unknown; None when they agree
    n_words : of the corpus
    by_method : the inference of the model's method, in place of the fold-in, where models are not compared and topics
        are lists: the fold-in visits all topics
    """

    source: TopicSource
    id_map: np.ndarray | None
    n_words: int
    by_method: OwnInference | None = field(default=None, kw_only=True)

    def known(self, block: Block) -> tuple[Docs, np.ndarray]:
        """Documents of the words that the model knows, without authors; its ids of these words, int32 (docs.n_words,).

        In the corpus' order, so that all models are asked for the same tokens.
        """
        without_authors = Block(block.indptr, block.words, block.counts, block.rows)
        docs, axes = make_docs(without_authors, self.n_words, self.id_map, in_order=False)
        ids = axes["word"]
        assert ids is not None
        return docs, ids


class Documents:
    """One block of documents as measures see it; what several of them need is computed once.

    Attributes
    ----------
    block : `Block` with the word ids of the corpus
    texts : object (n_docs,) of str, for measures that declare `texts`
    """

    def __init__(self, block: Block, inference: Inference | None, texts: np.ndarray | None = None) -> None:
        self.block, self.texts = block, texts
        self._inference = inference

    @property
    def docs(self) -> Docs:
        """The documents without the words that the model does not know, and without authors."""
        return self._known[0]

    @property
    def ids(self) -> np.ndarray:
        """The model's ids of the words of `docs`, int32 (docs.n_words,)."""
        return self._known[1]

    @cached_property
    def doc_topics(self) -> np.ndarray:
        """Posterior mean of the topics of each document, float32 (n_docs, n_components).

        By `fold_in`, until the Dirichlet parameters move by less than 0.001 on average, or for 100 iterations; where
        topics are lists, by the model's own method, as `transform` infers them.
        """
        inference = self._inferring()
        if inference.by_method is not None:
            return inference.by_method(self.block)
        found = [
            fold_in(docs, topic_rows(inference.source, ids), inference.source, _MAX_ITER, _TOLERANCE)
            for docs, ids in map(inference.known, slices_of(self.block, inference.source.n_components))
        ]
        return found[0] if len(found) == 1 else np.concatenate(found)

    @cached_property
    def tokens(self) -> np.ndarray:
        """Tokens of each document that the model knows, float64 (n_docs,)."""
        documents = np.repeat(np.arange(self.docs.n_docs), np.diff(self.docs.indptr))
        return np.bincount(documents, weights=self.docs.counts, minlength=self.docs.n_docs)

    @cached_property
    def _known(self) -> tuple[Docs, np.ndarray]:
        return self._inferring().known(self.block)

    def _inferring(self) -> Inference:
        if self._inference is None:
            raise SettingError(
                "a measure that asks for doc_topics, docs, ids or tokens of documents must declare doc_topics=True"
            )
        return self._inference
