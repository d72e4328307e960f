"""CSV: a header, then a row per document."""

from __future__ import annotations

from typing import IO

from bigtopic.estimators.topic_stores.formats._table import Format, TopicsToWrite, write_delimited

__all__ = ["FORMAT"]


def _write(file: IO[bytes], topics: TopicsToWrite) -> None:
    write_delimited(file, topics, ",")


FORMAT = Format("csv", _write, streams=True)
