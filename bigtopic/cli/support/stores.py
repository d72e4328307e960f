"""Stores at paths: what kind they are, whether they can be written, and corpora stored from views of another."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import click

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import connected
from bigtopic.errors import CorpusExists, SettingError, StoreError
from bigtopic.wording import counted

__all__ = [
    "corpus_at",
    "is_checkpoint",
    "is_corpus",
    "is_model",
    "is_result_of",
    "is_topics",
    "model_at",
    "models_at",
    "require_writable",
    "store",
]


def corpus_at(url: str | None) -> Any:
    """The corpus at a path; None for None."""
    from bigtopic.corpus.store import open_corpus

    return None if url is None else open_corpus(url)


def model_at(url: str, **settings: Any) -> Any:
    """The estimator at a path."""
    from bigtopic.estimators.persistence import load_model

    return load_model(url, **settings)


def models_at(urls: Sequence[str]) -> dict[str, Any]:
    """The estimators at these paths, by path.

    Raises
    ------
    click.UsageError
        When a path is given twice.
    """
    if twice := [url for i, url in enumerate(urls) if url in urls[:i]]:
        raise click.UsageError(f"{twice[0]} is given twice; give each model once, and then the corpus")
    return {url: model_at(url) for url in urls}


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


def require_writable(url: str, kind: str, overwrite: bool) -> None:
    """Check that a store can be written here, before hours of work are spent on it.

    Parameters
    ----------
    kind : "corpus" or "model"
    overwrite : whether it may replace one of this kind

    Raises
    ------
    CorpusExists
        When the path is taken, or leads through a symbolic link to nothing.
    CorpusLocked
        When another process writes to the store that is there.
    StoreError
        When the parent is not a folder, or this process may not write there.
    """
    from bigtopic.errors import CorpusExists, StoreError
    from bigtopic.storage.lock import WriterLock
    from bigtopic.storage.place import Place
    from bigtopic.storage.writers import refuse_dangling

    place = Place.of(url)
    if is_model(url) if kind == "model" else is_corpus(url):
        if not overwrite:
            raise CorpusExists(
                f"{url} is already a {kind}; pass --overwrite to replace it, or give another path"
            )
        if place.local:
            with WriterLock(place):
                return
        return
    if place.local:
        refuse_dangling(place)
    taken = place.exists() and (place.names() or not (place.local and Path(place.url).is_dir()))
    if taken and not _is_unfinished(place):
        raise CorpusExists(f"{place.url} exists but is not a {kind}; give another path")
    folder = next(path for path in Path(place.url).parents if path.exists()) if place.local else None
    if folder is not None and not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise StoreError(
            f"{place.url} cannot be created: {folder} is not a folder that this process may write to; give another path"
        )


def _is_unfinished(place: Any) -> bool:
    """Whether a killed writer has left the beginning of a store, which the next one replaces."""
    from bigtopic.storage.writers import JOURNAL, WRITER

    return {*_attributes(place.url)} == {WRITER} or any(name.startswith(JOURNAL) for name in place.names())


def _attributes(url: str) -> dict:
    """Attributes of the root of a Zarr store; empty when there is none.

    Raises
    ------
    StoreError
        When a local store may not be read. A URL may be any document, so there the next step reports the reason.
    """
    from bigtopic.storage.place import Place
    from bigtopic.storage.writers import root_attributes

    try:
        return root_attributes(Place.of(url), "a store") or {}
    except StoreError:
        if Place.of(url).local:
            raise
    except (CorpusExists, SettingError):  # not a store, or a URL of sources with a pattern
        pass
    return {}


def store(paths: Sequence[str], views: Sequence[Any], overwrite: bool, as_json: bool, **workers: Any) -> None:
    """Write each view to its path, and say so. Nothing is written if one of the paths is taken.

    Parameters
    ----------
    paths : where each view goes
    views : of a stored corpus
    workers : see `connected`

    Raises
    ------
    CorpusExists
        When there is something at a path, and `overwrite` is false or it is not a corpus.
    """
    from bigtopic.ingestion.ingest import ingest

    _require_apart([views[0].url, *paths])
    for path in paths:
        require_writable(path, "corpus", overwrite)
    with connected(**workers) as work:
        n_docs = {
            path: len(ingest(view, path, overwrite=overwrite, shuffle=view.shuffled, **work))
            for path, view in zip(paths, views, strict=True)
        }
    if as_json:
        terminal.to_json([{"wrote": path, "documents": n} for path, n in n_docs.items()])
        return
    for path, n in n_docs.items():
        terminal.line(f"Wrote {counted(n, 'document')} to {path}")


def _require_apart(paths: Sequence[str]) -> None:
    """Refuse a path of the same corpus as an earlier one, by whatever name, or inside it or around it."""
    from bigtopic.storage.place import Place

    named = [(path, f"{Place.of(path).real}/") for path in paths]
    for (earlier, first), (path, second) in combinations(named, 2):
        if first == second:
            problem = f"{path} is given twice" + ("" if path == earlier else f", as {earlier}")
        elif second.startswith(first):
            problem = f"{path} is inside {earlier}"
        elif first.startswith(second):
            problem = f"{earlier} is inside {path}"
        else:
            continue
        raise click.UsageError(f"{problem}: give each corpus a different path")
