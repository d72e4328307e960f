"""One corpus for all libraries: what they learn from, and what all models are scored on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.estimators.lda import LDA


class Documents(NamedTuple):
    """Documents as the libraries take them."""

    matrix: csr_matrix
    words: list[str]

    @property
    def bags(self) -> list[list[tuple[int, int]]]:
        rows = (self.matrix[i] for i in range(self.matrix.shape[0]))
        return [list(zip(row.indices.tolist(), row.data.astype(int).tolist(), strict=True)) for row in rows]

    @property
    def tokens(self) -> list[list[str]]:
        return [[self.words[i] for i, n in bag for _ in range(n)] for bag in self.bags]

    @property
    def corpus(self) -> Corpus:
        return from_matrix(self.matrix, self.words, random_state=0)


@pytest.fixture(scope="session")
def halves(synthetic) -> tuple[Documents, Documents]:
    """200 documents to learn from, 100 to go on with or to score."""
    counts, words = csr_matrix(synthetic.counts), [f"w{i}" for i in range(80)]
    return Documents(counts[:200], words), Documents(counts[200:], words)


@pytest.fixture(scope="session")
def tomotopy() -> ModuleType:
    """Its compiled modules warn when they are imported, and are then said not to exist."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tomotopy
    return tomotopy


@pytest.fixture(scope="session")
def ours(halves) -> LDA:
    return LDA(4, method="online-cvb0", max_iter=3, client=False, progress=False).fit(halves[0].corpus)


@pytest.fixture(scope="session")
def counted(halves) -> LDA:
    """Its statistics are whole tokens, of every word at least one: libraries know words by their tokens."""
    matrix, words = halves[0]
    seen = np.flatnonzero(matrix.sum(axis=0))
    corpus = from_matrix(matrix[:, seen], [words[v] for v in seen], random_state=0)
    settings = {"doc_topic_prior": 0.2, "topic_word_prior": 0.05, "client": False, "progress": False}
    return LDA(4, method="cgs", max_iter=5, random_state=0, **settings).fit(corpus)


@pytest.fixture(scope="session")
def score(halves) -> Callable[..., float]:
    """Nats per held-out token of a model, by document completion."""
    from bigtopic.evaluation import log_predictive

    held_out = halves[1].corpus
    return lambda model, **known: log_predictive(model, held_out, client=False, n_threads=1, **known).value
