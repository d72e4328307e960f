"""The stages, one after the other: the common part of `ingest`, `append`, `compact` and of reading into memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np

from bigtopic.corpus.blocks import take
from bigtopic.corpus.columns import kinds_of_types, united
from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.order import checked_seed, key_bounds
from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.stored.ingestion_record import Ingestion
from bigtopic.corpus.stored.manifest import Manifest, PartRecord
from bigtopic.corpus.stored.schema import PART_DOCUMENTS, PART_ENTRIES
from bigtopic.corpus.stored.stored_part import stored_kinds, stored_parts
from bigtopic.corpus.stored.transaction import Transaction
from bigtopic.corpus.stored.writer import write_names
from bigtopic.corpus.vocabulary import Vocabulary, VocabularySettings, narrowed
from bigtopic.errors import InputError, argument, warn
from bigtopic.ingestion.duplicates import KnownIds, ids_in_store
from bigtopic.ingestion.merge import (
    DropTask,
    MergePlan,
    MergeTask,
    drop_documents,
    merge_part,
    part_documents,
)
from bigtopic.ingestion.parse import ParsedRun, WordCounts, parse_run, parse_tasks
from bigtopic.ingestion.settings import IngestSettings, Workers
from bigtopic.ingestion.sort import Order, SortedRun, SortPlan, needed_words, sort_run
from bigtopic.ingestion.spill import spill
from bigtopic.ingestion.text import is_open_text, recorded, with_collocations, with_language
from bigtopic.ingestion.vocabularies import Vocabularies
from bigtopic.parallel.cluster import default_threads
from bigtopic.parallel.progress import Progress
from bigtopic.storage.place import Place

__all__ = ["ENTRY_BYTES", "SortedSource", "build", "read_corpus", "sort_source", "text_record"]

_FREQUENT = 1000  # words that most documents have one of


@dataclass(frozen=True)
class SortedSource:
    """A source after the third stage: its runs remain to be merged into parts.

    Attributes
    ----------
    plan : how they are merged
    columns : {name: type} of all further columns of the corpus
    n_empty, n_short : documents without words, and those left out as too short
    duplicates : digests of the ids that the corpus had, S16 (n,)
    """

    names: Vocabularies
    runs: Sequence[SortedRun]
    n_parts: int
    plan: MergePlan
    columns: dict[str, str]
    n_empty: int
    n_short: int
    duplicates: np.ndarray


def sort_source(
    reader: Any,
    root: Place,
    scratch: Place,
    drafts: Place,
    settings: IngestSettings,
    workers: Workers,
    known: Manifest | None = None,
) -> SortedSource:
    """The first three stages; runs are left in scratch, and drafts of parts are to go to their place.

    Raises
    ------
    InputError
        When the source has no documents, no word is left, or the settings refuse what there is.
    """
    names = Vocabularies(reader, root, scratch, known, settings)
    ids = None
    if known is not None:
        ids = ids_in_store(root, known, scratch, settings.on_duplicate)
    runs = sorted(_parsed(reader, scratch, names, workers, settings, ids), key=lambda run: run.stream)
    n_rows = _place_runs(runs, 0 if known is None else known.n_rows)
    found = [run.duplicates for run in runs if run.duplicates is not None]
    duplicates = np.concatenate([np.zeros(0, "S16"), *found])
    if not sum(run.n_docs for run in runs) + len(duplicates):
        raise InputError(
            "the source holds no documents; check the path, or the iterable, which may be used up"
        )
    names.finish(sum(run.n_docs for run in runs), partial(_needed, runs, scratch, workers))
    bounds = _bounds(runs, names.n_entries, n_rows, settings.order)
    sorting = SortPlan(names.spilled(), settings.order, bounds, settings.min_doc_length)
    sorted_runs = list(_sorted(runs, sorting, names, workers))
    columns = _column_types(runs, known, root)
    own = {name: columns[name] for name in columns if any(name in run.columns for run in runs)}
    has_ids, has_text = (any(name in run.spilled for run in runs) for name in ("ids", "text"))
    n_words, n_authors = names.vocabulary.size, names.n_authors
    return SortedSource(
        names,
        sorted_runs,
        len(bounds) + 1,
        MergePlan(drafts, settings.order, n_words, n_authors, n_rows, own, has_ids, has_text),
        columns,
        n_empty=sum(run.n_empty for run in sorted_runs),
        n_short=sum(run.n_short for run in sorted_runs),
        duplicates=duplicates,
    )


def build(
    reader: Any,
    transaction: Transaction,
    settings: IngestSettings,
    workers: Workers,
    known: Manifest | None = None,
) -> tuple[Manifest, int]:
    """Write the parts and names of a source into the store; the manifest returned is still to be committed.

    `known` is the manifest of the corpus to extend, or None for a new corpus. The parts of this source are the last
    `n_new` of the manifest, which is returned, too.

    Raises
    ------
    InputError
        When the source has no documents, or no word is left.
    """
    root, drafts = transaction.root, transaction.drafts
    source = sort_source(reader, root, transaction.scratch, drafts, settings, workers, known)
    names = source.names
    first = transaction.next_part
    paths = [transaction.path("parts", first + i) for i in range(source.n_parts)]
    transaction.claim(paths)
    records = list(_merged(source.runs, paths, source.plan, transaction, workers))
    if not records and not len(source.duplicates):
        least = f"every document has fewer than {argument('min_doc_length', settings.min_doc_length)} tokens"
        raise InputError(
            f"{least}; lower it"
            if known is None
            else f"{least}, the setting of {transaction.root.url}; nothing to append"
        )
    first += len(paths)
    kept, n_replaced = _kept_parts(transaction, source, settings, workers, known, first)
    vocabulary = write_names(root, transaction.path("vocabulary", transaction.generation), names.vocabulary)
    authors = None
    if names.author_vocabulary is not None:
        path = transaction.path("authors", transaction.generation)
        authors = write_names(root, path, names.author_vocabulary)
    limits = settings.limits if settings.limits and names.limits.idle else names.limits.to_dict()
    manifest = Manifest(
        generation=transaction.generation,
        next_part=first + (0 if known is None else len(known.parts)),
        n_rows=source.plan.n_rows,
        seed=settings.order.seed,
        shuffled=settings.order.shuffle,
        vocabulary=vocabulary,
        authors=authors,
        columns=source.columns,
        has_ids=source.plan.has_ids or (known is not None and known.has_ids),
        text=text_record(settings, names),
        words={**limits, "closed": names.closed, "pruned": names.pruned},
        parts=(*kept, *records),
        replaced=() if known is None else known.replaced,
        ingestion=replace(
            _ingestion(reader, source, records, known),
            skipped=len(source.duplicates) if settings.on_duplicate == "skip" else 0,
            replaced=n_replaced,
        ),
    )
    return manifest, len(records)


def _kept_parts(
    transaction: Transaction,
    source: SortedSource,
    settings: IngestSettings,
    workers: Workers,
    known: Manifest | None,
    first: int,
) -> tuple[Sequence[PartRecord], int]:
    """The parts of the corpus to extend, without the documents that are replaced, and how many these are.

    A part that loses documents is written anew, with a number from `first` on, and its words are subtracted.
    """
    if known is None:
        return (), 0
    if settings.on_duplicate != "replace" or not len(source.duplicates):
        return known.parts, 0
    paths = [transaction.path("parts", first + i) for i in range(len(known.parts))]
    transaction.claim(paths)
    parts = stored_parts(transaction.root, replace(known, columns=source.columns), "drop")
    gone = np.unique(source.duplicates)
    tasks = [DropTask(part, gone, path, transaction.drafts) for part, path in zip(parts, paths, strict=True)]
    kept, n_gone = [], 0
    with closing(workers.map(drop_documents, tasks)) as results:
        for result in results:
            if result.record is not None:
                kept.append(result.record)
                if result.draft is not None:
                    transaction.install(result.draft, result.record.path)
            if result.counts is not None:
                source.names.subtract(result.counts)
            n_gone += result.n_gone
    return kept, n_gone


def _ingestion(
    reader: Any, source: SortedSource, records: Sequence[PartRecord], known: Manifest | None
) -> Ingestion:
    names, before = source.names, 0 if known is None else known.vocabulary.size
    return Ingestion(
        documents=sum(record.n_docs for record in records),
        tokens=sum(record.n_tokens for record in records),
        words=names.vocabulary.size,
        new_words=names.vocabulary.size - before,
        documents_before=0 if known is None else sum(record.n_docs for record in known.parts),
        format=reader.name,
        taken=dict(getattr(reader, "taken", {})),
        left_out=names.left_out,
        kept=names.kept_common.groups,
        empty_documents=source.n_empty,
        short_documents=source.n_short,
    )


def text_record(settings: IngestSettings, names: Vocabularies) -> Mapping[str, Any] | None:
    """The record of how text became words; None for sources of counts."""
    if settings.text is None:
        return None
    return narrowed(settings.text, names.known_share, names.limits, names.common)


def _parsed(
    reader: Any,
    scratch: Place,
    names: Vocabularies,
    workers: Workers,
    settings: IngestSettings,
    ids: KnownIds | None,
) -> Iterator[ParsedRun]:
    """First stage; counts are added up, in the order chunks were read, while other chunks are parsed."""
    function, n_entries = partial(parse_run, reader=reader, scratch=scratch, known_ids=ids), 0
    doubtful: str | None = None
    with (
        Progress("reading", reader.size, reader.unit, workers.progress) as bar,
        closing(workers.map(function, parse_tasks(reader, workers.n_threads))) as runs,
    ):
        for run in runs:
            if settings.must_have_text and "text" not in run.spilled:
                raise InputError(
                    f"{argument('keep_text', True)}: {reader.name} has no text that belongs to its documents; leave "
                    f"{argument('keep_text')} out"
                )
            if run.doubtful_author and doubtful is None:
                doubtful = run.doubtful_author
                warn(
                    f"{doubtful!r:.100} is taken for one author, but may name several; set "
                    f"{argument('author_separator', ...)} to what stands between names, such as ',' or ' and ', or to "
                    "'' if it is one name"
                )
            names.add(run)
            n_entries += run.nnz
            if n_entries > settings.most_entries:
                raise InputError(
                    f"the source has more than {settings.most_entries:,.0f} entries (words of documents), too many "
                    "for memory; store it with bigtopic.ingest(source, path), and pass the corpus that it returns"
                )
            bar.update(run.size)
            yield run


def _place_runs(runs: Sequence[ParsedRun], n_rows: int) -> int:
    """Give each run the row of its first document in the whole source; returns the rows there are.

    Documents of another corpus, which know their rows, keep them, counted from `n_rows`.
    """
    stream, start, before = -1, n_rows, n_rows
    for run in runs:
        if run.last_row >= 0:
            run.first = before
            n_rows = max(n_rows, before + run.last_row + 1)
            continue
        if run.stream != stream:
            stream, start = run.stream, n_rows
        run.first = n_rows if run.first_row is None else start + run.first_row
        n_rows = max(n_rows, run.first + run.n_docs)
    return n_rows


def _bounds(runs: Sequence[ParsedRun], n_entries: int, n_rows: int, order: Order) -> np.ndarray:
    """First keys of all parts but the first: equal ranges of hashes, or ranges of rows with enough entries."""
    n_docs = sum(run.n_docs for run in runs)
    n_parts = max(1, -(-n_entries // PART_ENTRIES), -(-n_docs // PART_DOCUMENTS))
    if order.shuffle:
        return key_bounds(n_parts)
    if any(run.last_row >= 0 for run in runs):
        first = runs[0].first
        return np.array([first + i * (n_rows - first) // n_parts for i in range(1, n_parts)], np.uint64)
    bounds, entries, documents = [], 0, 0
    for run in runs:
        if entries and (entries + run.nnz > PART_ENTRIES or documents + run.n_docs > PART_DOCUMENTS):
            bounds.append(run.first)
            entries = documents = 0
        entries += run.nnz
        documents += run.n_docs
    return np.array(bounds, np.uint64)


def _needed(
    runs: Sequence[ParsedRun], scratch: Place, workers: Workers, common: WordCounts, kept: WordCounts
) -> set[str]:
    """See `NeededWords`."""
    spilled = spill(scratch / "kept", {"words": kept.words})
    frequent = frozenset(kept.words[np.argsort(-kept.tokens)[:_FREQUENT]])
    look = partial(needed_words, common=frozenset(common.words), frequent=frequent, kept=spilled)
    with closing(workers.map(look, runs)) as found:
        return set().union(*found)


def _sorted(
    runs: Sequence[ParsedRun], plan: SortPlan, names: Vocabularies, workers: Workers
) -> Iterator[SortedRun]:
    """Third stage."""
    with (
        Progress("sorting", sum(run.n_docs for run in runs), "docs", workers.progress) as bar,
        closing(workers.map(partial(sort_run, plan=plan), runs)) as results,
    ):
        for run, result in zip(runs, results, strict=True):
            # Now that it is read for good. Behind a URL all runs are removed at the end, many at a time
            if run.spilled.place.local:
                run.spilled.place.remove()
            bar.update(run.n_docs)
            if result.dropped is not None:
                names.subtract(result.dropped)
            yield replace(result, dropped=None)


def _merged(
    runs: Sequence[SortedRun],
    paths: Sequence[str],
    plan: MergePlan,
    transaction: Transaction,
    workers: Workers,
) -> Iterator[PartRecord]:
    """Fourth stage; the driver moves the written parts into place."""
    tasks = (MergeTask(number, path, runs) for number, path in enumerate(paths))
    total = sum(int(run.documents[-1]) for run in runs)
    with (
        Progress("writing", total, "docs", workers.progress) as bar,
        closing(workers.map(partial(merge_part, plan=plan), tasks)) as results,
    ):
        for merged in results:
            if merged is not None:
                transaction.install(merged.root, merged.record.path)
                bar.update(merged.n_docs)
                yield merged.record


def _column_types(runs: Sequence[ParsedRun], known: Manifest | None, root: Place) -> dict[str, str]:
    """One type for each column: it holds all values, also of the corpus that is appended to."""
    added = [run.columns for run in runs if run.n_docs]
    if known is None or not known.parts:
        return united(added)
    stored = kinds_of_types(known.columns)
    types = united([stored, *added])
    # Stored values alone can say whether float64 holds all integers, and whether there are any floats.
    doubtful = [
        name
        for name, dtype in known.columns.items()
        if types[name] == "float64"
        and (dtype == "int64" or any("wide" in some.get(name, ()) for some in added))
    ]
    return united([{**stored, **stored_kinds(root, known, doubtful)}, *added])


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
        words, 0, order, record, left_out=left_out, wordless=True, most_entries=most_entries
    )
    scratch = Place.of(f"memory://bigtopic-{uuid4().hex}")
    try:
        return _corpus(sort_source(reader, scratch, scratch, scratch, settings, workers), settings)
    finally:
        scratch.remove()


def _corpus(source: SortedSource, settings: IngestSettings) -> Corpus:
    names, parts = source.names, []
    for i in range(source.n_parts):
        found = part_documents(source.runs, i, source.plan)
        if found is not None:
            parts.append(MemoryPart(f"part {i}", take(found.block, found.order), found.ids, found.columns))
    vocabulary = names.vocabulary
    return Corpus(
        parts,
        vocabulary if vocabulary.size else Vocabulary(["\N{EMPTY SET}"]),
        shuffled=settings.order.shuffle,
        text_settings=text_record(settings, names),
        author_vocabulary=names.author_vocabulary,
        columns=list(source.columns),
        has_ids=source.plan.has_ids,
    )
