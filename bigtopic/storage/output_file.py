"""Files for people, such as pages, pictures and tables: at a path or behind a URL, complete or absent.

Every file that is not part of a store is written here. A local one goes through a draft beside its place, see
`storage.draft`; behind a URL, through a local file that is then uploaded. Nothing is written into a store, which holds
only its own files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bigtopic.errors import StoreError
from bigtopic.storage import local
from bigtopic.storage.draft import drafted
from bigtopic.storage.place import Place
from bigtopic.storage.zarr_group import ROOT

__all__ = ["check_outside_stores", "check_replaceable", "output_file", "path_or_url", "write_output"]

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
