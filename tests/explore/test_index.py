"""The index: made once, made again for other topics, and whole or absent whatever happens."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import SettingError, StoreError
from bigtopic.explore import index as module
from bigtopic.explore import index_of

from .conftest import QUIET


@pytest.fixture(scope="session")
def theta(stores):
    return stores("source")


@pytest.fixture
def opened(model, asked, tmp_path):
    """Open the index of topics."""

    def open_index(theta, corpus=asked, folder=tmp_path / "indexes", model=model):
        return index_of(model, corpus, theta, bt.open_topics, folder)

    return open_index


@pytest.fixture
def copied(theta, tmp_path):
    """Topics that may be changed."""
    return shutil.copytree(theta, tmp_path / "theta.zarr")


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def refuse(*_, **__):
    raise AssertionError("the index is there")


def same(one, other):
    assert one.path == other.path
    np.testing.assert_array_equal(one.tally.largest, other.tally.largest)
    assert one.texts.ids([0, 7]) == other.texts.ids([0, 7])


def test_it_is_made_once(opened, theta, monkeypatch):
    first = opened(theta)
    assert first.path.parent.stat().st_mode & 0o077 == 0
    assert first.path.parent.parent.name == "indexes" and names_in(first.path.parent) == ["index"]
    monkeypatch.setattr(module, "_write", refuse)
    same(first, opened(theta))


def test_it_is_in_the_users_cache(model, asked, theta, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert index_of(model, asked, theta, bt.open_topics).path.is_relative_to(
        tmp_path / "bigtopic" / "explore"
    )


def test_changed_topics_have_another(opened, model, asked, copied):
    first = opened(copied)
    model.transform_to(asked, copied, min_probability=0.5, overwrite=True)
    second = opened(copied)
    assert second.path != first.path
    assert second.tally.leading.indptr[-1] < first.tally.leading.indptr[-1]


def test_a_chunk_that_was_changed_in_place(opened, copied):
    first = opened(copied)
    chunk = next(path for path in sorted((Path(copied) / "X" / "data").rglob("*")) if path.name == "0")
    os.utime(chunk, ns=(1, 1))
    assert opened(copied).path != first.path


def test_a_model_that_has_learned_more_has_another(opened, asked, theta):
    other = bt.LDA(5, method="online-cvb0", max_iter=6, random_state=1, **QUIET).fit(asked)
    assert opened(theta).path != opened(theta, model=other).path
    assert opened(theta).path != opened(theta, corpus=None).path


@pytest.mark.parametrize(
    "damage", ["index.json", "rows.npy", "documents.sqlite", "tally/largest.npy", "columns/0.npy"]
)
@pytest.mark.parametrize("how", ["removed", "cut", "emptied"])
def test_a_damaged_index_is_made_again(opened, theta, damage, how):
    first = opened(theta)
    first.close()
    file = first.path / damage
    if how == "removed":
        file.unlink()
    else:
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 3] if how == "cut" and damage != "documents.sqlite" else b"")
    second = opened(theta)
    assert second.texts.position("doc-3") is not None and len(second.rows) == 300
    assert names_in(second.path.parent) == ["index"]


def test_an_older_version_is_made_again(opened, theta, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(module, "_hash", lambda *_: "same")
        first = opened(theta)
        described = json.loads((first.path / "index.json").read_text())
        (first.path / "index.json").write_text(json.dumps({**described, "version": 0}))
        opened(theta)
        assert json.loads((first.path / "index.json").read_text())["version"] == module.VERSION


def test_files_of_others_stay(opened, theta):
    path = opened(theta).path
    (path / "index.json").write_text("{}")
    (path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"'notes\.txt', which does not belong to an index"):
        opened(theta)
    assert (path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("step", ["coded", "write_ids", "write_texts", "tally", "likeness"])
def test_an_interrupted_one_leaves_nothing(opened, theta, step, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(module, step, interrupted)
        with pytest.raises(KeyboardInterrupt):
            opened(theta)
    found = opened(theta)
    assert names_in(found.path.parent) == ["index"]


def interrupted(*_):
    raise KeyboardInterrupt


KILLED = """
import os, signal, sys
import bigtopic as bt
from bigtopic.explore import index as module

model, corpus, theta, folder, step = sys.argv[1:]
if step == "drafted":  # just after it has taken its place
    from bigtopic.storage import output_file
    output_file.sync_committed = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
else:
    setattr(module, step, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
module.index_of(bt.load_model(model), bt.open_corpus(corpus), theta, bt.open_topics, folder)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "step", ["coded", "new_array", "write_ids", "write_texts", "tally", "save_tally", "likeness", "drafted"]
)
def test_a_killed_one_leaves_nothing_that_stays(opened, model, asked, theta, tmp_path, step):
    model.save(tmp_path / "model.zarr")
    arguments = [str(tmp_path / "model.zarr"), asked.url, theta, str(tmp_path / "indexes"), step]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    (left,) = (tmp_path / "indexes").iterdir()
    partial = [path for path in left.iterdir() if path.name.endswith(".partial")]
    assert len(partial) == 1 and ((left / "index").exists() == (step == "drafted"))
    found = opened(theta)
    assert found.path.parent == left and found.path.name == "index"
    if step != "drafted":  # then nothing is written again, and the folder of the writer stays, empty
        assert names_in(left) == ["index"]
    assert not list(left.rglob("*.partial/store/*"))


def test_two_at_the_same_time(opened, theta, monkeypatch):
    together, found, tally = threading.Barrier(2), [], module.tally

    def at_once(*arguments):
        together.wait(30)
        return tally(*arguments)

    monkeypatch.setattr(module, "tally", at_once)
    threads = [threading.Thread(target=lambda: found.append(opened(theta))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(*found)
    assert names_in(found[0].path.parent) == ["index"]
    monkeypatch.setattr(module, "_write", refuse)
    same(found[0], opened(theta))


def test_topics_are_inferred_once(opened, model, asked, monkeypatch):
    found = opened(None)
    wanted = model.transform(asked, sparse=True)
    wanted = wanted.toarray() / np.asarray(wanted.sum(axis=1))
    np.testing.assert_allclose(found.tally.share, wanted.mean(axis=0), rtol=1e-5)
    assert names_in(found.path.parent) == ["index", "theta.zarr"]
    monkeypatch.setattr(type(model), "transform_to", refuse)
    same(found, opened(None))


def test_mistakes(opened, model, asked, theta, tmp_path, records):
    with pytest.raises(SettingError, match="give X, a corpus of documents, or theta"):
        opened(None, corpus=None)
    others = [{**one, "id": f"other-{number}"} for number, one in enumerate(records)]
    other = bt.ingest(others, tmp_path / "other.zarr", keep_text=True, max_df=1.0, **QUIET)
    with pytest.raises(SettingError, match="the store was written from other documents"):
        opened(theta, corpus=other)
    with pytest.raises(SettingError, match="there is no store of topics"):
        opened(asked.url)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError):
        opened(theta, folder=tmp_path / "file")
    with pytest.raises(SettingError, match="give a folder on this machine"):
        opened(theta, folder="s3://bucket/indexes")


def test_documents_that_the_corpus_lacks(explored, model, asked, theta, records, tmp_path):
    """Of them, the topics are known."""
    some = asked.select(rows=np.arange(0, 300, 2))
    with explored(model, some, theta, folder=tmp_path) as one:
        known, other = (one.client.answer("document", row=row) for row in (2, 3))
        assert "".join(text for text, _ in known["pieces"]) == records[2]["text"]
        assert other["pieces"] is None and other["n_tokens"] is None and other["topics"]
        found = one.client.answer("documents", q="w3", n=100)["documents"]
        assert found and all(each["row"] % 2 == 0 for each in found)


def test_it_is_the_same_in_any_batches(opened, theta, tmp_path, monkeypatch):
    first = opened(theta)
    for name, value in (("DOCUMENTS", 37), ("ENTRIES", 53)):
        monkeypatch.setattr(f"bigtopic.estimators.topic_stores.stored_topics.{name}", value)
    for name in ("columns", "index", "explorer"):
        monkeypatch.setattr(f"bigtopic.explore.{name}._STEP", 41)
    monkeypatch.setattr("bigtopic.explore.texts._SPAN", 500)
    second = opened(theta, folder=tmp_path / "others")
    np.testing.assert_array_equal(first.tally.largest, second.tally.largest)
    for name in first.tally.leading._fields:
        np.testing.assert_allclose(getattr(first.tally.leading, name), getattr(second.tally.leading, name))
    for one, other in zip(first.tally.sums, second.tally.sums, strict=True):
        np.testing.assert_allclose(one.shares, other.shares)
        np.testing.assert_allclose(one.squares, other.squares)
    assert [column.described() for column in first.columns] == [
        column.described() for column in second.columns
    ]
    assert first.texts.matching("w3") == second.texts.matching("w3")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The user's cache, which keeps two indexes."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("bigtopic.explore.cached.KEPT", 2)
    return tmp_path / "cache" / "bigtopic" / "explore"


def age(index, seconds):
    state = (index / "index.json").stat()
    os.utime(index / "index.json", ns=(state.st_atime_ns, state.st_mtime_ns - seconds * 10**9))


def test_the_cache_keeps_what_was_opened_last(opened, model, asked, copied, cache, tmp_path):
    def index_of_topics(least, folder=None):
        model.transform_to(asked, copied, min_probability=least, overwrite=True)
        return opened(copied, folder=folder).path

    first = opened(None, folder=None).path  # with inferred topics
    age(first, 30)
    second = index_of_topics(0.1)
    age(second, 20)
    assert opened(None, folder=None).path == first and {*cache.iterdir()} == {first.parent, second.parent}
    third = index_of_topics(0.2)
    age(first, 10)
    assert {*cache.iterdir()} == {first.parent, third.parent}
    age(first, 30)
    fourth = index_of_topics(0.3)
    assert {*cache.iterdir()} == {third.parent, fourth.parent}
    others = [index_of_topics(least, tmp_path / "others") for least in (0.1, 0.2, 0.3)]
    assert all(path.exists() for path in others)  # a folder of the user's own


def test_what_is_not_an_index_stays_in_the_cache(opened, theta, cache, tmp_path):
    mine = {}
    for number, name in enumerate(["a" * 32, "b" * 32, "c" * 32, "d" * 32, "notes", "E" * 32]):
        index = cache / name / "index"
        index.mkdir(parents=True)
        (index / "index.json").write_text("{}")
        os.utime(index / "index.json", (number, number))
        mine[name] = index
    (mine["a" * 32] / "notes.txt").write_text("mine")
    (mine["b" * 32].parent / "theta.zarr").symlink_to(tmp_path / "target")
    (tmp_path / "target" / "X").mkdir(parents=True)
    shutil.move(mine["c" * 32], tmp_path / "linked")
    mine["c" * 32].symlink_to(tmp_path / "linked")
    (mine["d" * 32] / "index.json").unlink()  # is being written
    newer = [opened(theta, folder=None), opened(theta, corpus=None, folder=None)]
    assert names_in(mine["a" * 32]) == ["notes.txt"] and (tmp_path / "target" / "X").exists()
    assert names_in(tmp_path / "linked") == ["index.json"] and mine["d" * 32].exists()
    assert all(names_in(mine[name]) == ["index.json"] for name in ("notes", "E" * 32))
    assert all(one.path.exists() for one in newer)


def test_the_topics_in_the_cache_are_those_that_are_written():
    from bigtopic.estimators.topic_stores import output
    from bigtopic.explore import cached

    assert cached._TOPICS == output._MEMBERS


FULL = """
import sys
import bigtopic as bt
from bigtopic.explore import index_of

model, corpus, theta, folder = sys.argv[1:]
try:
    index_of(bt.load_model(model), bt.open_corpus(corpus), theta, bt.open_topics, folder)
except bt.errors.StoreError as error:
    print(error)
else:
    print("complete")
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root may mount a small disk")
def test_a_full_disk_is_an_error_that_names_the_folder(model, asked, theta, tmp_path):
    """Wherever it becomes full: in files that are mapped, in the database, and in others."""
    model.save(tmp_path / "model.zarr")
    disk, said = tmp_path / "disk", []
    disk.mkdir()
    for kilobytes in (12, 16, 20, 24, 32, 48, 64, 96, 128, 160, 192, 256, 320, 4096):
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(disk)]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("no file system can be mounted here")
        try:
            arguments = [str(tmp_path / "model.zarr"), asked.url, theta, str(disk / "indexes")]
            done = subprocess.run([sys.executable, "-c", FULL, *arguments], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            said.append(done.stdout)
            if "complete" not in said[-1]:
                assert "the disk is full" in said[-1] and str(disk) in said[-1]
                assert not [path for path in disk.rglob("*") if path.is_file()]
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    assert said[-1] == "complete\n"
    assert [text for text in said if "rows.npy (2,400 bytes) cannot be written" in text]
