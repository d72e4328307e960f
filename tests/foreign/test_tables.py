"""Models as pandas tables and as topicwizard's data."""

from __future__ import annotations

import numpy as np
import pytest

from bigtopic import foreign
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import InputError
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
