"""Every wrong input is an error that names the file, the line or document, and what to do."""

from __future__ import annotations

import bz2
import gzip
import json
import re
import sys
from itertools import chain

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bigtopic.corpus.readers import TextSettings, open_source
from bigtopic.errors import InputError, MissingExtra, SettingError, VocabularyMismatch

BAG = "3\n4\n5\n1 1 2\n1 4 1\n2 2 1\n3 1 1\n3 3 7\n"


def read(source, **keywords):
    reader = open_source(source, **keywords)
    return [reader.parse(chunk) for stream in reader.streams() for chunk in stream.chunks()]


def write(path, content):
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    return path


def refused(source, *parts, error=InputError, **keywords):
    """Reading fails, and the message holds all of these."""
    with pytest.raises(error) as caught:
        read(source, **keywords)
    message = str(caught.value)
    for part in parts:
        assert re.search(part, message), f"{part!r} is not in {message!r}"


def test_the_correct_file_is_read(tmp_path):
    (block,) = read(write(tmp_path / "docword.ok.txt", BAG))
    assert block.n_docs == 3 and block.counts.sum() == 12


# --- damage


@pytest.mark.parametrize("damage", [0, 2, None], ids=["magic", "letter", "no damage"])
def test_a_damaged_member_of_a_file_of_several(tmp_path, damage):
    """What comes after the first member is not left out silently."""
    members = [bz2.compress(b"".join(b"word%d\n" % (i + first) for i in range(100))) for first in (0, 100)]
    second = bytearray(members[1])
    if damage is not None:
        second[damage] ^= 1
    path = tmp_path / "texts.txt.bz2"
    path.write_bytes(members[0] + bytes(second))
    if damage is None:
        assert sum(block.n_docs for block in read(path)) == 200
    else:
        refused(path, "texts.txt.bz2 is damaged")


@pytest.mark.parametrize("name", ["docword.x.txt.gz", "x.txt.gz", "x.jsonl.gz", "x.txt.bz2", "x.txt.zst"])
@pytest.mark.parametrize("keep", [0.5, -4])
def test_a_compressed_file_cut_short(name, keep, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"1 {i + 1} {n}" for i, n in enumerate(rng.integers(1, 10**6, 40_000))]
    if name.startswith("docword"):
        text = f"1\n40000\n40000\n{chr(10).join(lines)}\n"
    elif ".jsonl" in name:
        text = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    else:
        text = "\n".join(f"line {line}" for line in lines)
    if name.endswith(".zst"):
        compressed = pytest.importorskip("zstandard").compress(text.encode())
    else:
        compressed = (gzip if name.endswith(".gz") else bz2).compress(text.encode())
    cut = compressed[: int(keep * len(compressed)) if keep > 0 else keep]
    refused(write(tmp_path / name, cut), re.escape(name), "cut short|damaged", "again")


def test_a_damaged_gzip_file(tmp_path):
    data = bytearray(gzip.compress(" ".join(str(i * i) for i in range(50_000)).encode()))
    data[len(data) // 2] ^= 0xFF
    refused(write(tmp_path / "x.txt.gz", bytes(data)), "x.txt.gz is damaged", "again")


def test_damaged_parquet_npz_and_h5ad(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("h5py")
    refused(write(tmp_path / "x.parquet", b"PAR1" + b"\0" * 100), "x.parquet is damaged or cut short")
    refused(write(tmp_path / "x.npz", b"PK\x03\x04" + b"\0" * 100), "x.npz is not a saved matrix")
    refused(write(tmp_path / "x.h5ad", b"\x89HDF\r\n\x1a\n" + b"\0" * 100), "x.h5ad is damaged or cut short")


def test_pickles_inside_saved_arrays_are_not_loaded(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[{"a": 1}]], object), allow_pickle=True)
    refused(tmp_path / "x.npy", "x.npy is not a saved matrix")


@pytest.mark.parametrize("content", [bytes(range(256)) * 20, b"\x7fELF" + b"\0" * 50])
def test_a_binary_file(content, tmp_path):
    refused(write(tmp_path / "x.txt", content), "x.txt is a binary file", "known format")


def test_a_binary_file_in_a_folder_of_texts(tmp_path):
    for i in range(30):  # more than are looked at when the folder is recognised
        write(tmp_path / f"{i:02d}.txt", "some text")
    write(tmp_path / "zz.txt", "some text\0")
    refused(tmp_path, "zz.txt is a binary file", "leave it out")


# --- bytes that are not text


@pytest.mark.parametrize("name", ["x.txt", "x.jsonl", "x.csv", "x.tsv"])
def test_undecodable_bytes_name_the_line(name, tmp_path):
    first = {"x.jsonl": b'{"text": "a"}\n', "x.csv": b"id,text\n", "x.tsv": b"id\ttext\n"}.get(
        name, b"text\n"
    )
    row = {
        "x.jsonl": b'{"text": "caf\xe9 noir"}\n',
        "x.csv": b"1,caf\xe9 noir\n",
        "x.tsv": b"1\tcaf\xe9 noir\n",
    }
    bad = row.get(name, b"caf\xe9 noir\n")
    good = bad.replace(b"\xe9", b"e")
    # The sample by which a file is recognised is decoded as well: test before and behind it.
    for n_good in (3, 20_000):
        path = write(tmp_path / name, first + good * n_good + bad)
        refused(path, f"{name}, line {n_good + 2}", "0xe9", "encoding_errors='replace'")
        blocks = read(path, text=TextSettings(encoding_errors="replace"))
        assert any("caf" in block.vocabulary for block in blocks)
        blocks = read(path, text=TextSettings(encoding="latin-1"))
        assert any("café" in block.vocabulary for block in blocks)


def test_undecodable_bytes_in_one_of_many_files(tmp_path):
    write(tmp_path / "a.txt", "fine")
    write(tmp_path / "b.txt", b"fine\nnot \xff fine")
    refused(tmp_path, "b.txt, line 2", "encoding")


# --- headers


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (("5\n1 1 2", "6\n1 1 2"), ["header says 6 entries but 5 lines", "cut short"]),
        (("5\n1 1 2", "4\n1 1 2"), ["header says 4 entries but 5 lines", "header is wrong"]),
        (("3\n4\n", "2\n4\n"), ["line 7: '3 1 1'", "document id outside 1 .. 2", "correct"]),
        (("1 4 1", "1 5 1"), ["line 5: '1 5 1'", "word id outside 1 .. 4"]),
        (("1 4 1", "1 0 1"), ["line 5", "count from 1"]),
        (("2 2 1", "0 2 1"), ["line 6", "document id outside"]),
        (("2 2 1", "3 2 1\n2 2 1"), ["entries|line 7: document 2 is out of order|line 7: '2 2 1'"]),
        (("3 1 1", "1 1 1"), ["line 7", "document 1 is out of order", "sort -n"]),
        (("1 4 1", "1 4"), ["line 5", "three numbers"]),
        (("1 4 1", "1 4 1 9"), ["line 5", "three numbers"]),
        (("1 4 1", "one 4 1"), ["line 5", "three numbers"]),
        (("1 4 1", "1 4 -1"), ["line 5", "negative, too large or not a number"]),
        (("1 4 1", "1 4 nan"), ["line 5", "negative, too large or not a number"]),
        (("1 4 1", "1 4 inf"), ["line 5", "negative, too large or not a number"]),
        (("1 4 1", "1 4 " + "9" * 41), ["line 5", "negative, too large or not a number"]),
        (("1 4 1", "1 4 1e999"), ["line 5", "negative, too large or not a number"]),
        (("1 4 1", "1 4 1.5"), ["line 5", "fractional", "weights=True"]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("small", [False, True])
def test_bag_of_words_that_contradicts_itself(change, parts, packed, small, tmp_path, monkeypatch):
    text = BAG.replace(*change)
    assert text != BAG
    if small:
        monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", 6)
    path = tmp_path / ("docword.x.txt.gz" if packed else "docword.x.txt")
    write(path, gzip.compress(text.encode()) if packed else text)
    refused(path, "docword.x.txt", *parts)


@pytest.mark.parametrize("count", ["-1", "nan"])
def test_weights_do_not_allow_negative_counts_or_nan(count, tmp_path):
    refused(write(tmp_path / "docword.x.txt", BAG.replace("1 4 1", f"1 4 {count}")), "line 5", weights=True)
    refused(sp.csr_array(np.array([[1.0, float(count)]])), "row 0, column 1", weights=True)


def test_a_header_that_is_none(tmp_path):
    refused(write(tmp_path / "docword.x.txt", "three\n4\n5\n1 1 1\n"), "line 1", format="bag_of_words")
    refused(write(tmp_path / "x.mtx", "%%MatrixMarket matrix\n1 1\n"), "header", "coordinate")
    refused(write(tmp_path / "w.mtx", "x y z\n1 1 1\n"), "w.mtx", "header", "%%MatrixMarket")
    refused(
        write(tmp_path / "y.mtx", "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n"),
        "symmetric",
    )


@pytest.mark.parametrize(
    ("entries", "parts"),
    [
        ("1 1 1\n2 2 -1\n", ["x.mtx, line 4", "negative"]),
        ("1 1 1\n2 2 0.5\n", ["x.mtx, line 4", "fractional"]),
        ("1 1 1\n2 4 1\n", ["x.mtx, line 4", "word id outside 1 .. 3"]),
        ("1 1 1\n", ["header says 2 entries but 1 lines"]),
        ("2 1 1\n1 1 1\n1 2 1\n", ["x.mtx"]),
    ],
)
def test_matrix_market_that_contradicts_itself(entries, parts, tmp_path):
    refused(
        write(tmp_path / "x.mtx", f"%%MatrixMarket matrix coordinate real general\n2 3 2\n{entries}"), *parts
    )


def test_files_of_one_source_agree(tmp_path):
    write(tmp_path / "docword.a.txt", BAG)
    write(tmp_path / "docword.b.txt", BAG.replace("3\n4\n", "3\n9\n"))
    refused(str(tmp_path / "docword.*.txt"), "docword.b.txt has 9 words", "docword.a.txt has 4")
    write(tmp_path / "x.txt", "words")
    refused([tmp_path / "docword.a.txt", tmp_path / "x.txt"], "x.txt like text", "format=")


# --- pairs


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("3 0:1 2:1", ["line 2", "not the number of its pairs", "svmlight"]),
        ("2 0:1 9:1", ["line 2", "outside 0 .. 3", "vocabulary"]),
        ("2 0:1 2:-1", ["line 2", "negative"]),
        ("2 0:1 2:nan", ["line 2", "not a number"]),
        ("2 0:1 2:0.5", ["line 2", "fractional"]),
        ("2 0:1 2", ["line 2", "id:count"]),
        ("two 0:1 2:1", ["line 2", "id:count"]),
    ],
)
def test_lda_c_that_contradicts_itself(line, parts, tmp_path):
    path = write(tmp_path / "x.dat", f"1 3:1\n{line}\n1 1:1\n")
    refused(path, "x.dat", *parts, format="lda_c", vocabulary=list("abcd"))


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("1 5:1", ["line 2", "outside 1 .. 4"]),
        ("1 1:-2", ["line 2", "negative"]),
        ("1 1:0.5", ["line 2", "fractional"]),
        ("1 1:1 :", ["line 2", "id:count"]),
        ("1 -3:1", ["line 2", "id:count"]),
    ],
)
def test_svmlight_that_contradicts_itself(line, parts, tmp_path):
    path = write(tmp_path / "x.svm", f"0 3:1\n{line}\n")
    refused(path, "x.svm", *parts, format="svmlight", vocabulary=list("abcd"))


# --- vocabularies


def test_a_vocabulary_shorter_than_the_ids(tmp_path):
    path = write(tmp_path / "docword.x.txt", BAG)
    write(tmp_path / "vocab.x.txt", "a\nb\n")
    refused(path, "docword.x.txt uses 4 word ids", "only 2 words", "belongs to the file")
    refused([[(0, 1)], [(2, 1)]], "document 1", "word id 2 is outside 0 .. 1", vocabulary=["a", "b"])


def test_a_transposed_matrix_is_named_with_both_shapes(tmp_path):
    matrix = sp.csr_array(np.ones((5, 3), int))
    words = list("abcde")
    for source in (matrix, matrix.toarray(), _saved(tmp_path, matrix), _market(tmp_path, matrix)):
        refused(source, "5 x 3", "5 words", "transpose", error=VocabularyMismatch, vocabulary=words)
    refused(
        matrix, "5 x 3", "4 words", "one word for each column", error=VocabularyMismatch, vocabulary=words[:4]
    )


def _saved(folder, matrix):
    sp.save_npz(folder / "x.npz", matrix)
    return folder / "x.npz"


def _market(folder, matrix):
    import scipy.io

    scipy.io.mmwrite(folder / "t.mtx", matrix)
    return folder / "t.mtx"


def test_vocabularies_that_are_none(tmp_path):
    matrix = np.ones((1, 2), int)
    refused(matrix, "missing.txt does not exist", vocabulary=tmp_path / "missing.txt")
    refused(matrix, "is not a file", "load it first", vocabulary=tmp_path)
    refused(matrix, "'a' at position 2 is a duplicate", vocabulary=["a", "a"])
    refused(matrix, "holds no words", vocabulary=write(tmp_path / "v.txt", "\n\n"))
    refused(matrix, "v.txt, line 2", vocabulary=write(tmp_path / "v.txt", b"a\n\xff\n"))
    refused(matrix, "ids must be 0 .. 1", error=SettingError, vocabulary={"a": 0, "b": 5})
    refused(matrix, "vocabulary is of type int", error=SettingError, vocabulary=3)
    refused(matrix, "'a' at position 2 is a duplicate", vocabulary={1: "a", 0: "a"})
    refused(matrix, "position 2 holds half a character", vocabulary=["a", "b\ud800"])


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({0: None, 1: "b"}, "0 to None"),
        ({"0": "a", "1": "b"}, "'0' to 'a'"),
        ({0.0: "a", 1.0: "b"}, "0.0 to 'a'"),
        ({"a": 0.5, "b": 1}, "'a' to 0.5"),
    ],
)
def test_a_vocabulary_that_maps_other_things_than_words_and_ids(given, shown):
    refused(
        np.ones((1, 2)),
        f"vocabulary maps {shown}; words must be strings",
        error=SettingError,
        vocabulary=given,
    )


# --- matrices and Python objects


@pytest.mark.parametrize(
    ("value", "kind"),
    [(-1, "negative"), (np.nan, "not finite"), (np.inf, "finite"), (1e39, "above 3e"), (0.5, "frac")],
)
def test_counts_of_a_matrix(value, kind, tmp_path):
    counts = np.ones((9000, 3))
    counts[8000, 2] = value
    dask_array = pytest.importorskip("dask.array").from_array(counts[7990:], chunks=(100, 3))
    for source in (counts, sp.csr_matrix(counts), sp.csc_array(counts)):
        refused(source, "row 8000, column 2", kind)
    refused(dask_array, "block 0, row 10, column 2", kind)


def test_counts_of_an_anndata_store(tmp_path):
    anndata = pytest.importorskip("anndata")
    counts = np.ones((5, 3))
    counts[3, 1] = -2
    anndata.AnnData(sp.csr_matrix(counts)).write_h5ad(tmp_path / "x.h5ad")
    refused(tmp_path / "x.h5ad", "x.h5ad, row 3, column 1", "negative")


def test_matrices_that_are_none(tmp_path):
    refused(np.ones(3), "1 dimensions", "documents x words")
    refused(np.ones((2, 2), complex), "dtype complex128")
    broken = sp.csr_array(np.ones((2, 2)))
    broken.indices[1] = 7
    refused(broken, "row 0, column 7 of 2", "damaged")


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        ({"a": -1}, ["count -1 is negative"]),
        ({"a": float("nan")}, ["count nan is negative or not finite"]),
        ({"a": 1e39}, ["count 1e\\+39 is above 3e\\+38"]),
        ({"a": 1.5}, ["fractional", "weights=True"]),
        ({"a": "many"}, ["mapping of words to counts"]),
        ("some text", ["str 'some text'", "one kind"]),
        (3, ["int 3", "one kind"]),
        ([(1, 2)], ["list", "one kind"]),
    ],
)
def test_a_wrong_document_among_counters(document, parts):
    refused([{"a": 1}] * 5000 + [document], "document 5000 of the iterable", *parts)


def test_wrong_pairs_and_tokens():
    refused([[(1, 2)], [(-1, 2)]], "document 1", "word id -1")
    refused([[(1, 2)], [(1, 2.5)]], "document 1", "fractional")
    refused([[(1, 2)], [(1, 2, 3)]], "document 1")
    refused([["a"], "a text"], "document 1", "str 'a text'")


def test_tokens_that_are_no_strings():
    refused([["a"], ["b"], ["c", 7]], "document 2 of the iterable: token int 7", "must be strings")
    refused([["a"], ["b", None]], "document 1 of the iterable: token NoneType None")
    settings = TextSettings(tokenizer=lambda text: [len(text)])
    refused(
        ["", "abc"], "document 0 of the iterable: token int 0", "what your tokenizer returns", text=settings
    )
    settings = TextSettings(token_filter=len)
    refused(["some words"], "token_filter returned 4 for 'some'", error=SettingError, text=settings)


def test_documents_inside_other_fields():
    records = [{"id": 1, "doc": {"title": "a", "body": "a text"}}]
    refused(
        records, "name it with text_column=", "doc.body is inside another field", "jq -c '.text = .doc.body'"
    )
    refused(records, "no field named 'doc.title'", "jq -c '.text = .doc.title'", text_column="doc.title")
    refused(records, "no field named 'date.x'; it has id, doc$", text_column="date.x")


def test_sources_that_are_none(tmp_path):
    refused(3, "the source is of type int")
    refused({"a": "a text"}, "the source is of type dict", r"source.values\(\)", r"ids=list\(source\)")
    refused([object()], "holds object", "a document is a string")
    refused(tmp_path / "missing.txt", "missing.txt does not exist")
    refused(["missing.txt", "also/missing"], "missing.txt does not exist")
    refused(str(tmp_path / "*.txt"), "no file matches")
    refused(write(tmp_path / "empty.txt", b""), "empty.txt is empty")
    (tmp_path / "folder").mkdir()
    refused(tmp_path / "folder", "folder holds no files")
    refused([tmp_path, write(tmp_path / "a.txt", "a text")], "is a folder", "glob of the files")
    refused("/dev/null", "save it to a file")
    refused(["a text"], "format='word' is not known", "bag_of_words", error=SettingError, format="word")
    refused("x.txt", "needs an object", format="matrix")
    refused([{"a": 1}, {"title": "x", "year": 3}], "document 0", "'title'", "add it")
    refused([{"text": "x", "year": 3}], "no field named 'yaer'", "year", columns=["yaer"])


def test_a_url_whose_package_is_missing(monkeypatch):
    found = sys.modules["fsspec.registry"]._registry  # by tests before this one
    monkeypatch.delitem(found, "s3", raising=False)
    monkeypatch.setitem(sys.modules, "s3fs", None)
    refused("s3://bucket/x.txt", "s3://bucket/x.txt cannot be reached: Install s3fs", error=MissingExtra)


def test_a_corpus_is_not_a_source(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    for name in "cd":
        zarr.create_group(tmp_path / f"{name}.zarr").attrs["bigtopic"] = {}
    monkeypatch.setitem(sys.modules, "anndata.io", None)
    refused(tmp_path / "c.zarr", "c.zarr is already a corpus", "open_corpus")
    refused([tmp_path / "c.zarr", tmp_path / "d.zarr"], "c.zarr is already a corpus", "open_corpus")


# --- records and tables


def test_wrong_json(tmp_path):
    refused(write(tmp_path / "x.jsonl", '{"text": "a"}\n{"text": \n'), "x.jsonl, line 2", "is not JSON")
    refused(
        write(tmp_path / "x.jsonl", '{"text": "a"}\n\n{"body": "b"}\n'), "x.jsonl, line 3", "no field 'text'"
    )
    refused(write(tmp_path / "x.jsonl", '{"text": "a"}\n{"text": 3}\n'), "x.jsonl, line 2", "one kind")
    refused(write(tmp_path / "x.jsonl", '{"title": "a", "note": "b"}\n'), "title, note", "text_column=")
    refused(write(tmp_path / "x.jsonl", '{"text": "a"}\n'), "no field named 'body'", text_column="body")
    refused(write(tmp_path / "x.jsonl", '{"counts": {"a": -1}}\n'), "x.jsonl, line 1", "negative")


def test_a_first_line_of_json_that_is_too_long(tmp_path):
    record = json.dumps({"text": "aa " * (12 << 20)})
    refused(write(tmp_path / "x.jsonl", record + "\n"), "x.jsonl, line 1", "longer than 32 MiB")


def test_wrong_csv(tmp_path):
    refused(write(tmp_path / "x.csv", "id,text\n1,a\n2,b,c\n"), "x.csv, line 3", "3 cells", "quotes")
    refused(write(tmp_path / "x.csv", "name,words\nx,a\n"), "name, words", "text_column=")
    plays = "user,artist,plays\nu1,a1,4\nu1,a2,1\nu2,a1,2\n"
    refused(write(tmp_path / "x.csv", plays), "document_column=, word_column= and count_column=")
    refused(write(tmp_path / "x.csv", "id,text\n1,a\n"), "no column named 'body'", text_column="body")
    triples = "doc,word,count\na,x,1\nb,x,2\n"
    refused(write(tmp_path / "x.csv", triples + "a,y,1\n"), "x.csv, line 4", "document 'a'", "sort the table")
    refused(write(tmp_path / "x.csv", triples + "b,y,-1\n"), "x.csv, line 4", "negative")
    refused(write(tmp_path / "x.csv", triples + "b,y,0.5\n"), "x.csv, line 4", "fractional")
    refused(write(tmp_path / "x.csv", triples + "b,y,?\n"), "x.csv, line 4", "'\\?' is not a number")
    write(tmp_path / "y.csv", "id,body\n1,a\n")
    refused([write(tmp_path / "x.csv", "id,text\n1,a\n"), tmp_path / "y.csv"], "y.csv has columns id, body")


def test_wrong_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"

    def table(**columns):
        pq.write_table(pa.table(columns), path)
        return path

    refused(table(name=["a"], note=["b"]), "name, note", "text_column=")
    refused(table(doc=[1, 2, 1], word=["a", "a", "b"], count=[1, 1, 1]), "x.parquet, row 2", "document '1'")
    refused(
        table(doc=[1, 1, 2], word=["a", "b", "a"], count=[1.0, 0.5, 1.0]), "x.parquet, row 1", "fractional"
    )
    refused(table(doc=[1, 1, 2], word=["a", None, "a"], count=[1, 1, 1]), "x.parquet, row 1", "empty cell")
    refused(table(doc=[1], word=["a"], count=["x"]), "x.parquet", "not hold numbers")
    refused(table(text=[b"a b"]), "x.parquet: column 'text' holds bytes; cast it to string")
    refused(pa.table({"text": [None, b"a b"]}), "the table: column 'text' holds bytes")


# --- values beside the source


def test_a_single_value_for_all_documents():
    """Not its characters one by one."""
    for name, value in {"authors": "Ann", "ids": b"doc", "columns": {"year": "2020"}}.items():
        refused(["a b", "c d", "e f"], "with one value per document", **{name: value})
    refused(["a b"], "authors=7: give a list", authors=7)


@pytest.mark.parametrize("author", [{"affil": "MIT", "name": "Ann Lee"}, b"Bob", bytearray(b"Bob")])
def test_authors_that_are_no_names(author):
    """Neither the fields of an object nor the numbers of bytes are authors."""
    parts = [re.escape(f"has the author {author!r}"), "give names as text"]
    for authors in (author, [author], ["Ann", author]):
        refused(["a b", "c d"], "document 1 of the iterable", *parts, authors=["Ann", authors])
        records = [{"text": "a b", "authors": "Ann"}, {"text": "c d", "authors": authors}]
        refused(records, "document 1 of the iterable", *parts)
        refused(pd.DataFrame(records), "the table, row 1", *parts)


def test_objects_for_authors_in_files_and_tables(tmp_path):
    record = {"text": "a b", "authors": [{"name": "Ann"}]}
    lines = write(tmp_path / "x.jsonl", json.dumps({**record, "authors": []}) + "\n" + json.dumps(record))
    refused(lines, "x.jsonl, line 2", "has the author {'name': 'Ann'}", "give names as text")
    pa = pytest.importorskip("pyarrow")
    table = pa.table({name: [value] for name, value in record.items()})
    refused(table, "the table, row 0", "has the author {'name': 'Ann'}", "give names as text")


def test_one_value_for_each_document():
    refused(["a b", "c d"], "ids ends before the documents", ids=["x"])
    refused(["a b", "c d"], "missing does not exist", ids="missing")
    refused(["a b", "c d"], "authors has more values", authors=[["x"]] * 3)
    refused(np.ones((2, 2), int), "columns\\['year'\\] ends before", columns={"year": [1]})


def test_pairs_of_documents_and_authors_are_not_lists_of_authors():
    pairs = [("b", "Ann"), ("a", "Bob")]
    told = ["authors holds pairs of a document and a name, such as", "Corpus.with_authors"]
    refused(["some words", "other words"], *told, ids=["a", "b"], authors=pairs)
    refused(["some words", "other words"], *told, authors=[(0, "Ann"), (1, "Bob")])
    for names in (list(map(list, pairs)), [("a", "Ann"), ("Zoe", "Bob")], [("a", "b", "Ann")] * 2):
        (block,) = read(["some words", "other words"], ids=["a", "b"], authors=names)
        assert len(block.authors) == len(names[0]) * 2


def test_pairs_of_ids_and_texts_are_not_tokens():
    told = ["holds pairs such as", "give the texts alone", "tokens go into lists"]
    refused([("a", "some words"), ("b", "other words")], *told)
    refused([(1, "some words"), (2, "other words")], *told)
    for tokens in ([("some", "words")], [["a", "some words"]], [("a", "some words"), ("b", "c")]):
        assert read(tokens)[0].counts.sum() == 2 * len(tokens)


# --- CSV


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ('1,"one\n2,two\n3,three\n', ["x.csv, line 2", "never closed"]),
        ('1,one\n2,"two\n3,three', ["x.csv, line 3", "never closed"]),
        (
            '1,"one\n2,two\n3,"three"\n',
            ["x.csv, line 2", "closed in line 4 in the middle of a cell", "twice"],
        ),
        ('1,"one" and\n2,"two\n3,"three"\n', ["x.csv, line 3", "closed in line 4 in the middle"]),
        ('1,"one\nand"\n2,"a ""b"" c\n', ["x.csv, line 4", "never closed"]),
        ("1,one\n2,two,three\n", ["x.csv, line 3: 3 cells where there are 2 columns"]),
        ('1,"one\ntwo"\n2\n', ["x.csv, line 4: 1 cells where there are 2 columns"]),
        ('1,"one\ntwo",3\n', ["x.csv, line 2: 3 cells"]),
        ("1,one\r2,two\r\n3\r\n", ["x.csv, line 4: 1 cells"]),
        (
            "1,one\n2,t\0wo\n",
            ["x.csv, line 3 holds a zero byte", "remove it; if the table is in UTF-16, convert"],
        ),
    ],
)
@pytest.mark.parametrize("n_before", [0, 20_000])
def test_csv_that_is_wrong(rows, parts, n_before, tmp_path):
    before = '7,"a, b"\n' * n_before
    path = write(tmp_path / "x.csv", "id,text\n" + before + rows)
    parts = [re.sub(r"line (\d)", lambda line: f"line {int(line[1]) + n_before}", part) for part in parts]
    refused(path, *parts)
    if "cells" in parts[0]:
        refused(path, *parts, ids=["a"] * (n_before + 9))


@pytest.mark.parametrize("row", [",y,1", "b,,1", "b,y,"])
@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_empty_cells_among_documents_words_and_counts(row, format, tmp_path):
    """An empty text is neither a document nor a word."""
    rows = [line.split(",") for line in ("a,x,1", "a,y,2", row, "c,x,1")]
    if format == "csv":
        path = write(
            tmp_path / "x.csv", "\n".join(",".join(line) for line in [["doc", "word", "count"], *rows])
        )
    else:
        path = tmp_path / "x.parquet"
        frame = pd.DataFrame(rows, columns=["doc", "word", "count"])
        frame.assign(count=pd.to_numeric(frame["count"])).to_parquet(path)
    refused(path, "line 4" if format == "csv" else "row 2", "empty cell")


def test_an_unclosed_quote_in_the_names(tmp_path):
    refused(write(tmp_path / "x.csv", 'id,"text\n1,one\n'), "x.csv, line 1", "never closed")
    refused(write(tmp_path / "y.csv", 'id,"text\n' + "1,one\n" * 50_000), "y.csv, line 1")


def test_a_quote_that_is_closed_nowhere_near(tmp_path, monkeypatch):
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", 100)
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.DOCUMENT_BYTES", 1000)
    text = 'id,text\n1,"fine"\n2,"open\n' + "3,x\n" * 50_000
    refused(write(tmp_path / "x.csv", text), "x.csv, line 3", "quoted cell does not end", "DOCUMENT_BYTES")


def test_quotes_within_cells_are_part_of_them_however_the_file_is_cut(tmp_path, monkeypatch):
    rows = ['1,5" disk', '2,"a\nb, c"', "3,it's", '4,"say ""hi""\n\n"', '5,a"b"', '6,""', '7,"\r\n"'] * 50
    path = write(tmp_path / "x.csv", "\n".join(["id,text", *rows]) + "\n")
    whole = [block.ids for block in read(path)]
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", 7)
    cut = [block.ids for block in read(path)]
    assert len(cut) > 100 and [*chain(*cut)] == [*chain(*whole)] == list("1234567") * 50


def test_text_after_quotes_belongs_to_the_cell_as_in_pandas(tmp_path, monkeypatch):
    pandas = pytest.importorskip("pandas")
    rows = [
        '1,"Yes" she said',
        '2,"a \\"b\\" c"',
        '3,"plain, text"',
        '4,"x" "y',
        '5,"over\nlines"',
        '6,"""a"" b" c',
    ]
    path = write(tmp_path / "x.csv", "\n".join(["id,text", *rows]) + "\n")
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", 20)
    reader = open_source(path)
    chunks = [chunk for stream in reader.streams() for chunk in stream.chunks()]
    texts = [text for chunk in chunks for text in reader.documents(chunk).bodies]
    assert len(chunks) > 2 and texts == pandas.read_csv(path)["text"].tolist()


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_names_of_columns_as_in_pandas(suffix, tmp_path):
    pandas = pytest.importorskip("pandas")
    path, delimiter = tmp_path / f"x.{suffix}", {"csv": ",", "tsv": "\t"}[suffix]
    texts = ["one of them", "another one"]
    for names in (
        ["", "text", "year"],
        ["", "text"],
        ["id", "text", ""],
        ["id", "text", "2005", "2006"],
        ["id", "text", "x", "x", "x"],
        ["id", "text", "What is your opinion of the service as a whole?"],
    ):
        rows = [[texts[i] if name == "text" else str(i) for name in names] for i in (0, 1)]
        write(path, "\n".join(delimiter.join(row) for row in [names, *rows]) + "\n")
        (block,) = read(path)
        expected = [name for name in pandas.read_csv(path, sep=delimiter) if name not in ("id", "text")]
        assert block.n_docs == 2 and list(block.columns) == expected


def test_a_header_is_told_by_the_name_of_the_text(tmp_path):
    path = write(tmp_path / "x.csv", "2004,2005\nsome text,other text\n")
    assert read(path)[0].n_docs == 2
    (block,) = read(path, text_column="2005")
    assert block.n_docs == 1 and list(block.columns) == ["2004"] and block.vocabulary == ["other", "text"]


# --- what is taken for text


PAGES = {
    "doctype": b"\xef\xbb\xbf\n <!DOCTYPE html>\n<html><body>words</body></html>",
    "html": b"<HTML lang='en'><p>words</p></HTML>",
    "comment": b"<!-- saved page -->\n<html><p>words</p></html>",
    "xml": b'<?xml version="1.0"?>\n<doc>words</doc>',
    "sgml": b'<!DOCTYPE lewis SYSTEM "lewis.dtd">\n<REUTERS>words</REUTERS>',
    "pdf": b"%PDF-1.4 words",
    "rtf": b"{\\rtf1 words}",
    "zip": b"PK\x03\x04words",
    "png": b"\x89PNG words",
}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.jsonl", "x.html"])
def test_a_page_is_not_text(page, name, tmp_path):
    kind = {"pdf": "PDF", "rtf": "RTF", "zip": "ZIP", "png": "PNG", "sgml": "HTML|Reuters"}.get(page, "HTML")
    path = write(tmp_path / name, PAGES[page])
    refused(path, re.escape(name), kind, "format=")
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "a.txt", b"words")
    write(tmp_path / "folder" / name, PAGES[page])
    refused(tmp_path / "folder", re.escape(name), kind)
    if page != "png":
        assert sum(block.n_docs for block in read(path, format="text")) >= 1
        assert sum(block.n_docs for block in read(tmp_path / "folder", format="files")) == 2


def test_a_page_among_many_texts(tmp_path):
    for i in range(30):
        write(tmp_path / f"{i:02d}.txt", "some text")
    write(tmp_path / "zz.txt", PAGES["doctype"])
    refused(tmp_path, "zz.txt is an HTML page", "format=")


def test_a_fragment_of_a_page_is_known_by_its_name(tmp_path):
    fragment = b"<div class='a'>\nwords and words\n</div>\n"
    refused(write(tmp_path / "x.htm", fragment), "x.htm is an HTML page")
    assert read(write(tmp_path / "x.txt", fragment))[0].n_docs == 3


@pytest.mark.parametrize(
    "text",
    [
        "<3 hearts",
        "<unk> is a token here",
        "< b",
        "<a@b.c> wrote:",
        "a <b>bold</b> word",
        "<-- see",
        "{a}",
        "<s> a sentence of a corpus </s>",
        "<b>Bold</b> words at the beginning",
        '<p align="center">words of a README in Markdown</p>',
        "<!-- a comment of Markdown --> and words",
        "<DOC> <DOCNO> 1 </DOCNO> <TEXT> words </TEXT> </DOC>",
        '<doc id="12" title="words"> words </doc>',
        "<html> is an element, said the teacher",
    ],
)
def test_text_that_only_begins_like_a_page_is_text(text, tmp_path):
    assert read(write(tmp_path / "x.txt", text))[0].n_docs == 1
