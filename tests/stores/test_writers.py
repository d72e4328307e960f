"""Six writers after a killed one: no append is lost, nothing is damaged, round after round.

`BIGTOPIC_ROUNDS=1000 pytest tests/stores/test_writers.py -m slow` does as many rounds.
"""

import os
import shutil
import signal
import time

import pytest

import bigtopic as bt
from bigtopic.errors import CorpusLocked
from bigtopic.storage import lock
from bigtopic.storage.lock import WriterLock
from bigtopic.storage.place import Place

HERE = {"n_threads": 1, "progress": False}
WRITERS = 6


def slow_looks(seconds):
    """Give the other writers time between looking at the lock file and acting on what was seen."""
    real = lock.WriterLock._has_the_name

    def slow(self, descriptor):
        found = real(self, descriptor)
        time.sleep(seconds)
        return found

    lock.WriterLock._has_the_name = slow


def append(path, writer, delay):
    if delay:
        slow_looks(delay * (writer + 1))
    while True:
        try:
            bt.append(path, [f"writer{writer}"], **HERE)
            return
        except CorpusLocked:
            time.sleep(0.02)


def rounds(n_rounds, delay, folder, in_child, start):
    template = folder / "template.zarr"
    bt.ingest(["a cat"], template, **HERE)
    for number in range(n_rounds):
        path = folder / f"{number}.zarr"
        shutil.copytree(template, path)
        assert in_child(lambda path=path: bt.append(path, ["a dog"], **HERE), kill_at=5 + number % 40).killed
        survived = len(bt.open_corpus(path))
        writers = [start(lambda path=path, i=i: append(path, i, delay)) for i in range(WRITERS)]
        assert [os.waitpid(writer, 0)[1] for writer in writers] == [0] * WRITERS, number
        corpus = bt.open_corpus(path)
        assert corpus.verify() and len(corpus) == survived + WRITERS, number
        assert {f"writer{i}" for i in range(WRITERS)} <= set(corpus.vocabulary[:]), number
        assert sorted(corpus.rows().tolist()) == list(range(survived + WRITERS)), number
        assert not [entry.name for entry in path.iterdir() if entry.name.startswith(".")], number
        shutil.rmtree(path)
        if number % 50 == 49:
            print(f"{number + 1} rounds of {WRITERS} appends, delay {delay} s: none lost", flush=True)


@pytest.mark.costly
@pytest.mark.parametrize("delay", [0, 0.01], ids=["as it comes", "slow looks"])
def test_six_writers_after_a_killed_one(delay, folder, in_child, start):
    rounds(2, delay, folder, in_child, start)


@pytest.mark.parametrize("n_turns", [100, pytest.param(5000, marks=pytest.mark.slow)])
def test_six_processes_count_under_the_lock(n_turns, folder, in_child, start):
    """Each adds to a number in a file, which loses inner iterations as soon as two are inside at once."""
    place, counter = Place.of(folder / "counted"), folder / "counter"
    counter.write_text("0")

    def die_inside():
        with WriterLock(place):
            os.kill(os.getpid(), signal.SIGKILL)

    def count(writer):
        if writer == 0:
            for _ in range(n_turns // 10):
                in_child(die_inside)  # killed, if it gets the lock
        for _ in range(n_turns):
            while True:
                try:
                    with WriterLock(place):
                        counter.write_text(str(int(counter.read_text()) + 1))
                    break
                except CorpusLocked:
                    time.sleep(0)

    writers = [start(lambda i=i: count(i)) for i in range(WRITERS)]
    assert [os.waitpid(writer, 0)[1] for writer in writers] == [0] * WRITERS
    assert counter.read_text() == str(n_turns * WRITERS)


@pytest.mark.slow
def test_six_writers_after_a_killed_one_again_and_again(folder, in_child, start):
    n_rounds = int(os.environ.get("BIGTOPIC_ROUNDS", "100"))
    rounds(n_rounds - n_rounds // 5, 0, folder, in_child, start)
    rounds(n_rounds // 5, 0.002, folder / "slow looks", in_child, start)
