"""Documents drawn from a known author-topic model, block by block."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.datasets import KnownLDA
from bigtopic.types import Block

__all__ = ["KnownAuthors"]

_TOPICS_OF_AUTHOR = 4


class KnownAuthors(NamedTuple):
    """An author-topic model: topics with Zipf's word frequencies, and authors of four topics each.

    mean_length : tokens of a document
    authors_per_doc : of every document. Some authors write more than others
    """

    n_words: int
    n_authors: int
    n_components: int
    authors_per_doc: int = 4
    mean_length: int = 100

    def corpus(self, n_docs: int, first: int = 0) -> Corpus:
        """The documents `first` to `first + n_docs - 1`, in memory; the same blocks are the same documents."""
        words, authors = (
            Vocabulary([f"{kind}{i}" for i in range(n)])
            for kind, n in (("w", self.n_words), ("a", self.n_authors))
        )
        return Corpus([MemoryPart("drawn", self._block(n_docs, first))], words, author_vocabulary=authors)

    def perplexity(self, n_docs: int, first: int = 0) -> float:
        """Of the same documents, given their authors, under the model that they are drawn from."""
        block, log_likelihood = self._block(n_docs, first), 0.0
        assert block.authors is not None
        authors = np.reshape(block.authors, (n_docs, self.authors_per_doc))
        topics, sums = _topics_of_authors(self)[authors].reshape(n_docs, -1), _cumulative(self)
        for d, (start, stop) in enumerate(pairwise(block.indptr)):
            words, own = block.words[start:stop], sums[topics[d]]
            below = np.where(words > 0, own[:, np.maximum(words - 1, 0)], 0.0)
            shares = ((own[:, words] - below) / own[:, -1:]).mean(axis=0)
            log_likelihood += float(block.counts[start:stop] @ np.log(shares))
        return float(np.exp(-log_likelihood / block.counts.sum()))

    def _block(self, n_docs: int, first: int) -> Block:
        rng = np.random.default_rng([n_docs, first])
        doc_of = np.repeat(np.arange(n_docs), 1 + rng.poisson(self.mean_length - 1, n_docs))
        authors, place = self._authors(rng, n_docs), rng.integers(0, self.authors_per_doc, len(doc_of))
        own = rng.integers(0, _TOPICS_OF_AUTHOR, len(doc_of))
        topics = _topics_of_authors(self)[authors[doc_of, place], own]
        words = _words(self, rng, topics)
        counts = csr_array((np.ones(len(words), np.float32), (doc_of, words)), (n_docs, self.n_words))
        counts.sum_duplicates()
        ends = self.authors_per_doc * np.arange(n_docs + 1, dtype=np.int64)
        rows = np.arange(first, first + n_docs)
        return Block(
            counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data, rows, ends, authors.ravel()
        )  # fmt: skip

    def _authors(self, rng: np.random.Generator, n_docs: int) -> np.ndarray:
        """int32 (n_docs, authors_per_doc), ascending: one of each range of authors, the first of a range most often."""
        ends = np.linspace(0, self.n_authors, self.authors_per_doc + 1).astype(np.int64)
        drawn = rng.random((n_docs, self.authors_per_doc)) ** 2
        return (ends[:-1] + drawn * np.diff(ends)).astype(np.int32)


@lru_cache(maxsize=1)
def _topics_of_authors(truth: KnownAuthors) -> np.ndarray:
    """(n_authors, 4), each as probable; what is there twice is twice as probable."""
    rng = np.random.default_rng(truth.n_authors)
    return rng.integers(0, truth.n_components, (truth.n_authors, _TOPICS_OF_AUTHOR))


@lru_cache(maxsize=1)
def _cumulative(truth: KnownAuthors) -> np.ndarray:
    """Running sums of the topics, float64 (n_components, n_words)."""
    topics = KnownLDA(truth.n_words, truth.n_components, zipf_exponent=1.0).components_
    return np.cumsum(topics, axis=1)


def _words(truth: KnownAuthors, rng: np.random.Generator, topics: np.ndarray) -> np.ndarray:
    """A word for each token, given its topic."""
    words, uniform = np.empty(len(topics), np.int32), rng.random(len(topics))
    order = np.argsort(topics, kind="stable")
    ends = np.searchsorted(topics[order], np.arange(truth.n_components + 1))
    for sums, start, stop in zip(_cumulative(truth), ends[:-1], ends[1:], strict=True):
        own = order[start:stop]
        words[own] = np.searchsorted(sums, uniform[own] * sums[-1], side="right")
    return np.minimum(words, truth.n_words - 1)
