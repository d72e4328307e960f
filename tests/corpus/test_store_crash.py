"""A writer that dies at any of its writes: a reader sees the old corpus or the new one, the next writer works."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from zarr.storage import WrapperStore

from bigtopic.corpus import storage, writer
from bigtopic.corpus.schema import LOCK
from bigtopic.corpus.storage import Place
from bigtopic.corpus.store import open_corpus
from bigtopic.errors import CorpusLocked, CorpusVersionError
from bigtopic.runtime.ingest import append, compact, ingest

OLD = ["a cat sat", "a dog ran", "the cat ran far"]
NEW = ["a bird sang", "the dog sang"]


class Killed(BaseException):
    """What `kill -9` looks like from inside: nothing that follows has any effect."""


class Mortal:
    """Counts writes to the store; from number `last` on, every write and every removal fails."""

    def __init__(self, last):
        self.last, self.count = last, 0

    def write(self):
        self.count += 1
        if self.count > self.last:
            raise Killed

    @property
    def dead(self):
        return self.count > self.last


@pytest.fixture
def mortal(monkeypatch):
    """Make writers of this process mortal; returns a function that sets the number of writes they may do."""
    real = {name: getattr(Place, name) for name in ("write", "replace", "remove")}
    real_unlink, real_store = os.unlink, storage.zarr_store

    def install(last):
        life = Mortal(last)

        class MortalStore(WrapperStore):
            async def set(self, key, value):
                life.write()
                await self._store.set(key, value)

            async def set_if_not_exists(self, key, value):
                life.write()
                await self._store.set_if_not_exists(key, value)

        def mortal_place(name):
            def call(self, *arguments):
                life.write()
                return real[name](self, *arguments)

            return call

        def unlink(path, *arguments, **options):
            if life.dead:
                raise Killed
            return real_unlink(path, *arguments, **options)

        monkeypatch.setattr(writer, "zarr_store", lambda place: MortalStore(real_store(place)))
        for name in real:
            monkeypatch.setattr(Place, name, mortal_place(name))
        monkeypatch.setattr(os, "unlink", unlink)
        return life

    yield install
    monkeypatch.undo()


def bury(path):
    """The process that held the lock is gone: its number belongs to nobody."""
    lock = path / LOCK
    if lock.exists():
        content = json.loads(lock.read_text())
        lock.write_text(json.dumps({**content, "pid": dead_pid()}))


def dead_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def documents(path):
    corpus = open_corpus(path)
    corpus.verify()
    return sorted(tuple(sorted(corpus[i].counts)) for i in range(len(corpus)))


def actions():
    return {
        "create": lambda path: ingest(NEW, path, n_threads=1),
        "append": lambda path: append(path, NEW, n_threads=1),
        "overwrite": lambda path: ingest(NEW, path, overwrite=True, n_threads=1),
        "compact": lambda path: compact(path, n_threads=1),
    }


@pytest.fixture
def quick_path():
    """A folder in memory where there is one: disks make the many ingests here slow."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as path:
        yield Path(path)


@pytest.mark.parametrize(
    "action",
    ["create", "append", *(pytest.param(name, marks=pytest.mark.slow) for name in ("overwrite", "compact"))],
)
def test_killed_at_every_write(action, quick_path, mortal):
    run = actions()[action]
    template = quick_path / "template.zarr"
    if action != "create":
        ingest(OLD, template, n_threads=1)
    if action == "compact":
        append(template, NEW, n_threads=1)
    before = documents(template) if action != "create" else None
    path = quick_path / "corpus.zarr"

    def fresh():
        shutil.rmtree(path, ignore_errors=True)
        if action != "create":
            shutil.copytree(template, path)

    fresh()
    life = mortal(10**9)
    run(path)
    n_writes = life.count
    after = documents(path)
    assert n_writes > 20
    seen = set()
    for last in range(n_writes):
        fresh()
        mortal(last)
        with pytest.raises(Killed):
            run(path)
        mortal(10**9)  # the living
        bury(path)
        try:
            found = documents(path)
        except CorpusVersionError:
            found = None
        assert found in (before, after), last
        seen.add("new" if found == after and found != before else "old")
        if last % 9 == 0:
            ingest(OLD, path, overwrite=True, n_threads=1)
            assert documents(path) == sorted(tuple(sorted(set(text.split()) - {"a"})) for text in OLD)
            assert len(list((path / "parts").glob("0*"))) == 1
            assert not [p.name for p in path.iterdir() if p.name.startswith(".")]
    assert seen == {"old"} if action == "compact" else "old" in seen


KILLED_PROCESS = """
import os, sys
from bigtopic.corpus import storage, writer
from bigtopic.runtime.ingest import ingest
from zarr.storage import WrapperStore
count = 0
class Mortal(WrapperStore):
    async def set(self, key, value):
        global count
        count += 1
        if count > int(sys.argv[2]):
            os._exit(9)
        await self._store.set(key, value)
real = storage.zarr_store
writer.zarr_store = lambda place: Mortal(real(place))
ingest(["a bird sang", "the dog sang"], sys.argv[1], overwrite=True, n_threads=2)
"""


@pytest.mark.parametrize("last", [3, 12])
def test_killed_process(tmp_path, last):
    path = tmp_path / "corpus.zarr"
    ingest(OLD, path, n_threads=1)
    before = documents(path)
    ended = subprocess.run([sys.executable, "-c", KILLED_PROCESS, str(path), str(last)], check=False)
    assert ended.returncode == 9
    assert documents(path) == before
    assert (path / LOCK).exists()
    longer = append(path, NEW, n_threads=1)  # takes the dead process's lock over
    assert len(longer) == 5 and not (path / LOCK).exists()
    assert len(list((path / "parts").glob("0*"))) == 2


@pytest.mark.parametrize("existing", [False, True])
def test_failure_leaves_the_store_as_it_was(tmp_path, existing):
    path = tmp_path / "deep" / "corpus.zarr"
    if existing:
        ingest(OLD, path, n_threads=1)
    before = sorted((str(p), p.stat().st_mtime_ns) for p in tmp_path.rglob("*") if p.is_file())

    def source():
        yield from NEW * 3000
        raise ValueError("the source broke")

    with pytest.raises(ValueError, match="the source broke"):
        ingest(source(), path, overwrite=existing, n_threads=2)
    assert sorted((str(p), p.stat().st_mtime_ns) for p in tmp_path.rglob("*") if p.is_file()) == before
    assert path.exists() == existing


def test_interrupt_leaves_nothing(tmp_path):
    def source():
        yield "a cat"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(source(), tmp_path / "corpus.zarr", n_threads=1)
    assert list(tmp_path.iterdir()) == []


def test_locked_by_another_process(tmp_path):
    path = tmp_path / "corpus.zarr"
    ingest(OLD, path, n_threads=1)
    holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        content = {"host": socket.gethostname(), "pid": holder.pid, "time": time.time(), "token": "x"}
        (path / LOCK).write_text(json.dumps(content))
        with pytest.raises(CorpusLocked, match=rf"process {holder.pid} on .*remove {path / LOCK}"):
            append(path, NEW, n_threads=1)
    finally:
        holder.kill()
        holder.wait()
    assert len(append(path, NEW, n_threads=1)) == 5


def test_locked_by_another_host(tmp_path):
    path = tmp_path / "corpus.zarr"
    ingest(OLD, path, n_threads=1)
    (path / LOCK).write_text(json.dumps({"host": "elsewhere", "pid": dead_pid(), "time": 0, "token": "x"}))
    with pytest.raises(CorpusLocked, match="on elsewhere"):
        append(path, NEW, n_threads=1)
    assert (path / LOCK).exists()


def test_locked_in_memory():
    place = Place.of("memory://locked.zarr")
    ingest(OLD, place.url, n_threads=1)
    (place / LOCK).write(b'{"host": "elsewhere", "pid": 1, "time": 0, "token": "x"}')
    with pytest.raises(CorpusLocked, match="elsewhere"):
        append(place.url, NEW, n_threads=1)
    place.remove()


APPENDER = """
import sys, time
from bigtopic.errors import CorpusLocked
from bigtopic.runtime.ingest import append
mine, lost = int(sys.argv[2]), 0
for i in range(3):
    while True:
        try:
            append(sys.argv[1], [f"writer{mine} document{i}"], n_threads=1)
            break
        except CorpusLocked:
            lost += 1
            time.sleep(0.02)
"""


def test_concurrent_appends_lose_nothing(tmp_path):
    path = tmp_path / "corpus.zarr"
    ingest(OLD, path, n_threads=1)
    command = [sys.executable, "-c", APPENDER, str(path)]
    writers = [subprocess.Popen([*command, str(i)]) for i in range(2)]
    assert [process.wait() for process in writers] == [0, 0]
    found = documents(path)
    assert len(found) == 9
    for i in range(2):
        assert sum(f"writer{i}" in words for words in found) == 3
    rows = open_corpus(path).rows()
    assert np.sort(rows).tolist() == list(range(9))
