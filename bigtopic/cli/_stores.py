"""The kind of store at a path."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = [
    "is_checkpoint",
    "is_corpus",
    "is_model",
    "is_result_of",
    "is_topics",
    "require_lock",
    "require_room",
]


def is_corpus(url: str) -> bool:
    """Whether there is a corpus, of any version."""
    return "bigtopic" in _attributes(url)


def is_model(url: str) -> bool:
    """Whether there is a model, of any version."""
    return "bigtopic-model" in _attributes(url)


def is_checkpoint(url: str) -> bool:
    """Whether there is a run with checkpoints; it loads as a model."""
    return "bigtopic-checkpoint" in _attributes(url)


def is_topics(url: str) -> bool:
    """Whether there are topics of documents."""
    return "bigtopic-topics" in _attributes(url)


def is_result_of(checkpoint: str, url: str) -> bool:
    """Whether the run in a checkpoint made the model, complete or not, and nothing else has changed it since."""
    from bigtopic.state.checkpoints.versions import load_newest
    from bigtopic.state.identity import identity_hash

    about = _attributes(checkpoint).get("bigtopic-checkpoint")
    if not isinstance(about, dict):
        return False
    run = load_newest(url)[1].get("run") or {}
    return "partial_fits" not in run and run.get("checkpoint") == identity_hash(about.get("identity", {}))


def require_room(url: str, kind: str = "model") -> None:
    """Check that a new store can be written here, before hours of work are spent on it.

    Raises
    ------
    CorpusExists
        When the path is taken, or leads through a symbolic link to nothing.
    StoreError
        When the parent is not a folder, or is not writable.
    """
    from bigtopic.errors import CorpusExists, StoreError
    from bigtopic.storage.journal import refuse_dangling
    from bigtopic.storage.place import Place

    place = Place.of(url)
    if place.local:
        refuse_dangling(place)
    if place.exists() and (place.names() or not (place.local and Path(place.url).is_dir())):
        raise CorpusExists(f"{place.url} exists but is not a {kind}; give another path")
    folder = next(path for path in Path(place.url).parents if path.exists()) if place.local else None
    if folder is not None and not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise StoreError(
            f"{place.url} cannot be created: {folder} is not a folder that this process may write to; give another path"
        )


def require_lock(url: str) -> None:
    """Check that the store that is here can be written, as `require_room` does for a new one.

    Raises
    ------
    CorpusLocked
        When another process writes to it.
    StoreError
        When this process may not write to it.
    """
    from bigtopic.storage.lock import WriterLock
    from bigtopic.storage.place import Place

    place = Place.of(url)
    if place.local:
        with WriterLock(place):
            pass


def _attributes(url: str) -> dict:
    """Attributes of the root of a Zarr store; empty when there is none.

    Raises
    ------
    StoreError
        When a local store may not be read. A URL may be any document, so there the next step reports the reason.
    """
    from bigtopic.errors import CorpusExists, SettingError, StoreError
    from bigtopic.storage.place import Place
    from bigtopic.storage.remote_hold import root_attributes

    try:
        return root_attributes(Place.of(url), "a store") or {}
    except StoreError:
        if Place.of(url).local:
            raise
    except (CorpusExists, SettingError):  # not a store, or a URL of sources with a pattern
        pass
    return {}
