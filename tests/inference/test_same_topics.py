"""A document has the same topics, to the bit, whatever else is asked for with it and wherever it is inferred."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import BigtopicWarning, InputError, SettingError
from bigtopic.inference import infer
from bigtopic.inference.infer import keyed_by_content
from bigtopic.methods.table import TABLE
from bigtopic.plan import slices
from bigtopic.types import Docs

pytestmark = pytest.mark.battery
QUIET = {"n_threads": 1, "client": False, "progress": False}
CHEAPER = {"splda": {"batch_size": 20}}
METHODS = {method.name: method for method in TABLE}
# So many topics that compiled loops need several vectors for them; once for each kernel that infers.
WIDE = {method.load_inference().name: method.name for method in TABLE}
CASES = [*[(name, 5) for name in METHODS], *[(name, 70) for name in WIDE.values()]]


def records(n: int = 90, n_words: int = 150, seed: int = 3) -> list[dict]:
    """Documents of one to some hundred words, with one to three authors; the last ones are copies of the first."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(n_words)])
    found = []
    for i in range(n):
        drawn = rng.choice(words, 1 + int(rng.gamma(0.7, 60)), p=rng.dirichlet(np.full(n_words, 0.1)))
        names = rng.choice([f"author {a}" for a in range(12)], 1 + i % 3, replace=False)
        found.append({"id": f"d{i}", "text": " ".join(drawn), "authors": names.tolist()})
    return [*found, *({**found[i], "id": f"copy{i}"} for i in range(5))]


RECORDS = records()


@cache
def fitted(name: str, n_components: int):
    method = METHODS[name]
    settings = {"method": name, "max_iter": 1, "random_state": 1, **QUIET, **CHEAPER.get(name, {})}
    if "author_topics" in method.model.arrays:
        return bt.AuthorTopicModel(n_components, **settings).fit(RECORDS[:60])
    if len(method.model.components) > 1:
        return bt.DualTopicModel(n_components, n_components, **settings).fit(RECORDS[:60])
    return bt.LDA(n_components, **settings).fit(RECORDS[:60])


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def model(request):
    model = fitted(*request.param)
    yield model
    model.set_params(**QUIET)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The documents on disk among others, whose words come first and whose author is in front."""
    others = [
        {"id": f"x{i}", "text": "other words " * 9 + "w7", "authors": ["nobody", "author 3"]}
        for i in range(200)
    ]
    path = tmp_path_factory.mktemp("corpora") / "stored.zarr"
    return bt.ingest([*others, *RECORDS], path, stop_words=None, max_df=1.0, progress=False, client=False)


def test_alone_in_a_batch_reversed_repeated_and_on_two_threads(model, monkeypatch):
    topics = model.transform(RECORDS)
    assert len(np.unique(topics, axis=0)) > 40
    np.testing.assert_array_equal(topics[-5:], topics[:5])
    np.testing.assert_array_equal(model.transform(RECORDS[::-1])[::-1], topics)
    np.testing.assert_array_equal(model.transform([*RECORDS[40:], *RECORDS])[-len(RECORDS) :], topics)
    for i in range(0, len(RECORDS), 7):
        np.testing.assert_array_equal(model.transform([RECORDS[i]])[0], topics[i])
    monkeypatch.setattr(slices, "SLICE_ENTRIES", 512)  # several slices
    model.set_params(n_threads=2)
    np.testing.assert_array_equal(model.transform(RECORDS), topics)


def test_on_disk_with_other_words_and_other_ids(model, stored):
    with pytest.warns(BigtopicWarning, match="unknown to the model"):
        topics = model.transform(stored)[200:]
    np.testing.assert_array_equal(topics, model.transform(RECORDS))


@pytest.mark.distributed
@pytest.mark.parametrize("names", [WIDE.values(), pytest.param([*METHODS], marks=pytest.mark.slow)])
def test_on_workers_of_a_client(names, stored, three_workers, monkeypatch):
    monkeypatch.setattr(slices, "SLICE_ENTRIES", 512)
    monkeypatch.setattr(infer, "READ_BLOCK_SLICES", 2)
    for name in names:
        model = fitted(name, 5)
        here = model.transform(RECORDS)
        with pytest.warns(BigtopicWarning, match="unknown to the model"):
            there = model.set_params(client=three_workers).transform(stored)
        model.set_params(**QUIET)
        np.testing.assert_array_equal(there[200:], here, err_msg=name)


def test_another_random_state_gives_other_draws():
    drawing = set()
    for kernel, name in WIDE.items():
        model = fitted(name, 5)
        topics = model.transform(RECORDS)
        np.testing.assert_array_equal(model.transform(RECORDS, random_state=0), topics)
        other = model.transform(RECORDS, random_state=7)
        if (other != topics).any():
            drawing.add(kernel)
            np.testing.assert_array_equal(other[::-1], model.transform(RECORDS[::-1], random_state=7))
    assert drawing == {"ope", "gibbs", "gibbs_expected_log"}


@pytest.mark.parametrize("random_state", [None, 0.5, "1", True])
def test_a_random_state_that_is_none_is_refused(random_state):
    with pytest.raises(SettingError, match=r"random_state=.*give a whole number"):
        fitted("online-ope", 5).transform(RECORDS, random_state=random_state)


def test_documents_without_known_words_have_the_prior_mean(model):
    with pytest.warns(BigtopicWarning, match="100% of the tokens are unknown"):
        topics = model.transform([{"text": "nothing known"}])
    alone = model.transform([*RECORDS, {"text": ""}])[-1:]
    np.testing.assert_array_equal(topics, alone)
    np.testing.assert_allclose(topics[0], 1 / topics.shape[1], rtol=1e-6)


def test_what_authors_say_of_a_document_does_not_depend_on_the_others(stored):
    model = fitted("author-vb", 5)
    likely, ranked = model.log_likelihood(RECORDS), model.predict_authors(RECORDS)
    np.testing.assert_array_equal(model.log_likelihood(RECORDS[::-1])[::-1], likely)
    assert model.predict_authors(RECORDS[::-1])[::-1] == ranked
    for i in range(0, len(RECORDS), 7):
        assert model.log_likelihood([RECORDS[i]])[0] == likely[i]
        assert model.predict_authors([RECORDS[i]])[0] == ranked[i]
    own = stored.select(rows=np.arange(200, 200 + len(RECORDS)))
    np.testing.assert_array_equal(model.log_likelihood(own), likely)
    assert model.predict_authors(own) == ranked


def test_rows_of_a_matrix_and_weights(model):
    """The same documents as columns in two orders, one of which has words that no model knows."""
    texts = model._documents(RECORDS)
    if model._fitted().method.load_inference().name == "author_documents":
        pytest.skip("matrices have no authors")
    words = texts.vocabulary.words
    order = np.random.default_rng(0).permutation(len(words))
    counts = texts.to_scipy()
    plain = from_matrix(counts, words)
    mixed = from_matrix(counts[:, order], words[order])
    topics = model.transform(RECORDS)
    np.testing.assert_array_equal(model.transform(plain), topics)
    np.testing.assert_array_equal(model.transform(mixed), topics)


def test_keys_are_functions_of_the_content_alone():
    """Neither of ids of the slice, nor of the order of entries and authors; each count, word and author matters."""

    def keys(*documents):
        indptr = np.cumsum([0, *(len(words) for words, _, _ in documents)])
        authors = np.cumsum([0, *(len(who) for _, _, who in documents)])
        ids = [word for words, _, _ in documents for word in words]
        distinct, words = np.unique(np.array(ids, np.int32), return_inverse=True)
        counts = np.array([n for _, counts, _ in documents for n in counts], np.float32)
        who = np.array([a for _, _, who in documents for a in who], np.int32)
        rows = np.arange(len(documents)) + 17
        docs = Docs(indptr, words, counts, rows, len(distinct), authors, who, 9)
        keyed = keyed_by_content(docs, {"word": distinct, "author": np.arange(9, dtype=np.int32)})
        assert [keyed.source_row(d) for d in range(len(documents))] == rows.tolist()
        return keyed.rows

    first, same, *others = keys(
        ([3, 7], [1, 2], [4, 5]),
        ([7, 3], [2, 1], [5, 4]),
        ([3, 7], [2, 1], [4, 5]),
        ([3, 7], [1, 2.5], [4, 5]),
        ([3, 7], [1, 2], [4]),
        ([3, 7], [1, 2], []),
        ([3, 8], [1, 2], [4, 5]),
        ([3], [1], [4, 5]),
        ([], [], []),
    )
    assert first == same and len({first, *others}) == 8 and min(first, *others) >= 0
    assert keys(([100, 2], [1, 1], []), ([7, 3], [2, 1], [5, 4]))[1] == first


def test_messages_name_the_row_in_the_source():
    model = fitted("online-cgs", 5)
    counts = np.ones((4, len(model.vocabulary_)))
    counts[2, 1] = 0.5
    with pytest.raises(InputError, match=r"document 2 has a count of 0\.5"):
        model.transform(counts)
