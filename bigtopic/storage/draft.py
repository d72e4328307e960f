"""A store, or a file, that is always replaced as a whole: it is written beside its place and moved there in one step.

    theta.zarr                                the store, old or new, always whole
    theta.zarr.<12 hex digits>.partial/       only while a writer is at work
      .bigtopic.lock                          held by the writer
      store/                                  the new one, then the one it replaced

Where the system can exchange two folders (Linux), there is no moment without a store. Elsewhere the old one is moved
aside first; if a writer is killed just then, the next one moves it back.

Writers do not wait for each other: the last to finish wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from bigtopic.errors import CorpusLocked, StoreError
from bigtopic.storage import local
from bigtopic.storage.endings import settle, tell_what_is_left
from bigtopic.storage.lock import WriterLock
from bigtopic.storage.names import LOCK
from bigtopic.storage.place import Place

__all__ = ["drafted"]


@contextmanager
def drafted(place: Place, members: Collection[str] | None, check: Callable[[], None]) -> Iterator[Place]:
    """A new folder, or file, to fill; when the block ends without an error, it takes the place, else it is removed.

    Parameters
    ----------
    place : a local path
    members : names that a store of this kind may have; nothing else is removed from the one that is replaced. None for
        a file, beside whose draft there may be a folder of scratch files, "store.scratch"
    check : raises when the place may not be taken; called before and after the work

    Raises
    ------
    StoreError
        When the system refuses a write; an existing store stays as it was.
    """
    check()
    place = Place(str(Path(place.url).resolve()))  # of a link, what it leads to is replaced
    _sweep(place, members)
    with _folder_beside(place) as folder, _removed(folder, place, members):
        yield folder / "store"
        (folder / "store").sync()
        check()
        _install(folder, place)
    _remove_last(folder, place)


@contextmanager
def _folder_beside(place: Place) -> Iterator[Place]:
    """A folder that this writer has locked; when the block ends with an error, it is removed as far as it is empty."""
    while True:
        folder = place.beside(f".{uuid4().hex[:12]}.partial")
        missing = local.missing_folders(folder.url)
        try:
            with ExitStack() as stack:
                try:
                    stack.enter_context(WriterLock(folder))
                except CorpusLocked:  # a sweeping writer locked the file that this one had just made
                    continue
                yield folder
                return
        except BaseException:
            local.remove_made(missing)
            raise


def _remove_last(folder: Place, place: Place) -> None:
    try:
        folder.remove_empty()
    except StoreError as refused:
        tell_what_is_left(place, refused, None)


@contextmanager
def _removed(folder: Place, place: Place, members: Collection[str] | None) -> Iterator[None]:
    """On exit, remove the rest of the draft, or the store that it replaced."""
    error = None
    try:
        yield
    except BaseException as failure:
        error = failure
        raise
    finally:
        try:
            _remove(folder, members)
        except StoreError as refused:
            tell_what_is_left(place, refused, error)


def _install(folder: Place, place: Place) -> None:
    """Move the new store into its place, and the old one into the folder."""
    with local.told("written", place.url):
        if not _moved_to_a_free_place(folder, place) and not local.exchange(f"{folder.url}/store", place.url):
            local.move(place.url, f"{folder.url}/old")
            local.move(f"{folder.url}/store", place.url)
    settle(place, Place(str(Path(place.url).parent)))


def _moved_to_a_free_place(folder: Place, place: Place) -> bool:
    if not place.exists():
        with suppress(FileExistsError):
            local.move(f"{folder.url}/store", place.url)
            return True
    return False


def _remove(folder: Place, members: Collection[str] | None) -> None:
    if members is None:
        (folder / "store.scratch").remove()
    for name in ("store", "old"):
        if members is None and not Path((folder / name).url).is_dir():
            (folder / name).remove()
            continue
        for member in members or ():
            (folder / name / member).remove()
        (folder / name).remove_empty()


def _sweep(place: Place, members: Collection[str] | None) -> None:
    """Remove what killed writers left beside the place: only folders that have our lock file."""
    path = Path(place.url)
    pattern = re.compile(re.escape(path.name) + r"\.[0-9a-f]{12}\.partial")
    for name in Place(str(path.parent)).names():
        folder = Place(str(path.parent / name))
        if not pattern.fullmatch(name):
            continue
        if (folder / LOCK).exists():
            with suppress(CorpusLocked, StoreError), WriterLock(folder):  # at work, or not ours to remove
                if (folder / "old").exists() and not place.exists():
                    local.move(f"{folder.url}/old", place.url)
                _remove(folder, members)
        folder.remove_empty()
