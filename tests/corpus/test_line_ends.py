"""Tables of text read the same whatever ends their lines, however they are cut, and errors name the line."""

from __future__ import annotations

import gzip
from itertools import cycle

import pytest

from bigtopic.corpus.readers import open_source
from bigtopic.errors import InputError

TABLES = {
    "x.csv": ["id,text", *(f'{i},"red, blue{i}"' for i in range(40))],
    "x.tsv": ["id\ttext", *(f"{i}\tred blue{i}" for i in range(40))],
    "triples.csv": ["document,word,count", *(f"{i // 3},word{i},{i + 1}" for i in range(40))],
}
ENDS = {
    "LF": ["\n"],
    "CR": ["\r"],
    "CRLF": ["\r\n"],
    "first CR": ["\r", *["\n"] * 99],
    "mixed": ["\r", "\n", "\r\n"],
}


def write(path, lines, ends):
    data = "".join(line + end for line, end in zip(lines, cycle(ends), strict=False)).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read(path, **settings):
    """Blocks of a source, in chunks of a few rows."""
    reader = open_source(path, **settings)
    return [reader.parse(chunk) for stream in reader.streams() for chunk in stream.chunks()]


def counts(blocks):
    """{document: {word: count}}"""
    found = {}
    for block in blocks:
        for i, name in enumerate(block.ids):
            entries = slice(*block.indptr[i : i + 2])
            words = [block.vocabulary[word] for word in block.words[entries]]
            found[name] = dict(zip(words, block.counts[entries].tolist(), strict=True))
    return found


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", 50)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("name", TABLES)
def test_lines_end_with_any_of_the_usual_characters(name, ends, packed, tmp_path):
    expected = counts(read(write(tmp_path / name, TABLES[name], ["\n"])))
    assert len(expected) == (14 if "word" in TABLES[name][0] else 40)
    blocks = read(write(tmp_path / f"{name}{packed}", TABLES[name], ENDS[ends]))
    assert len(blocks) > 5 and counts(blocks) == expected


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("name", TABLES)
def test_the_line_of_a_mistake(name, ends, whole, tmp_path):
    lines = list(TABLES[name])
    lines[30] = "one cell"
    ids = {"ids": list(map(str, range(41)))} if whole else {}
    with pytest.raises(InputError, match=f"{name}, line 31: 1 cells"):
        read(write(tmp_path / name, lines, ENDS[ends]), **ids)


@pytest.mark.parametrize("ends", ENDS)
def test_the_line_of_a_byte_that_is_no_text(ends, tmp_path):
    lines = [*TABLES["x.csv"][:30], '30,"caf\udce9"', *TABLES["x.csv"][31:]]
    path = tmp_path / "x.csv"
    data = "".join(line + end for line, end in zip(lines, cycle(ENDS[ends]), strict=False))
    path.write_bytes(data.encode(errors="surrogateescape"))
    with pytest.raises(InputError, match=r"x\.csv, line 31: byte 0xe9"):
        read(path)
