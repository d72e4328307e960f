"""Documents with text, dates, groups and authors, and models of any number of topics of them."""

from functools import cache

import pytest

import bigtopic as bt
from bigtopic import plots
from bigtopic.datasets import lda_corpus

QUIET = {"client": False, "n_threads": 1, "progress": False}


def record(row, number):
    """Documents of six years, one of which has none, with an author or two of nine."""
    words = [f"word{word}" for word, n in enumerate(row) for _ in range(int(n))]
    year = 1999 + number % 7
    return {
        "id": f"d{number}",
        "text": " ".join(words),
        "date": None if year == 2002 or number % 11 == 0 else f"{year}-{number % 12 + 1:02}-15",
        "kind": ["long", "short", "other"][number % 3],
        "authors": [f"author {number % 9}", f"author {number % 5}"][: 1 + (number % 9 != number % 5)],
    }


@pytest.fixture(scope="session")
def records():
    counts = lda_corpus(300, 60, 5, mean_length=30, random_state=3).counts
    return [record(row, number) for number, row in enumerate(counts.toarray())]


@pytest.fixture(scope="session")
def documents(records, tmp_path_factory):
    path = tmp_path_factory.mktemp("documents") / "documents.zarr"
    return bt.ingest(records, path, keep_text=True, max_df=1.0, **QUIET)


@pytest.fixture(scope="session")
def learnt(documents):
    """Gives a model of so many topics, of a kind that this plot can be drawn of."""

    @cache
    def fit(n_components, with_authors):
        if with_authors:
            return bt.AuthorTopicModel(n_components, max_iter=2, random_state=0, **QUIET).fit(documents)
        settings = {"method": "online-cvb0", "max_iter": 2, "validation": 0.1, "random_state": 0}
        return bt.LDA(n_components, **settings, **QUIET).fit(documents)

    return lambda n_components, plot="topics": fit(n_components, "authors" in plots.load(plot).needs)


@pytest.fixture(scope="session")
def few(learnt):
    return learnt(2)


@pytest.fixture(scope="session")
def many(learnt):
    return learnt(200)


@pytest.fixture(params=["few", "many"])
def model(request):
    return request.getfixturevalue(request.param)
