"""Authors, tags or labels given apart from their documents: checked, and attached to a corpus.

They come as doc2author ({document id: names}), as author2doc ({name: document ids}) or as pairs (document id, name). A
document may be left out: it then has no author, as at ingest.

In a stored corpus they are a layer beside each part, committed like a part. A layer that is replaced stays until the
next one replaces it in turn, so that readers that have the corpus open go on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import accumulate, pairwise
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bigtopic.corpus.blocks import take_segments
from bigtopic.corpus.columns import is_missing
from bigtopic.corpus.documents import DocumentsInParts
from bigtopic.corpus.order import source_order
from bigtopic.corpus.readers.author_names import not_a_name
from bigtopic.corpus.readers.support.counts import author_csr
from bigtopic.corpus.stored.manifest import Manifest
from bigtopic.corpus.stored.schema import TYPES
from bigtopic.corpus.stored.stored_part import StoredPart, stored_names, stored_parts
from bigtopic.corpus.stored.transaction import Transaction
from bigtopic.corpus.stored.writer import ArrayWriter, write_names
from bigtopic.corpus.vocabulary import Vocabulary, word_array
from bigtopic.errors import CorpusLocked, InputError
from bigtopic.storage.place import Place, zarr_store
from bigtopic.support.numbers import is_whole

__all__ = ["DocumentAuthors", "attach", "document_authors", "in_memory", "nearest", "with_mapping"]

Known = TypeVar("Known", bound=DocumentsInParts)
_NEAR = 50  # sorted neighbours on each side that are compared


class DocumentAuthors(NamedTuple):
    """Authors of documents as CSR.

    indptr : int64 (n_docs + 1,); authors : int32 (n_pairs,) ids into `names`
    names : object (n_authors,) of str, in descending order of documents; ties in order of first appearance
    """

    indptr: np.ndarray
    authors: np.ndarray
    names: np.ndarray

    def in_parts(self, parts: Iterable[Any]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """`indptr`, from 0 on, and `authors` for the documents of each part, from their `n_docs`."""
        for start, stop in pairwise(accumulate((part.n_docs for part in parts), initial=0)):
            indptr = self.indptr[start : stop + 1]
            yield indptr - indptr[0], self.authors[indptr[0] : indptr[-1]]


def document_authors(given: Any, ids: np.ndarray, rows: np.ndarray) -> DocumentAuthors:
    """The authors of each document, in the order of `ids`.

    Parameters
    ----------
    given : {document id: names}, {name: document ids}, or an iterable of pairs (document id, name). Which of the two a
        mapping is follows from the ids. An integer stands for the id with its digits
    ids, rows : ids and source rows of all documents, (n_docs,)

    Raises
    ------
    InputError
        When a document is not among `ids` or its id is not unique, an author has no document or no name, or a document
        lists an author twice; names the document or the author.
    """
    index = dict(zip(ids.tolist(), range(len(ids)), strict=True))
    pairs = [(_id(document), name) for document, name in _pairs(given, index) if not is_missing(name)]
    if not pairs:
        raise InputError("no author is given; give a mapping or pairs that are not empty")
    _check_documents([document for document, _ in pairs], index, ids)
    found: dict[int, dict[str, None]] = {}
    for document, name in pairs:
        own = found.setdefault(index[document], {})
        name = _name(name, document)
        if name in own:
            raise InputError(f"document {document!r} lists the author {name!r} twice; list each author once")
        own[name] = None
    return _in_order(found, rows)


def in_memory(corpus: Known, given: Any) -> Known:
    """A corpus whose parts are in memory, with these authors, see `document_authors`."""
    found = document_authors(given, corpus.document_ids(order="stored"), corpus.rows(order="stored"))
    parts: list[Any] = []
    for part, (indptr, authors) in zip(corpus.parts, found.in_parts(corpus.parts), strict=True):
        block = replace(part.read(0, part.n_docs), author_indptr=indptr, authors=authors)
        parts.append(replace(part, block=block))  # type: ignore[type-var]
    return replace(corpus, parts=tuple(parts), author_vocabulary=Vocabulary(found.names))


def _in_order(found: Mapping[int, Iterable[str]], rows: np.ndarray) -> DocumentAuthors:
    """Names are numbered in the source's order, as at ingest, then put beside the documents as they come."""
    where = source_order(rows)
    where = np.arange(len(rows)) if where is None else where
    indptr, names, authors, _ = author_csr(
        [list(found.get(position, ())) for position in where.tolist()], str
    )
    falling = np.argsort(-np.bincount(authors, minlength=len(names)), kind="stable")
    new_ids = np.argsort(falling).astype(np.int32)
    indptr, entries = take_segments(indptr, np.argsort(where))
    return DocumentAuthors(indptr, new_ids[authors[entries]], word_array(names)[falling])


def _pairs(given: Any, index: Mapping[str, int]) -> list[tuple[Any, Any]]:
    """(document, name) pairs of any form."""
    if not isinstance(given, Mapping):
        return list(_listed_pairs(given))
    pairs = [(key, item) for key, value in given.items() for item in _several(value)]
    if not _by_author(given, pairs, index):
        return pairs
    with_documents = {name for name, _ in pairs}
    for name in given:
        if name not in with_documents:
            raise InputError(
                f"the author {name!r} has no document; list the author's documents, or leave it out"
            )
    return [(document, name) for name, document in pairs]


def _listed_pairs(given: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(
            f"the authors are {type(given).__name__}; give a mapping of document ids to names, a mapping of names to "
            "document ids, or an iterable of pairs (document id, name)"
        )
    for number, pair in enumerate(given):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"number {number} of the authors is {pair!r}; give a pair (document id, name)")
        for name in _several(pair[1]):
            yield pair[0], name


def _several(value: Any) -> Iterable[Any]:
    """What a key stands for: one item, or several, or None."""
    if value is None:
        return ()
    one = isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable)
    return (value,) if one else value


def _by_author(given: Mapping[Any, Any], pairs: Sequence[tuple[Any, Any]], index: Mapping[str, int]) -> bool:
    """Whether the values of a mapping are the documents, not its keys."""
    if not pairs:
        return False
    keys = sum(_is_id(key, index) for key in given) / len(given)
    values = sum(_is_id(item, index) for _, item in pairs) / len(pairs)
    if keys == values == 1:
        raise InputError(
            "both the keys and the values of the mapping are document ids; give pairs (document id, name) instead"
        )
    return values > keys


def _is_id(value: Any, index: Mapping[str, int]) -> bool:
    return isinstance(value, str | Integral) and _id(value) in index


def _id(value: Any) -> str:
    if isinstance(value, str):
        return value
    if is_whole(value):
        return str(int(value))
    raise InputError(f"{value!r} is not a document id; give ids as text, or source rows as integers")


def _name(value: Any, document: str) -> str:
    if not isinstance(value, str):
        raise not_a_name(value, f"document {document!r}")
    name = value.strip()
    if not name:
        raise InputError(f"document {document!r} has an author without a name; leave it out")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"document {document!r}: the author {name!r} holds half a character; correct it"
        ) from None
    return name


def _check_documents(documents: Sequence[str], index: Mapping[str, int], ids: np.ndarray) -> None:
    unknown = [document for document in dict.fromkeys(documents) if document not in index]
    if unknown and len(unknown) == len(set(documents)):
        raise InputError(
            f"none of the {len(unknown)} documents that have authors, such as {unknown[0]!r}, is in the corpus; the "
            f"authors may be for another corpus: ids of this one are like {ids[0]!r}"
        )
    if unknown:
        raise InputError(
            f"the corpus has no document {unknown[0]!r}, the nearest is {nearest(unknown[0], ids.tolist())!r}; correct "
            f"the id, or leave the document out (unknown ids: {len(unknown)})"
        )
    if len(index) < len(ids):
        times = Counter(ids.tolist())
        for document in documents:
            if times[document] > 1:
                raise InputError(
                    f"{document!r} is the id of several documents; ingest them with ids that are unique"
                )


def nearest(wanted: str, ids: Sequence[str]) -> str:
    """The id that is spelt most like `wanted`, of those that begin or end most like it, upper and lower case alike."""
    near: list[str] = []
    for spelling in (str.casefold, lambda text: text.casefold()[::-1]):
        ordered = sorted(ids, key=spelling)
        place = bisect_left(ordered, spelling(wanted), key=spelling)
        near += ordered[max(0, place - _NEAR) : place + _NEAR]
    return get_close_matches(wanted, near, 1, 0.0)[0]


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
    transaction: Transaction, manifest: Manifest, known: Manifest | None, n_new: int, given: Any
) -> Manifest:
    """A manifest whose new parts, the last `n_new`, have these authors, see `document_authors`; others go on.

    Raises
    ------
    InputError
        When the authors do not fit the documents of the new parts.
    """
    first = len(manifest.parts) - n_new
    new = stored_parts(transaction.root, manifest, "authors")[first:]
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
    import zarr

    root, generation = transaction.root, manifest.generation + 1
    path = transaction.path("authors", generation)
    transaction.claim([path])
    known = None if manifest.authors is None else Vocabulary(stored_names(root, manifest.authors).words)
    names = Vocabulary(authors.names)
    if known is not None:
        names = known.extended(authors.names[known.index_of(authors.names) < 0])
    authors = authors._replace(authors=names.index_of(authors.names)[authors.authors])
    old, records = manifest.parts[first:], list(manifest.parts[:first])
    for record, (indptr, indices) in zip(old, authors.in_parts(old), strict=True):
        layer, crc32 = f"{path}/{record.path.rpartition('/')[2]}", dict(record.crc32)
        group = zarr.open_group(zarr_store(root), path=layer, mode="a")
        for name, values in (("indptr", indptr), ("indices", indices)):
            writer = ArrayWriter(root, group, name, len(values), TYPES[name])
            writer.add(values)
            crc32[f"authors/{name}"] = writer.close()
        records.append(replace(record, crc32=crc32, authors=layer))
    return replace(
        manifest, generation=generation, authors=write_names(root, path, names), parts=tuple(records)
    )
