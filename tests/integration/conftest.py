"""What tests of ingestion share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bigtopic.corpus.readers.formats import iterable
from bigtopic.ingestion import job, tally


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Call it to cut small sources: documents in a chunk, entries in a part, distinct words counted in memory."""

    def limit(
        *, chunk_docs: int | None = None, part_entries: int | None = None, words: int | None = None
    ) -> None:
        if chunk_docs is not None:
            monkeypatch.setattr(iterable, "CHUNK_DOCS", chunk_docs)
        if part_entries is not None:
            monkeypatch.setattr(job, "PART_ENTRIES", part_entries)
        if words is not None:
            monkeypatch.setattr(tally.WordTally.__init__, "__defaults__", (words,))
            monkeypatch.setattr(tally, "_PIECE", 7)  # words of a list on disk that are read at once

    return limit
