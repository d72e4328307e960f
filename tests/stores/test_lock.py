"""One writer at a time: a lock of the system, that ends with its process, on a file that may be anything before."""

import errno
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import BigtopicError, CorpusLocked, StoreError
from bigtopic.storage import lock
from bigtopic.storage.lock import LOCK, WriterLock
from bigtopic.storage.place import Place

HERE = {"n_threads": 1, "progress": False}
OLD, NEW = ["a cat sat", "a dog ran"], ["a bird sang"]


@pytest.fixture
def store(tmp_path):
    bt.ingest(OLD, tmp_path / "corpus.zarr", **HERE)
    return tmp_path / "corpus.zarr"


def left_behind(store, **holder):
    """A lock file that nobody holds."""
    content = {"host": socket.gethostname(), "pid": 1, "time": time.time()}
    (store / LOCK).write_text(json.dumps({**content, **holder}))


HOLDER = """
import sys, time
from bigtopic.storage.lock import WriterLock
from bigtopic.storage.place import Place
with WriterLock(Place.of(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(store):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(store)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_writer_in_another_process(store, holder):
    where = rf"process {holder.pid} on {socket.gethostname()} since \d{{4}}-\S+ \S+; .* remove {store / LOCK}"
    with pytest.raises(CorpusLocked, match=where):
        bt.append(store, NEW, **HERE)
    assert (store / LOCK).exists() and len(bt.open_corpus(store)) == 2


def test_a_killed_writer_holds_nothing(store, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    assert (store / LOCK).exists()
    assert len(bt.append(store, NEW, **HERE)) == 3
    assert not (store / LOCK).exists()


def test_a_process_number_that_is_used_again_does_not_block(store):
    left_behind(store, pid=os.getppid())
    assert len(bt.append(store, NEW, **HERE)) == 3


def test_a_writer_in_another_thread(store):
    with WriterLock(Place.of(store)), pytest.raises(CorpusLocked, match=f"process {os.getpid()} on"):
        bt.append(store, NEW, **HERE)
    assert len(bt.append(store, NEW, **HERE)) == 3


def test_a_file_that_a_writer_on_another_host_left_is_respected(store):
    left_behind(store, host="elsewhere")
    with pytest.raises(CorpusLocked, match="process 1 on elsewhere"):
        bt.append(store, NEW, **HERE)
    assert (store / LOCK).exists()


def test_a_forked_child_does_not_hold_the_lock(store):
    """A child that outlives its killed parent must not lock the store; one that ends must not unlock it."""
    script = (
        "import os, sys, time\n"
        "from bigtopic.storage.lock import WriterLock\n"
        "from bigtopic.storage.place import Place\n"
        "lock = WriterLock(Place.of(sys.argv[1]))\n"
        "lock.__enter__()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    lock.__exit__(None, None, None)\n"
        "    print('child', os.getpid(), flush=True)\n"
        "    time.sleep(60)\n"
        "    os._exit(0)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script, str(store)], stdout=subprocess.PIPE
    )
    child = int(parent.stdout.readline().split()[1])
    try:
        with pytest.raises(CorpusLocked):
            bt.append(store, NEW, **HERE)
        parent.kill()
        parent.wait()
        assert len(bt.append(store, NEW, **HERE)) == 3
    finally:
        os.kill(child, signal.SIGKILL)
        parent.stdout.close()


ODD = {
    "folder": lambda file: file.mkdir(),
    "folder with a file": lambda file: (file.mkdir(), (file / "thesis.tex").touch()),
    "pipe": lambda file: os.mkfifo(file),
    "link to a file": lambda file: file.symlink_to(file.parent / "zarr.json"),
    "link to nothing": lambda file: file.symlink_to("nowhere"),
    "second name of a file": lambda file: file.hardlink_to(file.parent / "zarr.json"),
    "binary": lambda file: file.write_bytes(bytes(range(256))),
    "zeros": lambda file: file.write_bytes(bytes(100)),
    "huge": lambda file: file.write_bytes(b"[" * 100_000_000),
    "nested": lambda file: file.write_bytes(b"[" * 4000),
    "other JSON": lambda file: file.write_text('{"precious": 1}'),
    "a number": lambda file: file.write_text("7"),
    "odd holder": lambda file: file.write_text('{"host": [], "pid": {}, "time": 1e400}'),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_not_a_lock_file_is_not_touched(kind, store):
    ODD[kind](store / LOCK)
    before = (store / LOCK).lstat()
    found = (store / "zarr.json").read_bytes()
    with pytest.raises(CorpusLocked, match=re.escape(str(store / LOCK))):
        bt.append(store, NEW, **HERE)
    after = (store / LOCK).lstat()
    assert (before.st_ino, before.st_size, before.st_mtime_ns) == (
        after.st_ino,
        after.st_size,
        after.st_mtime_ns,
    )
    assert (store / "zarr.json").read_bytes() == found and len(bt.open_corpus(store)) == 2


def test_an_empty_lock_file_is_that_of_a_writer_killed_at_once(store):
    (store / LOCK).touch()
    assert len(bt.append(store, NEW, **HERE)) == 3


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_a_lock_file_that_may_not_be_read(store, in_child):
    left_behind(store)
    closed = [folder for folder in store.parents if not folder.stat().st_mode & stat.S_IXOTH]
    for entry in [*closed, store.parent, store, *store.rglob("*")]:
        entry.chmod(0o777)
    (store / LOCK).chmod(0)
    ended = in_child(lambda: bt.append(store, NEW, **HERE), before=lambda: os.setuid(65534))
    assert ended.error == "StoreError"
    assert ended.message.startswith(f"{store / LOCK} cannot be locked: permission denied")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, None])
def test_a_file_system_without_locks(number, store, monkeypatch):
    """The file is the lock then; what a killed writer leaves must be removed by hand."""

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    if number is None:
        monkeypatch.setattr(lock, "fcntl", None)
    else:
        monkeypatch.setattr(lock.fcntl, "flock", refuse)
    with WriterLock(Place.of(store)), pytest.raises(CorpusLocked, match=f"process {os.getpid()}"):
        bt.append(store, NEW, **HERE)
    assert len(bt.append(store, NEW, **HERE)) == 3
    left_behind(store, pid=os.getppid())
    with pytest.raises(CorpusLocked, match="if it no longer runs, remove"):
        bt.append(store, NEW, **HERE)


def test_the_winner_keeps_its_lock_however_slow_the_loser_looks(store, monkeypatch):
    """Between looking at a dead writer's file and acting on it, another writer takes the lock, and a third comes."""
    left_behind(store)
    real, inside = lock.WriterLock._has_the_name, []

    def slow(self, descriptor):
        if not inside:
            inside.append(1)
            with pytest.raises(CorpusLocked), WriterLock(Place.of(store)):
                raise AssertionError("two writers")
        return real(self, descriptor)

    monkeypatch.setattr(lock.WriterLock, "_has_the_name", slow)
    with WriterLock(Place.of(store)), pytest.raises(CorpusLocked), WriterLock(Place.of(store)):
        raise AssertionError("two writers")
    assert inside


def test_a_lock_file_that_is_removed_under_a_waiting_writer(store, monkeypatch):
    """A file that was opened before its holder removed it is not the lock any more."""
    first, real, opened = WriterLock(Place.of(store)), lock.WriterLock._opened, []
    first.__enter__()

    def late(self):
        found = real(self)
        if not opened:
            opened.append(found)
            first.__exit__(None, None, None)
        return found

    monkeypatch.setattr(lock.WriterLock, "_opened", late)
    with WriterLock(Place.of(store)):
        assert (store / LOCK).stat().st_nlink == 1
        with pytest.raises(CorpusLocked), WriterLock(Place.of(store)):
            raise AssertionError("two writers")
    assert opened and not (store / LOCK).exists()


def test_who_made_the_file_but_was_too_late_to_lock_it_leaves_it(store, monkeypatch):
    first, real, opened = WriterLock(Place.of(store)), lock.WriterLock._opened, []

    def overtaken(self):
        found = real(self)
        if not opened:
            opened.append(found)
            first.__enter__()
        return found

    monkeypatch.setattr(lock.WriterLock, "_opened", overtaken)
    with pytest.raises(CorpusLocked), WriterLock(Place.of(store)):
        raise AssertionError("two writers")
    with pytest.raises(CorpusLocked), WriterLock(Place.of(store)):
        raise AssertionError("two writers")
    assert opened[0][1] and (store / LOCK).exists()
    first.__exit__(None, None, None)


# ---------------------------------------------------------------- models and topics


@pytest.fixture(scope="module")
def models():
    corpus = bt.from_matrix(np.random.default_rng(0).poisson(1.0, (30, 12)))
    return corpus, [
        bt.LDA(3, method="online-cvb0", max_iter=2, n_threads=1, random_state=i).fit(corpus) for i in range(4)
    ]


def together(*functions):
    """What each function raised, None for none, when all start at once."""
    gate, found = threading.Barrier(len(functions)), [None] * len(functions)

    def run(i):
        gate.wait()
        try:
            functions[i]()
        except BigtopicError as error:
            found[i] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_models_saved_at_once(models, tmp_path):
    _, fitted = models
    path = tmp_path / "model.zarr"
    for _ in range(10):
        errors = together(*(lambda model=model: model.save(path, overwrite=True) for model in fitted))
        assert all(error is None or isinstance(error, CorpusLocked) for error in errors) and None in errors
        saved = bt.load_model(path).components_
        assert any(np.array_equal(saved, model.components_) for model in fitted)
        assert sorted(p.name[:6] for p in path.iterdir()) == ["state-", "zarr.j"]
        assert [p.name for p in tmp_path.iterdir()] == ["model.zarr"]


def test_topics_written_at_once(models, tmp_path):
    import anndata

    corpus, fitted = models
    path = tmp_path / "theta.zarr"
    expected = [model.transform(corpus) for model in fitted]
    for _ in range(3):
        write = [
            lambda model=model: model.transform_to(corpus, path, overwrite=True, min_probability=0.0)
            for model in fitted
        ]
        assert together(*write) == [None] * len(fitted)
        stored = np.sort(anndata.read_zarr(path).X.toarray(), axis=None)
        assert any(np.allclose(stored, np.sort(shares, axis=None), atol=1e-5) for shares in expected)
        assert [p.name for p in tmp_path.iterdir()] == ["theta.zarr"]


def test_a_draft_swept_before_it_is_locked(models, tmp_path, monkeypatch):
    """Another writer looks for what killed ones left just when this one has made its lock file."""
    corpus, (model, *_) = models
    lock, swept = WriterLock._lock, []

    def _lock(self, descriptor, created):
        if created and ".partial" in self._file.url and not swept:
            swept.append(WriterLock(self._root))
            swept[0].__enter__()
        lock(self, descriptor, created)

    monkeypatch.setattr(WriterLock, "_lock", _lock)
    model.transform_to(corpus, tmp_path / "theta.zarr")
    assert swept
    swept[0].__exit__(None, None, None)
    assert (tmp_path / "theta.zarr" / "zarr.json").exists()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no such file system")
def test_a_folder_that_cannot_be_made_is_not_tried_for_ever():
    with (
        pytest.raises(StoreError, match=r"/proc/none/.*cannot be locked"),
        WriterLock(Place.of("/proc/none")),
    ):
        pass
