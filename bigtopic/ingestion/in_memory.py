"""Any source to a corpus in memory: the stages of an ingest, but for the last one's files."""

from __future__ import annotations

import math
from typing import Any
from uuid import uuid4

from bigtopic.corpus.filter import VocabularySettings
from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.order import checked_seed
from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.ingestion.collocate import with_collocations
from bigtopic.ingestion.job import SortedSource, sort_source, text_record
from bigtopic.ingestion.merge import PartDocuments, part_documents
from bigtopic.ingestion.settings import IngestSettings, Workers
from bigtopic.ingestion.sort import Order, rearranged
from bigtopic.ingestion.text import is_open_text, recorded, with_language
from bigtopic.parallel.cluster import default_threads
from bigtopic.storage.place import Place

__all__ = ["ENTRY_BYTES", "read_corpus"]

ENTRY_BYTES = 32  # parsed, sorted, and twice while parts are merged


def read_corpus(
    reader: Any,
    *,
    choose_language: bool = True,
    limited: bool = True,
    left_out: frozenset[str] = frozenset(),
    shuffle: bool = True,
    random_state: int = 0,
    n_threads: int | None = None,
    most_entries: float = math.inf,
) -> Corpus:
    """Read a source; the documents, their order and their words are those that `ingest` stores.

    Documents may all be without words.

    Parameters
    ----------
    reader : the source, opened
    choose_language : leave out the stop words of the language of texts
    limited : leave out words that are in very many texts
    left_out : further words to leave out
    shuffle, random_state, n_threads : see `ingest`
    most_entries : entries (distinct words of a document) that memory has room for, at `ENTRY_BYTES` each

    Raises
    ------
    InputError
        When the source is not valid, has no documents, or more than `most_entries`.
    """
    workers = Workers(None, n_threads or default_threads(), None)
    reader, text = with_language(reader, getattr(reader, "options", Options()).text, choose_language)
    reader, pairs = with_collocations(reader, text, None, workers)
    words = VocabularySettings(max_df=None if limited and is_open_text(reader) else 1.0)
    order = Order(shuffle, checked_seed(random_state))
    record = recorded(reader, text, pairs)
    settings = IngestSettings(
        words,
        min_doc_length=0,
        order=order,
        text=record,
        left_out=left_out,
        wordless=True,
        most_entries=most_entries,
    )
    scratch = Place.of(f"memory://bigtopic-{uuid4().hex}")
    try:
        source = sort_source(reader, scratch, scratch, settings, workers)
        return _corpus(source, scratch, settings)
    finally:
        scratch.remove()


def _corpus(source: SortedSource, scratch: Place, settings: IngestSettings) -> Corpus:
    plan, names = source.plan(scratch, settings.order), source.names
    found = ((i, part_documents(source.runs, i, plan)) for i in range(source.n_parts))
    parts = [_part(f"part {i}", documents) for i, documents in found if documents is not None]
    vocabulary = names.vocabulary
    return Corpus(
        parts,
        vocabulary if vocabulary.size else Vocabulary(["\N{EMPTY SET}"]),
        shuffled=settings.order.shuffle,
        text_settings=text_record(settings, names),
        author_vocabulary=names.author_vocabulary,
        columns=list(source.columns),
        has_ids=source.has_ids,
    )


def _part(name: str, documents: PartDocuments) -> MemoryPart:
    block = rearranged(documents.block, documents.order)
    return MemoryPart(name, block, documents.ids, documents.columns)
