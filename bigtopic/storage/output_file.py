"""Files for people, such as pages, pictures and tables: at a path or behind a URL, complete or absent.

Every file that is not part of a store is written here. A local one goes through a draft beside its place, see
`storage.draft`; behind a URL, through a local file that is then uploaded. Nothing is written into a store, which holds
only its own files.
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
from bigtopic.storage.lock import WriterLock, settle, tell_what_is_left
from bigtopic.storage.names import LOCK
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
        When the place is inside a store, or the system, or the store behind the URL, refuses a write. What was at the
        place stays as it was.
    """

    def checked() -> None:
        check()
        check_outside_stores(place)

    if place.local:
        with local.told("written", place.url), drafted(place, None, checked) as draft:
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
    with local.told("written", place.url):
        if _exists(place) and not _begins_with(place, beginnings):
            raise StoreError(f"{place.url} exists but is not {what}; nothing was written: give another path")


def _exists(place: Place) -> bool:
    """Raises OSError for a local path that cannot be, such as one with a name that is too long."""
    return Path(place.url).exists() if place.local else place.exists()


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
    """The folders that hold a file, the innermost first; of a chain of file systems, those of the first."""
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
