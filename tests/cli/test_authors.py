"""`bigtopic authors`: labels from a file."""

import gzip
import json
import shutil

import pytest

from bigtopic.corpus.readers import author_names
from bigtopic.corpus.store import open_corpus

from .conftest import run


@pytest.fixture
def mine(corpus, tmp_path):
    return shutil.copytree(corpus, tmp_path / "mine.zarr")


TABLE = 'document,author\nd0,Ann\nd0,"Bob, jr"\nd1,Ann\n'
FILES = {
    "authors.csv": TABLE,
    "plain.csv": TABLE.removeprefix("document,author\n"),
    "authors.tsv": TABLE.replace(",A", "\tA").replace(',"Bob, jr"', "\tBob, jr").replace("t,a", "t\ta"),
    "doc2author.json": json.dumps({"d0": ["Ann", "Bob, jr"], "d1": "Ann"}),
    "author2doc.json": json.dumps({"Ann": ["d0", "d1"], "Bob, jr": ["d0"]}),
    "pairs.json": json.dumps([["d0", "Ann"], ["d0", "Bob, jr"], ["d1", "Ann"]]),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("compressed", [False, True])
def test_authors_of_a_file(mine, tmp_path, name, compressed):
    data = FILES[name].encode()
    path = tmp_path / (name + ".gz" * compressed)
    path.write_bytes(gzip.compress(data) if compressed else data)
    shown = run("authors", mine, path).output
    assert "mine.zarr has 2 authors now" in shown
    corpus = open_corpus(mine)
    assert corpus.authors == ["Ann", "Bob, jr"] and corpus[0].authors == ["Ann", "Bob, jr"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("d0,Ann\nd1,Bob,Cleo\n", "line 2, has 3 columns"),
        ("d0,Ann\nd1\n", "line 2, has 1 column; give two"),
        ('d0,Ann\nd1,"Bob\n', "line 2"),
        ("", "no author"),
        ('{"d0": ["Ann"], "d0": ["Bob"]}', "'d0' twice"),
        ('{"d0": ["Ann"],\n', "line 2"),
        ("[" * 100_000, "too deeply"),
        ('{"d0": {"d1": ["Ann"]}}', "document 'd0'"),
        ("{\ufeff", "not JSON"),
        ("D7,Ann\nd1,Ann\n", "no document 'D7', the nearest is 'd7'"),
    ],
)
def test_wrong_files_leave_the_corpus(mine, tmp_path, content, message):
    path, before = tmp_path / "wrong", (mine / "zarr.json").read_bytes()
    path.write_text(content)
    assert message in run("authors", mine, path, code=2).output
    assert (mine / "zarr.json").read_bytes() == before


def test_a_file_of_authors_has_a_limit(mine, tmp_path, monkeypatch):
    monkeypatch.setattr(author_names, "_MOST_BYTES", 1 << 20)
    (tmp_path / "authors.csv.gz").write_bytes(gzip.compress(b"d0,Ann\n" * (1 << 18)))
    assert "the limit of authors" in run("authors", mine, tmp_path / "authors.csv.gz", code=2).output


def test_no_file_and_no_text(mine, tmp_path):
    assert "does not exist" in run("authors", mine, tmp_path / "none.csv", code=2).output
    (tmp_path / "latin.csv").write_bytes(b"d0,J\xf6rg\n")
    assert "byte 4 is not UTF-8" in run("authors", mine, tmp_path / "latin.csv", code=2).output
