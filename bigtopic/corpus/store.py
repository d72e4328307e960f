"""`Corpus`: documents in parts, on disk or in memory, and lazy views of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from uuid import uuid4

import numpy as np

from bigtopic.corpus import export, split, views
from bigtopic.corpus.filter import VocabularySettings
from bigtopic.corpus.order import by_source, source_order
from bigtopic.corpus.part import Part, PartView
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError
from bigtopic.types import Block

__all__ = ["Corpus", "open_corpus"]


@dataclass(frozen=True, eq=False)
class Corpus:
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
    counted : whether the vocabulary's frequencies are those of exactly these documents
    """

    parts: Sequence[Part]
    vocabulary: Vocabulary
    shuffled: bool = True
    text_settings: Mapping[str, Any] | None = None
    author_vocabulary: Vocabulary | None = None
    columns: Sequence[str] = ()
    has_ids: bool = False
    url: str | None = None
    storage_options: Mapping[str, Any] | None = None
    counted: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "columns", tuple(self.columns))

    # ------------------------------------------------------------------ figures

    @cached_property
    def n_docs(self) -> int:
        """Number of documents."""
        return sum(part.n_docs for part in self.parts)

    @property
    def n_words(self) -> int:
        """Size of the vocabulary."""
        return self.vocabulary.size

    @cached_property
    def nnz(self) -> int:
        """Entries: distinct words of each document, summed."""
        if self._fewer_words:
            return int(self.vocabulary.counted[0].sum())
        return sum(part.nnz for part in self.parts)

    @cached_property
    def n_tokens(self) -> float:
        """Tokens: the sum of all counts."""
        if self._fewer_words:
            return float(self.vocabulary.counted[1].sum())
        return float(sum(part.n_tokens for part in self.parts))

    @property
    def _fewer_words(self) -> bool:
        """Whether words were filtered and then counted: parts would have to read everything to know their figures."""
        return self.counted and any(getattr(part, "word_map", None) is not None for part in self.parts)

    @property
    def n_bytes(self) -> int:
        """Bytes of the documents on disk (compressed) or in memory."""
        return sum(part.n_bytes for part in self.parts)

    @property
    def n_authors(self) -> int:
        """Number of authors; 0 if the corpus has none."""
        return 0 if self.author_vocabulary is None else self.author_vocabulary.size

    @cached_property
    def authors(self) -> list[str] | None:
        """Author names by id, or None."""
        return None if self.author_vocabulary is None else self.author_vocabulary[:]

    @cached_property
    def fingerprint(self) -> str:
        """32 hex digits, equal for the same documents in the same order with the same word ids."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(self.vocabulary.fingerprint.encode())
        for part in self.parts:
            digest.update(part.fingerprint.encode())
        return digest.hexdigest()

    def __len__(self) -> int:
        return self.n_docs

    # ------------------------------------------------------------------ reading

    @cached_property
    def _starts(self) -> np.ndarray:
        """Position of the first document of each part, and the end: int64 (n_parts + 1,)."""
        return np.concatenate([[0], np.cumsum([part.n_docs for part in self.parts], dtype=np.int64)])

    def _spans(self, start: int, stop: int) -> Iterator[tuple[Part, int, int]]:
        """The parts that hold positions `start` to `stop`, each with the positions within it."""
        for part, first in zip(self.parts, self._starts.tolist(), strict=False):
            a, b = max(start - first, 0), min(stop - first, part.n_docs)
            if a < b:
                yield part, a, b

    @cached_property
    def _source_order(self) -> np.ndarray | None:
        """See `source_order`. Reads the rows of all parts once; afterwards takes 8 bytes per document."""
        return source_order(self.rows(order="stored"))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_source_order"}

    def _ordered(self, values: np.ndarray, order: str) -> np.ndarray:
        """Values in stored order, rearranged into the requested order."""
        where = self._source_order if by_source(order) else None
        return values if where is None else values[where]

    def read(self, start: int = 0, stop: int | None = None, order: str = "source") -> Block:
        """The documents of `run(start, stop, order)`, with corpus word ids, in memory.

        Raises
        ------
        CorpusDamaged
            When a chunk is missing or does not match its checksum; names the part.
        """
        return views.read(self.run(start, stop, order), order)

    def blocks(self, n_entries: int = 1 << 20) -> Iterator[Block]:
        """All documents in stored order (see `Block.rows`), in blocks of about `n_entries` entries from one part."""
        for part, start, stop in self.spans(n_entries):
            yield part.read(start, stop)

    def spans(self, n_entries: int = 1 << 20) -> Iterator[tuple[Part, int, int]]:
        """(part, start, stop) of runs with about `n_entries` entries: what `blocks` reads, without reading it."""
        for part in self.parts:
            per_document = max(1.0, part.nnz / max(part.n_docs, 1))
            step = max(1, int(n_entries / per_document))
            for start in range(0, part.n_docs, step):
                yield part, start, min(start + step, part.n_docs)

    def rows(self, order: str = "source") -> np.ndarray:
        """Source rows, int64 (n_docs,): ascending, or, with `order="stored"`, as documents are stored."""
        found = self._joined([part.rows(0, part.n_docs) for part in self.parts], np.int64)
        return np.sort(found) if by_source(order) else found

    def document_ids(self, order: str = "source") -> np.ndarray:
        """Document ids, object (n_docs,) of str; source rows as strings when the source had no ids."""
        return self._ordered(self._joined([part.ids(0, part.n_docs) for part in self.parts], object), order)

    def read_column(self, name: str, order: str = "source") -> np.ndarray:
        """A further column, (n_docs,): int64, float64 (NaN where missing), bool, or object of str ("" where missing).

        Raises
        ------
        SettingError
            When the name is not in `columns`.
        """
        self._known_columns([name])
        pieces = [part.columns([name], 0, part.n_docs)[name] for part in self.parts]
        return self._ordered(self._joined(pieces, object), order)

    def read_columns(
        self, names: Sequence[str] | None = None, order: str = "source"
    ) -> dict[str, np.ndarray]:
        """Further columns by name, see `read_column`; all of them when `names` is None."""
        if isinstance(names, str):
            raise SettingError(f"names={names!r}: pass a list of names, or call read_column for one column")
        return {name: self.read_column(name, order) for name in (self.columns if names is None else names)}

    @staticmethod
    def _joined(pieces: list[np.ndarray], dtype: Any) -> np.ndarray:
        return np.concatenate(pieces) if pieces else np.zeros(0, dtype)

    def _known_columns(self, names: Iterable[str]) -> list[str]:
        names = list(names)
        for name in names:
            if name not in self.columns:
                have = ", ".join(self.columns) or "none"
                raise SettingError(f"there is no column {name!r} in this corpus; columns: {have}")
        return names

    # ------------------------------------------------------------------ views

    def _view(self, parts: Iterable[Part]) -> Corpus:
        return replace(self, parts=tuple(part for part in parts if part.n_docs), counted=False)

    def __getitem__(self, item: slice | int) -> Any:
        """A view of a run of documents, or, for an integer, the `Document` itself; both in source order.

        Positions count the documents of this corpus or view: `view[0]` has its lowest source row.
        """
        if isinstance(item, int | np.integer):
            return views.document(self, int(item))
        start, stop, step = item.indices(self.n_docs)
        if step != 1:
            raise SettingError(
                f"corpus[{start}:{stop}:{step}]: a slice must have step 1; use select() for other rows"
            )
        return self.run(start, stop)

    def run(self, start: int = 0, stop: int | None = None, order: str = "source") -> Corpus:
        """A view of the documents at positions `start` to `stop`: `corpus[start:stop]` in the requested order.

        A run in source order is scattered over a shuffled store. With `order="stored"` its documents are adjacent
        there: cheap to read, and a random sample.
        """
        source = by_source(order)
        start, stop, _ = slice(start, stop).indices(self.n_docs)
        if (start, stop) == (0, self.n_docs):
            return self
        if source and self._source_order is not None:
            return self._view(self._chosen(slice(start, stop)))
        return self._view(PartView.of(part, range(a, b)) for part, a, b in self._spans(start, stop))

    def _chosen(self, places: slice | np.ndarray) -> Sequence[Part]:
        """The documents at these places of the source's order: a slice, or a boolean for each."""
        where = np.arange(self.n_docs) if self._source_order is None else self._source_order
        return split.by_positions(self.parts, self._starts, np.sort(where[places]))

    def __iter__(self) -> Iterator[views.Document]:
        """The documents in source order; about 2^23 entries are in memory at a time."""
        return views.documents(self)

    def split(self, test_size: float = 0.1, seed: int = 0) -> tuple[Corpus, Corpus]:
        """Split into train and test documents, as views.

        Parameters
        ----------
        test_size : a share (float between 0 and 1) or a number of documents (int)
        seed : together with the source rows, determines the choice; how the corpus is stored has no influence

        Raises
        ------
        SettingError
            When one side is empty.
        """
        n_test = split.n_test_documents(test_size, self.n_docs)
        train, test = split.train_test(self.parts, n_test, seed)
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
        parts = self._chosen(views.by_functions(self, functions)) if functions else self.parts
        parts = parts if rows is None else split.by_rows(parts, rows)
        return self._view(split.by_columns(parts, values) if values else parts)

    def filter_vocabulary(
        self,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        keep: Iterable[str] | None = None,
        drop: Iterable[str] | None = None,
    ) -> Corpus:
        """Keep only some words, as a view: word ids are mapped when documents are read.

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
        return views.filtered(self, VocabularySettings(min_df, max_df, max_features), keep, drop)

    def recounted(self) -> Corpus:
        """This corpus with a vocabulary whose frequencies are those of exactly these documents (one pass for views)."""
        return views.recounted(self)

    # ------------------------------------------------------------------ out

    def to_scipy(self, order: str = "source") -> Any:
        """`scipy.sparse.csr_matrix` (n_docs, n_words), float32, in memory."""
        return export.to_scipy(self, order)

    def to_anndata(self, order: str = "source") -> Any:
        """`anndata.AnnData` in memory: X the counts, obs ids and columns, var words and frequencies."""
        return export.to_anndata(self, order)

    def to_delayed(self, n_entries: int = 1 << 20) -> list[Any]:
        """A `dask.delayed` `Block` for each run of about `n_entries` entries, in stored order; see `blocks`."""
        return export.to_delayed(self, n_entries)

    def verify(self) -> Any:
        """Read every chunk; check checksums and counts against the manifest, and each document against the format.

        Raises
        ------
        CorpusDamaged
            When a check fails; names the part and the array.
        """
        from bigtopic.corpus.verify import verify

        return verify(self)

    def __repr__(self) -> str:
        from bigtopic.corpus.card import text_card

        return text_card(self)

    def _repr_html_(self) -> str:
        from bigtopic.corpus.card import html_card

        return html_card(self)


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
    from bigtopic.corpus.manifest import read_manifest
    from bigtopic.corpus.storage import Place
    from bigtopic.corpus.stored import StoredPart, stored_names

    root = Place.of(url, storage_options)
    manifest = read_manifest(root)
    session = uuid4().hex[:12]
    n_words = manifest.vocabulary.size
    n_authors = 0 if manifest.authors is None else manifest.authors.size
    return Corpus(
        [
            StoredPart(root, record, n_words, n_authors, manifest.columns, session)
            for record in manifest.parts
        ],
        stored_names(root, manifest.vocabulary),
        shuffled=manifest.shuffled,
        text_settings=manifest.text,
        author_vocabulary=None if manifest.authors is None else stored_names(root, manifest.authors),
        columns=list(manifest.columns),
        has_ids=manifest.has_ids,
        url=root.url,
        storage_options=storage_options,
    )
