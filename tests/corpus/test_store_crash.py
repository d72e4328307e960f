"""Writers that fail or die half-way: a reader sees the old corpus or the new one, the next writer works."""

import subprocess
import sys

import numpy as np
import pytest

from bigtopic.corpus.store import open_corpus
from bigtopic.errors import CorpusLocked
from bigtopic.ingestion.ingest import append, ingest
from bigtopic.storage.lock import LOCK
from bigtopic.storage.place import Place

OLD = ["a cat sat", "a dog ran", "the cat ran far"]
NEW = ["a bird sang", "the dog sang"]


def documents(path):
    corpus = open_corpus(path)
    corpus.verify()
    return sorted(tuple(sorted(corpus[i].counts)) for i in range(len(corpus)))


KILLED_PROCESS = """
import os, sys
from bigtopic.storage import place as storage
from bigtopic.corpus.stored import writer
from bigtopic.ingestion.ingest import ingest
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
from bigtopic.ingestion.ingest import append
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


@pytest.mark.slow
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
