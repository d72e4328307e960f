"""Parts of a corpus without the documents that others replace: written anew, beside those that are there.

Memory: a part per task in flight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import uuid4

import numpy as np

from bigtopic.corpus.blocks import take
from bigtopic.corpus.columns import array_name
from bigtopic.corpus.part import PartView
from bigtopic.corpus.stored.manifest import PartRecord
from bigtopic.corpus.stored.stored_part import StoredPart
from bigtopic.corpus.stored.verify import verify_part
from bigtopic.corpus.stored.writer import PartWriter
from bigtopic.ingestion.known_ids import positions_of
from bigtopic.ingestion.parse import WordCounts
from bigtopic.ingestion.sort import counted
from bigtopic.storage.place import Place

__all__ = ["ThinTask", "Thinned", "thin_part"]

_TEXTS = 1 << 12  # texts written at a time


@dataclass(frozen=True)
class ThinTask:
    """Part `part` without the documents of these digests of ids, to be written at `path` below `drafts`."""

    part: StoredPart
    gone: np.ndarray
    path: str
    drafts: Place


class Thinned(NamedTuple):
    """The part: its record, the same as before if it lost no document, None if it lost all.

    draft : the place below which it is, if it was written; n_gone, counts : the documents it lost, and their words
    """

    record: PartRecord | None
    draft: Place | None = None
    n_gone: int = 0
    counts: WordCounts | None = None


def thin_part(task: ThinTask) -> Thinned:
    """Write the part without these documents, read it back and compare."""
    part, gone = task.part, positions_of(task.part, task.gone)
    n_gone = int(gone.sum())
    if not n_gone:
        return Thinned(part.record)
    block = part.read(0, part.n_docs)
    counts = counted(take(block, np.flatnonzero(gone)))
    if n_gone == part.n_docs:
        return Thinned(None, None, n_gone, counts)
    block = take(block, np.flatnonzero(~gone))
    if not part.has("authors/indices"):
        block = replace(block, author_indptr=None, authors=None)
    view = PartView(part, np.flatnonzero(~gone).astype(np.int32))
    columns = {name: kind for name, kind in part.column_types.items() if part.has(f"obs/{array_name(name)}")}
    starts = range(0, view.n_docs if part.has_text else 0, _TEXTS)
    sizes = (len("".join(view.texts(start, start + _TEXTS)).encode()) for start in starts)
    draft = task.drafts / f"part-{uuid4().hex[:12]}" if task.drafts.local else task.drafts
    writer = PartWriter(
        draft,
        task.path,
        view.n_docs,
        len(block.words),
        part.n_words,
        columns,
        part.has_ids,
        None if block.authors is None else len(block.authors),
        sum(sizes) if part.has_text else None,
    )
    ids = view.ids(0, view.n_docs) if part.has_ids else None
    writer.add(block, ids, view.columns([*columns], 0, view.n_docs))
    for start in starts:
        writer.add_texts(view.texts(start, start + _TEXTS).tolist())
    record = writer.close()
    verify_part(replace(part, root=draft, record=record))
    return Thinned(record, draft, n_gone, counts)
