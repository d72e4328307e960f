"""Views of a corpus, written as corpora of their own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import click

from bigtopic.cli._options import connected
from bigtopic.wording import counted

__all__ = ["store"]


def store(
    paths: Sequence[str],
    views: Sequence[Any],
    overwrite: bool,
    as_json: bool,
    scheduler: str | None,
    n_threads: int | None,
) -> None:
    """Write each view to its path, and say so. Nothing is written if one of the paths is taken.

    Parameters
    ----------
    paths : where each view goes
    views : of a stored corpus

    Raises
    ------
    CorpusExists
        When there is something at a path, and `overwrite` is false or it is not a corpus.
    """
    from bigtopic.cli import _show
    from bigtopic.cli._stores import is_corpus, require_lock, require_room
    from bigtopic.errors import CorpusExists
    from bigtopic.ingestion.ingest import ingest

    _require_apart([views[0].url, *paths])
    for path in paths:
        if not is_corpus(path):
            require_room(path, "corpus")
        elif not overwrite:
            raise CorpusExists(
                f"{path} is already a corpus; pass --overwrite to replace it, or give another path"
            )
        else:
            require_lock(path)
    made = {}
    with connected(scheduler) as client:
        for path, view in zip(paths, views, strict=True):
            made[path] = ingest(
                view, path, overwrite=overwrite, client=client, n_threads=n_threads, shuffle=view.shuffled
            )
    if as_json:
        _show.to_json([{"wrote": path, "documents": len(corpus)} for path, corpus in made.items()])
        return
    for path, corpus in made.items():
        _show.line(f"Wrote {counted(len(corpus), 'document')} to {path}")


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
        raise click.UsageError(f"{problem}: give each corpus a path of its own")
