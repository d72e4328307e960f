"""Ingestion: any source to a corpus on disk, once.

For its stages see `bigtopic.ingestion`. The result depends only on the source and the settings: threads,
processes and clusters give the same corpus. Memory is bounded by

    tasks in flight x (a chunk of about 8 MB and what is parsed from it, or the entries of a part: 64 MiB)
    + the vocabulary (about 200 bytes a word; words past two million at a time are counted on disk)
    + 16 bytes for each document of a corpus that is appended to, if its documents have ids
    + up to four files of counts that are read at a time x two chunks

for a source of any size. Scratch space is about 8 bytes per entry (a word of a document), or 16 if the store is remote,
and the size of the texts if they are kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

from bigtopic.corpus.authors import with_mapping
from bigtopic.corpus.order import checked_seed
from bigtopic.corpus.readers import open_source
from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.corpus.stored.manifest import Manifest, read_manifest
from bigtopic.corpus.stored.stored_part import StoredPart
from bigtopic.corpus.stored.transaction import Transaction, current_manifest
from bigtopic.corpus.vocabulary import VocabularySettings
from bigtopic.errors import CorpusExists, CorpusLocked, SettingError, argument
from bigtopic.ingestion.duplicates import ON_DUPLICATE
from bigtopic.ingestion.job import build
from bigtopic.ingestion.parse import CorpusReader
from bigtopic.ingestion.settings import REMEDY, IngestSettings, Workers
from bigtopic.ingestion.sort import Order
from bigtopic.ingestion.text import (
    check_names,
    is_open_text,
    left_out,
    recorded,
    settings_for,
    with_collocations,
    with_language,
    with_split_words,
)
from bigtopic.parallel.cluster import computed_on, default_threads, resolve_client
from bigtopic.parallel.progress import say, shown
from bigtopic.parallel.shared_files import corpus_in_reach, require_shared
from bigtopic.storage.place import Place
from bigtopic.support.deprecations import renamed

__all__ = ["append", "compact", "ingest"]


@renamed(seed="random_state")
def ingest(
    source: Any,
    store: str | Path,
    *,
    format: str | None = None,
    vocabulary: Any = None,
    ids: Iterable[str] | str | None = None,
    authors: Iterable[Any] | None = None,
    columns: Mapping[str, Iterable[Any]] | Iterable[str] | None = None,
    text_column: str | int | Sequence[str | int] | None = None,
    id_column: str | int | None = None,
    author_column: str | int | None = None,
    header: bool | None = None,
    document_column: str | int | None = None,
    word_column: str | int | None = None,
    count_column: str | int | None = None,
    author_separator: str | None = None,
    split_documents: int | str | None = None,
    min_df: float | None = None,
    max_df: float | None = None,
    max_features: int | None = None,
    min_doc_length: int = 0,
    shuffle: bool = True,
    random_state: int = 0,
    weights: bool = False,
    keep_text: bool | None = None,
    layer: str | None = None,
    use_raw: bool = False,
    stop_words: str | Iterable[str] | None = "auto",
    overwrite: bool = False,
    append: bool = False,
    on_duplicate: str = "error",
    client: Any = None,
    n_threads: int | None = None,
    progress: bool | None = None,
    scratch: str | Path | None = None,
    storage_options: Mapping[str, Any] | None = None,
    **text: Any,
) -> Corpus:
    """Read a source and store it as a corpus.

    Parameters
    ----------
    source : path, URL or glob of files, a folder, a list of these; a scipy or NumPy matrix; an AnnData object; a table
        or column of pandas, Polars, Arrow or Dask; a Dask bag or array; an iterable of texts, token lists, counters,
        (id, count) pairs or records; or a `Corpus` (to store a view)
    store : folder or fsspec URL of the new corpus
    format : name of the source's format; None detects it from content and name
    vocabulary : names of the word ids of a source of counts; for text, the only words to keep, with their ids. A file
        (a word per line), list, mapping, gensim Dictionary or fitted model
    ids : one per document, or a file with one per line
    authors : one per document: a name, a list of names, or None; or a mapping as in `Corpus.with_authors`
    columns : {name: one value per document} to add, or the names of the source's columns to keep (default all)
    text_column, id_column, author_column : fields of records and tables. A list of text columns, such as
        `["title", "abstract"]`, joins their texts with a blank line between them
    header : whether the first row of CSV and Excel names the columns; None judges it by the rows below
    document_column, word_column, count_column : columns of a table with a row per document and word; default those with
        usual names. The rows of a document must be together
    author_separator : what stands between names in a text with several authors, such as "," or " and ". None divides it
        where that is certain ("A; B", "Smith, J., Lee, K.") and warns where it may be meant; "" never divides
    split_documents : divide long texts into pieces of so many words (an int), or at blank lines ("paragraphs"). Piece 2
        of document "x" is "x#2", with the columns and authors of "x", which is in the column `parent`
    min_df, max_df : drop words in fewer, or more, documents than this number (int) or share (float). `min_df=None` is
        1, but see `append`. `max_df=None` is 0.5 for text of 100 documents or more without a `vocabulary`, where it
        keeps the words of documents that have no others, and else no limit
    max_features : keep at most this many words, those with the most tokens
    min_doc_length : drop documents with fewer tokens left; the default keeps empty documents
    shuffle : store documents in the order of a hash of (random_state, row), so that a run of them is a random
        minibatch; False keeps the source's order, for streams
    random_state : seed of that order
    weights : accept fractional counts
    keep_text : store the text of the documents beside their counts, compressed, so that `corpus["id"].text` and
        `model.documents` show it; None keeps it in a corpus that has text already, or if the source is such a corpus
    layer, use_raw : where an AnnData source has its counts, if not in X: the name of a layer, or `raw.X`
    stop_words : words to leave out: a language (see `bigtopic.stop_words`), a list, a file, or None; lower-cased and
        split as the text is; the words of a language are compared without case. "auto" for text without a `vocabulary`
        takes the language of its first documents, if there is a list for it; other sources stay as they are
    overwrite : replace the existing corpus once the new one is complete
    append : add to the existing corpus, see `append`
    on_duplicate : what `append` does with a document whose id the corpus has already: "error" refuses the source,
        "skip" leaves the document out, "replace" removes the one of the corpus, in the same commit. Documents without
        ids are not compared, nor are the documents of one source with each other
    client : a Dask client, or a scheduler's address; None for the current one, if there is one; False for threads
    n_threads : threads in this process; default all processors that it may use
    progress : show a progress bar, and at the end a line that says what was read, and as what, and what was left out
        (`corpus.ingestion_`); None does so in terminals and notebooks, with the bar after two seconds
    scratch : folder for temporary files, visible to all workers; default inside the store
    storage_options : passed to fsspec
    **text : settings of the tokeniser, see `TextSettings`: token_pattern, lowercase, ngram_range, collocations,
        token_filter, tokenizer, encoding, encoding_errors

    Returns
    -------
    Corpus
        Open; identical for threads, processes and clusters.

    Raises
    ------
    InputError
        When the source is not valid; names the file and line, or the document. The store stays as it was.
    CorpusExists
        When the store exists and neither `overwrite` nor `append` is set.
    CorpusLocked
        When another process is writing to the store.
    SettingError
        When a setting is not allowed.

    Examples
    --------
    >>> corpus = ingest(["a cat sat", "a dog ran", "a cat ran"], "memory://pets.zarr")
    >>> corpus.n_docs, corpus.vocabulary[:2]
    (3, ['cat', 'ran'])
    """
    check_names(text, signature(ingest).parameters)
    _check_choices(overwrite, append, on_duplicate, n_threads)
    seed = checked_seed(random_state)
    root = Place.of(store, storage_options)
    known = _to_extend(root, current_manifest(root), overwrite, append)
    limits = VocabularySettings(1 if min_df is None else min_df, max_df, max_features)
    chosen = isinstance(stop_words, str) and stop_words == "auto"
    text = text if chosen else {**text, "stop_words": stop_words}
    tokeniser = settings_for(text, min_doc_length, known, root.url)
    if root.url.startswith("memory://"):  # other processes cannot write to this one's memory
        client = False
    workers = Workers(resolve_client(client), n_threads or default_threads(), progress)
    if isinstance(source, Corpus):
        reader: Any = _corpus_reader(source, split_documents, keep_text)
    else:
        with computed_on(workers.client, source):
            reader = open_source(
                source,
                format=format,
                text=tokeniser,
                vocabulary=vocabulary,
                ids=ids,
                authors=None if isinstance(authors, Mapping) else authors,
                columns=columns,
                text_column=text_column,
                id_column=id_column,
                author_column=author_column,
                header=header,
                document_column=document_column,
                word_column=word_column,
                count_column=count_column,
                author_separator=author_separator,
                split_documents=split_documents,
                weights=weights,
                keep_text=known is not None and known.has_text if keep_text is None else keep_text,
                layer=layer,
                use_raw=use_raw,
                storage_options=storage_options,
            )
    reader, tokeniser = with_language(reader, tokeniser, chosen and known is None)
    if known is None:
        reader, tokeniser = with_split_words(reader, tokeniser)
    limits = limits if is_open_text(reader) and known is None else limits.resolved(0)
    with (
        Transaction(root, _scratch(root, workers, scratch)) as transaction,
        corpus_in_reach(workers.client, source) if isinstance(source, Corpus) else nullcontext(),
    ):
        _require_shared(workers.client, transaction)
        workers = replace(workers, files=(transaction.scratch, transaction.root / "zarr.json"))
        known = _locked(transaction, known, overwrite, append)
        rewritten = _rewritten(source, transaction)
        reader, pairs = with_collocations(reader, tokeniser, known, workers)
        given = known.words if known is not None else source.word_limits if isinstance(source, Corpus) else {}
        closed, pruned = bool(given.get("closed")), _is_pruned(given)
        settings = IngestSettings(
            limits,
            tokeniser.min_doc_length,
            Order(shuffle, seed) if known is None else Order(known.shuffled, known.seed),
            recorded(reader, tokeniser, pairs, known),
            given,
            closed,
            pruned,
            new_words=not closed and not (pruned and min_df is None and max_features is None),
            on_duplicate=on_duplicate,
            left_out=left_out(None if known is None else known.text),
            must_have_text=bool(keep_text),
        )
        manifest, n_new = build(reader, transaction, settings, workers, known)
        if isinstance(authors, Mapping) and n_new:
            manifest = with_mapping(transaction, manifest, known, n_new, authors)
        if rewritten is not None:  # a row that it had is not given again, even if its document is gone
            manifest = replace(manifest, n_rows=max(manifest.n_rows, rewritten.n_rows))
        transaction.commit(manifest)
    if shown(progress):
        say(str(manifest.ingestion))
    return open_corpus(store, storage_options)


@renamed(seed="random_state")
def append(corpus: Corpus | str | Path, source: Any, **settings: Any) -> Corpus:
    """Add documents to a stored corpus; new words, and authors, get new ids at the end.

    Words that the corpus was left without do not come back. Stop words and words that were too common are listed in the
    corpus. Those that `min_df` or `max_features` dropped are not, because there may be millions: where such words were
    dropped, a word that the corpus lacks stays out, unless `min_df` or `max_features` is given here, which takes the
    new words that pass them, counted over the documents that are added. `corpus.ingestion_` says what stayed out.

    Parameters
    ----------
    corpus : a stored corpus, or its path or URL
    source : see `ingest`
    **settings : see `ingest`. The corpus determines the order and the tokeniser, but pass custom tokeniser functions
        and patterns again

    Returns
    -------
    Corpus
        The extended corpus; `corpus` itself keeps its documents.

    Raises
    ------
    CorpusLocked
        When another process is writing to the corpus.
    SettingError
        When the corpus is not stored.
    """
    url, options = _stored_at(corpus, settings.pop("storage_options", None))
    return ingest(source, url, append=True, storage_options=options, **settings)


def compact(corpus: Corpus | str | Path, **settings: Any) -> Corpus:
    """Rewrite a stored corpus: full-size parts, documents of all appends mixed, ids in descending order of frequency.

    The old parts are removed once the new ones are committed, so running readers must open the corpus again.

    Parameters
    ----------
    corpus : a stored corpus, or its path or URL
    **settings : client, n_threads, progress and scratch, see `ingest`

    Returns
    -------
    Corpus

    Raises
    ------
    CorpusLocked
        When another process is writing to the corpus, or has since `corpus` was opened.
    """
    url, options = _stored_at(corpus, settings.pop("storage_options", None))
    manifest = read_manifest(Place.of(url, options))
    return ingest(
        open_corpus(url, options),
        url,
        overwrite=True,
        shuffle=manifest.shuffled,
        random_state=manifest.seed,
        storage_options=options,
        **settings,
    )


def _stored_at(corpus: Any, options: Any) -> tuple[Any, Any]:
    if not isinstance(corpus, Corpus):
        return corpus, options
    if corpus.url is None:
        raise SettingError("the corpus is in memory; store it first with ingest(corpus, path)")
    return corpus.url, options or corpus.storage_options


def _check_choices(overwrite: bool, append: bool, on_duplicate: str, n_threads: int | None) -> None:
    if overwrite and append:
        raise SettingError(
            f"{argument('overwrite', True)} and {argument('append', True)} are mutually exclusive; choose one"
        )
    if on_duplicate not in ON_DUPLICATE:
        raise SettingError(
            f"{argument('on_duplicate', on_duplicate)}: give {', '.join(map(repr, ON_DUPLICATE))}"
        )
    if n_threads is not None and n_threads < 1:
        raise SettingError(f"{argument('n_threads', n_threads)}: must be positive")


def _corpus_reader(source: Corpus, split_documents: Any, keep_text: bool | None) -> CorpusReader:
    if split_documents is not None:
        raise SettingError(
            f"{argument('split_documents', ...)} needs texts; a corpus holds counts: ingest the texts again"
        )
    return CorpusReader(source, keep_text is not False)


def _to_extend(root: Place, found: Manifest | None, overwrite: bool, append: bool) -> Manifest | None:
    """The existing corpus, if it is to be extended; None for a new corpus. Refuses a corpus that is neither to be
    replaced nor to be extended."""
    if found is not None and not overwrite and not append:
        raise CorpusExists(
            f"there is a corpus at {root.url}; pass {argument('overwrite', True)} to replace it, "
            f"{argument('append', True)} to add to it, or give another path"
        )
    return found if append else None


def _locked(
    transaction: Transaction, known: Manifest | None, overwrite: bool, append: bool
) -> Manifest | None:
    """The corpus to extend, now locked; an error if the tokeniser was chosen for another state of it, `known`."""
    url, now = transaction.root.url, _to_extend(transaction.root, transaction.old, overwrite, append)
    if (known is None, known and known.text) != (now is None, now and now.text):
        raise CorpusLocked(f"{url} was changed by another writer in the meantime; try again")
    return now


def _is_pruned(limits: Mapping[str, Any]) -> bool:
    """Whether words were dropped that are not listed, because there may be very many, so that no word is surely new."""
    return bool(limits.get("pruned", limits.get("min_df", 1) not in (0, 1) or limits.get("max_features")))


def _rewritten(source: Any, transaction: Transaction) -> Manifest | None:
    """The corpus, if it is the source, to be rewritten in place. Refuses it if documents or authors were added since
    the source was opened."""
    now = transaction.old
    if now is None or not isinstance(source, Corpus) or source.url != transaction.root.url:
        return None
    records = [part.record for part in source.parts if isinstance(part, StoredPart)]
    authors, now_there = ({r.path: r.authors for r in some} for some in (records, now.parts))
    if len(records) == len(source.parts) and authors != now_there:
        raise CorpusLocked(
            f"{source.url} was changed by another writer since it was opened; open it again and try again"
        )
    return now


def _scratch(root: Place, workers: Workers, scratch: str | Path | None) -> Place | None:
    """Where the scratch folder goes, private to this user: None is inside the store; for a remote store, a local folder
    if that suffices. Either way the next writer sweeps it.
    """
    if scratch is not None:
        return Place.of(scratch)
    if root.local or workers.client is not None:
        return None
    return Place.of(tempfile.gettempdir())


def _require_shared(client: Any, transaction: Transaction) -> None:
    """Refuse workers that would write parts or scratch files where other processes cannot find them."""
    if client is None:
        return
    root, scratch = transaction.root, transaction.scratch
    for place in [scratch] if scratch.url.startswith(f"{root.url}/") else [scratch, root]:
        if place.local:
            Path(place.url).mkdir(parents=True, exist_ok=True)
            require_shared(client, Path(place.url), REMEDY)
