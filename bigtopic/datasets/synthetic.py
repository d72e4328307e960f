"""Documents drawn from latent Dirichlet allocation itself, in memory or as a bag-of-words file of any size.

    topics_k ~ Dirichlet(topic_word_prior),  theta_d ~ Dirichlet(doc_topic_prior)
    length_d ~ Poisson(mean_length);  per token: z ~ theta_d, w ~ topics_z

A topic is stored as 2^16 word slots filled in proportion to its Dirichlet draw, so that a token costs one
table look-up; the `components` returned are the shares of those slots, that is, exactly what was drawn from.
Documents are drawn in chunks of 4096, each with its own random stream: the same seed, the same corpus.

References
----------
Blei, Ng, Jordan: Latent Dirichlet allocation. JMLR 3 (2003), section 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from bigtopic.errors import SettingError

__all__ = ["SyntheticCorpus", "lda_corpus", "write_bag_of_words"]

_SLOTS = 1 << 16
_CHUNK = 4096


class SyntheticCorpus(NamedTuple):
    """Documents and the truth they were drawn from.

    counts : csr_array (n_docs, n_words) float32
    components : (n_components, n_words) float64, rows sum to 1
    doc_topics : (n_docs, n_components) float64, rows sum to 1
    """

    counts: csr_array
    components: np.ndarray
    doc_topics: np.ndarray


def lda_corpus(
    n_docs: int,
    n_words: int,
    n_components: int,
    *,
    mean_length: float = 100.0,
    doc_topic_prior: float = 0.1,
    topic_word_prior: float = 0.05,
    seed: int = 0,
) -> SyntheticCorpus:
    """A corpus drawn from LDA, in memory, with its true topics.

    Parameters
    ----------
    n_docs, n_words, n_components : sizes
    mean_length : mean tokens per document (Poisson; a document may be empty)
    doc_topic_prior, topic_word_prior : symmetric Dirichlet parameters
    seed : of everything random

    Returns
    -------
    SyntheticCorpus

    Raises
    ------
    SettingError
        When a size or prior is not positive.

    Examples
    --------
    >>> from bigtopic.datasets import lda_corpus
    >>> lda_corpus(100, 50, 3).counts.shape
    (100, 50)
    """
    draw = _Drawing(n_docs, n_words, n_components, mean_length, doc_topic_prior, topic_word_prior, seed)
    chunks = list(draw.chunks())
    counts = vstack([counts for counts, _ in chunks], format="csr")
    return SyntheticCorpus(counts, draw.components(), np.concatenate([theta for _, theta in chunks]))


def write_bag_of_words(
    path: str | Path,
    n_docs: int,
    n_words: int,
    n_components: int,
    *,
    mean_length: float = 100.0,
    doc_topic_prior: float = 0.1,
    topic_word_prior: float = 0.05,
    seed: int = 0,
) -> int:
    """Write the same corpus as a UCI bag-of-words file (`docword`), one chunk in memory at a time.

    Parameters
    ----------
    path : file to write; the other parameters are those of `lda_corpus`

    Returns
    -------
    int
        Non-zeros written.

    Raises
    ------
    SettingError
        When a size or prior is not positive.
    """
    from bigtopic.datasets._kernels import bag_of_words_lines

    draw = _Drawing(n_docs, n_words, n_components, mean_length, doc_topic_prior, topic_word_prior, seed)
    n_written = first = 0
    with Path(path).open("wb") as file:
        file.write(_header(n_docs, n_words, 0))
        for counts, _ in draw.chunks():
            file.write(bag_of_words_lines(counts, first))
            n_written += counts.nnz
            first += counts.shape[0]
        file.seek(0)
        file.write(
            _header(n_docs, n_words, n_written)
        )  # of fixed width, written again once the figure is known
    return n_written


def _header(n_docs: int, n_words: int, n_nonzero: int) -> bytes:
    return f"{n_docs}\n{n_words}\n{n_nonzero:012d}\n".encode()


class _Drawing:
    """The settings and the topics of one corpus."""

    def __init__(
        self,
        n_docs: int,
        n_words: int,
        n_components: int,
        mean_length: float,
        doc_topic_prior: float,
        topic_word_prior: float,
        seed: int,
    ) -> None:
        settings = {key: value for key, value in locals().items() if key not in ("self", "seed", "settings")}
        for name, value in settings.items():
            if not value > 0:
                raise SettingError(f"{name}: must be greater than 0, found {value!r}")
        self.n_docs, self.n_words, self.n_components = n_docs, n_words, n_components
        self.mean_length, self.doc_topic_prior, self.seed = mean_length, doc_topic_prior, seed
        rng = np.random.default_rng([seed, 0])
        self.slots = np.stack([self._topic_slots(rng, topic_word_prior) for _ in range(n_components)])

    def _topic_slots(self, rng: np.random.Generator, topic_word_prior: float) -> np.ndarray:
        weights = rng.standard_gamma(topic_word_prior, self.n_words)
        counts = rng.multinomial(_SLOTS, weights / weights.sum())
        return np.repeat(np.arange(self.n_words, dtype=np.int32), counts)

    def components(self) -> np.ndarray:
        """Equivalent to the normalised histogram of each topic's slots."""
        return np.stack([np.bincount(row, minlength=self.n_words) / _SLOTS for row in self.slots])

    def chunks(self) -> Iterator[tuple[csr_array, np.ndarray]]:
        """Counts and doc_topics of 4096 documents at a time."""
        for start in range(0, self.n_docs, _CHUNK):
            rng = np.random.default_rng([self.seed, 1, start])
            yield self._documents(rng, min(_CHUNK, self.n_docs - start))

    def _documents(self, rng: np.random.Generator, n_docs: int) -> tuple[csr_array, np.ndarray]:
        theta = rng.dirichlet(np.full(self.n_components, self.doc_topic_prior), n_docs)
        per_topic = rng.multinomial(rng.poisson(self.mean_length, n_docs), theta)
        topics = np.repeat(np.tile(np.arange(self.n_components), n_docs), per_topic.ravel())
        words = self.slots[topics, rng.integers(0, _SLOTS, len(topics))]
        documents = np.repeat(np.arange(n_docs), per_topic.sum(axis=1))
        cells, counts = np.unique(documents * self.n_words + words, return_counts=True)
        indptr = np.searchsorted(cells, np.arange(n_docs + 1) * self.n_words)
        parts = (counts.astype(np.float32), (cells % self.n_words).astype(np.int32), indptr)
        return csr_array(parts, shape=(n_docs, self.n_words)), theta
