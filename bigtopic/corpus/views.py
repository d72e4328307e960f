"""Documents in the source's order, and views with fewer words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bigtopic.corpus.documents import DocumentsInParts
from bigtopic.corpus.part import PartView, WordMap
from bigtopic.corpus.select import of_function
from bigtopic.corpus.stored.schema import PART_ENTRIES
from bigtopic.corpus.vocabulary import Vocabulary, VocabularySettings, common_words, kept_words, narrowed
from bigtopic.errors import InputError, SettingError

__all__ = [
    "Document",
    "by_functions",
    "document",
    "document_with_id",
    "documents",
    "filtered",
    "positions",
]

MOST_COMPARED = 100_000  # ids that are read and sorted to suggest one


Known = TypeVar("Known", bound=DocumentsInParts)


class Document(NamedTuple):
    """One document.

    Attributes
    ----------
    row : in the source
    id : its id, or its row as text when the source had no ids
    counts : {word: count}
    authors : their names; None in a corpus without authors
    text : None where it was not kept, "" if other documents read with it have theirs
    columns : {name: value} of further columns
    """

    row: int
    id: str
    counts: dict[str, float]
    authors: list[str] | None
    text: str | None = None
    columns: Mapping[str, Any] = MappingProxyType({})


def document(corpus: DocumentsInParts, position: int) -> Document:
    """The document at a position of the source's order; negative ones count from the end."""
    if not -corpus.n_docs <= position < corpus.n_docs:
        raise IndexError(f"document {position} of a corpus of {corpus.n_docs}")
    start = position % corpus.n_docs
    return next(_read(corpus.run(start, start + 1)))


def document_with_id(corpus: DocumentsInParts, document_id: str) -> Document:
    """See `Corpus.document`."""
    from bigtopic.corpus.authors import nearest

    position = corpus.position(document_id)
    if position is not None:
        return document(corpus, position)
    hint = "" if corpus.n_docs else "; it has no documents"
    if 0 < corpus.n_docs <= MOST_COMPARED:
        hint = f"; the nearest is {nearest(document_id, corpus.document_ids().tolist())!r}"
    raise SettingError(f"there is no document {document_id!r} in this corpus{hint}")


def documents(corpus: DocumentsInParts) -> Iterator[Document]:
    """See `Corpus.__iter__`. Each run of the source's order is gathered from all parts."""
    per_document = max(1.0, corpus.nnz / max(corpus.n_docs, 1))
    step = max(1, int(PART_ENTRIES / per_document))
    for start in range(0, corpus.n_docs, step):
        yield from _read(corpus.run(start, start + step))


def _read(view: DocumentsInParts) -> Iterator[Document]:
    block, ids = view.read(), view.document_ids().tolist()
    texts = view.read_texts().tolist() if view.has_text else [None] * len(ids)
    columns = {name: values.tolist() for name, values in view.read_columns().items()}
    known, names = view.vocabulary, view.author_vocabulary
    for i, (row, name) in enumerate(zip(block.rows.tolist(), ids, strict=True)):
        own = slice(block.indptr[i], block.indptr[i + 1])
        words = [known[word] for word in block.words[own]]
        authors = None
        if block.author_indptr is not None and block.authors is not None and names is not None:
            a, b = block.author_indptr[i : i + 2]
            authors = [names[author] for author in block.authors[a:b]]
        counts = dict(zip(words, block.counts[own].tolist(), strict=True))
        own_columns = {column: values[i] for column, values in columns.items()}
        yield Document(row, str(name), counts, authors, texts[i], own_columns)


def positions(chosen: Any, n_docs: int) -> np.ndarray:
    """The positions, int64, that a list or array of integers, or of a boolean for each document, means.

    Raises
    ------
    IndexError
        When there is no such document, or these are neither.
    SettingError
        When a document is chosen twice: a view has it once.
    """
    found = np.arange(n_docs)[np.asarray(chosen, None if len(chosen) else np.int64)]
    if len(np.unique(found)) != len(found):
        raise SettingError("corpus[...]: a position is listed twice; list each once")
    return found


def by_functions(
    corpus: DocumentsInParts, functions: Mapping[str, Callable[[np.ndarray], Any]]
) -> np.ndarray:
    """Documents for which every function of a column is true: bool (n_docs,), in the source's order."""
    found = [of_function(name, function, corpus.read_column(name)) for name, function in functions.items()]
    return np.logical_and.reduce(found)


def filtered(
    corpus: Known, limits: VocabularySettings, keep: Iterable[str] | None, drop: Iterable[str] | None
) -> Known:
    """See `Corpus.filter_vocabulary`."""
    known = corpus.recounted().vocabulary
    mask = kept_words(*known.counted, corpus.n_docs, limits)
    if keep is not None:
        mask &= _named(known, keep)
    dropped = np.zeros(known.size, bool) if drop is None else _named(known, drop)
    mask &= ~dropped
    if not mask.any():
        raise InputError("no word of the vocabulary is left; loosen min_df, max_df, keep or drop")
    word_map = WordMap(np.where(mask, np.cumsum(mask) - 1, -1).astype(np.int32))
    vocabulary = known.taken(np.flatnonzero(mask))
    text, word_limits, unlisted = corpus.text_settings, corpus.word_limits, ~mask
    if text is not None:
        share = float(vocabulary.counted[1].sum()) / float(known.counted[1].sum())
        common = common_words(known.counted[0], corpus.n_docs, limits)
        unlisted &= ~(common | dropped)
        text = narrowed(text, share, limits.settled(0), _words_of(known, common), _words_of(known, dropped))
    parts = tuple(PartView.of(part, None, word_map) for part in corpus.parts)
    if unlisted.any():
        word_limits = {**word_limits, "pruned": True}
    return replace(
        corpus,
        parts=parts,
        vocabulary=vocabulary,
        text_settings=text,
        counted=True,
        word_limits=word_limits,
    )


def _words_of(known: Vocabulary, mask: np.ndarray) -> list[str]:
    return [known[i] for i in np.flatnonzero(mask)]


def _named(known: Vocabulary, words: Iterable[str]) -> np.ndarray:
    """Mask (n_words,) of these words; those that the vocabulary lacks are ignored."""
    ids = known.index_of([words] if isinstance(words, str) else words)
    mask = np.zeros(known.size, bool)
    mask[ids[ids >= 0]] = True
    return mask
