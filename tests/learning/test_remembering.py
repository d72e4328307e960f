"""How much document state is in memory at once: reading ahead and writing behind are bounded."""

import threading
from itertools import count

import numpy as np
import pytest

from bigtopic.learning.remembering import MOST_BUFFERED, MOST_UNWRITTEN, InFiles
from bigtopic.learning.run import Iteration
from bigtopic.plan.slices import SliceRef
from bigtopic.types import StateSpec

REFS = [SliceRef(0, start, start + 1, 0, 10) for start in range(10)]


class Files:
    """State files whose writes wait until they may."""

    def __init__(self):
        self.reads, self.writes, self.may_write = [], [], threading.Event()

    def read(self, part, start, stop, n_passes):
        self.reads.append(start)
        return {"labels": np.array([start])}

    def write(self, part, start, stop, n_passes, state):
        assert self.may_write.wait(10)
        if stop > len(REFS):
            raise OSError("full")
        self.writes.append(start)


@pytest.fixture
def files():
    return Files()


@pytest.fixture
def remembering(files):
    remembering = InFiles(files)
    yield remembering
    files.may_write.set()
    remembering.close()


@pytest.fixture
def iteration():
    return Iteration(seed=0, pass_number=1)


def settled(remembering):
    """After what is being read or written."""
    remembering._pool.submit(int).result()
    return remembering


def test_few_are_read_before_they_are_needed(remembering, files, iteration):
    for ref in REFS:
        remembering.prefetch(ref, 1)
    for number, ref in zip(count(), REFS, strict=False):
        settled(remembering)
        assert len(files.reads) <= number + MOST_BUFFERED
        assert remembering.read(ref, iteration, None)["labels"] == ref.start
    assert files.reads == [ref.start for ref in REFS]


def test_what_comes_later_is_read_last(remembering, files, iteration):
    now, later = REFS[:7], REFS[7:]
    for ref in now[:2]:
        remembering.prefetch(ref, 1)
    for ref in later:
        remembering.prefetch(ref, 1, later=True)
    for number, ref in enumerate(now):
        if number + 2 < len(now):
            remembering.prefetch(now[number + 2], 1)
        settled(remembering)
        assert files.reads[-1] == ref.start  # before it is needed
        remembering.read(ref, iteration, None)
    settled(remembering)
    assert files.reads == [ref.start for ref in REFS[:8]]
    for ref in later:
        remembering.prefetch(ref, 1)
    for ref in later:
        remembering.read(ref, iteration, None)
    assert files.reads == [ref.start for ref in REFS]


def test_a_slice_is_read_once_in_whatever_order(remembering, files, iteration):
    for ref in REFS:
        remembering.prefetch(ref, 1)
    for ref in reversed(REFS):
        assert remembering.read(ref, iteration, None)["labels"] == ref.start
    assert sorted(files.reads) == [ref.start for ref in REFS]


def test_who_is_ahead_of_the_writes_waits(remembering, files, iteration):
    given = []

    def give():
        for ref in REFS:
            remembering.write(ref, iteration, None, {})
            given.append(ref)

    giver = threading.Thread(target=give)
    giver.start()
    giver.join(0.2)
    assert giver.is_alive() and len(given) == MOST_UNWRITTEN
    files.may_write.set()
    giver.join(10)
    remembering.flush()
    assert files.writes == [ref.start for ref in REFS]


def test_nothing_is_read_ahead_of_what_is_not_yet_written(remembering, files, iteration):
    for ref in REFS[:3]:
        remembering.prefetch(ref, 1)
    remembering.write(REFS[9], iteration, None, {})
    assert remembering.read(REFS[0], iteration, None)["labels"] == 0
    assert files.reads == [0]
    files.may_write.set()
    remembering.flush()
    settled(remembering)
    assert files.reads == [0, 1]
    remembering.read(REFS[1], iteration, None)
    settled(remembering)
    assert files.reads == [0, 1, 2]


def test_what_is_kept_is_read_from_memory_once(files):
    files.may_write.set()
    remembering = InFiles(files, keeps=True)
    for ref in REFS[:2]:
        remembering.write(ref, Iteration(seed=0, pass_number=0), None, {"labels": np.array([-ref.start])})
    remembering.flush()
    for ref in REFS[:3]:
        remembering.prefetch(ref, 1)
    found = [remembering.read(ref, Iteration(seed=0, pass_number=1), None)["labels"] for ref in REFS[:3]]
    assert found == [0, -1, 2] and files.reads == [2] and files.writes == [0, 1]
    remembering.read(REFS[1], Iteration(seed=0, pass_number=1), None)
    assert files.reads == [2, 1]
    remembering.close()


def test_what_no_pass_has_read_is_forgotten(files):
    """A pass with other slices reads their state from files."""
    files.may_write.set()
    remembering = InFiles(files, keeps=True)
    state, held = {"labels": np.zeros(3)}, []
    for pass_number in range(4):
        remembering.write(REFS[pass_number], Iteration(seed=0, pass_number=pass_number), None, state)
        remembering.flush()
        held.append(len(remembering._kept))
    assert held == [1, 2, 2, 2]
    remembering.close()


def test_of_what_is_kept_the_next_pass_sees_the_words_that_it_knows(files):
    files.may_write.set()
    files.arrays = {"labels": StateSpec("token", "int16", (1,), missing=-1)}
    remembering = InFiles(files, keeps=True)
    kept = {"token": np.array([True, False, True])}
    remembering.write(REFS[0], Iteration(seed=0), kept, {"labels": np.array([[3], [4]], np.int16)})
    remembering.flush()
    for seen, labels in ((kept, [[3], [4]]), (None, [[3], [-1], [4]])):
        remembering.write(REFS[0], Iteration(seed=0), kept, {"labels": np.array([[3], [4]], np.int16)})
        remembering.flush()
        found = remembering.read(REFS[0], Iteration(seed=0, pass_number=1), seen)["labels"]
        np.testing.assert_array_equal(found, labels)
    assert files.reads == []
    remembering.close()


def test_who_keeps_what_is_written_does_not_wait(files):
    remembering = InFiles(files, keeps=True)
    for ref in REFS:
        remembering.write(ref, Iteration(seed=0), None, {})
    files.may_write.set()
    remembering.flush()
    assert sorted(files.writes) == [ref.start for ref in REFS]
    remembering.close()


def test_closing_waits_for_what_is_being_written_and_reads_no_more(files, iteration):
    remembering = InFiles(files)
    remembering.write(REFS[9], iteration, None, {})
    remembering.prefetch(REFS[0], 1)
    closer = threading.Thread(target=remembering.close)
    closer.start()
    files.may_write.set()
    closer.join(10)
    remembering.flush()
    assert files.writes == [9] and files.reads == []


def test_a_failed_write_is_told_soon_and_blocks_nobody(remembering, files, iteration):
    files.may_write.set()
    full = SliceRef(0, 10, 11, 0, 11)
    with pytest.raises(OSError, match="full"):
        for _ in range(100):
            remembering.write(full, iteration, None, {})
            settled(remembering)
