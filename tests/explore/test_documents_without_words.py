"""Documents without a word that the model knows are listed, but count for no topic, and not in shares."""

import numpy as np
import pytest

import bigtopic as bt

QUIET = {"client": False, "n_threads": 1, "progress": False}


@pytest.fixture(scope="module")
def others(records):
    """The same documents, and some of which the model knows no word."""
    unknown = [{**records[i], "id": f"other-{i}", "text": "zebra" * (i % 2)} for i in range(1, 41)]
    return [*records, *unknown]


@pytest.fixture(params=[None, 1, 2])
def two(request, explored, model, asked, others, tmp_path):
    """A client for all documents, and one for those with known words."""
    every = bt.ingest(others, tmp_path / "every.zarr", keep_text=True, max_df=1.0, **QUIET)
    clients = []
    for name, corpus in (("every", every), ("known", asked)):
        theta = model.transform_to(corpus, tmp_path / f"{name}-theta.zarr", top_k=request.param)
        clients.append(explored(model, corpus, theta))
    return clients


def test_answers_are_those_of_the_other_documents(two):
    every, known = two
    for merged in (False, True):
        if merged:
            for exploration in two:
                exploration.client.edit("merge", topics=[1, 3])
                exploration.explorer.wait()
        found, wanted = (exploration.client.answer("model") for exploration in two)
        for one, other in zip(found["topics"], wanted["topics"], strict=True):
            assert one["share"] == pytest.approx(other["share"], abs=1e-7)
            k = one["topic"]
            for asked, query in (
                (f"topic/{k}/time", {"freq": "year"}),
                (f"topic/{k}/groups", {"column": "kind"}),
            ):
                one, other = (exploration.client.answer(asked, **query) for exploration in two)
                assert (one.get("groups"), one["n"]) == (other.get("groups"), other["n"])
                np.testing.assert_allclose(one["share"], other["share"], atol=1e-7)
                np.testing.assert_allclose(one["error"], other["error"], atol=1e-7)
            assert len({exploration.client.answer("documents", topic=k)["n"] for exploration in two}) == 1
    assert every.client.answer("model")["n_docs"] == known.client.answer("model")["n_docs"] + 40


def test_they_have_no_topics(two):
    every, _ = two
    document = every.client.answer("document", id="other-1")
    assert document["topics"] == []
    (listed,) = every.client.answer("documents", q="other-1", n=1)["documents"]
    assert listed["topics"] == []
