"""Which files of this process the workers of a Dask client can use. An address does not tell: containers may share an
address but no files, and hosts may share a folder. So each worker is asked to look for a file made for this purpose.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from bigtopic.errors import ON_THREADS, ClusterError, CorpusDamaged, InputError
from bigtopic.parallel import workers
from bigtopic.storage.place import Place

__all__ = ["corpus_in_reach", "files_in_reach", "in_sight_of", "require_shared", "shares_files", "unshared"]

_MANIFEST = "zarr.json"

# Answers of a client's workers: by folders or store, and by address.
_usable_folders: WeakKeyDictionary[Any, dict[Any, Mapping[str, bool]]] = WeakKeyDictionary()
_readable_stores: WeakKeyDictionary[Any, dict[str, Mapping[str, str]]] = WeakKeyDictionary()


def shares_files(client: Any, folders: Sequence[Path]) -> bool:
    """Whether every worker can use files that only this user may read in these folders.

    Each worker is asked once. A worker that joins later is asked only when this is called again, so tasks must handle a
    missing file.
    """
    known = _usable_folders.setdefault(client, {})
    name = tuple(map(str, folders))
    try:
        known[name] = _look(client, folders, 0o600, known.get(name, {}))
    except OSError:  # this process itself cannot write there
        return False
    return bool(known[name]) and all(known[name].values())


def require_shared(client: Any, folder: Path, remedy: str) -> None:
    """Refuse workers that do not see the files of a folder.

    Raises
    ------
    ClusterError
        Names the first of them, the folder, and the remedy.
    """
    if (why := unshared(client, folder)) is not None:
        raise ClusterError(f"{why}; {remedy}")


def unshared(client: Any, folder: Path) -> str | None:
    """Names the first worker that cannot use a folder of this process; None where all can."""
    for worker, usable in _look(client, [folder], 0o666, {}).items():
        if not usable:
            return f"worker {worker} does not see the files of {folder}, or may not write there"
    return None


def in_sight_of(places: Sequence[Place], task: Callable[[Any], Any], remedy: str) -> Callable[[Any], Any]:
    """A task that runs only where these local files and folders exist: a worker that joined after `require_shared`
    might write where no other process finds it.

    Raises
    ------
    ClusterError
        From the task; names the file and the remedy.
    """
    return partial(_do_in_sight, [place.url for place in places if place.local], remedy, task)


def _do_in_sight(paths: Sequence[str], remedy: str, task: Callable[[Any], Any], item: Any) -> Any:
    for path in paths:
        if not Path(path).exists():
            raise ClusterError(f"a worker that joined later does not see {path}; {remedy}")
    return task(item)


def _look(client: Any, folders: Sequence[Path], mode: int, known: Mapping[str, bool]) -> Mapping[str, bool]:
    with ExitStack() as stack:
        tokens = [stack.enter_context(_token(folder, mode)) for folder in folders]
        return workers.ask(client, _usable, tokens, known=known)


@contextmanager
def _token(folder: Path, mode: int) -> Iterator[str]:
    """A new file whose name cannot be guessed; a transaction sweeps the name, should this process be killed here."""
    token = folder / f".scratch-{uuid4().hex}"
    os.close(os.open(token, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    try:
        yield str(token)
    finally:
        token.unlink()


def _usable(tokens: Sequence[str]) -> bool:
    """Whether these files can be read here, and others be written beside them."""
    return all(os.access(token, os.R_OK) and os.access(Path(token).parent, os.W_OK) for token in tokens)


@contextmanager
def corpus_in_reach(client: Any, corpus: Any) -> Iterator[None]:
    """Refuse workers that cannot open a stored corpus: first, and when something in it was not found, because workers
    may have joined meanwhile.

    Raises
    ------
    ClusterError
        Names the first of them, the corpus, and the error.
    """
    if client is None or corpus.url is None:
        yield
        return
    _require_readable(client, corpus)
    try:
        yield
    except (CorpusDamaged, OSError):
        _require_readable(client, corpus)
        raise


def _require_readable(client: Any, corpus: Any) -> None:
    known = _readable_stores.setdefault(client, {})
    place = Place.of(corpus.url, corpus.storage_options)
    problems = workers.ask(client, _problem, place, known=known.get(place.url, {}))
    known[place.url] = {worker: problem for worker, problem in problems.items() if not problem}
    for worker, problem in problems.items():
        if problem:
            raise ClusterError(
                f"worker {worker} cannot open the corpus at {place.url} ({problem}); put it where every worker can "
                f"read it under this path or URL, or {ON_THREADS}"
            )


def _problem(store: Place) -> str:
    """The error of opening a store here, or ""."""
    try:
        (store / _MANIFEST).read()
    except Exception as error:  # whatever a file system raises is the answer
        return f"{type(error).__name__}: {error}"
    return ""


@contextmanager
def files_in_reach(client: Any) -> Iterator[None]:
    """Re-raise as ClusterError when tasks on workers cannot read a file that this process can read.

    Raises
    ------
    ClusterError
        Names the file.
    """
    try:
        yield
    except (InputError, FileNotFoundError, PermissionError) as error:
        path = getattr(error, "filename", None)
        if client is None or not path or not os.access(path, os.R_OK):
            raise
        raise ClusterError(
            f"{path} can be read here, but not by every worker of the cluster ({error}); put it where all of them find "
            f"it under the same path or URL, or {ON_THREADS}"
        ) from error
