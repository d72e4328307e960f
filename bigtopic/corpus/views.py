"""One document, and views with fewer words: what `Corpus` offers beside reading and selecting."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bigtopic.corpus.filter import VocabularySettings, kept_words
from bigtopic.corpus.part import PartView, WordMap
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError

if TYPE_CHECKING:
    from bigtopic.corpus.store import Corpus

__all__ = ["Document", "document", "filtered", "recounted"]


class Document(NamedTuple):
    """One document: source row, id, {word: count}, author names (or None)."""

    row: int
    id: str
    counts: dict[str, float]
    authors: list[str] | None


def document(corpus: Corpus, position: int) -> Document:
    """The document at a position of the stored order; negative ones count from the end."""
    if not -corpus.n_docs <= position < corpus.n_docs:
        raise IndexError(f"document {position} of a corpus of {corpus.n_docs}")
    view = corpus[position % corpus.n_docs : position % corpus.n_docs + 1]
    block = view.read()
    words = [corpus.vocabulary[word] for word in block.words]
    authors = None
    if block.authors is not None and corpus.author_vocabulary is not None:
        authors = [corpus.author_vocabulary[author] for author in block.authors]
    counts = dict(zip(words, block.counts.tolist(), strict=True))
    return Document(int(block.rows[0]), str(view.document_ids()[0]), counts, authors)


def filtered(
    corpus: Corpus, limits: VocabularySettings, keep: Iterable[str] | None, drop: Iterable[str] | None
) -> Corpus:
    """See `Corpus.filter_vocabulary`."""
    known = recounted(corpus).vocabulary
    mask = kept_words(*known.counted, corpus.n_docs, limits)
    if keep is not None:
        mask &= _named(known, keep)
    if drop is not None:
        mask &= ~_named(known, drop)
    if not mask.any():
        raise InputError("no word of the vocabulary is left; loosen min_df, max_df, keep or drop")
    word_map = WordMap(np.where(mask, np.cumsum(mask) - 1, -1).astype(np.int32))
    vocabulary = known.taken(np.flatnonzero(mask))
    text = corpus.text_settings
    if text is not None:
        share = float(vocabulary.counted[1].sum()) / float(known.counted[1].sum())
        text = {**text, "known_share": share * text.get("known_share", 1.0)}
    parts = tuple(PartView.of(part, None, word_map) for part in corpus.parts)
    return replace(corpus, parts=parts, vocabulary=vocabulary, text_settings=text, counted=True)


def _named(known: Vocabulary, words: Iterable[str]) -> np.ndarray:
    """Mask (n_words,) of these words; those the vocabulary lacks do not matter."""
    ids = known.index_of([words] if isinstance(words, str) else words)
    mask = np.zeros(known.size, bool)
    mask[ids[ids >= 0]] = True
    return mask


def recounted(corpus: Corpus) -> Corpus:
    """See `Corpus.recounted`."""
    if corpus.counted:
        return corpus
    n_words = corpus.n_words
    df, tf = np.zeros(n_words, np.int64), np.zeros(n_words)
    for block in corpus.blocks():
        df += np.bincount(block.words, minlength=n_words)
        tf += np.bincount(block.words, weights=block.counts, minlength=n_words)
    return replace(corpus, vocabulary=Vocabulary(corpus.vocabulary.words, n_words, df, tf), counted=True)
