"""A corpus of documents that authors of known topics wrote, and models of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import bigtopic as bt
from bigtopic.corpus.store import Corpus

sys.path.insert(0, str(Path(__file__).parents[2]))

from reference import signed

K = 5
QUIET = {"client": False, "n_threads": 1, "progress": False}


@pytest.fixture(scope="session")
def truth() -> signed.Truth:
    return signed.drawn(900, 150, 30, K, seed=1)


@pytest.fixture(scope="session")
def corpus(truth: signed.Truth) -> Corpus:
    return signed.corpus_of(truth.docs, n_parts=3)


@pytest.fixture(scope="session", params=["author-vb", "online-author-vb"])
def fitted(request: pytest.FixtureRequest, corpus: Corpus) -> bt.AuthorTopicModel:
    models = [
        bt.AuthorTopicModel(K, method=request.param, random_state=seed, **QUIET).fit(corpus)
        for seed in range(4)
    ]
    return min(models, key=lambda model: model.author_perplexity(corpus))
