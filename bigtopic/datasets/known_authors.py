"""Documents drawn from a known author-topic model, block by block, in memory or for `ingest`.

    topics_k   as in `bigtopic.datasets.synthetic`, with Zipf exponent 1
    theta_a    four topics with probability 1/4 each; a topic drawn twice has twice the probability
    author_d   one of each of `authors_per_doc` ranges of authors, the first of a range most often
    length_d   ~ 1 + Poisson(mean_length - 1);  per token: author x ~ authors_d, topic z ~ theta_x, word w ~ topics_z

Reference: Rosen-Zvi, Griffiths, Steyvers, Smyth: The author-topic model for authors and documents. UAI 2004, section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.datasets.synthetic import KnownLDA, check_range, check_settings
from bigtopic.errors import SettingError, argument
from bigtopic.types import Block

__all__ = ["KnownAuthors"]

_TOPICS_OF_AUTHOR = 4


@dataclass(frozen=True)
class KnownAuthors:
    """An author-topic model whose topics and authors are known.

    Parameters
    ----------
    n_words, n_authors, n_components : sizes
    authors_per_doc : of every document
    mean_length : mean tokens per document, at least 1
    random_state : seed of topics, authors and documents

    Raises
    ------
    SettingError
        When a size is not a whole number of at least 1, `mean_length` is less than 1, there are fewer authors than a
        document has, or `random_state` is not a whole number.

    Examples
    --------
    >>> truth = KnownAuthors(n_words=50, n_authors=20, n_components=3)
    >>> truth.corpus(100).n_docs, truth.author_topics_.shape
    (100, (20, 3))
    """

    n_words: int
    n_authors: int
    n_components: int
    authors_per_doc: int = 4
    mean_length: float = 100
    random_state: int = 0

    def __post_init__(self) -> None:
        check_settings(self)
        if self.mean_length < 1:
            raise SettingError(f"{argument('mean_length', self.mean_length)}: must be 1 or more")
        if self.authors_per_doc > self.n_authors:
            raise SettingError(
                f"{argument('authors_per_doc', self.authors_per_doc)}: must be at most "
                f"{argument('n_authors', self.n_authors)}"
            )

    @property
    def components_(self) -> np.ndarray:
        """The topics: (n_components, n_words) float64, rows sum to 1."""
        seed = self.random_state
        return KnownLDA(self.n_words, self.n_components, zipf_exponent=1.0, random_state=seed).components_

    @property
    def author_topics_(self) -> np.ndarray:
        """p(topic | author): (n_authors, n_components) float64, rows sum to 1."""
        shares = np.zeros((self.n_authors, self.n_components))
        np.add.at(
            shares, (np.arange(self.n_authors)[:, None], _topics_of_authors(self)), 1 / _TOPICS_OF_AUTHOR
        )
        return shares

    def corpus(self, n_docs: int, first: int = 0) -> Corpus:
        """A block of documents in memory, with their authors.

        The same `n_docs` and `first` give the same documents, other ones independent documents. For a corpus larger
        than memory, `ingest` the blocks one after the other with `append=True`.

        Parameters
        ----------
        n_docs : documents of the block
        first : number of its first document, its row in the source

        Raises
        ------
        SettingError
            When `n_docs` is not a whole number greater than 0, or `first` not one of 0 or more.
        """
        check_range(n_docs, first)
        words, authors = (
            Vocabulary([f"{kind}{i}" for i in range(n)])
            for kind, n in (("w", self.n_words), ("a", self.n_authors))
        )
        return Corpus([MemoryPart("drawn", self._block(n_docs, first))], words, author_vocabulary=authors)

    def perplexity(self, n_docs: int, first: int = 0) -> float:
        """Of the same documents, given their authors, under this model: exp(-mean log p(word | authors)).

        Raises
        ------
        SettingError
            As `corpus`.
        """
        check_range(n_docs, first)
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
        check_range(n_docs, first)
        rng = np.random.default_rng([n_docs, first, self.random_state % (1 << 64)])
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
    rng = np.random.default_rng([truth.n_authors, truth.random_state % (1 << 64)])
    return rng.integers(0, truth.n_components, (truth.n_authors, _TOPICS_OF_AUTHOR))


@lru_cache(maxsize=1)
def _cumulative(truth: KnownAuthors) -> np.ndarray:
    """Running sums of the topics, float64 (n_components, n_words)."""
    return np.cumsum(truth.components_, axis=1)


def _words(truth: KnownAuthors, rng: np.random.Generator, topics: np.ndarray) -> np.ndarray:
    """A word for each token, given its topic."""
    words, uniform = np.empty(len(topics), np.int32), rng.random(len(topics))
    order = np.argsort(topics, kind="stable")
    ends = np.searchsorted(topics[order], np.arange(truth.n_components + 1))
    for sums, start, stop in zip(_cumulative(truth), ends[:-1], ends[1:], strict=True):
        own = order[start:stop]
        words[own] = np.searchsorted(sums, uniform[own] * sums[-1], side="right")
    return np.minimum(words, truth.n_words - 1)
