"""A corpus, or a view of one, as the source of another: for `compact`, and for storing views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from bigtopic.corpus.part import Part
from bigtopic.corpus.readers.base import Chunk
from bigtopic.corpus.store import Corpus
from bigtopic.ingestion.parse import PlacedBlock

__all__ = ["CorpusReader"]


class CorpusReader:
    """Reads the documents of a corpus; they keep their source rows, ids, columns, authors and text."""

    name = "corpus"
    unit = "docs"
    taken: Mapping[str, str] = MappingProxyType({})

    def __init__(self, corpus: Corpus, keep_text: bool = True) -> None:
        words = corpus.vocabulary.words
        self.n_words = corpus.n_words
        self.vocabulary = None if words is None else words.tolist()
        self.size = corpus.n_docs
        self.text_settings = corpus.text_settings
        self._spans = list(corpus.spans())
        self._columns = list(corpus.columns)
        self._has_ids = corpus.has_ids
        self._authors = corpus.author_vocabulary
        self._keeps_text = keep_text and corpus.has_text

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "vocabulary": None, "_spans": []}

    def streams(self) -> list[CorpusReader]:
        return [self]

    def chunks(self) -> Iterator[Chunk]:
        for part, start, stop in self._spans:
            yield Chunk(part.name, stop - start, start, stop, part)

    def parse(self, chunk: Chunk) -> PlacedBlock:
        part: Part = chunk.data
        block = part.read(chunk.start, chunk.stop)
        authors, names = block.authors, None
        if authors is not None:
            assert self._authors is not None
            present, authors = np.unique(authors, return_inverse=True)
            names = [self._authors[int(i)] for i in present]
        return PlacedBlock(
            block.indptr,
            block.words,
            block.counts,
            ids=part.ids(chunk.start, chunk.stop).tolist() if self._has_ids else None,
            columns=part.columns(self._columns, chunk.start, chunk.stop),
            author_indptr=block.author_indptr,
            author_names=names,
            authors=None if authors is None else authors.astype(np.int32),
            rows=block.rows,
            texts=part.texts(chunk.start, chunk.stop).tolist() if self._keeps_text else None,
        )
