"""What kind of store is at a path."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["is_checkpoint", "is_corpus", "is_model", "require_room"]


def is_corpus(url: str) -> bool:
    """Whether a corpus is there, of whatever version."""
    return "bigtopic" in _attributes(url)


def is_model(url: str) -> bool:
    """Whether a model is there, of whatever version."""
    return "bigtopic-model" in _attributes(url)


def is_checkpoint(url: str) -> bool:
    """Whether a run is there that `train` saved as it went on; it loads as a model."""
    return "bigtopic-checkpoint" in _attributes(url)


def require_room(url: str) -> None:
    """Refuse a place for a new store before hours of work are spent on what could not be written.

    Raises
    ------
    CorpusExists
        When something is there.
    StoreError
        When the folder that is to hold it is not a folder, or cannot be written to.
    """
    from bigtopic.corpus.storage import Place
    from bigtopic.errors import CorpusExists, StoreError

    place = Place.of(url)
    if place.exists() and (place.names() or not (place.local and Path(place.url).is_dir())):
        raise CorpusExists(f"{place.url} exists but is not a model; give another path")
    folder = next(path for path in Path(place.url).parents if path.exists()) if place.local else None
    if folder is not None and not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise StoreError(
            f"{place.url} cannot be made: {folder} is not a folder that this process may write to"
        )


def _attributes(url: str) -> dict:
    """Attributes of the root of a Zarr store; empty when there is none.

    Raises
    ------
    StoreError
        When a local one may not be read. Behind a URL, which may be any document, the next step meets the reason.
    """
    from bigtopic.corpus.remote_hold import root_attributes
    from bigtopic.corpus.storage import Place
    from bigtopic.errors import CorpusExists, SettingError, StoreError

    try:
        return root_attributes(Place.of(url), "a store") or {}
    except StoreError:
        if Place.of(url).local:
            raise
    except (CorpusExists, SettingError):  # not a store, or a URL of sources with a pattern
        pass
    return {}
