"""Whatever `ingest` reads, `fit` takes: topics are those of the same source in a store, to the bit."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.text.stopwords import stop_words
from bigtopic.errors import (
    BigtopicWarning,
    CorpusVersionError,
    InputError,
    ModelError,
    SettingError,
    VocabularyMismatch,
)
from bigtopic.estimators import inputs
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.ingestion.ingest import ingest
from bigtopic.ingestion.job import ENTRY_BYTES
from bigtopic.questions.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:.*stop words:bigtopic.errors.BigtopicWarning")

RNG = np.random.default_rng(0)
CONTENT = [
    f"{stem}{ending}" for stem in ("cat", "rain", "vote", "code") for ending in ("", "er", "ing", "ful")
]
FUNCTION = ["the", "of", "and", "to", "in", "is", "that", "it", "was", "for", "with", "as", "on"]


def _tokens(d: int) -> list[str]:
    own = RNG.choice(CONTENT[4 * (d % 4) : 4 * (d % 4) + 4], 12)
    return [word for pair in zip(own, RNG.choice(FUNCTION, 12), strict=True) for word in pair]


TOKENS = [_tokens(d) for d in range(120)]
TEXTS = [" ".join(tokens).capitalize() + "." for tokens in TOKENS]
RECORDS = [{"id": f"d{i}", "text": text, "year": 2000 + i % 3} for i, text in enumerate(TEXTS)]
DENSE = np.array([[Counter(tokens)[word] for word in CONTENT] for tokens in TOKENS])
IDS = {word: i for i, word in enumerate(reversed(CONTENT))}
PAIRS = [[(IDS[word], n) for word, n in sorted(Counter(t).items()) if word in IDS] for t in TOKENS]


def frame(records=RECORDS):
    return pytest.importorskip("pandas").DataFrame(records)


def dictionary():
    corpora = pytest.importorskip("gensim.corpora")
    known = corpora.Dictionary()
    known.token2id = IDS
    return known


def vectorizer():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    return text.CountVectorizer(stop_words=FUNCTION).fit(TEXTS)


def polars(name):
    return getattr(pytest.importorskip("polars"), name)


def arrow():
    return pytest.importorskip("pyarrow").Table.from_pylist(RECORDS)


def sparse_frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame.sparse.from_spmatrix(sp.csr_array(DENSE), columns=CONTENT)


def triples():
    rows = [
        {"doc": f"d{i}", "word": word, "count": n}
        for i, t in enumerate(TOKENS)
        for word, n in Counter(t).items()
    ]
    return frame(rows)


def dask_frame():
    return pytest.importorskip("dask.dataframe").from_pandas(frame(), npartitions=3)


def dask_counts():
    counts = pytest.importorskip("pandas").DataFrame(DENSE, columns=CONTENT)
    return pytest.importorskip("dask.dataframe").from_pandas(counts, npartitions=3)


def bag(items):
    return pytest.importorskip("dask.bag").from_sequence(items, npartitions=3)


def dataset():
    return pytest.importorskip("datasets.arrow_dataset").Dataset.from_list(RECORDS)


class Exported:
    """A table of a library that is not installed here: all that is known of it is Arrow's interface."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


# name: (source, vocabulary)
TEXT_SOURCES = {
    "texts": lambda: TEXTS,
    "iterator of texts": lambda: iter(TEXTS),
    "records": lambda: RECORDS,
    "pandas table": frame,
    "pandas column": lambda: frame()["text"],
    "Polars table": lambda: polars("DataFrame")(RECORDS),
    "Polars column": lambda: polars("Series")(TEXTS),
    "Arrow table": arrow,
    "Arrow column": lambda: arrow()["text"],
    "Arrow array": lambda: arrow()["text"].combine_chunks(),
    "Arrow batch": lambda: arrow().to_batches()[0],
    "Arrow stream": lambda: arrow().to_reader(max_chunksize=7),
    "Arrow's interface": lambda: Exported(arrow()),
    "Dask table": dask_frame,
    "Dask column": lambda: dask_frame()["text"],
    "Dask bag": lambda: bag(TEXTS),
    "Dask bag of records": lambda: bag(RECORDS),
    "datasets": dataset,
}
OTHER_SOURCES = {
    "tokens": lambda: (TOKENS, None),
    "tokens in a table": lambda: (frame([{"tokens": tokens} for tokens in TOKENS]), None),
    "tokens in a Polars column": lambda: (polars("Series")(TOKENS), None),
    "Dask bag of tokens": lambda: (bag(TOKENS), None),
    "counters": lambda: ([Counter(tokens) for tokens in TOKENS], None),
    "table of triples": lambda: (triples(), None),
    "Arrow table of triples": lambda: (pytest.importorskip("pyarrow").Table.from_pandas(triples()), None),
    "gensim's pairs": lambda: (PAIRS, None),
    "gensim's pairs and Dictionary": lambda: (PAIRS, dictionary()),
    "tokens, words of a vectoriser": lambda: (TOKENS, vectorizer()),
    "texts, words of a vectoriser": lambda: (TEXTS, vectorizer()),
    "matrix, words of a vectoriser": lambda: (vectorizer().transform(TEXTS), vectorizer()),
    "matrix": lambda: (sp.csr_array(DENSE), None),
    "array": lambda: (DENSE, None),
    "table of counts": lambda: (pytest.importorskip("pandas").DataFrame(DENSE, columns=CONTENT), None),
    "sparse table of counts": lambda: (sparse_frame(), None),
    "Polars table of counts": lambda: (polars("DataFrame")(DENSE, schema=CONTENT), None),
    "Arrow table of counts": lambda: (
        pytest.importorskip("pyarrow").table(dict(zip(CONTENT, DENSE.T, strict=True))),
        None,
    ),
    "Dask table of counts": lambda: (dask_counts(), None),
}
SOURCES = {name: lambda make=make: (make(), None) for name, make in TEXT_SOURCES.items()} | OTHER_SOURCES


def model(**settings) -> LDA:
    quick = {"method": "online-cvb0", "max_iter": 2, "random_state": 0, "n_threads": 1, "client": False}
    return LDA(4, **{**quick, **settings})


def same(one: LDA, other: LDA) -> bool:
    words = list(one.vocabulary_) == list(other.vocabulary_)
    return words and one.components_.tobytes() == other.components_.tobytes()


@pytest.fixture(scope="module")
def of_texts():
    """Fitted to the texts, through a store."""
    return model().fit(ingest(TEXTS, "memory://texts-to-infer.zarr"))


@pytest.mark.parametrize("name", SOURCES)
def test_topics_are_those_of_the_same_source_in_a_store(name, of_texts):
    source, vocabulary = SOURCES[name]()
    fitted = model().fit(source, vocabulary=vocabulary)
    if name in TEXT_SOURCES:
        assert same(fitted, of_texts)
    source, vocabulary = SOURCES[name]()
    stored = ingest(source, f"memory://{name.replace(' ', '-')}.zarr", vocabulary=vocabulary, overwrite=True)
    through_store = model().fit(stored)
    assert same(fitted, through_store)
    source, _ = SOURCES[name]()
    topics = np.asarray(fitted.transform(source, vocabulary=vocabulary))  # computes a Dask array
    assert topics.tobytes() == through_store.transform(stored).tobytes()


@pytest.mark.parametrize(
    "name", ["texts", "pandas table", "Arrow stream", "tokens", "gensim's pairs and Dictionary"]
)
def test_a_stream_and_its_score_are_those_of_the_same_source_in_stores(name):
    def parts():
        source, vocabulary = SOURCES[name]()
        settings = {"vocabulary": vocabulary, "shuffle": False, "overwrite": True}
        stored = ingest(source, "memory://part.zarr", **settings)
        return SOURCES[name]()[0], vocabulary, stored

    in_memory, through_stores = model(), model()
    for _ in range(2):
        source, vocabulary, stored = parts()
        in_memory.partial_fit(source, vocabulary=vocabulary)
        through_stores.partial_fit(stored)
    assert same(in_memory, through_stores)
    source, vocabulary, stored = parts()
    assert in_memory.score(source, vocabulary=vocabulary) == through_stores.score(stored)


@pytest.mark.parametrize("name", ["texts", "Arrow stream"])
def test_what_can_be_read_once_is_read_once(name):
    expected = model().fit_transform(SOURCES["texts"]()[0])
    source = SOURCES[name]()[0]
    once = iter(source) if isinstance(source, list) else source
    fitted = model()
    np.testing.assert_array_equal(fitted.fit_transform(once), expected)
    best = Table.of(fitted.documents(1, iter(RECORDS), n=3)).columns
    np.testing.assert_array_equal(best["share"], np.sort(expected[:, 1].astype(float))[::-1][:3])
    years = Table.of(fitted.topics_over("year", iter(RECORDS), topics=0)).columns
    assert sum(years["n_documents"]) == len(RECORDS)


def test_ids_authors_and_columns_come_along():
    signed = [{**record, "authors": [f"a{i % 3}"]} for i, record in enumerate(RECORDS)]
    corpus, stored = (
        inputs.as_corpus(signed, shuffle=True, limited=True),
        ingest(signed, "memory://signed.zarr", overwrite=True),
    )
    assert corpus.authors == stored.authors == ["a0", "a1", "a2"]
    assert corpus.document_ids().tolist() == [record["id"] for record in RECORDS]
    np.testing.assert_array_equal(corpus.read_column("year"), stored.read_column("year"))
    assert corpus.text_settings == stored.text_settings


def test_pairs_without_a_vocabulary_are_columns():
    fitted = model().fit(PAIRS)
    narrow = [[(0, 2), (1, 1)]]
    wide = np.zeros((1, len(IDS)))
    wide[0, :2] = 2, 1
    np.testing.assert_array_equal(fitted.transform(narrow), fitted.transform(wide))
    with pytest.raises(VocabularyMismatch, match="vocabulary="):
        model().fit(TEXTS).transform(PAIRS)


TURNED = [*sorted(IDS, reverse=True), "nowhere"]  # another order than that of the model's words
TURNED_PAIRS = [
    [(TURNED.index(word), n) for word, n in Counter(tokens).items() if word in IDS] for tokens in TOKENS
]


def remembering(first, how):
    if how == "partial_fit":
        return model().partial_fit(TURNED_PAIRS, vocabulary=first)
    fitted = model().fit(TURNED_PAIRS, vocabulary=first)
    if how == "loaded":
        fitted.save("memory://remembers.zarr", overwrite=True)
        return load_model("memory://remembers.zarr")
    return pickle.loads(pickle.dumps(fitted)) if how == "pickled" else fitted


@pytest.mark.parametrize("how", ["fit", "partial_fit", "loaded", "pickled"])
def test_the_vocabulary_of_pairs_is_remembered(how):
    fitted = remembering(iter(TURNED), how)
    assert list(fitted.vocabulary_) != TURNED[:-1]
    expected = fitted.transform(TURNED_PAIRS, vocabulary=TURNED)
    for found in (
        fitted.transform(TURNED_PAIRS),
        fitted.transform([[(i, 1) for i, n in pairs for _ in range(n)] for pairs in TURNED_PAIRS]),
        fitted.transform(matrix_of(TURNED_PAIRS, len(TURNED))),
    ):
        np.testing.assert_array_equal(found, expected)
    assert fitted.score(TURNED_PAIRS) == fitted.score(TURNED_PAIRS, vocabulary=TURNED)
    with pytest.raises(InputError, match=rf"{len(TURNED)}"):
        fitted.transform([[(len(TURNED), 1)]])


def matrix_of(pairs, n_words):
    found = np.zeros((len(pairs), n_words))
    for row, document in zip(found, pairs, strict=True):
        for i, n in document:
            row[i] += n
    return found


def test_more_pairs_of_a_stream_have_the_vocabulary_of_the_first():
    one, other = (model().partial_fit(TURNED_PAIRS, vocabulary=TURNED) for _ in range(2))
    assert same(one.partial_fit(TURNED_PAIRS), other.partial_fit(TURNED_PAIRS, vocabulary=TURNED))
    longer = [*TURNED, "later"]
    one.partial_fit([[(len(TURNED), 2), (0, 1)]], vocabulary=longer)
    assert one.vocabulary_.index_of(["later"])[0] >= 0
    one.transform([[(len(TURNED), 2)]])


def test_a_model_that_is_fitted_again_forgets_it():
    fitted = model().fit(TURNED_PAIRS, vocabulary=TURNED).fit(TEXTS)
    with pytest.raises(VocabularyMismatch, match="vocabulary="):
        fitted.transform(TURNED_PAIRS)


def test_a_vocabulary_in_the_order_of_the_model_is_remembered_too():
    pairs, words = [[(0, 3), (1, 1)], [(0, 1)]] * 5, ["cat", "mat"]
    fitted = model().fit(pairs, vocabulary=words)
    assert list(fitted.vocabulary_) == words
    np.testing.assert_array_equal(fitted.transform(pairs), fitted.transform(pairs, vocabulary=words))


def test_dual_models_remember_it_too():
    dual = DualTopicModel(2, 2, max_iter=1, client=False).fit(TURNED_PAIRS, vocabulary=TURNED)
    expected = dual.transform(TURNED_PAIRS, vocabulary=TURNED)
    np.testing.assert_array_equal(dual.transform(TURNED_PAIRS), expected)


def test_texts_that_look_like_files_are_texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("something else")
    assert list(model().fit(["notes.txt", "s3://bucket/x.csv"]).vocabulary_) != ["else", "something"]


def test_texts_without_words_have_the_topics_of_the_prior():
    fitted = model().fit(TEXTS)
    np.testing.assert_allclose(fitted.transform(["", "?"]), 0.25)


def test_a_model_of_counts_takes_texts_as_they_are():
    """Its vocabulary may have words that a stop list has."""
    fitted = model().fit(DENSE, vocabulary=[*CONTENT[:-2], "the", "of"])
    counted = fitted.transform([{"the": 3, "cat": 2, "of": 1}])
    np.testing.assert_array_equal(fitted.transform(["the cat of the cat the"]), counted)


def test_functions_of_the_tokeniser_matter_only_to_what_is_tokenised():
    stemmed = ingest(
        TEXTS, "memory://stemmed.zarr", token_filter=lambda word: word.removesuffix("er"), overwrite=True
    )
    fitted = model().fit(stemmed)
    with pytest.raises(ModelError, match="token_filter"):
        fitted.transform(TEXTS)
    assert fitted.transform([{"cat": 2}, {"rain": 1}]).shape == (2, 4)


def test_more_than_memory_holds_goes_to_ingest(monkeypatch):
    monkeypatch.setattr(inputs, "total_bytes", lambda: 2 * ENTRY_BYTES * 100)
    with pytest.raises(InputError, match=r"more than 100 entries.*bigtopic\.ingest"):
        model().fit(TEXTS)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("notes.txt", "one document\nanother\n", "reads it as text: pass"),
        ("notes.csv", "id,text\n1,a cat\n2,a dog\n", "reads it as csv, its documents from 'text'"),
        ("notes.jsonl", '{"body": "a cat"}\n', "reads it as json_lines, its documents from 'body'"),
        ("my notes", "a document\n", "reads it as text: pass"),
        ("a page", "<html><body></body></html>", "a text goes into a list"),
    ],
)
def test_a_path_that_is_no_corpus_says_what_ingest_does_with_it(tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    with pytest.raises(CorpusVersionError, match=said) as refused:
        model().fit(tmp_path / name)
    assert ("make a" in str(refused.value)) == ("reads it" not in said)  # one remedy
    with pytest.raises(CorpusVersionError, match="there is no corpus"):
        model().fit(str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    ("source", "settings", "error", "said"),
    [
        (3, {}, SettingError, "int is not a corpus"),
        ([], {}, InputError, "the list is empty"),
        ([1, 2], {}, InputError, "a document is a string"),
        ([["a"], "a text"], {}, InputError, "must be of one kind"),
        (["a text", {"a": 1}], {}, InputError, "document 1 of the iterable is dict .* must be of one kind"),
        (TOKENS, {"vocabulary": 3}, SettingError, "vocabulary is of type int"),
        (DENSE, {"vocabulary": CONTENT[1:]}, VocabularyMismatch, "15 words"),
    ],
)
def test_what_cannot_be_read_says_so(source, settings, error, said):
    with pytest.raises(error, match=said):
        model().fit(source, **settings)


def test_a_vectoriser_that_is_not_fitted_says_so():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    with pytest.raises(SettingError, match="not fitted"):
        model().fit(TOKENS, vocabulary=text.CountVectorizer())


def test_a_corpus_has_its_own_vocabulary():
    with pytest.raises(SettingError, match="leave it out"):
        model().fit(ingest(TEXTS, "memory://own.zarr", overwrite=True), vocabulary=CONTENT)


ENGLISH = [f"The cat of number n{i % 7} sat on the mat with a dog." for i in range(120)]


def test_common_words_do_not_come_back_in_a_stream():
    fitted = model().partial_fit(ENGLISH).partial_fit(["the cat is new"] * 30)
    assert sorted(fitted.vocabulary_) == [*(f"n{i}" for i in range(7)), "new"]


@pytest.mark.filterwarnings("error")
def test_a_model_of_stop_words_is_announced():
    tokens = [text.lower().strip(".").split() for text in ENGLISH]
    with pytest.warns(
        BigtopicWarning, match=r"50% of the tokens are english stop words \(the, .*filter_vocabulary"
    ):
        model().fit(tokens)
    corpus = ingest(tokens, "memory://announced.zarr")
    counts = from_matrix(np.ones((4, 3)), ["the", "cat", "dog"])
    model().fit(corpus.filter_vocabulary(drop=stop_words("english")))
    model().fit(counts)  # one word may be on a list by chance
