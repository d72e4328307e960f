"""Generators with threads, which the garbage collector may close in any thread."""

import threading
import time

import pytest

from bigtopic.corpus.readers.containers.pieces import _ahead
from bigtopic.ingestion.parse import _by_turns
from bigtopic.parallel.mapping import bounded_map


class Stream:
    def chunks(self):
        yield from range(100)

    def read(self, n):
        return b"a"


GENERATORS = {
    "map": lambda: bounded_map(str, iter(range(100)), n_threads=2),
    "streams": lambda: _by_turns([Stream()], 2),
    "bytes": lambda: _ahead(Stream()),
}


@pytest.mark.skipif(not hasattr(threading, "_shutdown_locks_lock"), reason="threads start without this lock")
@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_is_closed_in_a_thread_that_is_just_starting(name):
    generator = GENERATORS[name]()
    next(generator)

    def close():
        with threading._shutdown_locks_lock:
            generator.close()

    closer = threading.Thread(target=close, daemon=True)
    closer.start()
    closer.join(10)
    assert not closer.is_alive()


def test_nothing_runs_when_a_generator_is_closed():
    running = []

    def work(item):
        running.append(item)
        time.sleep(0.05)
        running.remove(item)

    results = bounded_map(work, range(100), n_threads=3)
    next(results)
    results.close()
    assert running == []
