"""The subject of measures: topics, and documents in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.fold_in import fold_in, local_docs, topic_rows, word_map
from bigtopic.evaluation.source import TopicSource, labels_of, topics_of
from bigtopic.types import Block, Docs

__all__ = ["Documents", "Inference", "Subject"]

_MAX_ITER, _TOLERANCE = 100, 1e-3


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and the documents it is measured on; what follows from them is computed on demand.

    Attributes
    ----------
    model, vocabulary, doc_topic_prior : see `topics_of`; some measures also accept lists of words
    documents : None for measures of topics alone
    train : the documents that the model learned from, if the caller gave them
    """

    model: Any
    documents: Corpus | None = None
    vocabulary: Any = None
    doc_topic_prior: Any = None
    train: Corpus | None = None

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
        return Inference(self.source, word_map(self.corpus, self.source), self.corpus.n_words)


@dataclass(frozen=True, eq=False)
class Inference:
    """The topics of a corpus' documents by the fold-in of every model. Picklable for workers.

    source : the topics
    id_map : the model's id of each word of the corpus, int32 (n_words,), -1 unknown; None when they agree
    n_words : of the corpus
    """

    source: TopicSource
    id_map: np.ndarray | None
    n_words: int

    def known(self, block: Block) -> tuple[Docs, np.ndarray]:
        """Documents of the words the model knows, and the model's ids of these words. See `local_docs`."""
        return local_docs(block, self.n_words, self.id_map)


class Documents:
    """One block of documents as measures see it; what several of them need is computed once.

    Attributes
    ----------
    block : `Block` with the word ids of the corpus
    """

    def __init__(self, block: Block, inference: Inference | None) -> None:
        self.block = block
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
        """Posterior mean of the topics of each document, float32 (n_docs, n_components)."""
        inference = self._inferring()
        rows = topic_rows(inference.source, self.ids)
        return fold_in(self.docs, rows, inference.source, _MAX_ITER, _TOLERANCE)

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
            raise SettingError("a measure that looks at documents' topics must declare doc_topics=True")
        return self._inference
