"""Sources made to do harm: what they claim, how long their lines are and how deep they are cannot crash or fill memory.

Each is read in a process of its own with little memory, so that a failure cannot take the machine down.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import stat
import subprocess
import sys

import pytest

from bigtopic.corpus.readers import open_source
from bigtopic.corpus.readers.containers import pieces as _pieces
from bigtopic.corpus.readers.formats import files
from bigtopic.errors import InputError, SettingError, StoreError
from bigtopic.ingestion.ingest import ingest

GIB = 1 << 30
LONG = 48 << 20  # bytes: more than a chunk has, and so too long for a line


SERVER = f"""
import gc, json, os, resource, sys
import bigtopic as bt
from bigtopic.errors import BigtopicError

bag = "1 1 1 1 1 1".replace(" ", chr(10), 3)
for name, text in (("warm.txt", "warm up"), ("warm.svm", "3 1:1"), ("docword.warm.txt", bag)):
    path = os.path.join(sys.argv[1], name)
    open(path, "w").write(text)
    bt.ingest(path, "memory://warm.zarr", overwrite=True, client=False, n_threads=1)
gc.freeze()
for line in sys.stdin:
    path, settings = json.loads(line)
    sys.stdout.flush()
    if not (child := os.fork()):
        os.dup2(1, 2)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
        resource.setrlimit(resource.RLIMIT_AS, (used + {2 * GIB},) * 2)
        try:
            bt.ingest(path, "memory://x.zarr", client=False, n_threads=1, **settings)
            shown = "accepted"
        except BigtopicError as error:
            shown = f"{{type(error).__name__}}: {{error}}"
        except BaseException as error:
            shown = f"UNEXPECTED {{type(error).__name__}}: {{error}}"
        sys.stdout.write(json.dumps(shown) + chr(10))
        sys.stdout.flush()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status:
        print(json.dumps(f"UNEXPECTED end of the process: {{status}}"), flush=True)
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """What an ingest in 2 GiB and 30 seconds says, in a child forked from a process that has compiled everything."""
    command = [sys.executable, "-c", SERVER, str(tmp_path_factory.mktemp("warm"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as server:

        def ask(path, **settings):
            server.stdin.write(json.dumps([str(path), settings]) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        yield ask
        server.stdin.close()


def write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


MARKET = "%%MatrixMarket matrix {} general\n"
HUGE = 10**12

# name, content, what the message says
CLAIMS = {
    "lda-c id of 2^31": ("x.dat", "1 2147483648:1\n1 3:1\n", ["x.dat, line 1", "2147483648", "vocabulary="]),
    "lda-c id of 2^32": ("x.dat", "1 3:1\n1 4294967296:1\n", ["x.dat, line 2", "4294967296"]),
    "lda-c id of 2^31 - 1": ("x.dat", "1 3:1\n1 2147483647:1\n", ["x.dat, line 2", "at most 4194304"]),
    "lda-c id of 80 digits": ("x.dat", f"1 3:1\n1 {'9' * 80}:1\n", ["x.dat, line 2"]),
    "svmlight id of 2^31": ("x.svm", "5 1:1 2:1\n5 2147483648:1\n", ["x.svm, line 2", "2147483648"]),
    "svmlight id of 2^63": ("x.svm", "5 1:1\n5 9223372036854775808:1\n", ["x.svm, line 2"]),
    "documents of UCI": ("docword.x.txt", f"{HUGE}\n3\n1\n1 1 1\n", ["docword.x.txt", "header says 10+ doc"]),
    "words of UCI": ("docword.x.txt", f"3\n{HUGE}\n1\n1 1 1\n", ["docword.x.txt", "header says 10+ words", "voc"]),
    "entries of UCI": ("docword.x.txt", f"3\n3\n{HUGE}\n1 1 1\n", ["header says 10+ entries but 1"]),
    "digits of UCI": ("docword.x.txt", f"{'9' * 5000}\n3\n1\n1 1 1\n", ["x.txt", "header says 10+ doc"]),
    "a document of UCI": ("docword.x.txt", f"3\n3\n1\n{'9' * 5000} 1 1\n", ["line 4", "document id outside 1 .. 3"]),
    "a comma in UCI": ("docword.x.txt", "3\n3\n2\n1 1 1\n5,1 1\n", ["line 5", "document id outside 1 .. 3"]),
    "documents of MM": ("x.mtx", MARKET.format("coordinate integer") + f"{HUGE} 3 1\n1 1 1\n", ["x.mtx", "header"]),
    "words of MM": ("x.mtx", MARKET.format("coordinate integer") + f"3 {HUGE} 1\n1 1 1\n", ["x.mtx", "header"]),
    "digits of MM": ("x.mtx", MARKET.format("coordinate integer") + f"3 {'9' * 5000} 1\n1 1 1\n", ["x.mtx", "header"]),
    "entries of unsorted MM": (
        "x.mtx", MARKET.format("coordinate integer") + f"3 3 {HUGE}\n2 1 1\n1 1 1\n", ["x.mtx", "header", "entries"],
    ),
    "a row of MM": ("x.mtx", MARKET.format("coordinate integer") + f"3 3 2\n{'9' * 5000} 1 1\n1 1 1\n", ["x.mtx"]),
    "dense MM": ("x.mtx", MARKET.format("array integer") + "1000000 1000000\n1\n2\n", ["x.mtx", "header"]),
    "dense MM of many": ("x.mtx", MARKET.format("array real") + f"{HUGE} {HUGE}\n1\n2\n", ["x.mtx", "header"]),
    "a header of one word": ("x.mtx", "%%MatrixMarket matrix coordinate real " + "x" * 200_000, ["header"]),
    "an id in JSON": ("x.jsonl", '{"counts": [[2147483646, 1]]}\n', ["x.jsonl, line 1", "2147483646", "vocabulary"]),
    "a huge id in JSON": ("x.jsonl", f'{{"counts": [[{"9" * 400}, 1]]}}\n', ["x.jsonl, line 1", "id", "vocabulary"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CLAIMS)
def test_a_claim_is_held_against_what_is_there(case, outcome, tmp_path):
    name, content, parts = CLAIMS[case]
    message = outcome(write(tmp_path / name, content))
    assert message.startswith("InputError: "), message
    for part in parts:
        assert re.search(part, message), message


def test_empty_documents_and_unused_words_may_be_many(tmp_path):
    path = write(tmp_path / "docword.x.txt", "900000\n2000000\n2\n7 1 1\n800000 1999999 2\n")
    corpus = ingest(path, tmp_path / "c.zarr", client=False, n_threads=1)
    assert len(corpus) == 900_000 and corpus.n_tokens == 3


def zstd(data):
    return pytest.importorskip("zstandard").compress(data)


PACKED = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}
LINES = {
    "x.txt": (b"a b\n", b"x"),
    "x.jsonl": (b'{"text": "a b"}\n{"text": "', b"x "),
    "x.csv": (b'id,text\n1,"', b"x "),
    "x.tsv": (b"id\ttext\n1\t", b"x "),
    "x.svm": (b"3 1:1\n4 ", b"1:1 "),
    "docword.x.txt": (b"1\n3\n5\n", b"1 1 1\n"),
}


def long(name):
    """A start, and the rest of a line, again and again."""
    start, more = LINES[name]
    return start + more * (LONG // len(more))


@pytest.mark.costly(2)
@pytest.mark.parametrize("name", LINES)
def test_a_line_is_bounded_in_every_format(name, outcome, tmp_path):
    message = outcome(write(tmp_path / (name + ".gz"), gzip.compress(long(name), 1)))
    assert message.startswith(f"InputError: {tmp_path / name}.gz, line "), message
    assert "DOCUMENT_BYTES" in message


@pytest.mark.costly(2)
@pytest.mark.parametrize("packed", PACKED)
def test_a_line_is_bounded_however_it_is_packed(packed, outcome, tmp_path):
    message = outcome(write(tmp_path / f"x.txt{packed}", PACKED[packed](long("x.txt"))))
    assert message.startswith(f"InputError: {tmp_path / 'x.txt'}{packed}, line 2: "), message


@pytest.mark.costly(2)
@pytest.mark.parametrize("packed", PACKED)
def test_a_file_per_document_is_bounded(packed, outcome, tmp_path):
    (tmp_path / "f").mkdir()
    write(tmp_path / "f" / f"x{packed}", PACKED[packed](long("x.txt")))
    message = outcome(tmp_path / "f", format="files")
    assert "holds more than 32 MiB" in message and "DOCUMENT_BYTES" in message, message


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("end", [b"", b"\n", b"\nb\n"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_the_limit_is_the_same_however_a_file_is_read(packed, end, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(_pieces, "CHUNK_BYTES", 10)
    monkeypatch.setattr(_pieces, "DOCUMENT_BYTES", 100)
    for size, allowed in ((110 - len(end[:1]), True), (111 - len(end[:1]), False)):
        path = write(tmp_path / f"x.txt{packed}", PACKED[packed](b"x" * size + end))
        streams = open_source(path, text=None, ids=["a"] if whole else None).streams()
        (stream,) = [stream.stream if whole else stream for stream in streams]
        if allowed:
            assert sum(len(chunk.data or b"") or chunk.size for chunk in stream.chunks())
        else:
            with pytest.raises(InputError, match="line 1: a document is longer"):
                list(stream.chunks())


def test_files_that_become_much_more_when_they_are_put_together(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_CHUNK_LIMIT", 1000)
    for i in range(5):
        write(tmp_path / f"{i}.txt.gz", gzip.compress(b"x " * 200))
    with pytest.raises(InputError, match=r"2.txt.gz and the 2 files before it .* decompress them first"):
        ingest(tmp_path, "memory://f.zarr", client=False, n_threads=1)


def test_a_compressed_file_that_asks_for_a_large_window(tmp_path):
    big = lzma.compress(b"a b\n" * 100, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}])
    write(tmp_path / "x.txt.xz", big)
    zstandard = pytest.importorskip("zstandard")
    options = zstandard.ZstdCompressionParameters(window_log=30, enable_ldm=True)
    out = io.BytesIO()
    with zstandard.ZstdCompressor(compression_params=options).stream_writer(out, closefd=False) as writer:
        writer.write(b"a b\n" * 100)
    write(tmp_path / "x.txt.zst", out.getvalue())
    for name in ("x.txt.xz", "x.txt.zst"):
        with pytest.raises(InputError, match=f"{name} needs more than 128 MiB of memory"):
            ingest(tmp_path / name, "memory://w.zarr", client=False, n_threads=1)


@pytest.mark.costly
@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_vocabularies_ids_and_stop_words_are_bounded(packed, outcome, tmp_path):
    text = write(tmp_path / "x.txt", "a b\n")
    bomb = write(tmp_path / f"v.txt{packed}", PACKED[packed](b"x" * (257 << 20)))
    message = outcome(text, vocabulary=str(bomb))
    assert "holds more than 256 MiB" in message, message
    message = outcome(text, ids=str(bomb))
    assert "line 1: a document is longer" in message, message
    with pytest.raises(SettingError, match="longer than 16 MiB"):
        ingest(text, "memory://s.zarr", stop_words=str(write(tmp_path / "s.txt", b"x" * (17 << 20))))
    with pytest.raises(SettingError, match="neither a language nor a file"):
        ingest(text, "memory://s.zarr", stop_words="/dev/zero")


def test_ids_of_a_file_are_its_lines(tmp_path):
    path = write(tmp_path / "ids.txt", "\ufeffa\u2028b\r\nc\x0bd\n")
    corpus = ingest(["one two", "three"], "memory://i.zarr", ids=str(path), client=False, n_threads=1)
    assert corpus.document_ids(order="source").tolist() == ["a\u2028b", "c\x0bd"]
    with pytest.raises(InputError, match=r"ids.txt, line 2: byte 0xff"):
        ingest(
            ["one", "two"], "memory://j.zarr", ids=str(write(path, b"a\n\xff\n")), client=False, n_threads=1
        )


# --- JSON


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("[" * 100_000 + "]" * 100_000, "too deep"),
        ('{"text": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "too deep"),
        ('{"text": "a", "authors": ' + "[" * 800 + "]" * 800 + "}", "give names as text"),
        ('{"text": "a", "authors": [["Ann"]]}', r"has the author \['Ann'\]"),
        ('{"text": "a", "n": ' + "9" * 5000 + "}", "digits"),
        ('{"text": "a", "title": "\\ud800"}', "half a character"),
        ('{"text": "a", "id": "\\udfff"}', "half a character"),
        ('{"text": "a", "authors": ["\\ud800"]}', "half a character"),
    ],
)
def test_json_names_the_line(line, parts, tmp_path):
    path = write(tmp_path / "x.jsonl", '{"text": "a cat"}\n' + line + "\n")
    with pytest.raises(InputError, match=f"x.jsonl, line 2.*{parts}"):
        ingest(path, tmp_path / "j.zarr", client=False, n_threads=1)
    with pytest.raises(InputError, match=rf"x.jsonl.*({parts}|is not|holds)"):
        ingest(write(path, line + "\n"), "memory://j.zarr", client=False, n_threads=1)


@pytest.mark.parametrize(
    "pair", ["[1.5, 1]", "[1e400, 1]", "[NaN, 1]", '[1, "1"]', "[1, 1e400]", f"[1, {'9' * 400}]"]
)
def test_pairs_in_json_that_are_none(pair, tmp_path):
    path = write(tmp_path / "x.jsonl", f'{{"counts": [[1, 1]]}}\n{{"counts": [{pair}]}}\n')
    with pytest.raises(InputError, match=r"x.jsonl, line 2"):
        ingest(path, "memory://j.zarr", client=False, n_threads=1)


def test_json_in_another_encoding_and_with_a_byte_order_mark(tmp_path):
    path = write(tmp_path / "x.jsonl", '{"text": "café noir", "id": "a"}\n'.encode("latin-1"))
    corpus = ingest(path, "memory://l.zarr", encoding="latin-1", client=False, n_threads=1)
    assert sorted(corpus.vocabulary) == ["café", "noir"]
    corpus = ingest(
        write(path, '\ufeff{"text": "café", "id": "a"}\n'), "memory://b.zarr", client=False, n_threads=1
    )
    assert corpus.vocabulary[:] == ["café"] and corpus.document_ids().tolist() == ["a"]


# --- paths


def test_a_path_may_hold_what_fsspec_chains(tmp_path):
    path = write(tmp_path / "a::b.txt", "a cat\n")
    store = tmp_path / "s::t.zarr"
    for source in (path, str(path), str(tmp_path / "a::*.txt")):
        corpus = ingest(source, store, overwrite=True, client=False, n_threads=1)
        assert len(corpus) == 1 and corpus.vocabulary[:] == ["cat"]
    assert len(ingest(path, store, append=True, client=False, n_threads=1)) == 2


@pytest.mark.parametrize(
    "path",
    ["no::such", "zip::nothing.txt", "a\0b.txt", "x" * 5000 + ".txt", "http://[bad/x.txt", "memory://none.txt",
     "simplecache::nosuch://x/y.txt", "zip://x.txt::/none.zip", "file://", "nosuch://x/y.txt", "::", "/"],
)  # fmt: skip
def test_odd_paths_are_refused_in_words(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        (InputError, SettingError, StoreError, ImportError),
        match=r"does not exist|cannot|not known|no files|give|check the URL",
    ):
        open_source(path) if path != "/" else open_source([path, "x.txt"])


@pytest.fixture
def as_nobody():
    """Not root, who may read everything."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    yield
    os.seteuid(0)


def test_files_that_may_not_be_read(tmp_path, request):
    folder = tmp_path / "folder"
    (folder / "closed").mkdir(parents=True)
    path = write(folder / "x.txt", "a cat\n")
    write(folder / "closed" / "y.txt", "a dog\n")
    for parent in (tmp_path, *tmp_path.parents):
        if not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(0o755)
    path.chmod(0)
    (folder / "closed").chmod(0)
    try:
        request.getfixturevalue("as_nobody")
        for source in (path, folder, str(folder / "closed" / "y.txt")):
            with pytest.raises(
                InputError, match=r"(x.txt|closed).* cannot be read \(Permission denied\); check"
            ):
                open_source(source)
    finally:
        if os.getuid() == 0:
            os.seteuid(0)
        path.chmod(0o644)
        (folder / "closed").chmod(0o755)
