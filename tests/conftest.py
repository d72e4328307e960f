"""What many tests share: a small corpus of known topics, Dask clusters, and modules written or found by path."""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any
from zlib import crc32

import pytest
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.datasets.synthetic import SyntheticCorpus, lda_corpus
from bigtopic.estimators.support import phases
from bigtopic.plan import exchanges

sys.path.insert(0, str(Path(__file__).parent))

import browsing
import hosts
from thinning import thin

# Shells start what is in the background with Ctrl-C ignored, and then nothing here could interrupt a run.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Stores wait until each file is durable, and to remove a folder takes milliseconds on many a disk; where there is room,
# files are in memory, where both take no time.
if Path("/dev/shm").is_dir() and shutil.disk_usage("/dev/shm").free > 4 << 30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")
    os.environ.setdefault("TMPDIR", "/dev/shm")
    tempfile.tempdir = None  # found before

# Workers of all the clusters idle for most of a run: without these, each of them takes 3 % of a processor.
os.environ["DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED"] = "False"
os.environ["DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL"] = "500ms"
os.environ["DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL"] = "10s"
# Each worker would import all that a fork has.
os.environ["DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD"] = "forkserver"


# Toys have short documents, which the default method would sample five times as often.
phases.MOST_TIMES = 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than processors, as many tests wait for clusters and for processes that they start; each takes 3 GB."""
    n_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return len(os.sched_getaffinity(0)) + (n_bytes >= 16 << 30)


def pytest_configure(config: pytest.Config) -> None:
    """Where nothing is compiled yet, processes of one run do not compile the same functions."""
    if run := os.environ.get("PYTEST_XDIST_TESTRUNUID"):
        path = Path(tempfile.gettempdir()) / f"bigtopic-{run}.lock"
        locks = path.open("wb")
        config.add_cleanup(locks.close)
        config.add_cleanup(lambda: path.unlink(missing_ok=True))
        _compile_in_turns(locks)


def _compile_in_turns(locks: IO[bytes]) -> None:
    """The first process to need a function compiles it; others wait until they find it in the cache."""
    compiled = Dispatcher.compile

    def in_turns(self: Any, sig: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        place = crc32(name.encode())
        with global_compiler_lock:
            with suppress(OSError):  # were two to wait for each other
                fcntl.lockf(locks, fcntl.LOCK_EX, 1, place)
            try:
                return compiled(self, sig)
            finally:
                fcntl.lockf(locks, fcntl.LOCK_UN, 1, place)

    Dispatcher.compile = in_turns


@pytest.hookimpl(tryfirst=True)  # before slow tests are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    thin(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """To look for garbage in all that was imported, again and again, would take longer than many a test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def synthetic() -> SyntheticCorpus:
    """300 documents of 4 known topics over 80 words."""
    return lda_corpus(300, 80, 4, mean_length=60.0, random_state=1)


@pytest.fixture(scope="session")
def corpus(synthetic: SyntheticCorpus) -> Corpus:
    """The same documents as a corpus in memory, in hashed order, its words named w0, w1, ..."""
    return from_matrix(synthetic.counts, [f"w{i}" for i in range(80)], random_state=0)


@pytest.fixture(scope="session")
def toy() -> Callable[[Path], ModuleType]:
    """Load a file as a module of its own name, as a worker does that got the file by `Client.upload_file`."""

    def load(path: Path) -> ModuleType:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="module")
def replicas_of_large_corpora() -> Iterator[None]:
    """Replicas begin after 30 updates, though exchanges of small corpora are not worth their time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchanges, "ENTRIES_PER_WORD", 0)
        yield


@pytest.fixture(scope="session")
def one_worker() -> Iterator[Any]:
    """Client of a cluster of one single-threaded worker process."""
    yield from _client(1)


@pytest.fixture(scope="session")
def three_workers() -> Iterator[Any]:
    """Client of a cluster of three single-threaded worker processes."""
    yield from _client(3)


def _client(n_workers: int) -> Iterator[Any]:
    from dask.distributed import Client, LocalCluster

    hosts.forks()
    settings = {
        "n_workers": n_workers,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
        "memory_limit": 0,
    }
    # not the default client: a test that is not about clusters must not find one
    with LocalCluster(**settings) as cluster, Client(cluster, set_as_default=False) as client:
        yield client
        with suppress(TimeoutError):  # a nanny that is closed while it starts a worker again fails
            client.wait_for_workers(n_workers, timeout=30)


@pytest.fixture
def mortal_worker() -> Iterator[Any]:
    """Client of a cluster like `one_worker`, of one test, which may kill the worker."""
    yield from _client(1)


@pytest.fixture
def mortal_workers() -> Iterator[Any]:
    """Client of a cluster like `three_workers`, of one test, which may kill the workers."""
    yield from _client(3)


@pytest.fixture(scope="session")
def other_address() -> Iterator[Any]:
    """Client of four single-threaded worker processes at another address of this machine, which see its files."""
    with hosts.scheduler() as client, ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(hosts.worker(client))
        yield client


@pytest.fixture(scope="session")
def other_host() -> Iterator[Any]:
    """Client of two single-threaded worker processes with memory and temporary files of their own."""
    if reason := hosts.why_no_namespaces():
        pytest.skip(reason)
    with hosts.scheduler() as client, ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(hosts.worker(client, private_files=True))
        yield client


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with browsing.started() as found:
        yield found


@pytest.fixture
def tab(browser: Any) -> Iterator[Callable[..., browsing.Tab]]:
    """`tab(address)` opens a page at 1 400 x 900 pixels, or as further settings of Playwright say. At the end nothing
    may have gone wrong in any of them."""
    opened = []

    def open_(address: str, own: str = "", **settings: Any) -> browsing.Tab:
        context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **settings})
        opened.append((context, browsing.Tab(context.new_page(), own)))
        opened[-1][1].page.goto(address)
        return opened[-1][1]

    yield open_
    faults = [fault for _, found in opened for fault in found.faults]
    for context, _ in opened:
        context.close()
    assert not faults
