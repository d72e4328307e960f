"""Output of the topics of many documents: complete or absent, and never over anything but topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from bigtopic.errors import CorpusExists, SettingError, argument
from bigtopic.estimators.topic_stores.contents import MARK, arranged, check_sparsity, write_contents
from bigtopic.estimators.topic_stores.formats import FORMATS, STORE, TopicsToWrite, target_format
from bigtopic.inference.infer import Inferred
from bigtopic.storage.output_file import check_outside_stores, drafted, output_file
from bigtopic.storage.place import Place
from bigtopic.storage.writers import WRITER, RemoteWriter, root_attributes
from bigtopic.storage.zarr_metadata import group_attributes

__all__ = ["check_target", "write_table", "write_topics"]

_MEMBERS = ("zarr.json", "X", "obs", "var", "obsm", "varm", "obsp", "varp", "layers", "uns")  # of AnnData
_OURS = ("X", "obs", "var")
_WHAT = "a store of topics"


def write_topics(
    url: Any,
    pieces: Iterator[Inferred],
    corpus: Any,
    n_components: int,
    *,
    overwrite: bool,
    storage_options: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    **settings: Any,
) -> str:
    """Write the topics of the documents of a corpus, see `write_contents`. Complete or absent.

    Raises
    ------
    CorpusExists
        When the path is taken and `overwrite` is false, or it holds something other than a store of topics.
    StoreError
        When the system refuses a write. An existing store stays as it was.
    """
    check_sparsity(settings["min_probability"], settings["top_k"])
    place = Place.of(url, storage_options)
    free = partial(_check_store, place, overwrite)
    with drafted(place, _MEMBERS, free) if place.local else _published(place, overwrite) as target:
        write_contents(target, pieces, corpus, n_components, model, **settings)
    return place.url


def write_table(
    format: str,
    target: Any,
    pieces: Iterator[Inferred],
    corpus: Any,
    n_components: int,
    *,
    overwrite: bool,
    storage_options: Mapping[str, Any] | None,
    **settings: Any,
) -> str:
    """Write the topics of the documents of a corpus as one file, such as CSV or Parquet. Complete or absent.

    Parameters
    ----------
    format : one of `FORMATS`
    target : a path or URL; or an open binary file, for formats that can be streamed
    settings : see `arranged`

    Returns
    -------
    The path.

    Raises
    ------
    CorpusExists
        When the path is taken and `overwrite` is false, or it holds something other than a file.
    SettingError
        When the format cannot be written to an open file.
    """
    check_sparsity(settings["min_probability"], settings["top_k"])
    with _opened(target, format, overwrite, storage_options) as (file, scratch, name):
        batches = arranged(pieces, corpus, n_components, scratch, **settings)
        FORMATS[format].write(file, TopicsToWrite(batches, corpus.columns, n_components))
    return name


def check_target(
    target: Any, *, format: str | None, overwrite: bool, min_probability: float, top_k: int | None
) -> None:
    """Check what `transform_to` is asked to write, without documents; of a store behind a URL, the settings alone.

    Raises
    ------
    CorpusExists
        When the path is taken and `overwrite` is false, or it holds something other than topics.
    SettingError
        When there is no such format, it cannot be written to an open file, or another setting is out of range.
    """
    check_sparsity(min_probability, top_k)
    kind = target_format(target, format)
    if kind != STORE and hasattr(target, "write"):
        return _check_streams(kind)
    place = Place.of(target)
    if kind != STORE:
        _check_file(place, overwrite)
        check_outside_stores(place)
    elif place.local:
        _check_store(place, overwrite)


@contextmanager
def _opened(
    target: Any, format: str, overwrite: bool, storage_options: Mapping[str, Any] | None
) -> Iterator[tuple[IO[bytes], Place, str]]:
    """A file to write, a folder for scratch files, and the name of the target."""
    if hasattr(target, "write"):
        _check_streams(format)
        with TemporaryDirectory(prefix="bigtopic-topics-") as folder:
            yield target, Place.of(folder), "standard output"
        return
    place = Place.of(target, storage_options)
    with (
        output_file(place, partial(_check_file, place, overwrite)) as draft,
        Path(draft.url).open("w+b") as file,
    ):
        yield file, draft.beside(".scratch"), place.url


def _check_streams(format: str) -> None:
    if not FORMATS[format].streams:
        raise SettingError(f"{argument('format', format)}: must be written to a path, not to an open file")


def _check_free(place: Place, overwrite: bool) -> bool:
    """Whether there is something at the place, which may be replaced."""
    exists = place.exists()
    if exists and not overwrite:
        raise CorpusExists(f"{place.url} exists; choose another path, or pass {argument('overwrite', True)}")
    return exists


def _check_file(place: Place, overwrite: bool) -> None:
    if _check_free(place, overwrite) and place.local and not Path(place.url).is_file():
        raise CorpusExists(f"{place.url} is not a file and will not be overwritten; choose another path")


def _check_store(place: Place, overwrite: bool) -> None:
    """Refuse a path that is taken, or that holds files that do not belong to a store of topics."""
    if not _check_free(place, overwrite):
        return
    names = place.names()
    if not _holds_topics(place) and (names or (place.local and not Path(place.url).is_dir())):
        raise CorpusExists(
            f"{place.url} is not a store of topics and will not be overwritten; choose another path"
        )
    others = [name for name in names if name not in _MEMBERS]
    if others:
        raise CorpusExists(
            f"{place.url} holds {others[0]!r}, which does not belong to a store of topics, and will not be "
            "overwritten; move that away, or choose another path"
        )


@contextmanager
def _published(place: Place, overwrite: bool) -> Iterator[Place]:
    """A temporary place behind a URL, copied to the final one when it is complete.

    Nothing can be renamed there: from the first copy to the last write, readers find an unfinished store.
    """
    with RemoteWriter(place, _WHAT, _members) as writer:
        if _holds_topics(place):
            _check_free(place, overwrite)
        draft = place / f".scratch-{writer.token}"
        yield draft
        finished = group_attributes(draft)
        assert finished is not None, "it was just written"
        writer.commit({MARK: 0})
        for name in _OURS:
            (place / name).remove()
            (draft / name).copy(place / name)
        writer.commit(finished)


def _holds_topics(place: Place) -> bool:
    with suppress(CorpusExists):
        return bool((root_attributes(place, _WHAT) or {}).get(MARK))
    return False


def _members(place: Place) -> tuple[str, ...] | None:
    """What a store of topics behind a URL has, unfinished or not; None when there is none.

    Raises
    ------
    CorpusExists
        When there is the root of another store.
    """
    attributes = root_attributes(place, _WHAT) or {}
    if MARK in attributes:
        return _OURS
    if set(attributes) - {WRITER}:
        raise CorpusExists(f"{place.url} is not {_WHAT} and will not be overwritten; choose another path")
    return None
