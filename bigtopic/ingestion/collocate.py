"""The first pass over text when collocations are requested: counts pairs before words."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from bigtopic.corpus.stored.manifest import Manifest
from bigtopic.corpus.text.collocations import CollocationCounts
from bigtopic.corpus.text.text_settings import TextSettings, stored_pairs
from bigtopic.errors import SettingError
from bigtopic.ingestion.parse import parse_tasks
from bigtopic.ingestion.settings import Workers
from bigtopic.parallel.progress import Progress

__all__ = ["with_collocations"]

Pairs = frozenset[tuple[str, str]]


def with_collocations(
    reader: Any, text: TextSettings, known: Manifest | None, workers: Workers
) -> tuple[Any, Pairs]:
    """The reader, joining collocations: those given, else the source's (appending: the corpus's); and the pairs.

    Raises
    ------
    SettingError
        When the source can be read only once.
    """
    if text.collocations is None or getattr(reader, "kind", None) not in ("text", "tokens"):
        return reader, frozenset()
    if known is not None and known.text is not None:
        pairs: Pairs = stored_pairs(known.text)
        return reader.with_collocations(pairs), pairs
    if isinstance(text.collocations, tuple):
        pairs = frozenset(text.collocations)
        return reader.with_collocations(pairs), pairs
    if not all(getattr(stream, "repeatable", True) for stream in reader.streams()):
        raise SettingError(
            "collocations need two passes, but the source is an iterator that can be read once; "
            "give a list, or files"
        )
    assert isinstance(text.collocations, float)
    pairs = _counted(reader, workers).select(text.collocations)
    return reader.with_collocations(pairs), pairs


def _counted(reader: Any, workers: Workers) -> CollocationCounts:
    total = CollocationCounts()
    tasks = (task.chunk for task in parse_tasks(reader))
    with (
        Progress("collocations", None, "chunks", workers.progress) as bar,
        closing(workers.map(reader.collocation_counts, tasks)) as results,
    ):
        for counts in results:
            total.merge(counts)
            bar.update(1)
    return total
