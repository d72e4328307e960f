"""Ingest from end to end: words, rows, order and parts are those of the source, whoever does the work."""

import gzip
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import open_corpus
from bigtopic.errors import (
    CorpusDamaged,
    CorpusExists,
    CorpusLocked,
    InputError,
    SettingError,
    VocabularyMismatch,
)
from bigtopic.estimators.lda import LDA
from bigtopic.ingestion import parse
from bigtopic.ingestion.ingest import append, compact, ingest
from bigtopic.storage.place import Place

TEXTS = [
    "the cat sat on the mat",
    "the dog ran to the cat",
    "",
    "a bird sang; the cat ran",
    "dog dog dog bird",
    "?!",
]


def counted(corpus, order="source"):
    """[{word: count}] in the source's order."""
    matrix = corpus.to_scipy(order)
    return [
        {corpus.vocabulary[int(w)]: float(n) for w, n in zip(row.indices, row.data, strict=True)}
        for row in matrix
    ]


def random_texts(n, seed=0, n_words=300):
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{int(w)}" for w in rng.zipf(1.4, rng.integers(0, 30)) % n_words) for _ in range(n)]


@pytest.fixture
def small_parts(limits):
    limits(part_entries=2000)


@pytest.fixture
def small_chunks(limits):
    limits(chunk_docs=64)


# ---------------------------------------------------------------------- words


def _without_a_tie(texts, least):
    """The smallest number of words, from `least` on, whose last is more frequent than the next: peers break ties."""
    frequency = sorted(Counter(word for text in texts for word in text.split()).values(), reverse=True)
    return next(n for n in range(least, len(frequency)) if frequency[n - 1] > frequency[n])


def test_text_like_scikit_learn(tmp_path):
    text = pytest.importorskip("sklearn.feature_extraction.text")
    texts = random_texts(400)
    for settings in (
        {},
        {"min_df": 3},
        {"min_df": 0.01, "max_df": 0.3},
        {"max_features": _without_a_tie(texts, 20)},
        {"ngram_range": (1, 2), "min_df": 5},
    ):
        counter = text.CountVectorizer(**settings)
        expected = counter.fit_transform(texts)
        corpus = ingest(
            texts, tmp_path / "c.zarr", overwrite=True, n_threads=1, **{"max_df": 1.0, **settings}
        )
        order = [counter.vocabulary_[word] for word in corpus.vocabulary]
        assert sorted(order) == list(range(expected.shape[1]))
        assert (corpus.to_scipy() != expected[:, order]).nnz == 0


def test_ids_fall_with_frequency_ties_by_word(tmp_path):
    corpus = ingest(TEXTS, tmp_path / "c.zarr", n_threads=1)
    assert corpus.vocabulary[:] == ["the", "dog", "cat", "bird", "ran", "mat", "on", "sang", "sat", "to"]
    assert corpus.vocabulary.frequency.tolist() == [5, 4, 3, 2, 2, 1, 1, 1, 1, 1]
    assert corpus.vocabulary.document_frequency.tolist() == [3, 2, 3, 2, 2, 1, 1, 1, 1, 1]
    assert corpus.text_settings["token_pattern"] == r"(?u)\b\w\w+\b"


def test_empty_documents_are_kept(tmp_path):
    corpus = ingest(TEXTS, tmp_path / "c.zarr", n_threads=1)
    assert len(corpus) == 6
    assert counted(corpus)[2] == counted(corpus)[5] == {}
    assert counted(corpus)[4] == {"dog": 3, "bird": 1}


def test_vocabulary_counted_outside_memory(tmp_path, limits, small_chunks):
    texts = random_texts(500)
    settings = {"min_df": 2, "max_features": 60, "n_threads": 1}
    inside = ingest(texts, tmp_path / "inside.zarr", **settings)
    limits(words=50)
    outside = ingest(texts, tmp_path / "outside.zarr", **settings)
    assert outside.fingerprint == inside.fingerprint
    assert outside.vocabulary.frequency.tolist() == inside.vocabulary.frequency.tolist()


def test_given_vocabulary_keeps_its_ids(tmp_path):
    corpus = ingest(TEXTS, tmp_path / "c.zarr", vocabulary=["dog", "unseen", "cat"], n_threads=1)
    assert corpus.vocabulary[:] == ["dog", "unseen", "cat"]
    assert counted(corpus)[1] == {"dog": 1, "cat": 1}
    longer = append(corpus, ["dog zebra"], n_threads=1)
    assert longer.vocabulary[:] == ["dog", "unseen", "cat"] and counted(longer)[-1] == {"dog": 1}
    again = append(compact(longer, n_threads=1), ["cat zebra"], n_threads=1)
    assert sorted(again.vocabulary) == ["cat", "dog", "unseen"] and counted(again)[-1] == {"cat": 1}


def test_the_share_of_tokens_that_were_kept_is_recorded(tmp_path):
    texts = ["the cat sat", "the dog", "the cat the cat"]  # tokens: 4 the, 3 cat, 1 sat, 1 dog
    for limits, share in (
        ({}, 1),
        ({"max_df": 2}, 5 / 9),
        ({"vocabulary": ["cat"]}, 3 / 9),
        ({"stop_words": ["the"]}, 1),
    ):
        corpus = ingest(texts, tmp_path / "c.zarr", overwrite=True, n_threads=1, **limits)
        assert corpus.text_settings["known_share"] == pytest.approx(share)
    view = ingest(texts, tmp_path / "c.zarr", overwrite=True, n_threads=1, max_df=2).filter_vocabulary(
        keep=["dog"]
    )
    assert view.text_settings["known_share"] == pytest.approx(1 / 9)
    stored = ingest(view, tmp_path / "view.zarr", n_threads=1)
    assert append(stored, ["the cat"], n_threads=1).text_settings == view.text_settings


def test_matrix_columns_keep_their_place(tmp_path):
    X = sparse.csr_matrix(np.array([[0, 1, 0, 5], [0, 2, 0, 0]]))
    for vocabulary in (None, ["a", "b", "c", "d"]):
        corpus = ingest(X, tmp_path / "c.zarr", vocabulary=vocabulary, overwrite=True, n_threads=1)
        assert corpus.n_words == 4 and (corpus.to_scipy() != X).nnz == 0
    fewer = ingest(X, tmp_path / "c.zarr", overwrite=True, min_df=2, n_threads=1)
    assert fewer.vocabulary[:] == ["1"] and fewer.to_scipy().toarray().tolist() == [[1], [2]]


def test_words_of_a_file_fall_with_frequency(tmp_path):
    (tmp_path / "docword.toy.txt").write_text("3\n4\n4\n1 2 1\n1 4 2\n3 2 5\n3 1 1\n")
    (tmp_path / "vocab.toy.txt").write_text("a\nb\nnever\nd\n")
    corpus = ingest(tmp_path / "docword.toy.txt", tmp_path / "c.zarr", n_threads=1)
    assert corpus.vocabulary[:] == ["b", "d", "a", "never"]
    assert counted(corpus) == [{"b": 1, "d": 2}, {}, {"b": 5, "a": 1}]
    seen = ingest(tmp_path / "docword.toy.txt", tmp_path / "c.zarr", overwrite=True, min_df=2, n_threads=1)
    assert seen.vocabulary[:] == ["b"]


def test_min_doc_length(tmp_path):
    corpus = ingest(TEXTS, tmp_path / "c.zarr", min_doc_length=5, n_threads=1, ids=list("uvwxyz"))
    assert np.sort(corpus.rows()).tolist() == [0, 1, 3]
    assert corpus.document_ids("source").tolist() == ["u", "v", "x"]
    assert corpus.verify().n_docs == 3  # frequencies agree with what is stored
    assert corpus.vocabulary.frequency[corpus.vocabulary.index_of(["dog"])[0]] == 1
    assert np.sort(append(corpus, ["a dog sat on the mat"], n_threads=1).rows()).tolist() == [0, 1, 3, 6]
    with pytest.raises(InputError, match="min_doc_length=50"):
        ingest(TEXTS, tmp_path / "c.zarr", overwrite=True, min_doc_length=50, n_threads=1)


def test_collocations(tmp_path):
    texts = ["new york is a city", "new york is big", "york is new"] * 10
    corpus = ingest(texts, tmp_path / "c.zarr", collocations=0.4, n_threads=1)
    assert "new_york" in corpus.vocabulary
    longer = append(corpus, ["new york new york"], n_threads=1)
    assert counted(longer)[-1] == {"new_york": 2}
    given = ingest(texts[:3], tmp_path / "given.zarr", collocations=[("new", "york")], n_threads=1)
    assert counted(given)[0] == {"new_york": 1, "is": 1, "city": 1}
    assert counted(append(given, ["new york"], n_threads=1))[-1] == {"new_york": 1}
    with pytest.raises(SettingError, match="two passes"):
        ingest(iter(texts), tmp_path / "other.zarr", collocations=0.4, n_threads=1)
    assert not (tmp_path / "other.zarr").exists()


# ---------------------------------------------------------------------- rows, order, parts


def test_same_corpus_whatever_the_threads(tmp_path, small_parts, small_chunks):
    texts = random_texts(1500)
    corpora = [
        ingest(texts, tmp_path / f"{n}.zarr", n_threads=n, ids=[f"d{i}" for i in range(1500)], min_df=2)
        for n in (1, 2, 5)
    ]
    assert len({corpus.fingerprint for corpus in corpora}) == 1
    assert len(corpora[0].parts) > 3
    assert corpora[0].verify().n_parts == len(corpora[0].parts)
    words = [set(text.split()) & set(corpora[0].vocabulary) for text in texts]
    assert [set(row) for row in counted(corpora[0])] == words


def test_parts_are_runs_of_one_order(tmp_path, small_parts, small_chunks):
    texts = random_texts(1500)
    corpus = ingest(texts, tmp_path / "c.zarr", random_state=3, n_threads=2)
    stored = corpus.rows(order="stored").tolist()
    assert stored == from_matrix(np.ones((1500, 1)), random_state=3).rows(order="stored").tolist()
    other = ingest(texts, tmp_path / "d.zarr", random_state=4, n_threads=2)
    assert other.rows(order="stored").tolist() != stored and counted(other) == counted(corpus)


def test_source_order(tmp_path, small_parts, small_chunks):
    corpus = ingest(random_texts(1500), tmp_path / "c.zarr", shuffle=False, n_threads=2)
    assert not corpus.shuffled and len(corpus.parts) > 3
    assert corpus.rows(order="stored").tolist() == list(range(1500))


def test_rows_run_on_over_files(tmp_path):
    for i, lines in enumerate((["a1 b1", "c1"], ["d1"], ["e1 f1", "", "g1"])):
        (tmp_path / f"text{i}.txt").write_text("".join(f"{line}\n" for line in lines))
    corpus = ingest(str(tmp_path / "text*.txt"), tmp_path / "c.zarr", n_threads=2)
    assert [set(row) for row in counted(corpus)] == [
        {"a1", "b1"},
        {"c1"},
        {"d1"},
        {"e1", "f1"},
        set(),
        {"g1"},
    ]
    for i in (1, 2):
        (tmp_path / f"docword.{i}.txt").write_text(f"3\n2\n2\n1 1 {i}\n3 2 {i}\n")
    both = ingest([tmp_path / "docword.1.txt", tmp_path / "docword.2.txt"], tmp_path / "d.zarr", n_threads=2)
    assert both.to_scipy().toarray().tolist() == [[1, 0], [0, 0], [0, 1], [2, 0], [0, 0], [0, 2]]


@pytest.mark.parametrize("form", ["bag_of_words", "lda_c"])
def test_many_files_are_read_at_a_time(form, tmp_path, monkeypatch, small_parts):
    """Rows are those of the files one after the other; the store is the same, to the bit, for any number of threads."""
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", 300)
    rng = np.random.default_rng(0)
    files = []
    for i, n_docs in enumerate([40, 3, 0, 90, 25, 1, 60]):
        counts = rng.poisson(0.4, (n_docs, 12)) * 0.3  # sums of weights depend on their order
        if form == "bag_of_words":
            entries = [f"{d + 1} {w + 1} {counts[d, w]:.1f}\n" for d, w in np.argwhere(counts)]
            text = f"{n_docs}\n12\n{len(entries)}\n{''.join(entries)}"
        else:
            rows = [[f"{w}:{row[w]:.1f}" for w in np.flatnonzero(row)] for row in counts] or [["11:0"]]
            text = "".join(f"{len(row)} {' '.join(row)}\n" for row in rows)
        files.append(tmp_path / f"docword.{i}.txt.gz")
        files[-1].write_bytes(gzip.compress(text.encode()))
    settings = {"weights": True, "format": form, "vocabulary": [f"w{i:02d}" for i in range(12)]}

    def stored(name, **more):
        corpus = ingest(files, tmp_path / name, **settings, **more)
        paths = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        return corpus, {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in paths}

    corpus, files_of_one = stored("1.zarr", n_threads=1)
    assert stored("2.zarr", n_threads=2)[1] == stored("5.zarr", n_threads=5)[1] == files_of_one
    monkeypatch.setattr(parse, "_OPEN", 1)
    in_order, _ = stored("one.zarr", n_threads=2)
    assert in_order.fingerprint == corpus.fingerprint and len(corpus.parts) == 1
    assert in_order.vocabulary.frequency == pytest.approx(corpus.vocabulary.frequency)


def test_a_wrong_file_among_many(tmp_path):
    for i in range(9):
        entries = "1 1 1\n2 2 1\n" if i != 6 else "1 1 1\n2 9 1\n"
        (tmp_path / f"docword.{i}.txt.gz").write_bytes(gzip.compress(f"2\n2\n2\n{entries}".encode()))
    with pytest.raises(InputError, match=r"docword\.6\.txt\.gz, line 5.*word id outside"):
        ingest(str(tmp_path / "docword.*.txt.gz"), tmp_path / "c.zarr", n_threads=2)
    assert not (tmp_path / "c.zarr").exists()
    for thread in threading.enumerate():
        if thread.name.startswith("bigtopic"):
            thread.join(10)
            assert not thread.is_alive(), thread


def test_columns_and_authors(tmp_path, small_parts, small_chunks):
    n = 1500
    corpus = ingest(
        random_texts(n),
        tmp_path / "c.zarr",
        authors=[[f"a{i % 3}", f"b{i % 50}"] if i % 7 else [] for i in range(n)],
        columns={"year": range(n), "label": [f"é{i % 5}" for i in range(n)], "x": np.arange(n) / 2},
        n_threads=2,
    )
    assert len(corpus.parts) > 3
    columns = corpus.read_columns(order="source")
    assert columns["year"].tolist() == list(range(n)) and columns["year"].dtype == np.int64
    assert columns["label"][:6].tolist() == ["é0", "é1", "é2", "é3", "é4", "é0"]
    assert columns["x"].dtype == np.float64
    documents = [corpus[i] for i in range(0, n, 97)]
    for document in documents:
        i = document.row
        assert sorted(document.authors) == (sorted([f"a{i % 3}", f"b{i % 50}"]) if i % 7 else [])
    share = [sum(name in (corpus[i].authors or []) for i in range(200)) for name in corpus.authors[:2]]
    assert set(corpus.authors[:3]) == {"a0", "a1", "a2"} and min(share) > 30
    assert corpus.verify().n_arrays == len(corpus.parts) * 10
    block = corpus.split(300)[1].read()
    assert len(block.author_indptr) == 301 and block.author_indptr[-1] == len(block.authors)


def test_authors_that_are_missing_are_nobody(tmp_path):
    authors = [["ann", None, "", " bob "], None, float("nan"), "", [], [float("nan")], ("ann", "ann"), 7]
    corpus = ingest(["some text"] * 8, tmp_path / "c.zarr", authors=authors, n_threads=1, shuffle=False)
    assert [corpus[i].authors for i in range(8)] == [["ann", "bob"], [], [], [], [], [], ["ann"], ["7"]]


def test_in_memory_store():
    corpus = ingest(TEXTS, "memory://ingest-test.zarr", n_threads=2)
    assert counted(open_corpus("memory://ingest-test.zarr")) == counted(corpus)
    assert sorted(Place.of("memory://ingest-test.zarr").names()) == ["parts", "vocabulary", "zarr.json"]
    Place.of("memory://ingest-test.zarr").remove()


def test_scratch_is_removed(tmp_path):
    (tmp_path / "scratch").mkdir()
    ingest(TEXTS, tmp_path / "c.zarr", scratch=tmp_path / "scratch", n_threads=1)
    assert list((tmp_path / "scratch").iterdir()) == []
    assert sorted(path.name for path in (tmp_path / "c.zarr").iterdir()) == [
        "parts",
        "vocabulary",
        "zarr.json",
    ]


# ---------------------------------------------------------------------- append, compact, views


def test_append_keeps_ids_and_adds_words_at_the_end(tmp_path, small_chunks):
    first, second = random_texts(300, seed=1), [*random_texts(200, seed=2, n_words=400), "brandnew brandnew"]
    corpus = ingest(first, tmp_path / "c.zarr", n_threads=2, max_df=1.0)
    before = corpus.vocabulary[:]
    longer = append(corpus, second, n_threads=2)
    assert longer.vocabulary[: len(before)] == before and len(corpus) == 300
    assert corpus.to_scipy().shape == (300, len(before))  # what was open still reads
    assert np.sort(longer.rows()).tolist() == list(range(501))
    together = ingest(first + second, tmp_path / "all.zarr", n_threads=2, max_df=1.0)
    assert counted(longer) == counted(together)
    index = together.vocabulary.index_of(longer.vocabulary)
    assert (together.vocabulary.frequency[index] == longer.vocabulary.frequency).all()
    assert longer.verify().n_parts == 2
    assert open_corpus(tmp_path / "c.zarr").fingerprint == longer.fingerprint


@pytest.mark.parametrize("dropped", [{"min_df": 2}, {"max_df": 0.4}, {"max_features": 1}])
def test_limits_of_an_append_are_for_its_new_words(tmp_path, dropped, limits):
    texts = ["cat dog", "dog bird", "emu", "cat emu dog"]
    expected = {"min_df": ["dog", "emu"], "max_df": ["bird"], "max_features": ["dog"]}[next(iter(dropped))]
    for outside in (False, True):
        if outside:
            limits(words=2)
        corpus = ingest(["cat", "cat sat"], tmp_path / "c.zarr", overwrite=True, n_threads=1)
        longer = append(corpus, [text.replace("bird", "sat bird") for text in texts], n_threads=1, **dropped)
        assert set(longer.vocabulary) == {"cat", "sat", *expected}
        assert counted(longer)[2].get("cat") == counted(longer)[3].get("sat") == 1
        longer.verify()
    counts = ingest(np.array([[1, 1], [1, 0]]), tmp_path / "n.zarr", n_threads=1)
    wider = append(counts, np.array([[1, 0, 1], [0, 0, 1], [0, 1, 0]]), n_threads=1, **dropped)
    wider.verify()
    assert wider.to_scipy()[:, :2].toarray().tolist() == [[1, 1], [1, 0], [1, 0], [0, 0], [0, 1]]


def test_compact_is_as_if_ingested_at_once(tmp_path, small_parts, small_chunks):
    first, second = random_texts(900, seed=1), random_texts(700, seed=2, n_words=400)
    settings = {"n_threads": 2, "random_state": 5, "max_df": 1.0}
    ingest(first, tmp_path / "c.zarr", **settings)
    append(tmp_path / "c.zarr", second, n_threads=2)
    compacted = compact(tmp_path / "c.zarr", n_threads=2)
    together = ingest(first + second, tmp_path / "all.zarr", **settings)
    assert compacted.fingerprint == together.fingerprint and len(compacted.parts) > 3
    assert compacted.text_settings == together.text_settings
    assert len(list((tmp_path / "c.zarr" / "parts").glob("0*"))) == len(compacted.parts)


def test_append_unites_columns_ids_and_authors(tmp_path):
    corpus = ingest(
        ["one two", "two"], tmp_path / "c.zarr", columns={"year": [1, 2], "k": [1, 2]}, n_threads=1
    )
    corpus = append(
        corpus, ["three"], columns={"label": ["x"], "k": ["v"]}, ids=["named"], authors=["ann"], n_threads=1
    )
    columns = corpus.read_columns(order="source")
    assert columns["label"].tolist() == ["", "", "x"] and columns["k"].tolist() == ["1", "2", "v"]
    assert columns["year"][:2].tolist() == [1, 2] and np.isnan(columns["year"][2])
    assert corpus.document_ids("source").tolist() == ["0", "1", "named"]
    assert corpus.authors == ["ann"] and sorted(len(corpus[i].authors) for i in range(3)) == [0, 0, 1]
    corpus.verify()
    again = compact(corpus, n_threads=1)
    assert again.read_columns(order="source")["k"].tolist() == ["1", "2", "v"]
    assert again.document_ids("source").tolist() == ["0", "1", "named"]
    assert append(again, ["four"], authors=[["bob", "ann"]], n_threads=1).authors == ["ann", "bob"]


def test_append_columns_without_names(tmp_path):
    corpus = ingest(np.eye(3), tmp_path / "c.zarr", n_threads=1)
    wider = append(corpus, np.ones((1, 5)), n_threads=1)
    assert wider.to_scipy().toarray().tolist() == [*np.eye(3, 5).tolist(), [1] * 5]
    with pytest.raises(VocabularyMismatch, match="columns without names"):
        append(wider, ["some words"], n_threads=1)
    assert open_corpus(tmp_path / "c.zarr").fingerprint == wider.fingerprint


def test_append_is_tokenised_as_the_corpus_was(tmp_path):
    corpus = ingest(["The Cat"], tmp_path / "c.zarr", lowercase=False, n_threads=1)
    longer = append(corpus, ["The Dog"], n_threads=1)
    assert longer.vocabulary[:] == ["Cat", "The", "Dog"]
    with pytest.raises(SettingError, match="leave out lowercase"):
        append(corpus, ["x"], lowercase=True, n_threads=1)
    with pytest.raises(SettingError, match="leave out min_doc_length"):
        append(corpus, ["x"], min_doc_length=3, n_threads=1)
    stemmed = ingest(["cats"], tmp_path / "d.zarr", token_filter=_stem, n_threads=1)
    with pytest.raises(SettingError, match="token_filter"):
        append(stemmed, ["dogs"], n_threads=1)
    assert append(stemmed, ["dogs"], token_filter=_stem, n_threads=1).vocabulary[:] == ["cat", "dog"]


def test_settings_of_token_lists_are_recorded(tmp_path):
    tokens = [["the", "cat", "sat"], ["the", "dog"]]
    corpus = ingest(tokens, tmp_path / "c.zarr", ngram_range=(1, 2), stop_words=["the"], n_threads=1)
    longer = append(corpus, [["the", "new", "cat"]], n_threads=1)
    assert {"new", "cat", "new cat"} < set(longer.vocabulary) and "the" not in longer.vocabulary
    model = LDA(2, method="online-cvb0", max_iter=1, client=False).fit(corpus)
    assert np.array_equal(model.transform(tokens), model.transform(corpus))


def test_the_first_texts_appended_to_counts_settle_the_tokeniser(tmp_path):
    corpus = ingest([{"The": 1}, {"cat": 2}], tmp_path / "c.zarr", n_threads=1)
    longer = append(corpus, ["The Dog"], lowercase=False, n_threads=1)
    assert longer.text_settings["lowercase"] is False
    assert append(longer, ["A Bird"], n_threads=1).vocabulary[:] == ["cat", "The", "Dog", "Bird"]


def _stem(word):
    return word.removesuffix("s")


def test_append_to_nothing_creates(tmp_path):
    corpus = append(tmp_path / "c.zarr", TEXTS, n_threads=1)
    assert len(corpus) == 6
    with pytest.raises(SettingError, match="in memory"):
        append(from_matrix(np.eye(2)), TEXTS)


def test_a_view_can_be_stored(tmp_path):
    corpus = ingest(random_texts(300), tmp_path / "c.zarr", ids=[f"d{i}" for i in range(300)], n_threads=1)
    view = corpus.filter_vocabulary(min_df=5).select(rows=range(100, 200))
    stored = ingest(view, tmp_path / "view.zarr", n_threads=2)
    assert counted(stored) == counted(view) and stored.rows().min() == 100
    assert stored.document_ids("source").tolist() == [f"d{i}" for i in range(100, 200)]
    assert stored.text_settings == view.text_settings


# ---------------------------------------------------------------------- mistakes


@pytest.mark.parametrize("source", [[], np.zeros((0, 3)), iter(())])
def test_no_documents(tmp_path, source):
    with pytest.raises(InputError):
        ingest(source, tmp_path / "c.zarr", n_threads=1)
    assert not (tmp_path / "c.zarr").exists()


def test_no_words(tmp_path):
    for settings in ({}, {"min_df": 3}, {"vocabulary": ["nothing"]}):
        texts = ["", "?"] if not settings else ["one", "two"]
        with pytest.raises(InputError, match="no word is left"):
            ingest(texts, tmp_path / "c.zarr", n_threads=1, **settings)
    assert not (tmp_path / "c.zarr").exists()


def test_wrong_settings(tmp_path):
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'lower_case'.*lowercase"):
        ingest(TEXTS, tmp_path / "c.zarr", lower_case=True)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'id2word'.*use vocabulary$"):
        ingest(TEXTS, tmp_path / "c.zarr", id2word={})
    with pytest.raises(SettingError, match="mutually exclusive"):
        ingest(TEXTS, tmp_path / "c.zarr", overwrite=True, append=True)
    with pytest.raises(SettingError, match="n_threads=0"):
        ingest(TEXTS, tmp_path / "c.zarr", n_threads=0)
    with pytest.raises(SettingError, match="min_df"):
        ingest(TEXTS, tmp_path / "c.zarr", min_df=-1)
    with pytest.raises(SettingError, match="random_state=None"):
        ingest(TEXTS, tmp_path / "c.zarr", random_state=None)
    with pytest.raises(SettingError, match="min_doc_length"):
        ingest(TEXTS, tmp_path / "c.zarr", min_doc_length=1.5)
    assert list(tmp_path.iterdir()) == []


def test_half_a_character_is_not_stored(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": "cat"}\n{"text": "cat", "title": "\\ud83d"}\n')
    for source in ([["a\ud800"]], [{"text": "a cat", "id": "\udfff"}], str(tmp_path / "x.jsonl")):
        with pytest.raises(
            InputError, match=r"(0 of the iterable|x.jsonl, line 2): .*half a character .*'replace'"
        ):
            ingest(source, tmp_path / "c.zarr", n_threads=1)
    assert counted(ingest(["cat\ud83d \U0001f600"], tmp_path / "c.zarr", n_threads=1)) == [{"cat": 1}]


def test_settings_may_be_numpy_numbers(tmp_path):
    plain = {"min_df": 1, "max_df": 0.9, "max_features": 6, "min_doc_length": 1, "random_state": 3}
    numpy = {name: np.asarray(value)[()] for name, value in plain.items()}
    one = ingest(TEXTS, tmp_path / "one.zarr", n_threads=1, **plain)
    two = ingest(TEXTS, tmp_path / "two.zarr", n_threads=1, **numpy)
    assert one.fingerprint == two.fingerprint
    assert (
        one.split(2, random_state=np.int64(5))[1].fingerprint
        == two.split(np.int64(2), random_state=5)[1].fingerprint
    )


def test_two_writers_in_one_process(tmp_path):
    def source():
        yield "one two"
        with pytest.raises(CorpusLocked, match="is being written"):
            ingest(["x y"], tmp_path / "c.zarr", n_threads=1)
        yield "three"

    # the iterable is sampled before the lock is taken: enough documents make the second ingest start under it
    def many():
        yield from ["zero"] * 1000
        yield from source()

    assert len(ingest(many(), tmp_path / "c.zarr", n_threads=1)) == 1002


@pytest.mark.parametrize(
    ("before", "adds", "expected"),
    [(False, False, CorpusExists), (False, True, CorpusLocked), (True, True, CorpusLocked)],
)
def test_a_corpus_made_while_the_source_is_opened_is_not_touched(tmp_path, before, adds, expected):
    store = tmp_path / "c.zarr"
    if before:
        ingest(["Some words"], store, n_threads=1)

    def source():
        ingest(["The Cat"], store, lowercase=False, overwrite=before, n_threads=1)
        yield "the cat"

    with pytest.raises(expected):
        ingest(source(), store, append=adds, n_threads=1)
    assert sorted(open_corpus(store).vocabulary) == ["Cat", "The"]


@pytest.mark.distributed
def test_same_corpus_on_a_cluster(tmp_path, three_workers, small_chunks):
    texts = random_texts(1500)
    ids = [f"d{i}" for i in range(1500)]
    settings = {"ids": ids, "authors": [i[-1] for i in ids], "min_df": 2, "ngram_range": (1, 2)}
    here = ingest(texts, tmp_path / "here.zarr", client=False, n_threads=2, **settings)
    there = ingest(texts, tmp_path / "there.zarr", client=three_workers, **settings)
    assert there.fingerprint == here.fingerprint and there.verify().n_docs == 1500
    path = tmp_path / "texts.txt"
    Path(path).write_text("\n".join(texts) + "\n")
    from_file = ingest(path, tmp_path / "file.zarr", client=three_workers)
    assert counted(from_file) == counted(ingest(path, tmp_path / "file2.zarr", client=False))
    assert counted(append(from_file, ["new words"], client=three_workers))[-1] == {"new": 1, "words": 1}
    assert compact(from_file, client=three_workers).n_docs == 1501


def test_what_was_opened_before_an_append_goes_on(tmp_path):
    from bigtopic.estimators.lda import LDA

    texts = ["the cat sat down", "the dog ran away", "a cat ran down"] * 5
    first = ingest(texts, tmp_path / "pets.zarr")
    words = first.vocabulary[:]
    model = LDA(2, method="streaming-vb", client=False).fit(open_corpus(tmp_path / "pets.zarr"))
    unread = open_corpus(tmp_path / "pets.zarr")
    for n in range(3):
        longer = append(tmp_path / "pets.zarr", [f"a parrot{n} said hello"])
    assert unread.vocabulary[:] == words
    assert len(unread.vocabulary.frequency) == len(words)
    assert [word for word, _ in model.topics(3)[0]]
    model.partial_fit(longer)
    assert "parrot2" in model.vocabulary_


def test_a_vocabulary_that_was_replaced_by_another_is_damaged(tmp_path):
    ingest(["cat dog"], tmp_path / "pets.zarr", overwrite=True)
    unread = open_corpus(tmp_path / "pets.zarr")
    ingest(["apples pears plums"], tmp_path / "pets.zarr", overwrite=True)
    with pytest.raises(CorpusDamaged, match="vocabulary"):
        unread.vocabulary.words  # noqa: B018
