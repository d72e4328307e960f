"""Files are read a number of times that does not grow with them, whatever their documents carry."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import bigtopic as bt
from bigtopic.corpus.readers import open_source
from bigtopic.corpus.readers.containers.files import SAMPLE_BYTES

sys.path.insert(0, str(Path(__file__).parents[1]))

from known import known
from reference.lined_sources import NAMES, WRITERS, beside
from reference.sources import WHOLE, cut_small, make_counts

CHUNK = 1 << 13
N_DOCS = 750  # a few dozen chunks


class _Counted(io.FileIO):
    """A file that adds up the bytes read from all files."""

    total = 0

    def readinto(self, target):
        n_bytes = super().readinto(target)
        _Counted.total += n_bytes
        return n_bytes

    def read(self, size=-1):
        data = super().read(size)
        _Counted.total += len(data)
        return data


@pytest.fixture
def n_bytes_read(monkeypatch, tmp_path):
    """Call it for the bytes read from files of the source since the last call."""
    opened = Path.open

    def counting(path, mode="r", buffering=-1, *args, **kwargs):
        if mode != "rb" or path.parent != tmp_path:
            return opened(path, mode, buffering, *args, **kwargs)
        raw = _Counted(path)
        return raw if buffering == 0 else io.BufferedReader(raw)

    def taken():
        total, _Counted.total = _Counted.total, 0
        return total

    monkeypatch.setattr(Path, "open", counting)
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", CHUNK)
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces._STEP", CHUNK // 16)
    return taken


def parsed(path, given):
    reader = open_source(path, **given)
    blocks = [reader.parse(chunk) for stream in reader.streams() for chunk in stream.chunks()]
    assert len(blocks) > 15
    return blocks


@pytest.mark.costly(5)
@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_read_as_often_as_one_of_half_its_size(name, tmp_path, n_bytes_read):
    path, read, sizes = tmp_path / name, [], []
    for n_docs in (N_DOCS, 2 * N_DOCS):
        given = WRITERS[name](path, n_docs)
        n_bytes_read()
        assert sum(block.n_docs for block in parsed(path, given)) == n_docs
        read.append(n_bytes_read())
        sizes.append(path.stat().st_size)
    assert read[1] > sizes[1]  # they are counted
    assert read[1] / sizes[1] <= (read[0] + CHUNK) / sizes[0]


@pytest.mark.costly(3)
@pytest.mark.parametrize("name", WRITERS)
def test_documents_of_many_chunks_keep_what_they_carry(name, tmp_path, monkeypatch):
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", CHUNK)
    path = tmp_path / name
    given = WRITERS[name](path, N_DOCS)
    corpus = bt.ingest(path, tmp_path / "corpus.zarr", **given, client=False, n_threads=1, progress=False)
    expected = beside(N_DOCS)
    assert corpus.document_ids().tolist() == expected["ids"]
    columns = {name: corpus.read_column(name).tolist() for name in expected["columns"]}
    columns["date"] = [date[:10] for date in columns["date"]]  # messages have a time of day
    assert columns == expected["columns"]
    assert sorted(corpus.authors) == sorted(NAMES)
    assert [sorted(document.authors) for document in corpus[-50:]] == [
        sorted({*names}) for names in expected["authors"][-50:]
    ]


def test_every_format_is_read_in_more_than_one_chunk(tmp_path, monkeypatch):
    """Those that are not among the sources of many chunks would be missed by the tests that use them."""
    found = set()
    for make in WHOLE:
        folder = tmp_path / make.__name__
        folder.mkdir()
        source, keywords = make(folder, make_counts())
        with monkeypatch.context() as patch:
            cut_small(patch)
            reader = open_source(source, **keywords)
            n_chunks = sum(1 for stream in reader.streams() for _ in stream.chunks())
        if n_chunks > 1:
            found.add(reader.name)
    # A file is a document in `word_counts`, with the chunks of `files`; saved matrices have the reader of `matrix`
    assert found >= known("format") - {"saved_matrix", "word_counts"}


@pytest.mark.parametrize("longer", [-1, 0, 1, SAMPLE_BYTES])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_first_record_as_long_as_what_is_looked_at(longer, indent, tmp_path):
    rest = len(json.dumps([{"text": ""}, {"text": "dog"}], indent=indent))
    text = ("cat " * SAMPLE_BYTES)[: SAMPLE_BYTES + longer - rest]
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"text": text}, {"text": "dog"}], indent=indent))
    assert path.stat().st_size == SAMPLE_BYTES + longer
    reader = open_source(path)
    (block,) = [reader.parse(chunk) for stream in reader.streams() for chunk in stream.chunks()]
    assert block.n_docs == 2 and "dog" in block.vocabulary


def test_a_folder_of_many_texts_is_recognised_by_the_first_of_them(tmp_path, n_bytes_read):
    for number in range(100):
        (tmp_path / f"{number}.txt").write_text("some words")
    open_source(tmp_path)
    assert 0 < n_bytes_read() < 100 * len("some words")
