"""`bigtopic similar`: documents of the same subject."""

import json

import pytest

from .conftest import SUBJECTS, run


@pytest.fixture(scope="module")
def theta(model, corpus, tmp_path_factory):
    path = tmp_path_factory.mktemp("similar") / "theta.zarr"
    run("infer", model, corpus, path)
    return path


@pytest.mark.parametrize("measure", ["hellinger", "cosine", "jensen-shannon"])
@pytest.mark.parametrize("query", ["d1", " ".join(SUBJECTS["music"])])
def test_documents_of_the_same_subject(model, theta, query, measure):
    wanted = ("similar", model, theta, query, "--n-documents", 20, "--measure", measure)
    found = json.loads(run(*wanted, "--json").output)
    scores = [one["score"] for one in found]
    assert len(found) == 20 and scores == sorted(scores, reverse=True)
    assert all(int(one["document"].removeprefix("d")) % 2 == 1 for one in found) and found[0]["score"] > 0.9
    assert found[0]["document"] in run(*wanted).output.splitlines()[0]


def test_mistakes(model, corpus, theta):
    assert "choose one of hellinger" in run("similar", model, theta, "d1", "--measure", "l2", code=2).output
    assert "no store of topics" in run("similar", model, corpus, "d1", code=2).output
    assert "is not a document of" in run("similar", model, theta, "d9999", code=2).output
