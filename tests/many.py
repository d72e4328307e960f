"""A model whose topics are lists, and the same model with dense rows: every question has the same answer."""

import copy

import pytest

import bigtopic as bt
from bigtopic.datasets import lda_corpus
from bigtopic.state import new_model
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.sparse.array import SparseArray

N_WORDS, N_TOPICS = 300, 60
SETTINGS = {
    "method": "sparse-cvb0",
    "batch_size": 20,
    "max_iter": 4,
    "options": {"candidates": 8},
    "random_state": 3,
}


def corpus_of_many():
    """Documents of 150 words and their columns."""
    counts = lda_corpus(400, N_WORDS, 10, mean_length=60.0, random_state=1).counts
    return bt.from_matrix(counts, [f"w{i:03}" for i in range(N_WORDS)])


def fit_sparse(corpus, n_topics=N_TOPICS):
    """An LDA whose topics are lists."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new_model, "SPARSE_FROM", 8)
        model = bt.LDA(n_topics, progress=False, client=False, n_threads=1, **SETTINGS).fit(corpus)
    assert isinstance(model._fitted().topic_words, SparseArray)
    return model


def sparse_and_dense(corpus):
    """A model whose topics are lists, and its twin."""
    model = fit_sparse(corpus)
    return model, dense_twin(model)


def dense_twin(model):
    """The same model with dense rows."""
    twin = copy.deepcopy(model)
    arrays = twin._fitted().params.arrays
    array = arrays["topic_words"]
    dense = LazyArray.zeros(array.n_rows, array.n_components, axis=array.axis, prior=float(array.prior[0, 0]))
    dense.raw[:], dense.scale[:] = array.raw[:], array.scale
    dense.fold()
    arrays["topic_words"] = dense
    assert twin.topic_source().lists() is None and model.topic_source().lists() is not None
    return twin
