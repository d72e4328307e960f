"""Write documents in every format, read them, and find them again in the source's order, however they are cut."""

from __future__ import annotations

import gzip
import json
import pickle
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.sparse as sp

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.readers import TextSettings, open_source
from bigtopic.errors import BigtopicWarning, InputError
from bigtopic.estimators.lda import LDA

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.sources import (
    N_DOCS,
    N_WORDS,
    PLAIN,
    TRIPLES,
    WHOLE,
    WORDS,
    bag_of_words,
    bag_of_words_gzip,
    csv_triples,
    cut_small,
    iterable_counters,
    json_lines_text,
    make_counts,
    matrix_csr,
    svmlight,
    text_files,
    text_lines,
    write,
)


def read(source, **keywords):
    """Blocks of a source, with reader and chunks going through pickle as on a cluster."""
    reader = open_source(source, **{"text": PLAIN, **keywords})
    remote = pickle.loads(pickle.dumps(reader))
    chunks = [chunk for stream in reader.streams() for chunk in stream.chunks()]
    return reader, [remote.parse(pickle.loads(pickle.dumps(chunk))) for chunk in chunks]


def dense(reader, blocks):
    """Counts by document and word of `WORDS`, checking that every block is as promised."""
    out, position = np.zeros((sum(block.n_docs for block in blocks), N_WORDS)), 0
    for block in blocks:
        assert (
            block.indptr.dtype == np.int64 and block.indptr[0] == 0 and block.indptr[-1] == len(block.words)
        )
        assert block.words.dtype == np.int32 and block.counts.dtype == np.float32 and (block.counts > 0).all()
        assert block.first_row in (None, position)
        words = reader.vocabulary if block.vocabulary is None else block.vocabulary
        for i in range(block.n_docs):
            ids = block.words[block.indptr[i] : block.indptr[i + 1]]
            assert (np.diff(ids) > 0).all()
            for word, n in zip(ids, block.counts[block.indptr[i] : block.indptr[i + 1]], strict=True):
                out[position + i, WORDS.index(words[word])] = n
        position += block.n_docs
    return out


@pytest.mark.parametrize("make", [*WHOLE, *TRIPLES], ids=lambda make: make.__name__)
@pytest.mark.parametrize("small", [False, True], ids=["one-chunk", "many-chunks"])
def test_written_then_read_is_equal_in_source_order(make, small, tmp_path, monkeypatch):
    counts = make_counts()
    source, keywords = make(tmp_path, counts)
    if small:
        cut_small(monkeypatch)
    reader, blocks = read(source, **keywords)
    expected = counts[counts.any(axis=1)] if make in TRIPLES else counts
    np.testing.assert_array_equal(dense(reader, blocks), expected)
    by_block = ("text_files", "text_glob", "parquet_triples", "arrow_triples")
    in_one = len(blocks) == 1 or make.__name__.startswith("dask_") or make.__name__ in by_block
    assert len(blocks) > 1 if small else in_one
    assert make.__name__.startswith(reader.name) or reader.name in (
        "text",
        "files",
        "csv",
        "matrix",
        "dask_array",
    )


@pytest.mark.parametrize("make", WHOLE, ids=lambda make: make.__name__)
def test_ids_authors_and_columns_given_beside_a_source_reach_their_documents(make, tmp_path, monkeypatch):
    source, keywords = make(tmp_path, make_counts())
    cut_small(monkeypatch)
    given = {
        "ids": (f"name{i}" for i in range(N_DOCS)),
        "authors": [[f"a{i}", f"a{i // 2}"] if i % 5 else None for i in range(N_DOCS)],
        "columns": {"number": range(N_DOCS)},
    }
    _, blocks = read(source, **keywords, **given)
    assert [name for block in blocks for name in block.ids] == [f"name{i}" for i in range(N_DOCS)]
    assert np.concatenate([block.columns["number"] for block in blocks]).tolist() == list(range(N_DOCS))
    names = [
        {block.author_names[a] for a in block.authors[block.author_indptr[i] : block.author_indptr[i + 1]]}
        for block in blocks
        for i in range(block.n_docs)
    ]
    assert names == [{f"a{i}", f"a{i // 2}"} if i % 5 else set() for i in range(N_DOCS)]


@pytest.mark.parametrize(
    "make", [bag_of_words, text_lines, json_lines_text, csv_triples], ids=lambda m: m.__name__
)
def test_a_plain_and_a_compressed_file_are_cut_at_the_same_places(make, tmp_path, monkeypatch):
    path, keywords = make(tmp_path, make_counts())
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    cut_small(monkeypatch)
    plain, compressed = read(path, **keywords)[1], read(packed, **keywords)[1]
    assert [block.n_docs for block in plain] == [block.n_docs for block in compressed]


def test_sizes_of_chunks_add_up_to_the_size_of_the_source(tmp_path):
    for make in (bag_of_words, bag_of_words_gzip, text_lines, text_files, matrix_csr):
        source, keywords = make(tmp_path, make_counts())
        reader = open_source(source, **keywords)
        total = sum(chunk.size for stream in reader.streams() for chunk in stream.chunks())
        assert 0.9 * reader.size <= total <= reader.size  # headers are no documents


@pytest.mark.parametrize("make", [svmlight, matrix_csr, iterable_counters], ids=lambda make: make.__name__)
def test_weights_are_read_when_asked_for(make, tmp_path):
    if make is iterable_counters:
        source = [{WORDS[w]: row[w] for w in np.flatnonzero(row)} for row in make_counts(weights=True)]
        keywords = {}
    else:
        source, keywords = make(tmp_path, make_counts(weights=True))
    np.testing.assert_array_equal(dense(*read(source, weights=True, **keywords)), make_counts(weights=True))


def test_explicit_zeros_are_dropped_and_counted(tmp_path):
    matrix = sp.csr_array(([0.0, 2.0, 0.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    bag = write(tmp_path / "docword.z.txt", "2\n2\n3\n1 1 0\n1 2 2\n2 2 0\n")
    pairs = write(tmp_path / "z.dat", "2 0:0 1:2\n1 1:0\n")
    for source in (matrix, bag, pairs, [[(0, 0), (1, 2)], [(1, 0)]], [{"a": 0, "b": 2}, {"b": 0}]):
        (block,) = read(source)[1]
        assert (block.n_docs, block.n_zeros, block.counts.tolist()) == (2, 2, [2.0])


def test_weights_too_small_to_store_are_zeros(tmp_path):
    bag = write(tmp_path / "docword.z.txt", "1\n2\n2\n1 1 1e-60\n1 2 0.5\n")
    pairs = write(tmp_path / "z.dat", "2 0:1e-60 1:0.5\n")
    table = write(tmp_path / "z.csv", "doc,word,count\nd,a,1e-60\nd,b,0.5\n")
    matrix = sp.csr_array([[1e-60, 0.5]])
    for source in (bag, pairs, table, matrix, matrix.toarray(), [{"a": 1e-60, "b": 0.5}]):
        (block,) = read(source, weights=True)[1]
        assert (block.words.tolist(), block.counts.tolist()) == ([1], [0.5])


def test_repeated_words_are_added_up(tmp_path):
    bag = write(tmp_path / "docword.z.txt", "1\n3\n3\n1 2 1\n1 1 4\n1 2 2\n")
    pairs = write(tmp_path / "z.dat", "3 1:1 0:4 1:2\n")
    for source in (bag, pairs, [[(1, 1), (0, 4), (1, 2)]]):
        (block,) = read(source)[1]
        assert (block.words.tolist(), block.counts.tolist()) == ([0, 1], [4.0, 3.0])


def test_columns_keep_their_types_and_order(tmp_path):
    rows = [
        {"id": 7, "text": "a b", "authors": ["X", "Y"], "year": 1990, "score": 0.5, "label": "p", "ok": True},
        {
            "id": 8,
            "text": "a",
            "tags": "no",
            "authors": "Z",
            "score": None,
            "year": 1991,
            "label": None,
            "ok": False,
        },
    ]
    (block,) = read(write(tmp_path / "r.jsonl", "\n".join(map(json.dumps, rows))))[1]
    assert block.ids == ["7", "8"] and block.author_names == ["X", "Y", "Z"]
    assert list(block.columns) == ["year", "score", "label", "ok", "tags"]
    assert block.columns["year"].dtype.kind == "i" and block.columns["ok"].dtype.kind == "b"
    np.testing.assert_array_equal(block.columns["score"], [0.5, np.nan])
    assert block.columns["label"].tolist() == ["p", ""] and block.columns["tags"].tolist() == ["", "no"]
    (block,) = read(rows, columns=["label"], id_column="year", author_column="tags")[1]
    assert list(block.columns) == ["label"] and block.ids == ["1990", "1991"] and block.author_names == ["no"]


@pytest.mark.parametrize("dtype", ["Int64", "float64", "float32", "object", "int64"])
def test_numbers_are_the_same_authors_beside_missing_cells(dtype):
    given = [1, 12, 1] if dtype == "int64" else [1, None, 12, 1]
    frame = pandas.DataFrame({"text": ["a"] * len(given), "author": pandas.Series(given, dtype=dtype)})
    (block,) = read(frame)[1]
    assert block.author_names == ["1", "12"]
    (block,) = read([{"text": "a", "author": number} for number in (1.0, 2.5, float("inf"))])[1]
    assert block.author_names == ["1", "2.5", "inf"]


def test_labels_folders_and_names_are_kept(tmp_path):
    path, keywords = svmlight(tmp_path, make_counts())
    (block,) = read(path, **keywords)[1]
    assert block.columns["label"].tolist() == [i % 3 - 1 for i in range(N_DOCS)]
    (block,) = read(text_files(tmp_path, make_counts())[0])[1]
    assert block.ids[31] == "group1/031.txt" and block.columns["folder"][31] == "group1"


def test_several_folders_are_one_source(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "1.txt", f"text {name}")
        write(tmp_path / name / "2.txt", f"more {name}")
    (block,) = read([tmp_path / "b", f"{tmp_path}/a/"])[1]
    assert block.n_docs == 4 and block.vocabulary == ["text", "b", "more", "a"]
    for name in ("b", "a"):
        (tmp_path / name / "1.txt").unlink()
        (tmp_path / name / "2.txt").rename(tmp_path / name / "2.jsonl")
        write(tmp_path / name / "2.jsonl", f'{{"text": "{name} first"}}\n{{"text": "second"}}\n')
    assert [block.n_docs for block in read([tmp_path / "b", tmp_path / "a"])[1]] == [2, 2]


def test_a_folder_may_begin_with_files_that_are_empty(tmp_path):
    (tmp_path / "1.jsonl").write_bytes(gzip.compress(b""))
    write(tmp_path / "2.jsonl", "\n[]\n")
    write(tmp_path / "3.jsonl", '["cat", "dog"]\n["dog"]\n')
    with pytest.warns(BigtopicWarning, match="1.jsonl is empty and left out"):
        reader, blocks = read(tmp_path)
    assert reader.kind == "tokens" and sum(block.n_docs for block in blocks) == 3


@pytest.mark.parametrize("source", ["folder", "glob", "files", "forced"])
def test_empty_files_among_others_are_left_out_with_a_warning(source, tmp_path):
    write(tmp_path / "_SUCCESS", "")  # as Spark does
    for number in range(3):
        write(tmp_path / f"{number}.csv", f"id,text\n{number},a cat\n" if number else "")
    given = {"glob": f"{tmp_path}/*", "files": sorted(tmp_path.iterdir())}.get(source, tmp_path)
    with pytest.warns(BigtopicWarning, match=r"0\.csv and 1 more are empty and left out") as said:
        reader, blocks = read(given, format="csv" if source == "forced" else None)
    assert len(said) == 1 and reader.name == "csv"
    assert [block.ids for block in blocks] == [["1"], ["2"]]


def test_an_empty_text_file_is_an_empty_document(tmp_path):
    for number, text in enumerate(["", "a cat", "a dog"]):
        write(tmp_path / f"{number}.txt", text)
    for source, format in ((tmp_path, None), (f"{tmp_path}/*.txt", "files")):
        (block,) = read(source, format=format)[1]
        assert np.diff(block.indptr).tolist() == [0, 2, 2]


def test_a_given_vocabulary_keeps_its_order_and_drops_other_words():
    reader, (block,) = read(["b a c c", "", "x c"], vocabulary=["c", "b"])
    assert (reader.n_words, block.vocabulary) == (2, None)
    assert block.indptr.tolist() == [0, 2, 2, 3]
    assert (block.words.tolist(), block.counts.tolist()) == ([0, 1, 0], [2.0, 1.0, 1.0])


def test_a_vocabulary_may_be_a_fitted_model():
    CountVectorizer = pytest.importorskip("sklearn.feature_extraction.text").CountVectorizer
    fitted = CountVectorizer().fit(["some words here"])
    assert open_source(["some here"], vocabulary=fitted).vocabulary == ["here", "some", "words"]


def test_a_vocabulary_may_be_a_topic_model():
    corpus = from_matrix(np.eye(3), ["some", "words", "here"])
    model = LDA(2, method="online-cvb0", max_iter=1, client=False, n_threads=1).fit(corpus)
    assert open_source(["some here"], vocabulary=model).vocabulary == ["some", "words", "here"]
    assert open_source(["some here"], vocabulary=corpus.vocabulary).vocabulary == ["some", "words", "here"]
    gensim = pytest.importorskip("gensim")
    texts = [["some", "here"], ["words"]]
    dictionary = gensim.corpora.Dictionary(texts)
    other = gensim.models.LdaModel([dictionary.doc2bow(text) for text in texts], 2, dictionary)
    assert open_source(["some here"], vocabulary=other).vocabulary == ["here", "some", "words"]


def test_a_vocabulary_may_map_ids_to_words():
    given = {np.int64(1): "words", 0: "some"}  # as gensim's id2word
    assert open_source([[(0, 1)]], vocabulary=given).vocabulary == ["some", "words"]


@pytest.mark.parametrize("missing", [float("nan"), np.float64("nan"), pandas.NA])
def test_a_text_that_pandas_calls_missing_is_an_empty_document(missing):
    for source in (["cat", missing], [{"text": "cat"}, {"text": missing}], [missing, "cat"]):
        (block,) = read(source)[1]
        assert sorted(np.diff(block.indptr)) == [0, 1] and block.vocabulary == ["cat"]


def test_formats_can_be_forced(tmp_path):
    path = write(tmp_path / "looks.json", '{"text": "a b"}\n')
    assert open_source(path).name == "json_lines"
    assert read(path, format="text")[1][0].vocabulary == ['{"text":', '"a', 'b"}']
    files = [str(write(tmp_path / f"{i}.txt", "a b\nc d\n")) for i in range(3)]
    assert sum(block.n_docs for block in read(files)[1]) == 6
    assert sum(block.n_docs for block in read(files, format="files")[1]) == 3
    assert sum(block.n_docs for block in read(files, format="iterable")[1]) == 3


def test_collocations_are_counted_in_a_first_pass_and_joined_in_the_second():
    texts = ["new york is big", "in new york", "new york new york", "a new day in old york"] * 5
    reader = open_source(texts, text=TextSettings(collocations=0.3))
    found = None
    for stream in reader.streams():
        for chunk in stream.chunks():
            counts = reader.collocation_counts(chunk)
            found = counts if found is None else found.merge(counts)
    pairs = found.select(0.3)
    assert ("new", "york") in pairs and ("old", "day") not in pairs
    joined = reader.with_collocations({("new", "york")})
    (block,) = [joined.parse(chunk) for stream in joined.streams() for chunk in stream.chunks()]
    assert "new_york" in block.vocabulary
    column = block.vocabulary.index("new_york")
    assert block.counts[block.words == column].sum() == 5 * 4


def test_a_source_says_whether_it_can_be_read_twice():
    def twice(source, **keywords):
        return [getattr(stream, "repeatable", True) for stream in open_source(source, **keywords).streams()]

    assert twice(["a text"]) == twice(["a text"], ids=["x"]) == [True]
    assert (
        twice(iter(["a text"]))
        == twice(["a text"], ids=iter(["x"]))
        == twice(iter(["a"]), ids=["x"])
        == [False]
    )
    (stream,) = open_source(["a text"]).streams()
    assert [len(list(stream.chunks())) for _ in range(2)] == [1, 1]
    (stream,) = open_source(iter(["a text"])).streams()
    list(stream.chunks())
    with pytest.raises(InputError, match="only once"):
        list(stream.chunks())


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x"])
def test_a_first_record_may_be_long(name, tmp_path):
    records = [{"id": "long", "text": "some words " * 50_000}, {"id": "short", "text": "more words"}]
    lines = "".join(json.dumps(record) + "\n" for record in records).encode()
    (tmp_path / name).write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
    _, blocks = read(tmp_path / name)
    assert [*chain(*(block.ids for block in blocks))] == ["long", "short"]
    assert sum(block.counts.sum() for block in blocks) == 100_002
