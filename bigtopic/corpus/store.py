"""`Corpus`: documents in parts, on disk or in memory, and lazy views of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from bigtopic.corpus.documents import Document, DocumentsInParts
from bigtopic.corpus.part import Part, PartView
from bigtopic.corpus.select import by_columns, by_rows, n_test_documents, of_function, train_test
from bigtopic.corpus.vocabulary import VocabularySettings, common_words, dropped_words, narrowed
from bigtopic.errors import InputError, SettingError, argument, require
from bigtopic.support import aliases
from bigtopic.support.aliases import answering
from bigtopic.support.deprecations import renamed
from bigtopic.types import Block

__all__ = ["Corpus", "open_corpus"]

MOST_COMPARED = 100_000  # ids that are read and sorted to suggest one


@dataclass(frozen=True, eq=False)
class Corpus(DocumentsInParts):
    """Documents as word counts, read from their parts when needed.

    Made by `bigtopic.ingest`, `bigtopic.open_corpus` or `bigtopic.from_matrix`. Slices, splits and selections are
    views: they hold positions, never documents.

    Everything returned per document is in source order (ascending source rows), as are iteration, indices and slices;
    pass `order="stored"` for the order on disk. Only the streaming methods are always in stored order: `blocks`,
    `spans`, `to_delayed` and `parts`, labelled by `Block.rows`.

    Attributes
    ----------
    parts : the units of storage, or views of them
    vocabulary : the words by id, shared by all views
    shuffled : whether stored order is random (a hash of seed and source row), so that runs are random minibatches
    text_settings : settings of the tokeniser, as a dict, or None for sources of counts
    author_vocabulary : author names by id, or None
    columns : names of further columns
    has_ids : whether the source named its documents
    url : where the corpus is stored; None in memory
    counted : whether the vocabulary's frequencies count exactly these documents
    word_limits : limits on the words, and whether new ones are taken, see `bigtopic.append`
    ingestion_ : what the last `ingest`, `append` or `compact` took the source for, and left out; None in memory
    """

    if not TYPE_CHECKING:  # for type checkers, there is nothing but what is declared

        def __getattr__(self, name: str) -> Any:
            return aliases.missing(self, name, aliases.OF_CORPORA)

    # ------------------------------------------------------------------ views

    def __getitem__(self, item: Any) -> Any:
        """A view of a run of documents, or, for an integer or an id, the `Document` itself; all in source order.

        Positions count the documents of this corpus or view: `view[0]` has its lowest source row. A list or array of
        positions, or of a boolean for each document, gives a view, too; `corpus[positions, ...]` is how scikit-learn
        divides a corpus, like a matrix of this `shape`.
        """
        if isinstance(item, str):
            return self.document(item)
        if isinstance(item, tuple) and len(item) == 2 and item[1] is Ellipsis:
            item = item[0]
        if isinstance(item, list | np.ndarray):
            found = np.arange(self.n_docs)[np.asarray(item, None if len(item) else np.int64)]
            if len(np.unique(found)) != len(found):  # a view has each document once
                raise SettingError("corpus[...]: a position is listed twice; list each once")
            return self._view(self._chosen(found))
        if isinstance(item, int | np.integer):
            if not -self.n_docs <= item < self.n_docs:
                raise IndexError(f"document {item} of a corpus of {self.n_docs}")
            start = int(item) % self.n_docs
            return next(self.run(start, start + 1)._documents())
        if not isinstance(item, slice):
            raise SettingError(
                f"corpus[{item!r:.60}]: give the number or the id of a document, or a slice; use select() for others"
            )
        start, stop, step = item.indices(self.n_docs)
        if step != 1:
            raise SettingError(
                f"corpus[{start}:{stop}:{step}]: a slice must have step 1; use select() for other rows"
            )
        return self.run(start, stop)

    def document(self, document_id: str) -> Document:
        """The document with this id, the first of several: its text, columns, authors and counts.

        Raises
        ------
        SettingError
            When there is none; names the nearest id.
        """
        from bigtopic.corpus.authors import nearest

        document_id = str(document_id)
        position = self.position(document_id)
        if position is not None:
            return self[position]
        hint = "" if self.n_docs else "; it has no documents"
        if 0 < self.n_docs <= MOST_COMPARED:
            hint = f"; the nearest is {nearest(document_id, self.document_ids().tolist())!r}"
        raise SettingError(f"there is no document {document_id!r} in this corpus{hint}")

    @renamed(seed="random_state")
    @answering
    def split(self, test_size: float = 0.1, random_state: int = 0) -> tuple[Corpus, Corpus]:
        """Split into train and test documents, as views.

        Parameters
        ----------
        test_size : a share (float between 0 and 1) or a number of documents (int)
        random_state : seed that, together with the source rows, determines the choice; how the corpus is stored has no
            influence

        Raises
        ------
        SettingError
            When one side is empty.
        """
        n_test = n_test_documents(test_size, self.n_docs)
        train, test = train_test(self.parts, n_test, random_state)
        return self._view(train), self._view(test)

    def select(self, rows: Any = None, **columns: Any) -> Corpus:
        """Select documents by source row, by the values of columns, or both, as a view.

        Parameters
        ----------
        rows : source rows (integers), or a boolean for each source row; None for all. To select by a column that is
            named "rows", pass `corpus.rows()[corpus.read_column("rows") == value]`
        **columns : condition on a column:

            * a value of its type: `year=2005`, `day=datetime.date(2005, 3, 1)` (the whole day), None (missing)
            * any of several values, as a list, set, range or array: `year=[2004, 2007]`
            * a slice, both ends included as in pandas, None for an open end: `year=slice(2000, 2005)`
            * a function of the whole column, (n_docs,), in source order, that returns a boolean for each
              document: `year=lambda year: year % 2 == 0`

        Raises
        ------
        SettingError
            When a column is not in `columns`, or no value of the column's type can equal the value given.
        """
        self._known_columns(columns)
        functions = {name: wanted for name, wanted in columns.items() if callable(wanted)}
        values = {name: wanted for name, wanted in columns.items() if name not in functions}
        parts = self.parts
        if functions:
            found = [of_function(name, wanted, self.read_column(name)) for name, wanted in functions.items()]
            parts = tuple(self._chosen(np.logical_and.reduce(found)))
        if rows is not None:
            parts = by_rows(parts, rows)
        return self._view(by_columns(parts, values) if values else parts)

    @answering
    def filter_vocabulary(
        self,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        keep: Iterable[str] | None = None,
        drop: Iterable[str] | None = None,
    ) -> Corpus:
        """Keep only some words, as a view: word ids are mapped when documents are read.

        Texts that are added to the view, once stored, are without the words dropped by `max_df` or `drop`, too; see
        `bigtopic.append` for the others.

        Parameters
        ----------
        min_df, max_df, max_features : as in `ingest`, counted over the documents of this corpus or view
        keep : only these words
        drop : all but these words

        Raises
        ------
        InputError
            When no word is left.
        """
        limits, known = VocabularySettings(min_df, max_df, max_features), self.recounted().vocabulary
        df, tf = known.counted
        mask = ~np.logical_or.reduce([*dropped_words(df, tf, self.n_docs, limits).values()])
        if keep is not None:
            mask &= known.mask_of(keep)
        dropped = np.zeros(known.size, bool) if drop is None else known.mask_of(drop)
        mask &= ~dropped
        if not mask.any():
            limited = f"{argument('min_df')}, {argument('max_df')}"
            raise InputError(f"no word of the vocabulary is left; loosen {limited}, keep or drop")
        word_map = np.where(mask, np.cumsum(mask) - 1, -1).astype(np.int32)
        vocabulary = known.taken(np.flatnonzero(mask))
        text, word_limits, unlisted = self.text_settings, self.word_limits, ~mask
        if text is not None:
            share = float(vocabulary.counted[1].sum()) / float(tf.sum())
            common = common_words(df, self.n_docs, limits)
            unlisted &= ~(common | dropped)
            text = narrowed(text, share, limits.resolved(0), known[common], known[dropped])
        if unlisted.any():
            word_limits = {**word_limits, "pruned": True}
        parts = tuple(PartView.of(part, None, word_map) for part in self.parts)
        return replace(
            self,
            parts=parts,
            vocabulary=vocabulary,
            text_settings=text,
            counted=True,
            word_limits=word_limits,
        )

    # ------------------------------------------------------------------ authors

    def with_authors(self, authors: Any) -> Corpus:
        """Give the documents authors, tags or other labels, instead of those they have.

        In a stored corpus the authors become part of the store, in one step: a process that is killed leaves the old
        state or the new one. Processes that have the corpus open keep the authors they found, until authors are
        replaced a second time. Meanwhile the ids of all documents are in memory.

        Parameters
        ----------
        authors : {document id: names}, {name: document ids}, or pairs (document id, name). Documents that are left out
            have no author. Where the source had no ids, a document's id is its source row

        Returns
        -------
        Corpus
            Open, with the authors; of a corpus in memory, another one.

        Raises
        ------
        InputError
            When the corpus lacks a document (the nearest id is suggested), an author has no document, or a document
            lists an author twice; names the document. The store stays as it was.
        SettingError
            When this is a view.
        CorpusLocked
            When another process is writing to the corpus, or has since it was opened.
        """
        from bigtopic.corpus.authors import attach, in_memory

        if any(isinstance(part, PartView) for part in self.parts):
            raise SettingError(
                "this is a view; attach the authors to the whole corpus, then take the view again"
            )
        if self.url is None:
            return in_memory(self, authors)
        attach(self, authors)
        return open_corpus(self.url, self.storage_options)

    # ------------------------------------------------------------------ out

    def to_scipy(self, order: str = "source") -> Any:
        """`scipy.sparse.csr_matrix` (n_docs, n_words), float32, in memory."""
        from scipy import sparse

        block = self.read(order=order)
        matrix = sparse.csr_matrix((block.counts, block.words, block.indptr), self.shape, copy=True)
        matrix.has_canonical_format = True
        return matrix

    def to_anndata(self, order: str = "source") -> Any:
        """`anndata.AnnData` in memory: X the counts, obs ids and columns, var words and frequencies."""
        anndata, pandas = require("anndata", "anndata"), require("pandas", "pandas")
        columns = self.read_columns(order=order)
        row = "source_row"
        while row in columns:  # a column of the user's keeps its name
            row = f"{row}_"
        ids = self.document_ids(order).astype(str)
        known = self.recounted().vocabulary
        frequencies = {"document_frequency": known.document_frequency, "frequency": known.frequency}
        return anndata.AnnData(
            X=self.to_scipy(order),
            obs=pandas.DataFrame({row: self.rows(order), **columns}, index=ids),
            var=pandas.DataFrame(frequencies, index=known[:]),
        )

    def to_delayed(self, n_entries: int = 1 << 20) -> list[Any]:
        """A `dask.delayed` `Block` for each run of about `n_entries` entries, in stored order; see `blocks`."""
        from dask import delayed

        read = delayed(_read, pure=True)  # a task has the part, which is small, and reads where it runs
        return [read(part, start, stop) for part, start, stop in self.spans(n_entries)]

    def verify(self) -> Any:
        """Read every chunk; check checksums and counts against the manifest, and each document against the format.

        Raises
        ------
        CorpusDamaged
            When a check fails; names the part and the array.
        """
        from bigtopic.corpus.stored.writer import verify

        return verify(self)

    def __repr__(self) -> str:
        from bigtopic.corpus.card import text_card

        return text_card(self)

    def _repr_html_(self) -> str:
        from bigtopic.corpus.card import html_card

        return html_card(self)


def _read(part: Part, start: int, stop: int) -> Block:
    return part.read(start, stop)


def open_corpus(url: Any, storage_options: Mapping[str, Any] | None = None) -> Corpus:
    """Open a stored corpus; reads only its manifest.

    Parameters
    ----------
    url : folder, or any URL that fsspec supports
    storage_options : passed to fsspec

    Raises
    ------
    CorpusVersionError
        When there is no corpus, or it was written in a newer format.
    """
    from bigtopic.corpus.stored.manifest import read_manifest
    from bigtopic.corpus.stored.stored_part import stored_names, stored_parts
    from bigtopic.storage.place import Place

    root = Place.of(url, storage_options)
    manifest = read_manifest(root)
    return Corpus(
        stored_parts(root, manifest, uuid4().hex[:12]),
        stored_names(root, manifest.vocabulary),
        shuffled=manifest.shuffled,
        text_settings=manifest.text,
        author_vocabulary=None if manifest.authors is None else stored_names(root, manifest.authors),
        columns=list(manifest.columns),
        has_ids=manifest.has_ids,
        url=root.url,
        storage_options=storage_options,
        word_limits=manifest.words,
        ingestion_=manifest.ingestion,
    )
