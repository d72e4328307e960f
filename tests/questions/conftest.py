"""Documents with text, authors and columns of all types, their model, and their topics in stores of either order."""

import numpy as np
import pytest
import zarr

import bigtopic as bt

AUTHORS = [["ann"], ["bob", "cy"], [], ["ann", "bob", "cy"]]


def record(row, number):
    words = [word for word, n in enumerate(row) for _ in range(int(n))]
    return {
        "id": f"doc-{number}",
        "text": " ".join(f"w{word}" for word in words),
        "authors": AUTHORS[number % 4],
        "year": 1996 + number % 7,
        "date": f"{1996 + number % 7}-{number % 12 + 1:02}-{number % 28 + 1:02}" if number % 10 else None,
        "kind": ["long", "short"][number % 2],
        "score": number / 7 if number % 9 else None,
    }


@pytest.fixture(scope="session")
def records(synthetic):
    return [record(row, number) for number, row in enumerate(synthetic.counts.toarray())]


@pytest.fixture(scope="session")
def asked(records, tmp_path_factory):
    """The corpus, with its text."""
    path = tmp_path_factory.mktemp("asked") / "corpus.zarr"
    settings = {"client": False, "n_threads": 1, "progress": False}
    return bt.ingest(records, path, keep_text=True, max_df=1.0, **settings)


@pytest.fixture(scope="session")
def model(asked):
    return bt.LDA(4, method="online-cvb0", max_iter=5, client=False, n_threads=1, progress=False).fit(asked)


@pytest.fixture(scope="session", params=["source", "stored"])
def theta(request, model, asked, tmp_path_factory):
    path = tmp_path_factory.mktemp("theta") / "theta.zarr"
    return model.transform_to(asked, path, order=request.param, min_probability=0.05)


@pytest.fixture(scope="session")
def dense(theta):
    """The shares in the store, float64 (n_docs, n_components), rows sum to 1, in the source's order."""
    group = zarr.open_group(theta, mode="r")
    x, rows = group["X"], np.zeros(group["X"].attrs["shape"])
    for i, (a, b) in enumerate(zip(x["indptr"][:-1], x["indptr"][1:], strict=True)):
        rows[i, x["indices"][a:b]] = x["data"][a:b]
    rows /= rows.sum(axis=1, keepdims=True)
    return rows[np.argsort(group["obs/source_row"][:])]
