"""Outputs that are replaced as a whole: files for people, such as pages, pictures and tables, and stores of topics.

They are complete or absent, at a path or behind a URL. Every file that is not part of a store is written here. A local
one goes through a draft beside its place (`drafted`); behind a URL, through a local file that is then uploaded. Nothing
is written into a store, which holds only its own files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from bigtopic.errors import CorpusLocked, StoreError
from bigtopic.storage import local
from bigtopic.storage.lock import LOCK, WriterLock, report_leftovers, sync_committed
from bigtopic.storage.place import Place
from bigtopic.storage.zarr_metadata import ROOT

__all__ = [
    "check_outside_stores",
    "check_replaceable",
    "drafted",
    "output_file",
    "path_or_url",
    "write_output",
]

_BEGINNING = 1024  # bytes that show what a file is


@contextmanager
def output_file(place: Place, check: Callable[[], None]) -> Iterator[Place]:
    """A local file to fill; when the block ends without an error, it takes the place, else nothing is left of it.

    Parameters
    ----------
    check : raises when the place may not be taken; called before and after the work

    Raises
    ------
    StoreError
        When the place is inside a store, or the system, or the store behind the URL, refuses a write. An existing file
        at the place stays as it was.
    """

    def checked() -> None:
        check()
        check_outside_stores(place)

    if place.local:
        with local.store_errors("written", place.url), drafted(place, None, checked) as draft:
            yield draft
        return
    checked()
    with TemporaryDirectory(prefix="bigtopic-output-") as folder:
        yield Place.of(f"{folder}/file")
        checked()
        place.upload(f"{folder}/file")


def write_output(place: Place, data: bytes, check: Callable[[], None]) -> Path | str:
    """Write a file of these bytes, see `output_file`. Returns `path_or_url`."""
    with output_file(place, check) as draft:
        draft.write(data)
    return path_or_url(place)


def path_or_url(place: Place) -> Path | str:
    """The absolute path of a local file, or the URL."""
    return Path(place.url) if place.local else place.url


def check_replaceable(place: Place, beginnings: tuple[bytes, ...], what: str) -> None:
    """Refuse a place that is taken, unless by an empty file, or one that begins, in small letters, with one of these.

    Parameters
    ----------
    what : what such a file is, for the message

    Raises
    ------
    StoreError
    """
    with local.store_errors("written", place.url):
        # A local path that cannot be, such as one with a name that is too long, is an OSError.
        taken = Path(place.url).exists() if place.local else place.exists()
        if taken and not _begins_with(place, beginnings):
            raise StoreError(f"{place.url} exists but is not {what}; nothing was written: give another path")


def _begins_with(place: Place, beginnings: tuple[bytes, ...]) -> bool:
    if place.local and not Path(place.url).is_file():
        return False
    try:
        return place.n_bytes() == 0 or place.read(0, _BEGINNING).lstrip().lower().startswith(beginnings)
    except (FileNotFoundError, IsADirectoryError):
        return False


def check_outside_stores(place: Place) -> None:
    """Refuse a place inside a corpus, a model or another store.

    Raises
    ------
    StoreError
    """
    for folder in _folders(place):
        if (folder / ROOT).exists():
            raise StoreError(
                f"{place.url} is inside the store {folder.url}, which holds only its own files; give a path outside"
            )


def _folders(place: Place) -> Iterator[Place]:
    """The folders that hold a file, the innermost first; in a chain of file systems, the folders of the first."""
    if place.local:
        yield from (Place(str(folder)) for folder in Path(place.url).resolve().parents)
        return
    first, *others = place.url.split("::")
    scheme, _, path = first.partition("://")
    while path and "/" in path:
        path = path.rpartition("/")[0]
        yield Place("::".join([f"{scheme}://{path}", *others]), place.options)


@contextmanager
def drafted(place: Place, members: Collection[str] | None, check: Callable[[], None]) -> Iterator[Place]:
    """A new folder, or file, to fill; when the block ends without an error, it takes the place, else it is removed.

    It is written beside its place and moved there in one step:

        theta.zarr                                the store, old or new, always whole
        theta.zarr.<12 hex digits>.partial/       only while a writer is at work
          .bigtopic.lock                          held by the writer
          store/                                  the new one, then the one it replaced

    Where the system can exchange two folders (Linux), there is no moment without a store. Otherwise the old one is
    moved aside first; if a writer is killed just then, the next one moves it back. Writers do not wait for each other:
    the last to finish wins.

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
    with _folder_beside(place) as folder:
        error = None
        try:
            yield folder / "store"
            (folder / "store").sync()
            check()
            _install(folder, place)
        except BaseException as failure:
            error = failure
            raise
        finally:
            try:
                _remove(folder, members)
            except StoreError as refused:
                report_leftovers(place, refused, error)
    try:
        folder.remove_empty()
    except StoreError as refused:
        report_leftovers(place, refused, None)


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


def _install(folder: Place, place: Place) -> None:
    """Move the new store into its place, and the old one into the folder."""
    new = f"{folder.url}/store"
    with local.store_errors("written", place.url):
        if not _moved_to_a_free_place(new, place) and not local.exchange(new, place.url):
            local.move(place.url, f"{folder.url}/old")
            local.move(new, place.url)
    sync_committed(place, Place(str(Path(place.url).parent)))


def _moved_to_a_free_place(new: str, place: Place) -> bool:
    if not place.exists():
        with suppress(FileExistsError):
            local.move(new, place.url)
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
