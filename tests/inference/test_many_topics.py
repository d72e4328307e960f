"""Topics of documents under a model whose topics are lists: by candidates, and the same in slices of any size."""

import pickle

import numpy as np
import pytest
from many import N_TOPICS, corpus_of_many, dense_twin, fit_sparse

import bigtopic as bt
from bigtopic.estimators.topic_stores.contents import sparse_topics
from bigtopic.inference import infer as module
from bigtopic.inference.infer import inferring, topics_of_block, work_of


@pytest.fixture(scope="module")
def corpus():
    return corpus_of_many()


@pytest.fixture(scope="module")
def model(corpus):
    return fit_sparse(corpus)


def test_the_kernel_that_learns_infers_where_the_methods_own_reads_dense_rows(model):
    learned = model._fitted()
    assert learned.method.load_inference().name == "cvb0"
    assert (
        learned.load_inference().name == "sparse_cvb0" and "candidates" in learned.inference_hyper().options
    )
    assert dense_twin(model)._fitted().load_inference().name == "cvb0"
    assert inferring(learned, "cvb0").load_inference().name == "cvb0"
    assert inferring(learned, options={"candidates": 3}).inference_hyper().options["candidates"] == 3


def test_a_kernel_of_all_topics_gives_the_topics_of_dense_rows(model, corpus):
    found = model.transform(corpus, inference="cvb0")
    np.testing.assert_allclose(found, dense_twin(model).transform(corpus), atol=1e-4)
    assert np.abs(found - model.transform(corpus)).max() > 0.01


@pytest.mark.parametrize("inference", [None, "cvb0"])
@pytest.mark.parametrize("n_docs", [1, 7, 1000])
def test_slices_change_no_bit(n_docs, inference, model, corpus, monkeypatch):
    known = model.transform(corpus, inference=inference, order="stored")
    sizes, run = [], module._doc_topics

    def watched(block, *rest):
        sizes.append(block.n_docs)
        return run(block, *rest)

    monkeypatch.setattr(module, "_doc_topics", watched)
    if inference is None:
        monkeypatch.setattr(module, "_TOPICS", n_docs * N_TOPICS)
    else:
        monkeypatch.setattr(module, "_ROWS", int(n_docs * N_TOPICS * corpus.nnz / corpus.n_docs))
    found = model.transform(corpus, inference=inference, order="stored")
    assert found.tobytes() == known.tobytes()
    assert max(sizes) <= n_docs and sum(sizes) == corpus.n_docs
    chosen = inferring(model._fitted(), inference)
    block = corpus.parts[0].read(0, 100)
    assert (
        topics_of_block(block, chosen.estimates(), work_of(chosen, corpus)).tobytes() == known[:100].tobytes()
    )


@pytest.mark.parametrize("order", ["source", "stored"])
def test_sparse_topics_are_those_of_the_array_without_making_it(order, model, corpus, monkeypatch):
    shuffled = bt.from_matrix(corpus.to_scipy(), corpus.vocabulary, shuffle=True)
    known = model.transform(shuffled, order=order)
    monkeypatch.setattr(module, "_TOPICS", 9 * N_TOPICS)
    monkeypatch.setattr(type(model), "_doc_topics", None)
    found = model.transform(shuffled, sparse=True, min_probability=0.02, top_k=5, order=order)
    indptr, indices, data = sparse_topics(known, 0.02, 5)
    assert found.shape == known.shape
    for values, expected in ((found.indptr, indptr), (found.indices, indices), (found.data, data)):
        np.testing.assert_array_equal(values, expected)
    assert model.transform(corpus.select(rows=[]), sparse=True).shape == (0, N_TOPICS)


def test_what_is_kept_for_each_topic_follows_the_array(model, corpus):
    other = pickle.loads(pickle.dumps(model))
    before = other.transform(corpus)
    assert before.tobytes() == model.transform(corpus).tobytes()
    other.partial_fit(corpus)
    after = other.transform(corpus)
    assert (
        after.tobytes() == pickle.loads(pickle.dumps(other)).transform(corpus).tobytes() != before.tobytes()
    )
    array = other._fitted().topic_words
    array.set_prior(array.prior * 50)
    assert other.transform(corpus).tobytes() != after.tobytes()


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_of_a_lazy_array_are_made_in_slices(sparse, model, corpus, monkeypatch):
    known = model.transform(corpus, sparse=sparse)
    monkeypatch.setattr(module, "_TOPICS", 7 * N_TOPICS)
    found = model.transform(corpus, sparse=sparse, lazy=True).compute()
    assert type(found) is type(known) and found.shape == known.shape
    assert (found != known).sum() == 0
