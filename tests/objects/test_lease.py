"""The lock of stores behind URLs: one holder, renewed while it works, taken over after it died."""

import json
import subprocess
import sys
import time
from threading import Barrier, Thread

import pytest

from bigtopic.corpus.store import open_corpus
from bigtopic.corpus.stored.transaction import Transaction
from bigtopic.errors import CorpusLocked, SettingError
from bigtopic.ingestion.ingest import append, compact, ingest
from bigtopic.storage import lock as lease
from bigtopic.storage import remote
from bigtopic.storage.lock import LOCK, Lease
from bigtopic.storage.place import Place
from bigtopic.storage.writers import RemoteWriter

pytestmark = pytest.mark.battery
OLD = ["a cat sat", "a dog ran", "the cat ran far"]


@pytest.fixture(autouse=True)
def short_leases(monkeypatch):
    monkeypatch.setattr(lease, "EXPIRES", 1.5)
    monkeypatch.setattr(lease, "RENEWED", 0.3)


@pytest.fixture(params=["s3", "memory"])
def place(request):
    if request.param == "memory":
        place = Place.of(f"memory://lease-{time.time_ns()}")
        yield place
        place.remove()
    else:
        bucket = request.getfixturevalue("bucket")
        yield Place.of(bucket.url("store"), bucket.options)


def documents(place):
    corpus = open_corpus(place.url, place.options)
    corpus.verify()
    return sorted(" ".join(sorted(corpus[i].counts)) for i in range(len(corpus)))


def test_a_second_writer_is_refused_while_the_first_is_at_work(place, monkeypatch):
    monkeypatch.setattr(lease, "EXPIRES", 60.0)  # however slow the machine is
    with Lease(place):
        for _ in range(2):
            started = time.monotonic()
            with pytest.raises(
                CorpusLocked, match=r"is being written by process \d+ on .* since .*remove .*lock"
            ):
                Lease(place).__enter__()
            assert time.monotonic() - started < 60  # before the lock could have expired
    assert place.names() == []
    with Lease(place) as after:
        after.check()


def test_versions_are_compared(place):
    file = place / "file"
    assert file.version() is None
    assert file.replace_if(b"one", b"wrong" if place.url.startswith("memory") else '"wrong"') is None
    first = file.replace_if(b"one", None)
    assert first is not None and first == file.version()
    assert file.replace_if(b"other", None) is None
    second = file.replace_if(b"two", first)
    assert second not in (None, first) and file.replace_if(b"three", first) is None
    assert file.read() == b"two"
    assert file.replace_if(b"two", first) == second  # the same request, sent again
    file.remove_if(first)
    assert file.read() == b"two"
    file.remove_if(second)
    assert not file.exists()


def test_a_lock_that_is_removed_while_somebody_looks_at_it(bucket, monkeypatch):
    file = Place.of(bucket.url("store"), bucket.options) / LOCK
    assert file.replace_if(b"theirs", None)
    version_of = remote.version_of

    def late(filesystem, path):
        found = version_of(filesystem, path)
        filesystem.rm_file(path)
        return found

    monkeypatch.setattr(remote, "version_of", late)
    assert file.replace_if(b"mine", None) is None


@pytest.mark.slow
def test_one_of_many_takes_a_dead_writers_lock_over(bucket):
    place = Place.of(bucket.url("store"), bucket.options)
    (place / LOCK).write(json.dumps({"host": "gone", "pid": 1, "time": 0, "token": "x"}).encode())
    holders, refused, barrier = [], [], Barrier(5)

    def take():
        barrier.wait()
        try:
            with Lease(place) as held:
                holders.append(held)
                time.sleep(3)
        except CorpusLocked:
            refused.append(1)

    threads = [Thread(target=take) for _ in range(5)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(holders), len(refused)) == (1, 4)
    assert time.monotonic() - started >= 1.5 + 3
    assert place.names() == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", [b"", b"not json", b"[]", b'{"time": "x", "pid": null}', b'{"time": 1e300}', b"\xff"]
)
def test_odd_lock_objects(bucket, content):
    """They end like those of a dead writer, and until then the message stands."""
    place = Place.of(bucket.url("store"), bucket.options)
    (place / LOCK).write(content)
    assert str(place.url) in str(Lease(place)._locked())
    with Lease(place) as held:
        held.check()


class Overtaken(RemoteWriter):
    """A writer that stands still before it commits, for as long as it takes the next one to do its work."""

    meanwhile = None

    def commit(self, attributes, replaced=()):
        self._lease._ended.set()  # no renewals any more
        type(self).meanwhile()
        super().commit(attributes, replaced)


@pytest.mark.parametrize("existing", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("unseen", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_who_was_overtaken_cannot_commit(bucket, monkeypatch, existing, unseen):
    """Not even when it did not see that its lock is another's: the manifest is replaced on a condition, too."""
    from bigtopic.corpus.stored import transaction

    place = Place.of(bucket.url("store"), bucket.options)
    settings = {"storage_options": bucket.options, "n_threads": 1}
    if existing:
        ingest(OLD, place.url, **settings)

    def next_writer():
        monkeypatch.setattr(transaction, "RemoteWriter", RemoteWriter)
        ingest(["the next writer"], place.url, overwrite=True, **settings)

    Overtaken.meanwhile = next_writer
    monkeypatch.setattr(transaction, "RemoteWriter", Overtaken)
    if unseen:
        monkeypatch.setattr(Lease, "check", lambda self: None)
    match = "changed by another writer" if unseen else "another writer took the lock over"
    with pytest.raises(CorpusLocked, match=match):
        ingest(["the zombie"], place.url, overwrite=True, **settings)
    assert documents(place) == ["next the writer"]
    assert {key.split("/")[1] for key in bucket.list_keys()} == {"parts", "vocabulary", "zarr.json"}
    assert len({key.split("/")[2] for key in bucket.list_keys("store/parts")} - {"zarr.json"}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("existing", [False, True])
def test_who_is_overtaken_while_the_next_one_works_does_no_harm(bucket, existing):
    """The next writer has swept and is writing when the first wakes up, fails to commit, and cleans up."""
    place = Place.of(bucket.url("store"), bucket.options)
    settings = {"storage_options": bucket.options, "n_threads": 1}
    if existing:
        ingest(OLD, place.url, **settings)
    zombie = Transaction(place).__enter__()
    zombie._writer._lease._ended.set()
    (place / zombie.path("parts", 7) / "chunk").write(b"zombie")

    def wake(word, woken=[]):  # noqa: B006  (called for every word, inside the next writer's transaction)
        if not woken:
            woken.append(word)
            (place / zombie.path("parts", 7) / "late").write(b"zombie")
            zombie._writer._lease.check = lambda: None
            with pytest.raises(CorpusLocked, match="changed by another writer"):
                zombie._writer.commit({"bigtopic": {}})
            zombie.__exit__(None, None, None)
        return word

    texts = ["goes on", "the next writer"]
    ingest(texts, place.url, overwrite=True, token_filter=wake, **settings)
    assert documents(place) == ["goes on", "next the writer"]
    assert not any(zombie._writer.token in key for key in bucket.list_keys())


@pytest.mark.slow
def test_scratch_of_a_killed_writer_is_removed_by_the_next(bucket, tmp_path, monkeypatch):
    """Outside the store, it is what the writer recorded; and it is for its owner only."""
    code = """
import json, os, signal, sys, tempfile
tempfile.tempdir = sys.argv[1]
from bigtopic.ingestion.ingest import ingest
def source():
    yield from ["a cat sat", "a dog ran"] * 5000
    os.kill(os.getpid(), signal.SIGKILL)
ingest(source(), sys.argv[2], storage_options=json.loads(sys.argv[3]), n_threads=1)
"""
    (tmp_path / ".scratch-0123456789ab").mkdir()
    arguments = [str(tmp_path), bucket.url("store"), json.dumps(bucket.options)]
    assert subprocess.run([sys.executable, "-c", code, *arguments], check=False).returncode == -9
    (left,) = set(tmp_path.iterdir()) - {tmp_path / ".scratch-0123456789ab"}
    assert left.name.startswith(".scratch-") and left.stat().st_mode & 0o777 == 0o700
    ingest(OLD, bucket.url("store"), storage_options=bucket.options, n_threads=1)
    assert [path.name for path in tmp_path.iterdir()] == [".scratch-0123456789ab"]


def test_records_name_nothing_else(bucket, tmp_path):
    """A record comes with the store, from wherever that comes: it cannot have anything else removed."""
    place = Place.of(bucket.url("store"), bucket.options)
    settings = {"storage_options": bucket.options, "n_threads": 1}
    ingest(OLD, place.url, **settings)
    victim = tmp_path / "precious"
    victim.mkdir()
    link = tmp_path / ".scratch-0123456789ab"
    link.symlink_to(victim)
    (victim / "file").write_text("x")
    import socket

    records = {"0123456789ab": str(link), "1" * 12: str(victim), "2" * 12: "relative", "3" * 12: 7}
    bucket.put("store/notes", b"1")
    for token, scratch in records.items():
        content = {"host": socket.gethostname(), "scratch": scratch, "replaced": ["../x", "notes", 5]}
        (place / f".bigtopic.writer-{token}").write(json.dumps(content).encode())
    append(place.url, ["a bird"], **settings)
    assert (victim / "file").exists() and bucket.get("store/notes") == b"1"
    assert not any("writer-" in key for key in bucket.list_keys())


def test_chains_cannot_be_locked():
    with pytest.raises(SettingError, match="can only be read"):
        Lease(Place.of("simplecache::memory://x"))


@pytest.mark.slow
def test_what_is_appended_while_compact_waits_for_the_lock_is_not_lost(place, monkeypatch):
    """It reads the corpus before it has the lock: what it would write lacks what another writer appends until then."""
    settings = {"storage_options": place.options, "n_threads": 1}
    ingest(OLD, place.url, **settings)
    enter = Transaction.__enter__

    def late(transaction):
        monkeypatch.setattr(Transaction, "__enter__", enter)
        append(place.url, ["a bird sang"], **settings)
        return enter(transaction)

    monkeypatch.setattr(Transaction, "__enter__", late)
    with pytest.raises(CorpusLocked, match="changed by another writer since it was opened"):
        compact(place.url, **settings)
    assert len(documents(place)) == 4
    compact(place.url, **settings)
    assert len(documents(place)) == 4


APPENDER = """
import json, sys, time
from bigtopic.storage import lock as lease
from bigtopic.errors import CorpusLocked
from bigtopic.ingestion.ingest import append
lease.EXPIRES, lease.RENEWED = 3.0, 0.3
url, options, mine = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
for i in range(int(sys.argv[4])):
    while True:
        try:
            append(url, [f"writer{mine} document{i}"], storage_options=options, n_threads=1)
            break
        except CorpusLocked:
            time.sleep(0.05)
"""


@pytest.mark.slow
def test_concurrent_appends_lose_nothing(bucket):
    url, options = bucket.url("store"), bucket.options
    ingest(OLD, url, storage_options=options, n_threads=1)
    command = [sys.executable, "-c", APPENDER, url, json.dumps(options)]
    writers = [subprocess.Popen([*command, str(i), "4"]) for i in range(3)]
    assert [process.wait() for process in writers] == [0, 0, 0]
    place = Place.of(url, options)
    found = documents(place)
    assert len(found) == 3 + 3 * 4
    for i in range(3):
        assert sum(f"writer{i}" in text for text in found) == 4
    assert place.names() == ["parts", "vocabulary", "zarr.json"]
