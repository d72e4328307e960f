"""What can be wrong with an input, as a user meets it: a message with the place and the remedy, and nothing changed."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import bigtopic as bt
from bigtopic.cli import main
from bigtopic.errors import (
    BigtopicWarning,
    CorpusDamaged,
    CorpusVersionError,
    InputError,
    SettingError,
    VocabularyMismatch,
)

HERE = {"client": False, "n_threads": 2}
BAG = "3\n4\n5\n1 1 2\n1 4 1\n2 2 1\n3 1 1\n3 3 7\n"
LINES = b"".join(b"document %d of some\n" % i for i in range(30_000))
TRANSPOSED = sp.csr_array(np.ones((5, 3), int))


def matrix(value):
    counts = np.ones((9000, 3))
    counts[8000, 2] = value
    return counts


# name, content of a file (or an object), settings, what the message says
WRONG = {
    "truncated gzip": ("x.txt.gz", gzip.compress(LINES, 1)[:-9000], {}, ["x.txt.gz ends in", "cut short", "again"]),
    "header says more": ("docword.x.txt", BAG.replace("\n5\n", "\n6\n"), {}, ["docword.x.txt", "says 6 entries"]),
    "header says less": ("docword.x.txt", BAG.replace("\n5\n", "\n4\n"), {}, ["says 4 entries", "header is wrong"]),
    "negative": ("docword.x.txt", BAG.replace("3 3 7", "3 3 -7"), {}, ["docword.x.txt, line 8", "from 0"]),
    "not a number": ("docword.x.txt", BAG.replace("3 3 7", "3 3 nan"), {}, ["docword.x.txt, line 8", "correct"]),
    "fractional": ("docword.x.txt", BAG.replace("3 3 7", "3 3 .5"), {}, ["docword.x.txt, line 8", "weights"]),
    "word id": ("docword.x.txt", BAG.replace("3 3 7", "3 5 7"), {}, ["docword.x.txt, line 8", "outside 1 .. 4"]),
    "document id": ("docword.x.txt", BAG.replace("3 3 7", "4 3 7"), {}, ["docword.x.txt, line 8", "outside 1 .. 3"]),
    "short vocabulary": ("docword.x.txt", BAG, {"vocabulary": "a\nb\n"}, ["4 word ids", "only 2 words", "belongs to"]),
    "undecodable": ("x.txt", LINES + b"caf\xe9\n", {}, ["x.txt, line 30001", "0xe9", "encoding.errors"]),
    "binary": ("x.txt", bytes(range(256)) * 99, {}, ["x.txt is a binary file", "known format"]),
    "empty file": ("x.txt", "", {}, ["x.txt is empty"]),
    "no words": ("x.txt", "? !\n\n", {}, ["no word is left", "token pattern"]),
    "negative in memory": (None, matrix(-1), {}, ["row 8000, column 2", "negative", "correct"]),
    "nan in memory": (None, matrix(np.nan), {}, ["row 8000, column 2", "not finite", "correct"]),
    "fraction in memory": (None, matrix(0.5), {}, ["row 8000, column 2", "weights=True"]),
    "fraction in a counter": (None, [{"a": 1}] * 5000 + [{"a": 0.5}], {}, ["document 5000", "weights=True"]),
    "transposed": (None, TRANSPOSED, {"vocabulary": list("abcde")}, ["5 x 3", "5 words", "transpose"]),
    "id in memory": (None, [[(0, 1)], [(9, 1)]], {"vocabulary": ["a", "b"]}, ["document 1", "outside 0 .. 1"]),
    "no documents": (None, [], {}, ["no documents", "used up"]),
}  # fmt: skip


def given(case, folder):
    """Source and settings of a case, its files written to `folder`."""
    name, content, settings, parts = WRONG[case]
    if name is None:
        return content, settings, parts
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    if settings:
        (folder / "words.txt").write_text(settings["vocabulary"])
        settings = {"vocabulary": folder / "words.txt"}
    return folder / name, settings, parts


def check(message, parts):
    for part in parts:
        assert re.search(part, message), f"{part!r} is not in {message!r}"


def state(path):
    """Everything below a path, by name, time and content."""
    return {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in path.rglob("*") if p.is_file()}


@pytest.fixture
def store(tmp_path):
    """A corpus with the words of the cases, to append to."""
    path = tmp_path / "stores" / "there.zarr"
    bt.ingest(["a b", "c d a"], path, token_pattern=r"\w+", **HERE)
    return path


BOTH = [(case, append) for case in WRONG for append in (False, True) if (case, append) != ("no words", True)]


@pytest.mark.parametrize(("case", "append"), BOTH)
def test_a_wrong_source_changes_nothing(case, append, store, tmp_path):
    source, settings, parts = given(case, tmp_path)
    path = store if append else store.parent / "deep" / "new.zarr"
    before = state(store.parent)
    with pytest.raises((InputError, VocabularyMismatch)) as caught:
        bt.ingest(source, path, append=append, **settings, **HERE)
    check(str(caught.value), parts)
    assert state(store.parent) == before
    assert path.exists() == append
    assert len(bt.ingest(["ee ff"], path, append=append, **HERE)) == (3 if append else 1)


@pytest.mark.parametrize(("case", "append"), [(case, append) for case, append in BOTH if WRONG[case][0]])
def test_the_command_says_the_same_in_one_line(case, append, store, tmp_path):
    source, settings, parts = given(case, tmp_path)
    path = store if append else store.parent / "new.zarr"
    before = state(store.parent)
    options = ["--append"] if append else []
    options += [f"--{name}={value}" for name, value in settings.items()]
    result = CliRunner().invoke(main, ["ingest", str(source), str(path), *options])
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1
    check(result.stderr, parts)
    assert "=True" not in result.stderr
    assert state(store.parent) == before


# --- stores


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "corpus.zarr"
    return bt.ingest(matrix(1)[:500], path, vocabulary=["one", "two", "three"], **HERE).url


@pytest.fixture
def damaged(original, tmp_path):
    shutil.copytree(original, tmp_path / "corpus.zarr")
    return tmp_path / "corpus.zarr"


def missing_chunk(path):
    (path / "parts/00000000/X/indices/c/0").unlink()


def damaged_chunk(path):
    chunk = path / "parts/00000000/X/data/c/0"
    data = bytearray(chunk.read_bytes())
    data[len(data) // 2] ^= 0xFF
    chunk.write_bytes(data)


def missing_part(path):
    shutil.rmtree(path / "parts/00000000")


def newer_version(path):
    document = json.loads((path / "zarr.json").read_text())
    document["attributes"]["bigtopic"]["version"] = 99
    (path / "zarr.json").write_text(json.dumps(document))


DAMAGE = {
    missing_chunk: (CorpusDamaged, ["parts/00000000", "missing|damaged", "restore"]),
    damaged_chunk: (CorpusDamaged, ["parts/00000000", "damaged", "restore"]),
    missing_part: (CorpusDamaged, ["parts/00000000", "missing", "restore"]),
    newer_version: (CorpusVersionError, ["version 99", "upgrade bigtopic"]),
}


@pytest.mark.parametrize("harm", DAMAGE)
def test_learning_from_a_damaged_store_says_what_is_damaged(harm, damaged, tmp_path):
    harm(damaged)
    error, parts = DAMAGE[harm]
    model = bt.LDA(2, method="online-cvb0", max_iter=1, **HERE)
    for use in (model.fit, bt.LDA(2, **HERE).partial_fit, lambda path: bt.open_corpus(path).to_scipy()):
        with pytest.raises(error) as caught:
            use(damaged)
        check(str(caught.value), parts)
    before = state(tmp_path)
    result = CliRunner().invoke(main, ["train", str(damaged), str(tmp_path / "m.zarr"), "--topics", "2"])
    assert result.exit_code == 2 and result.stderr.count("\n") == 1
    check(result.stderr, parts)
    assert state(tmp_path) == before


def test_a_store_that_exists_is_kept_unless_asked(store):
    before = state(store)
    with pytest.raises(bt.errors.CorpusExists, match=r"there.zarr.*overwrite=True.*append=True"):
        bt.ingest(["e f"], store, **HERE)
    assert state(store) == before


# --- models


def test_empty_documents_are_kept_and_have_the_prior_mean(tmp_path):
    prior = [0.3, 0.1]
    corpus = bt.ingest(["cat dog", "", "bird cat", "?"], tmp_path / "c.zarr", **HERE)
    model = bt.LDA(2, doc_topic_prior=prior, max_iter=2, **HERE).fit(corpus)
    for theta in (model.transform(corpus), model.transform(["cat dog", "", "bird", "?"])):
        np.testing.assert_allclose(theta[[1, 3]], [[0.75, 0.25]] * 2, rtol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, "n_components=0"),
        ({"doc_topic_prior": -1.0}, r"doc_topic_prior.*positive"),
        ({"doc_topic_prior": [0.1, -0.1]}, r"doc_topic_prior.*positive"),
        ({"topic_word_prior": -0.1}, r"topic_word_prior.*positive"),
        ({"topic_word_prior": np.full((2, 4), -0.1)}, r"topic_word_prior.*positive"),
    ],
)
def test_settings_no_model_can_have(settings, message, store):
    with pytest.raises(SettingError, match=message):
        bt.LDA(**{"n_components": 2, **settings}, **HERE).fit(store)


def test_a_corpus_the_model_mostly_does_not_know(tmp_path):
    corpus = bt.ingest(["cat dog bird", "bird cat"], tmp_path / "c.zarr", **HERE)
    model = bt.LDA(2, method="online-cvb0", max_iter=1, **HERE).fit(corpus)
    texts = ["chat chien oiseau", "cat rouge"] * 60
    other = bt.ingest(texts, tmp_path / "other.zarr", **HERE)
    for documents in (other, texts):
        with pytest.raises(VocabularyMismatch, match=r"80% of the 300 tokens.*language"):
            model.transform(documents)
    with pytest.warns(BigtopicWarning, match="80% of the tokens are unknown"):
        model.transform(texts[:2])
    with pytest.raises(VocabularyMismatch, match="Columns without names are matched by position"):
        model.transform(np.ones((2, 7)))
    with pytest.raises(InputError, match=r"nothing to learn|no documents|no tokens"):
        bt.LDA(2, **HERE).fit(bt.from_matrix(np.zeros((3, 4))))


# --- interruptions


@pytest.mark.parametrize("append", [False, True], ids=["new", "append"])
def test_a_killed_ingest_leaves_nothing_to_be_seen(append, store, tmp_path):
    path = store if append else store.parent / "new.zarr"
    source = tmp_path / "big.txt"
    source.write_bytes((b"some " + b"x" * 1000 + b"\n") * 40_000)  # several chunks, quickly split
    command = [sys.executable, "-m", "bigtopic", "ingest", str(source), str(path)]
    command += ["--append", "--token-pattern", r"\w+"] * append  # the pattern of the store, given again
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(path.glob(".scratch-*/*")):  # it is at work
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    if append:
        assert len(bt.open_corpus(path)) == 2
    else:
        with pytest.raises(CorpusVersionError):
            bt.open_corpus(path)
    corpus = bt.ingest(["ee ff"], path, append=append, **HERE)
    assert len(corpus) == (3 if append else 1) and corpus.verify()
    assert not [p.name for p in path.iterdir() if p.name.startswith(".")]
