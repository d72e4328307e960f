"""JSON Lines: an object per document, with its id, its columns, and its topics that were kept, {"3": 0.9, ...}."""

from __future__ import annotations

import json
from math import isfinite
from typing import IO, Any

from bigtopic.estimators.topic_stores.formats._table import Format, TopicsToWrite, blocks, unique, values_of

__all__ = ["FORMAT"]
_TOPICS = "topics"


def _write(file: IO[bytes], topics: TopicsToWrite) -> None:
    names = unique(topics.header[: 1 + len(topics.columns)], {_TOPICS})
    for batch in blocks(topics):
        cells = [own.tolist() for own in values_of(batch, topics.columns)]
        bounds, found, shares = batch.indptr.tolist(), batch.topics.tolist(), batch.shares.tolist()
        for i, row in enumerate(zip(*cells, strict=True)):
            kept = range(bounds[i], bounds[i + 1])
            document = {name: _known(value) for name, value in zip(names, row, strict=True)}
            document[_TOPICS] = {str(found[j]): float(f"{shares[j]:.6g}") for j in kept}
            file.write(json.dumps(document, ensure_ascii=False).encode() + b"\n")


def _known(value: Any) -> Any:
    """A value as JSON has it: null where a number is missing or infinite."""
    return None if isinstance(value, float) and not isfinite(value) else value


FORMAT = Format("jsonl", _write, streams=True)
