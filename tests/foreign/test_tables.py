"""Models as pandas tables and as topicwizard's data."""

from __future__ import annotations

import numpy as np
import pytest

from bigtopic import foreign
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import InputError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.ingestion.ingest import ingest


def test_tables_have_the_names_of_words_and_documents(ours, halves):
    corpus = from_matrix(halves[1].matrix, halves[1].words, ids=[f"d{i}" for i in range(100)])
    topics, documents = foreign.to_pandas(ours, corpus)
    np.testing.assert_array_equal(topics.to_numpy(), ours.get_topics())
    np.testing.assert_array_equal(documents.loc["d7"], ours.transform(corpus)[7])
    assert topics.columns.tolist() == halves[0].words and topics.index.name == "topic"
    assert documents.shape == (100, 4) and foreign.to_pandas(ours).doc_topics is None


def test_topicwizard_gets_what_its_topic_data_has(ours, halves):
    """Keys and shapes of topicwizard 1.1's `TopicData`."""
    given = foreign.to_topicwizard(ours, halves[1].corpus, texts=[f"text {i}" for i in range(100)])
    assert {key: np.shape(given[key]) for key in given if key != "transform"} == {
        "corpus": (100,),
        "vocab": (80,),
        "document_term_matrix": (100, 80),
        "document_topic_matrix": (100, 4),
        "topic_term_matrix": (4, 80),
        "document_representation": (100, 80),
        "topic_names": (4,),
    }
    np.testing.assert_array_equal(given["document_term_matrix"].toarray(), halves[1].matrix.toarray())
    assert given["topic_names"] == ours.topic_labels_


def test_topicwizard_gets_the_words_of_the_model(ours, halves):
    names = [*halves[1].words[:70], *(f"new{i}" for i in range(10))]
    given = foreign.to_topicwizard(ours, from_matrix(halves[1].matrix, names))
    expected = halves[1].matrix.toarray()
    expected[:, 70:] = 0
    np.testing.assert_array_equal(given["document_term_matrix"].toarray(), expected)
    assert given["corpus"][3] == "3"


def test_topicwizard_shows_texts(tmp_path):
    texts = ["cats and dogs", "dogs and birds", "birds and cats"]
    model = LDA(2, method="online-cvb0", max_iter=1, client=False).fit(texts)
    given = foreign.to_topicwizard(model, texts)
    assert given["corpus"] == texts and given["transform"](["dogs"]).shape == (1, 2)
    stored = ingest(texts, tmp_path / "texts.zarr", keep_text=True, progress=False)
    assert foreign.to_topicwizard(model, stored)["corpus"] == texts
    tokens = [text.split() for text in texts]
    assert foreign.to_topicwizard(model, tokens)["corpus"] == texts
    records = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts)]
    assert foreign.to_topicwizard(model, records)["corpus"] == ["d0", "d1", "d2"]
    with pytest.raises(InputError, match="has 2, but there are 3"):
        foreign.to_topicwizard(model, texts, texts=texts[:2])


def test_a_table_for_regressions_has_columns_topics_and_their_deviations(tmp_path):
    texts = ["cats and dogs", "dogs", "", "birds and cats and more birds"]
    records = [{"id": f"d{i}", "text": text, "year": 2000 + i} for i, text in enumerate(texts)]
    corpus = ingest(records, tmp_path / "texts.zarr", min_df=1, max_df=1.0, progress=False, client=False)
    model = LDA(2, method="vb", max_iter=3, client=False, progress=False, doc_topic_prior=0.4).fit(corpus)
    table = foreign.to_regression(model, corpus)
    assert table.index.tolist() == ["d0", "d1", "d2", "d3"] and table["year"].tolist() == [
        2000,
        2001,
        2002,
        2003,
    ]
    topics, tokens = model.transform(corpus), table["tokens"]
    assert tokens.tolist() == [3, 1, 0, 6]
    np.testing.assert_allclose(table["topic_1"], topics[:, 1], rtol=1e-6)
    # of gamma, of which the topics are the mean: n_tokens + K alpha
    gamma = topics * (tokens.to_numpy() + 0.8)[:, None]
    rest = gamma.sum(axis=1) - gamma[:, 0]
    variance = gamma[:, 0] * rest / (gamma.sum(axis=1) ** 2 * (gamma.sum(axis=1) + 1))
    np.testing.assert_allclose(table["topic_0_sd"], np.sqrt(variance), rtol=1e-5)
    assert "year" not in foreign.to_regression(model, corpus, columns=[])
    records = [{"text": "cats", "topic_0": 1}, {"text": "dogs cats", "topic_0": 2}]
    named = ingest(records, tmp_path / "b.zarr", min_df=1, max_df=1.0, progress=False, client=False)
    with pytest.raises(SettingError, match="column 'topic_0' has the name of another one"):
        foreign.to_regression(model, named)


def test_xarray_gets_labels_words_ids_and_columns(tmp_path):
    pytest.importorskip("xarray")
    records = [{"id": f"d{i}", "text": "cats dogs", "year": i, "word": "w"} for i in range(3)]
    corpus = ingest(records, tmp_path / "a.zarr", min_df=1, max_df=1.0, progress=False, client=False)
    model = (
        LDA(2, method="vb", max_iter=2, client=False, progress=False)
        .fit(corpus)
        .set_topic_labels({0: "pets"})
    )
    found = foreign.to_xarray(model, corpus)
    np.testing.assert_array_equal(found["topic_words"], model.get_topics())
    np.testing.assert_array_equal(found["doc_topics"].sel(document="d1"), model.transform(corpus)[1])
    assert found["label"].values[0] == "pets" and found["year"].values.tolist() == [0, 1, 2]
    assert found["word_"].dims == ("document",) and "doc_topics" not in foreign.to_xarray(model)


def test_datamapplot_gets_places_and_labels(ours, halves):
    given = foreign.to_datamapplot(ours, halves[1].corpus)
    topics, labels = ours.transform(halves[1].corpus), np.array(ours.topic_labels_)
    assert given["data_map_coords"].shape == (100, 2)
    assert given["labels"].tolist() == labels[topics.argmax(axis=1)].tolist()


@pytest.mark.parametrize(
    "name", ["to_pandas", "to_regression", "to_xarray", "to_datamapplot", "to_topicwizard"]
)
def test_models_of_other_libraries_are_refused_with_the_function_that_reads_them(name, halves):
    decomposition = pytest.importorskip("sklearn.decomposition")
    theirs = decomposition.LatentDirichletAllocation(2, max_iter=1).fit(halves[1].matrix)
    message = (
        r"^model: LatentDirichletAllocation is .*; give a fitted LDA.* bigtopic\.foreign\.from_sklearn\(model"
    )
    with pytest.raises(SettingError, match=message):
        getattr(foreign, name)(theirs, halves[1].corpus)
    with pytest.raises(SettingError, match=r"^model: int is .* such as .*bigtopic\.foreign\.from_gensim"):
        getattr(foreign, name)(5, halves[1].corpus)
