"""Topics of many documents as one file, such as CSV or Parquet: complete or absent; or into a pipe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from bigtopic.errors import CorpusExists, SettingError, argument
from bigtopic.estimators.topic_stores import formats
from bigtopic.estimators.topic_stores.batches import arranged
from bigtopic.estimators.topic_stores.formats._table import TopicsToWrite
from bigtopic.estimators.topic_stores.sparsity import check_sparsity
from bigtopic.inference.infer import Inferred
from bigtopic.storage.output_file import check_outside_stores, output_file
from bigtopic.storage.place import Place

__all__ = ["check_table", "write_table"]


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
    """Write the topics of the documents of a corpus.

    Parameters
    ----------
    format : see `formats`
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
    kind = formats.load(format)
    with _opened(target, kind, overwrite, storage_options) as (file, scratch, name):
        batches = arranged(pieces, corpus, n_components, scratch, **settings)
        kind.write(file, TopicsToWrite(batches, corpus.columns, n_components))
    return name


def check_table(format: str, target: Any, overwrite: bool) -> None:
    """Check a path, a URL or an open file, as `write_table` does.

    Raises
    ------
    CorpusExists, SettingError
        As `write_table`.
    """
    if hasattr(target, "write"):
        _check_streams(formats.load(format))
    else:
        place = Place.of(target)
        _check_place(place, overwrite)
        check_outside_stores(place)


@contextmanager
def _opened(
    target: Any, kind: Any, overwrite: bool, storage_options: Mapping[str, Any] | None
) -> Iterator[tuple[IO[bytes], Place, str]]:
    """A file to write, a folder for scratch files, and the name of the target."""
    if hasattr(target, "write"):
        _check_streams(kind)
        with TemporaryDirectory(prefix="bigtopic-topics-") as folder:
            yield target, Place.of(folder), "standard output"
        return
    place = Place.of(target, storage_options)
    with (
        output_file(place, partial(_check_place, place, overwrite)) as draft,
        Path(draft.url).open("w+b") as file,
    ):
        yield file, draft.beside(".scratch"), place.url


def _check_streams(kind: Any) -> None:
    if not kind.streams:
        raise SettingError(f"{argument('format', kind.name)}: must be written to a path, not to an open file")


def _check_place(place: Place, overwrite: bool) -> None:
    if not place.exists():
        return
    if not overwrite:
        raise CorpusExists(f"{place.url} exists; choose another path, or pass {argument('overwrite', True)}")
    if place.local and not Path(place.url).is_file():
        raise CorpusExists(f"{place.url} is not a file and will not be overwritten; choose another path")
