"""Fetch a public data set: download its files once, check them, and store them as a corpus beside the downloads.

PATH/NAME/docword.NAME.txt.gz, ...    the files, under the publisher's names
PATH/NAME/sha256.txt                  checksums of the first download, as `sha256sum -c` reads them
PATH/NAME/corpus.zarr                 the corpus
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.corpus.stored.transaction import current_manifest
from bigtopic.datasets.public import PUBLIC, Public
from bigtopic.errors import (
    BigtopicError,
    CorpusExists,
    InputError,
    SettingError,
    StoreError,
    argument,
    did_you_mean,
    require,
)
from bigtopic.parallel.progress import say, shown
from bigtopic.storage.local import store_errors
from bigtopic.storage.output_file import check_replaceable, write_output
from bigtopic.storage.place import Place
from bigtopic.support.table import Table

__all__ = ["available", "fetch"]

_PINS = "sha256.txt"


class DataSets(list[dict[str, Any]]):
    """The data sets as a list of rows, displayed as a table without addresses."""

    def __repr__(self) -> str:
        return repr(self._shown())

    def _repr_html_(self) -> str:
        return self._shown()._repr_html_()

    def _shown(self) -> Table:
        return Table({name: [row[name] for row in self] for name in ("name", "megabytes", "about", "terms")})


def available() -> DataSets:
    """The data sets that `fetch` knows.

    Returns
    -------
    list of dict, which prints as a table
        With "name", "about", "megabytes" (to download, about), "terms" (of use, by the publisher), "urls" and
        "checksum" ("publisher", or "pinned at the first fetch").

    Examples
    --------
    >>> from bigtopic.datasets import available
    >>> [row["name"] for row in available()][:3]
    ['kos', 'nips', 'enron']
    """
    return DataSets(
        {
            "name": name,
            "about": one.about,
            "megabytes": one.megabytes,
            "terms": one.terms,
            "urls": list(one.urls),
            "checksum": "publisher" if any(one.checksums) else "pinned at the first fetch",
        }
        for name, one in PUBLIC.items()
    )


def fetch(name: str, path: str | Path | None = None, progress: bool | None = None) -> Corpus:
    """A public data set as a corpus: downloaded and ingested at the first call, opened at later ones.

    A file is checked against the publisher's checksum. If there is none, the checksum of the first download that
    could be read is stored beside it, and every later download has to match. A line on standard error says which.

    Parameters
    ----------
    name : one of `available()`
    path : folder for the files and the corpus, in a folder of the set's name; default the user's cache
    progress : show bars and lines; None shows bars in terminals and notebooks only; False shows nothing

    Returns
    -------
    Corpus
        With authors, ids and columns where the data set has them.

    Raises
    ------
    SettingError
        When the name is not known.
    MissingExtra
        When `bigtopic[datasets]` is not installed.
    StoreError
        When a file cannot be downloaded, or the folder cannot be written. It names the URL, and where to put the file
        by hand.
    InputError
        When a file does not match its checksum, or is not what it should be.
    CorpusLocked
        When another process is storing the corpus; call again when it has finished.
    """
    if not isinstance(name, str) or name not in PUBLIC:
        raise SettingError(
            f"{argument('name', name)}: give one of {', '.join(PUBLIC)}{did_you_mean(name, PUBLIC)}"
        )
    pooch, one = require("pooch", "datasets"), PUBLIC[name]
    folder = Path(pooch.os_cache("bigtopic") if path is None else path).expanduser() / name
    store = folder / "corpus.zarr"
    if current_manifest(Place.of(store)) is None:  # or only what was written before a kill
        files = _downloaded(pooch, one, folder, progress)
        with suppress(CorpusExists):  # another process was faster
            return _ingested(one, files, store, progress)
    return open_corpus(store)


def _ingested(one: Public, files: list[Path], store: Path, progress: bool | None) -> Corpus:
    """Read the files, and pin their checksums only if they could be read."""
    import gzip
    import lzma
    import tarfile
    import zipfile
    import zlib

    from bigtopic.ingestion.ingest import ingest

    damaged = (
        tarfile.TarError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, LookupError,
        ValueError, SyntaxError, RuntimeError,
    )  # fmt: skip
    try:
        source, settings = one.read(files, one.most_bytes)
        corpus = ingest(source, store, progress=progress, **settings)
    except damaged as error:
        if isinstance(error, BigtopicError) and not isinstance(error, InputError):
            raise
        raise InputError(
            f"{', '.join(map(str, files))}: not the published data, or damaged ({error}); delete it and fetch it again"
        ) from error
    _pin(files[0].parent, files)
    return corpus


def _downloaded(pooch: Any, one: Public, folder: Path, progress: bool | None) -> list[Path]:
    """The files of a set, downloaded unless they are there."""
    with store_errors("made", str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
    pins = _pinned(folder)
    published = one.checksums or (None,) * len(one.urls)
    files = []
    for url, checksum in zip(one.urls, published, strict=True):
        file = folder / url.rpartition("/")[2]
        pinned = pins.get(file.name)
        known = checksum or (pinned and f"sha256:{pinned}")
        _retrieve(pooch, url, known, file, progress)
        origin = (
            "the publisher's"
            if checksum
            else "pinned at the first fetch"
            if pinned
            else "pinned, as there is none"
        )
        say(f"{file.name}: checksum {origin}", progress)
        files.append(file)
    return files


def _retrieve(pooch: Any, url: str, known: str | None, file: Path, progress: bool | None) -> None:
    """Download a file, whole or not at all.

    Raises
    ------
    InputError, StoreError
        See `fetch`.
    """
    by_hand = f"download {url} by other means, put it at {file}, and call fetch again"
    headers = {"Accept-Encoding": "identity"}  # the file as it is, not packed for the way
    loader = pooch.HTTPDownloader(progressbar=shown(progress), headers=headers)
    try:
        with _quiet(pooch):
            pooch.retrieve(url, known, fname=file.name, path=file.parent, downloader=loader)
    except OSError as error:
        raise StoreError(f"{url} could not be downloaded ({error}); if it stays so, {by_hand}") from error
    except ValueError as error:
        whose = f"delete its line in {file.parent / _PINS} if the publisher has changed it"
        raise InputError(
            f"{url} does not have the checksum {known}: {error}; {whose}, or {by_hand}"
        ) from error


@contextmanager
def _quiet(pooch: Any) -> Iterator[None]:
    """Without pooch's own lines, whose advice is for programmers."""
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")
    try:
        yield
    finally:
        logger.setLevel(level)


def _pinned(folder: Path) -> dict[str, str]:
    """SHA-256 of files by name, as stored by `_pin`."""
    path = folder / _PINS
    if not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _pin(folder: Path, files: list[Path]) -> None:
    lines = []
    for file in files:
        with file.open("rb") as stream:
            lines.append(f"{hashlib.file_digest(stream, 'sha256').hexdigest()}  {file.name}\n")
    pins = Place.of(folder / _PINS)
    write_output(
        pins, "".join(lines).encode(), lambda: check_replaceable(pins, (b"",), "a file of checksums")
    )
