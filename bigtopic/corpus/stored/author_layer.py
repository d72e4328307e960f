"""Authors attached to an existing corpus: a layer of its own beside each part, committed like a part.

A layer that is replaced stays until the next one replaces it in turn, so that readers that have the corpus open go on.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from bigtopic.corpus.authors import DocumentAuthors, document_authors
from bigtopic.corpus.documents import DocumentsInParts
from bigtopic.corpus.stored.manifest import Manifest, PartRecord
from bigtopic.corpus.stored.stored_part import StoredPart, stored_names
from bigtopic.corpus.stored.transaction import Transaction
from bigtopic.corpus.stored.writer import ArrayWriter, write_names
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import CorpusLocked
from bigtopic.storage.place import Place, zarr_store

__all__ = ["attach", "with_mapping"]


def attach(corpus: DocumentsInParts, given: Any) -> None:
    """Give the documents of a stored corpus these authors, see `document_authors`, instead of those they have.

    Raises
    ------
    InputError
        When the authors do not fit the documents. The store stays as it was.
    CorpusLocked
        When another writer is at work, or has added documents since the corpus was opened.
    """
    rows = corpus.rows(order="stored")
    authors = document_authors(given, corpus.document_ids(order="stored"), rows)
    with Transaction(Place.of(corpus.url, corpus.storage_options)) as transaction:
        old = transaction.old
        paths = [part.record.path for part in corpus.parts if isinstance(part, StoredPart)]
        if old is None or paths != [record.path for record in old.parts]:
            raise CorpusLocked(
                f"{corpus.url} has other parts than when it was opened; open it again and try again"
            )
        new = _layered(transaction, replace(old, authors=None), authors)
        replaced = sorted(old.author_paths - new.author_paths)
        transaction.commit(replace(new, replaced=tuple(replaced)))


def with_mapping(
    transaction: Transaction, manifest: Manifest, known: Manifest | None, given: Any
) -> Manifest:
    """A manifest whose new parts, those that `known` lacks, have these authors, see `document_authors`.

    Raises
    ------
    InputError
        When the authors do not fit the documents of the new parts.
    """
    first = 0 if known is None else len(known.parts)
    new = [
        StoredPart(
            transaction.root,
            record,
            manifest.vocabulary.size,
            0,
            manifest.n_rows,
            manifest.columns,
            "authors",
        )
        for record in manifest.parts[first:]
    ]
    ids = np.concatenate([part.ids(0, part.n_docs) for part in new])
    rows = np.concatenate([part.rows(0, part.n_docs) for part in new])
    names = None if known is None else known.authors
    return _layered(transaction, replace(manifest, authors=names), document_authors(given, ids, rows), first)


def _layered(
    transaction: Transaction, manifest: Manifest, authors: DocumentAuthors, first: int = 0
) -> Manifest:
    """Write the authors of the parts from number `first` on; the manifest returned is still to be committed.

    Names that the manifest has keep their ids; new ones get ids at the end.
    """
    root, generation = transaction.root, manifest.generation + 1
    path = transaction.path("authors", generation)
    transaction.claim([path])
    known = None if manifest.authors is None else Vocabulary(stored_names(root, manifest.authors).words)
    names = Vocabulary(authors.names)
    if known is not None:
        names = known.extended(authors.names[known.index_of(authors.names) < 0])
    ids = names.index_of(authors.names)[authors.authors]
    records = list(manifest.parts)
    ends = accumulate((record.n_docs for record in records[first:]), initial=0)
    for number, (start, stop) in enumerate(pairwise(ends), first):
        indptr = authors.indptr[start : stop + 1]
        own = ids[indptr[0] : indptr[-1]]
        records[number] = _with_layer(root, path, records[number], indptr - indptr[0], own)
    return replace(
        manifest, generation=generation, authors=write_names(root, path, names), parts=tuple(records)
    )


def _with_layer(
    root: Place, path: str, record: PartRecord, indptr: np.ndarray, authors: np.ndarray
) -> PartRecord:
    """The record of a part with these authors, which are written below `path`."""
    import zarr

    layer = f"{path}/{record.path.rpartition('/')[2]}"
    group = zarr.open_group(zarr_store(root), path=layer, mode="a")
    crc32 = dict(record.crc32)
    for name, dtype, values in (("indptr", "int64", indptr), ("indices", "int32", authors)):
        writer = ArrayWriter(root, group, name, len(values), dtype)
        writer.add(values)
        crc32[f"authors/{name}"] = writer.close()
    return replace(record, crc32=crc32, authors=layer)
