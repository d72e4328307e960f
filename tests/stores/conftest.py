"""Actions on stores, run in a child process that is killed, or refused something, at its n-th file operation."""

from __future__ import annotations

import errno
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import zarr

import bigtopic as bt
from bigtopic.errors import CorpusVersionError, ModelError
from bigtopic.storage.place import Place
from bigtopic.storage.writers import journals

OLD = ["a cat sat", "a dog ran", "the cat ran far"]
NEW = ["a bird sang", "the dog sang"]
_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.truncate", "ctypes.dlsym"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Ended(NamedTuple):
    """How a child ended: whether it was killed; the type and message of its error, if any; operations it began."""

    killed: bool
    error: str
    message: str
    n_operations: int


class Action(NamedTuple):
    """Something that writes a store: what is there before, the work, and what a reader finds (None: no store)."""

    prepare: Callable[[Path], None]
    run: Callable[[Path], Any]
    look: Callable[[Path], Any]


def documents(path: Path) -> Any:
    try:
        corpus = bt.open_corpus(path)
    except CorpusVersionError:
        return None
    corpus.verify()
    return sorted((tuple(sorted(corpus[i].counts)), corpus[i].authors) for i in range(len(corpus)))


def topics(path: Path) -> Any:
    try:
        model = bt.load_model(path)
    except ModelError as error:
        assert "there is no" in str(error)
        return None
    return model.components_.tobytes()


def shares(path: Path) -> Any:
    if not path.exists():
        return None
    group = zarr.open_group(str(path), mode="r")["X"]
    n_docs, n_topics = group.attrs["shape"]
    indptr, indices, data = (group[name][...] for name in ("indptr", "indices", "data"))
    assert len(indptr) == n_docs + 1 and indptr[-1] == len(indices) == len(data) and indices.max() < n_topics
    return n_docs, data.tobytes()


def nothing(path: Path) -> None:
    pass


@pytest.fixture(
    params=[
        "ingest",
        "append",
        "replace",
        "overwrite",
        "compact",
        "overwrite with authors",
        "with_authors",
        "with_authors again",
        "save",
        "save again",
        "transform_to",
        "transform_to again",
    ]
)
def name(request: pytest.FixtureRequest) -> str:
    """One of `actions` after the other."""
    return str(request.param)


@pytest.fixture(scope="session")
def actions() -> dict[str, Action]:
    """Every action that writes to a folder of the user's."""
    here: dict[str, Any] = {"n_threads": 1, "progress": False}
    corpora = [
        bt.from_matrix(np.random.default_rng(seed).poisson(1.0, (30, 12)), random_state=0) for seed in (0, 1)
    ]
    fitted = [bt.LDA(3, random_state=seed, max_iter=2, n_threads=1).fit(corpora[0]) for seed in (0, 1)]

    def old(path: Path) -> None:
        bt.ingest(OLD, path, **here)

    def two_parts(path: Path) -> None:
        old(path)
        bt.append(path, NEW, **here)

    def named(path: Path) -> None:
        bt.ingest(OLD, path, ids=["0", "1", "2"], **here)
        bt.append(path, OLD[:1], ids=["4"], **here)

    def attach(path: Path, names: Any) -> None:
        bt.open_corpus(path).with_authors(names)

    def attached(path: Path) -> None:
        two_parts(path)
        attach(path, {"Ann": ["0", "4"]})
        attach(path, {"Bob": ["1"]})

    def transform(path: Path, which: int = 1) -> None:
        fitted[0].transform_to(corpora[which], path, overwrite=True)

    return {
        "ingest": Action(nothing, lambda path: bt.ingest(NEW, path, **here), documents),
        "append": Action(old, lambda path: bt.append(path, NEW, **here), documents),
        "replace": Action(
            named,
            lambda path: bt.append(path, NEW, ids=["0", "4"], on_duplicate="replace", **here),
            documents,
        ),
        "overwrite": Action(old, lambda path: bt.ingest(NEW, path, overwrite=True, **here), documents),
        "compact": Action(two_parts, lambda path: bt.compact(path, **here), documents),
        "overwrite with authors": Action(
            attached,
            lambda path: bt.ingest(NEW, path, overwrite=True, authors={"Ann": [0]}, **here),
            documents,
        ),
        "with_authors": Action(two_parts, lambda path: attach(path, {"Cleo": ["2", "3"]}), documents),
        "with_authors again": Action(attached, lambda path: attach(path, {"Cleo": ["2", "3"]}), documents),
        "save": Action(nothing, lambda path: fitted[1].save(path, overwrite=True), topics),
        "save again": Action(
            lambda path: fitted[0].save(path), lambda path: fitted[1].save(path, overwrite=True), topics
        ),
        "transform_to": Action(nothing, transform, shares),
        "transform_to again": Action(lambda path: transform(path, 0), transform, shares),
    }


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: disks make many stores slow."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as path:
        yield Path(path)


@pytest.fixture(scope="session")
def in_child() -> Callable[..., Ended]:
    """Run a function in a forked child: `in_child(function, kill_at=n)` kills it with SIGKILL before its n-th file
    operation that changes something; `fail_at=n, with_errno=e` refuses that one operation; `before` runs first.
    """

    def run(
        function: Callable[[], Any],
        kill_at: int = -1,
        fail_at: int = -1,
        with_errno: int = errno.EACCES,
        before: Callable[[], Any] | None = None,
    ) -> Ended:
        reading, writing = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of forking with threads: none holds a lock here
            child = os.fork()
        if child == 0:
            os.close(reading)
            _live(function, kill_at, fail_at, with_errno, before, writing)
        os.close(writing)
        with open(reading, "rb") as pipe:  # noqa: PTH123  (a descriptor)
            told = pipe.read()
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            return Ended(True, "", "", kill_at)
        return Ended(False, *json.loads(told))

    return run


def _live(function: Any, kill_at: int, fail_at: int, number: int, before: Any, writing: int) -> None:
    """The child, from its first breath to its last."""
    gc.freeze()  # to look for garbage in what the parent made would copy all of it
    count, error = 0, ("", "")

    def watch(event: str, arguments: tuple) -> None:
        nonlocal count
        if event == "open":
            path, _, flags = arguments
            if not isinstance(path, str | bytes) or not flags & _WRITING or "__pycache__" in str(path):
                return
        elif event not in _CHANGES or "__pycache__" in str(arguments):
            return
        count += 1
        if count - 1 == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if count - 1 == fail_at:
            raise OSError(number, os.strerror(number), str(arguments[0]))

    try:
        if before is not None:
            before()
        sys.addaudithook(watch)
        function()
    except BaseException as failure:
        error = (type(failure).__name__, str(failure))
    counted = count
    os.write(writing, json.dumps([*error, counted]).encode())
    os._exit(0)


@pytest.fixture
def leaves_nothing() -> Callable[[Path], None]:
    """Check that beside and inside a store there is nothing but the store."""

    def check(path: Path) -> None:
        assert [entry.name for entry in path.parent.iterdir()] in ([], [path.name])
        if not path.exists():
            return
        attributes = json.loads((path / "zarr.json").read_text())["attributes"]
        found = {str(entry.relative_to(path)) for entry in [*path.glob("*"), *path.glob("*/*")]}
        if "bigtopic" in attributes:
            manifest = attributes["bigtopic"]
            names = [manifest["vocabulary"], *([manifest["authors"]] if manifest["authors"] else [])]
            listed = {one["path"] for one in [*manifest["parts"], *names]} | {*manifest["replaced"]}
            listed |= {path.split("/")[0] for path in listed}
            listed |= {f"{path.split('/')[0]}/zarr.json" for path in listed}
            assert found == listed | {"zarr.json"}
        elif "bigtopic-model" in attributes:
            state = attributes["bigtopic-model"]["state"]
            assert {name for name in found if "/" not in name} == {"zarr.json", state}
        else:
            assert {name for name in found if "/" not in name} == {"zarr.json", "X", "obs", "var"}
        assert not journals(Place.of(path))

    return check


@pytest.fixture
def fresh(folder: Path, actions: dict[str, Action]) -> Callable[[str], Path]:
    """The store before an action, made once and copied."""

    def copy(name: str) -> Path:
        template, path = folder / "templates" / name / "store.zarr", folder / "here" / "store.zarr"
        if not template.parent.exists():
            template.parent.mkdir(parents=True)
            actions[name].prepare(template)
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir()
        if template.exists():
            shutil.copytree(template, path)
        return path

    return copy


@pytest.fixture(scope="session")
def start() -> Callable[..., int]:
    """Begin a function in a forked child, whose number is returned; its status is 0 when the function returned."""

    def begin(function: Callable[[], Any]) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            status = 1
            try:
                function()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        return child

    return begin
