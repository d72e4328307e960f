"""Documents with text, dates, groups and awkward ids, their model, their topics, and an exploration of them."""

import json
from contextlib import closing
from functools import cache
from http.client import HTTPConnection
from types import SimpleNamespace
from urllib.parse import urlencode, urlsplit

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.explore import Exploration, Explorer, index_of, listening_at
from bigtopic.explore.edits import SavedModel

AWKWARD = {5: 'a/b "c"\nd', 6: "id'); DROP TABLE documents; --", 7: "ä%_*?&=#", 8: "-1"}
PAGE = "<!doctype html><title>x</title><script>let a = 1</script>"
QUIET = {"client": False, "n_threads": 1, "progress": False}


def record(row, number):
    words = [word for word, n in enumerate(row) for _ in range(int(n))]
    return {
        "id": AWKWARD.get(number, f"doc-{number}"),
        "text": " ".join(f"w{word}" for word in words) + (" Ending “here” & < there." if number % 3 else ""),
        "year": 1996 + number % 7,
        "date": f"{1996 + number % 7}-{number % 12 + 1:02}-{number % 28 + 1:02}" if number % 10 else None,
        "kind": ["long", "short", "a=b"][number % 3],
        "score": number / 7 if number % 9 else None,
    }


@pytest.fixture(scope="session")
def records(synthetic):
    return [record(row, number) for number, row in enumerate(synthetic.counts.toarray())]


@pytest.fixture(scope="session")
def asked(records, tmp_path_factory):
    """The corpus, with its text."""
    path = tmp_path_factory.mktemp("explored") / "corpus.zarr"
    return bt.ingest(records, path, keep_text=True, max_df=1.0, **QUIET)


@pytest.fixture(scope="session")
def model(asked):
    return bt.LDA(5, method="online-cvb0", max_iter=5, **QUIET).fit(asked)


@pytest.fixture(scope="session")
def stores(model, asked, tmp_path_factory):
    """Topics of the documents, by the order in which they are stored."""
    folder = tmp_path_factory.mktemp("theta")

    @cache
    def store(order):
        return model.transform_to(asked, folder / f"{order}.zarr", order=order, min_probability=0.02)

    return store


@pytest.fixture(scope="session", params=["source", "stored"])
def theta(request, stores):
    return stores(request.param)


@pytest.fixture(scope="session")
def dense(theta):
    """Shares in the store, float64 (n_docs, n_components), rows sum to 1, by source row."""
    store = bt.open_topics(theta)
    rows = np.zeros((len(store), store.n_components))
    for start, batch in store.batches():
        for i in range(len(batch.indptr) - 1):
            own = slice(*batch.indptr[i : i + 2])
            rows[start + i, batch.topics[own]] = batch.shares[own]
    return rows[np.argsort(store.documents.rows(order="stored"))]


@pytest.fixture(scope="session")
def index_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("indexes")


class Client:
    """A browser that has entered."""

    def __init__(self, exploration):
        self.address = urlsplit(exploration.url)
        answer = self.request("GET", f"/?{self.address.query}")
        assert (answer.status, answer.headers["Location"]) == (302, "/")
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]

    def request(self, method, path, body=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(HTTPConnection("127.0.0.1", self.address.port, timeout=30)) as connection:
            connection.request(method, path, body, {"Cookie": getattr(self, "cookie", ""), **named})
            answer = connection.getresponse()
            return SimpleNamespace(status=answer.status, headers=answer.headers, body=answer.read())

    def answer(self, path, status=200, **query):
        found = self.request("GET", f"/api/{path}?{urlencode(query, doseq=True)}")
        assert found.status == status, found.body
        return json.loads(found.body)

    def refused(self, path, **query):
        return self.answer(path, 400, **query)["error"]

    def edit(self, name, status=200, **body):
        found = self.request("POST", f"/api/{name}", json.dumps(body), X_Bigtopic="1")
        assert found.status == status, found.body
        return json.loads(found.body)


@pytest.fixture
def explored(index_folder):
    """Begin an exploration of a model, a corpus and topics; `client` of what is returned asks it."""
    begun = []

    def explore(model, corpus, theta, model_path=None, folder=index_folder):
        opened = index_of(
            model, corpus, theta, lambda url: bt.open_topics(url).of_model(model._fitted()), folder
        )
        saved = None if model_path is None else SavedModel(model, model_path)
        explorer = Explorer(model, opened, title="T <1>", saved=saved)
        exploration = Exploration(explorer, listening_at(0), PAGE)
        exploration.client = Client(exploration)
        exploration.explorer = explorer
        begun.append(exploration)
        return exploration

    yield explore
    for exploration in begun:
        exploration.close()


@pytest.fixture
def exploration(explored, model, asked, theta):
    """A new one, over an index that is there."""
    return explored(model, asked, theta)


@pytest.fixture
def client(exploration):
    return exploration.client
