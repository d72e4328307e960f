"""`update`: a model goes on with the documents that were appended to its corpus since."""

from __future__ import annotations

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import InputError, ModelError, SettingError

HERE = {"client": False, "n_threads": 1, "progress": False}
BEFORE = [f"river bank boat water flood w{i % 7}" for i in range(400)]
SINCE = [f"market stock money trade bank v{i % 5}" for i in range(150)]


def lda(**settings):
    sizes = {"max_iter": 2, "batch_size": 50, "random_state": 1}
    return bt.LDA(3, method="online-cvb0", **sizes, **HERE, **settings)


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "c.zarr"
    bt.ingest(BEFORE, path, max_df=1.0, client=False, progress=False)
    return path


def append(store, texts=SINCE):
    return bt.append(store, texts, client=False, progress=False)


def test_only_the_new_documents_are_learned_from(store, tmp_path):
    lda().fit(store).save(tmp_path / "m.zarr")
    corpus = append(store)
    updated, by_hand = (bt.load_model(tmp_path / "m.zarr").set_params(**HERE) for _ in range(2))
    updated.update(store)
    by_hand.partial_fit(corpus.select(rows=np.arange(400, 550)))
    np.testing.assert_array_equal(updated.components_, by_hand.components_)
    assert updated.n_docs_seen_ == 550
    known = updated._fitted().vocabulary
    seen = dict(zip(known[:], known.frequency, strict=True))
    assert seen == dict(zip(corpus.vocabulary[:], corpus.vocabulary.frequency, strict=True))


@pytest.mark.parametrize("validation", [None, 0.2])
def test_every_document_is_new_once(store, validation):
    model = lda(validation=validation).fit(store)
    with pytest.raises(InputError, match="no new documents: the model has learned from all 400 of"):
        model.update(store)
    append(store)
    model.update(store)
    topics = model.components_
    with pytest.raises(InputError, match="no new documents: the model has learned from all 550 of"):
        model.update(store)
    np.testing.assert_array_equal(model.components_, topics)
    append(store, SINCE[:60])
    seen = model.n_docs_seen_
    assert model.update(store).n_docs_seen_ == seen + 60


def test_documents_of_partial_fit_are_no_longer_new(store):
    model = lda().fit(store)
    corpus = append(store)
    model.partial_fit(corpus.select(rows=np.arange(400, 550)))
    with pytest.raises(InputError, match="no new documents"):
        model.update(corpus)


def test_words_of_all_documents_are_counted_once(store):
    model = lda().fit(store).update(store, only_new=False, max_iter=1)
    assert model.n_docs_seen_ == 400 and model.n_iter_ == 3
    more = append(store)
    model.update(store, only_new=False)
    known = model._fitted().vocabulary
    seen = dict(zip(known[:], known.frequency, strict=True))
    assert seen == dict(zip(more.vocabulary[:], more.vocabulary.frequency, strict=True))


def test_a_batch_method_learns_from_all(store):
    model = bt.LDA(3, method="vb", max_iter=2, random_state=1, **HERE).fit(store)
    corpus = append(store)
    model.update(store, max_iter=3)
    assert model.n_docs_seen_ == 550 and model.n_iter_ == 5
    assert model.run_["counts"]["n_docs"] == 3 * corpus.n_docs


def test_another_corpus_has_no_new_documents_until_it_is_said(store, tmp_path):
    model = lda().fit(store)
    other = bt.ingest(SINCE, tmp_path / "other.zarr", client=False, progress=False)
    with pytest.raises(
        SettingError, match=r"learned from the corpus at .*c.zarr, not from the corpus at .*other"
    ):
        model.update(other)
    assert model.update(other, first_new=0).n_docs_seen_ == 550
    with pytest.raises(SettingError, match="max_iter=0"):
        model.update(other, first_new=0, max_iter=0)


def test_a_corpus_that_was_replaced_is_refused(store):
    model = lda().fit(store)
    model.run_["corpus"]["documents"] = 300  # as if the corpus had had so many in these rows
    with pytest.raises(InputError, match="has other documents than the 300 that the model learned from"):
        model.update(store)


@pytest.mark.parametrize("only_new", [True, False])
@pytest.mark.parametrize("n_replaced", [1, 60])
@pytest.mark.parametrize("method", ["vb", "cgs", "cvb0", "ilr", "svi"])
def test_documents_that_were_replaced_are_not_counted_beside_those_that_replace_them(
    method, n_replaced, only_new, tmp_path
):
    path, names = tmp_path / "c.zarr", [str(number) for number in range(60)]
    bt.ingest(BEFORE[:60], path, ids=names, max_df=1.0, client=False, progress=False)
    model = bt.LDA(2, method=method, max_iter=2, random_state=1, **HERE).fit(path)
    since = {"ids": names[:n_replaced], "on_duplicate": "replace", "client": False, "progress": False}
    bt.append(path, SINCE[:n_replaced], **since)
    topics = model.components_
    if model._fitted().document_state is not None:
        with pytest.raises(ModelError, match="does not belong to the earlier documents of this corpus"):
            model.update(path, only_new=only_new)
        np.testing.assert_array_equal(model.components_, topics)
        return
    streams = method == "svi" and only_new
    assert model.update(path, only_new=only_new).n_docs_seen_ == (60 + n_replaced if streams else 60)


def test_a_record_without_rows_counts_documents(store):
    model = lda().fit(store)
    del model.run_["corpus"]["rows"]
    append(store)
    assert model.update(store).n_docs_seen_ == 550
