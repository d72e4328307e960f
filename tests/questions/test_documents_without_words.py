"""Documents without a word that the model knows count for no topic, and not in means."""

import numpy as np
import pytest

import bigtopic as bt

QUIET = {"client": False, "n_threads": 1, "progress": False}
N_KNOWN, N_UNKNOWN = 60, 25


def records():
    rng = np.random.default_rng(0)
    for number in range(N_KNOWN):
        first = 10 * (number % 3)
        words = [f"w{first + word}" for word in rng.integers(0, 10, 30)]
        yield {"id": f"doc-{number}", "text": " ".join(words), "year": str(2000 + number % 4)}
    for number in range(N_UNKNOWN):
        yield {"id": f"other-{number}", "text": "zebra" if number % 2 else "", "year": str(2000 + number % 4)}


@pytest.fixture(scope="module", params=["symmetric", "asymmetric"])
def answers(request, tmp_path_factory):
    """Models, corpora and stores: of all documents, and of those with known words."""
    folder = tmp_path_factory.mktemp("without-words")
    every = list(records())
    known = bt.ingest(every[:N_KNOWN], folder / "known.zarr", max_df=1.0, **QUIET)
    every = bt.ingest(every, folder / "all.zarr", max_df=1.0, **QUIET)
    prior = {"asymmetric": [0.4, 0.1, 0.2]}.get(request.param)
    model = bt.LDA(3, method="vb", max_iter=5, doc_topic_prior=prior, random_state=0, **QUIET).fit(known)
    assert every.n_docs == N_KNOWN + N_UNKNOWN
    return model, known, every, folder


@pytest.fixture(params=[None, 1, 2, 3])
def asked(request, answers):
    """Where all documents are, and where the known ones are: corpora, or stores with so many topics of each."""
    model, known, every, folder = answers
    if request.param is None:
        return model, {"X": every}, {"X": known}
    stores = []
    for name, corpus in (("every", every), ("known", known)):
        path = folder / f"{name}-{request.param}.zarr"
        model.transform_to(corpus, path, top_k=request.param, overwrite=True)
        stores.append({"theta": path})
    return model, *stores


def by_document(found, name):
    return {"documents": sorted(zip(found["document"], np.round(found[name], 5), strict=True))}


def test_answers_are_those_of_the_other_documents(asked):
    model, every, known = asked
    for question in (
        lambda where: {} if "X" in where else model.topic_info(**where),
        lambda where: model.topics_over("year", **where),
        lambda where: model.topic_correlation(**where),
        lambda where: by_document(model.documents(0, n=100, **where), "share"),
        lambda where: by_document(model.document_map(**where), "topic"),
    ):
        found, wanted = question(every), question(known)
        assert list(found) == list(wanted)
        for name in found:
            own, other = np.asarray(found[name]), np.asarray(wanted[name])
            if own.dtype.kind == "f":
                np.testing.assert_allclose(own, other, atol=1e-6)
            else:
                assert own.tolist() == other.tolist(), name


def test_one_topic_has_all_documents(answers, tmp_path):
    """Every document has the shares of the prior."""
    _, _, every, _ = answers
    model = bt.LDA(1, method="vb", max_iter=1, **QUIET).fit(every)
    theta = model.transform_to(every, tmp_path / "theta.zarr")
    assert model.topic_info(theta=theta)["n_documents"][0] == every.n_docs
    for where in ({"X": every}, {"theta": theta}):
        assert len(model.document_map(**where)["topic"]) == every.n_docs
