"""Output of the topics of many documents: complete or absent, and never over anything but topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from bigtopic.errors import CorpusExists, argument
from bigtopic.estimators.topic_stores.contents import MARK, write_contents
from bigtopic.estimators.topic_stores.sparsity import check_sparsity
from bigtopic.inference.infer import Inferred
from bigtopic.storage.output_file import drafted
from bigtopic.storage.place import Place
from bigtopic.storage.writers import WRITER, RemoteWriter, root_attributes
from bigtopic.storage.zarr_metadata import group_attributes

__all__ = ["check_store", "write_topics"]

_MEMBERS = ("zarr.json", "X", "obs", "var", "obsm", "varm", "obsp", "varp", "layers", "uns")  # of AnnData
_OURS = ("X", "obs", "var")
_WHAT = "a store of topics"


def write_topics(
    url: Any,
    pieces: Iterator[Inferred],
    corpus: Any,
    n_components: int,
    *,
    min_probability: float,
    top_k: int | None,
    order: str,
    overwrite: bool,
    storage_options: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
) -> str:
    """Write the topics of the documents of a corpus, see `write_contents`. Complete or absent.

    Raises
    ------
    CorpusExists
        When the path is taken and `overwrite` is false, or it holds something other than a store of topics.
    StoreError
        When the system refuses a write. An existing store stays as it was.
    """
    check_sparsity(min_probability, top_k)
    place = Place.of(url, storage_options)
    with _target(place, overwrite) as target:
        settings: dict[str, Any] = {"min_probability": min_probability, "top_k": top_k, "order": order}
        write_contents(target, pieces, corpus, n_components, model, **settings)
    return place.url


def check_store(url: Any, overwrite: bool) -> None:
    """Check a local path, as `write_topics` does; a URL is checked when it is written.

    Raises
    ------
    CorpusExists
        As `write_topics`.
    """
    place = Place.of(url)
    if place.local:
        _check_place(place, overwrite)


def _target(place: Place, overwrite: bool) -> AbstractContextManager[Place]:
    if place.local:
        return drafted(place, _MEMBERS, partial(_check_place, place, overwrite))
    return _published(place, overwrite)


def _check_place(place: Place, overwrite: bool) -> None:
    """Refuse a path that is taken, or that holds files that do not belong to a store of topics."""
    if not place.exists():
        return
    if not overwrite:
        raise CorpusExists(f"{place.url} exists; choose another path, or pass {argument('overwrite', True)}")
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
        if _holds_topics(place) and not overwrite:
            raise CorpusExists(
                f"{place.url} exists; choose another path, or pass {argument('overwrite', True)}"
            )
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
