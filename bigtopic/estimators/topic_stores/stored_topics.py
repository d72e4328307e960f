"""Reading a store of topics that `transform_to` wrote: a few chunks of each array are in memory at a time.

A store may come from any source, so what compiled loops rely on is checked as it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from bigtopic.corpus.columns import column_name
from bigtopic.corpus.readers.containers.files import intact
from bigtopic.corpus.readers.containers.zarr import open_checked
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, SettingError, argument, either, require, warn
from bigtopic.estimators.topic_stores.contents import MADE_WITH, MARK, WHOLE, Batch
from bigtopic.estimators.topic_stores.formats import TopicsToWrite, arrow_tables, tables
from bigtopic.questions.documents import SAME_SHARE
from bigtopic.state.identity import relation
from bigtopic.state.model import TopicModel
from bigtopic.storage.place import Place
from bigtopic.storage.zarr_metadata import group_attributes

__all__ = ["StoredTopics", "TopicRows", "open_topics"]

DOCUMENTS = 1 << 18  # whose offsets or ids are read at once
ENTRIES = 1 << 20  # topics of documents that are read at once, about
_WRITE = "write one with 'bigtopic infer MODEL DOCUMENTS THETA'"


class TopicRows(NamedTuple):
    """Topics of documents as CSR, none of them empty.

    indptr : int64 (n_docs + 1,); topics : int64 (nnz,); shares : float64 (nnz,), of a document at most 1 in all, or 1
        if they are normalised; or all 0, see `normalised`
    """

    indptr: np.ndarray
    topics: np.ndarray
    shares: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum of each document's values: (nnz,) to (n_docs,)."""
        return np.add.reduceat(values, self.indptr[:-1])

    def normalised(self, prior: np.ndarray | None = None) -> Self:
        """The same with shares that sum to 1 in each document.

        Parameters
        ----------
        prior : shares (n_components,) that documents without a known word have, which become 0; None leaves them
        """
        sums = self.sums(self.shares)
        if prior is not None:
            same = np.isclose(self.shares, prior[self.topics], rtol=SAME_SHARE, atol=0)
            sums[np.logical_and.reduceat(same, self.indptr[:-1])] = np.inf
        return self._replace(shares=self.shares / np.repeat(sums, np.diff(self.indptr)))


class StoredTopics:
    """The store at a path or URL.

    Attributes
    ----------
    url : of the store
    n_docs, n_components, n_entries : its documents, topics, and topics of documents
    made_with : identity of the model that wrote it, see `model_identity`; None if it was not recorded

    Raises
    ------
    SettingError
        When there is no store of topics.
    InputError
        When the store is damaged; names the array.
    """

    def __init__(self, url: Any, storage_options: Mapping[str, Any] | None = None) -> None:
        if not isinstance(url, str | PathLike):
            raise SettingError(
                f"{argument('theta')}: give the path of a store that transform_to wrote; found {type(url).__name__}"
            )
        place = self._place = Place.of(url, storage_options)
        self.url = place.url
        with intact(self.url):
            attributes = group_attributes(place) or {}
            if not attributes.get(MARK):
                raise SettingError(
                    f"{argument('theta')}: there is no store of topics at {self.url}; "
                    f"{either('write one with transform_to', _WRITE)}"
                )
            self.made_with = attributes.get(MADE_WITH)
            self._whole = attributes[MARK] == WHOLE
            self._group = open_checked(place, ("X", "obs/document_id"), self._whole)
            self.n_docs, self.n_components = map(int, self._group["X"].attrs["shape"])
        if not isinstance(self.made_with, dict | None):
            raise InputError(f"{self.url}: its attribute {MADE_WITH} is not a record of a model; {_REMEDY}")
        self._arrays: dict[str, Any] = {}
        self.n_entries = self._open("X/indices", None)
        for name, length in (
            ("X/indptr", self.n_docs + 1),
            ("obs/document_id", self.n_docs),
            ("X/data", self.n_entries),
        ):
            self._open(name, length)

    def __len__(self) -> int:
        return self.n_docs

    def to_arrow(self) -> Any:
        """The documents as a `pyarrow.Table` in memory, in the store's order: what `transform_to` writes as Parquet.

        Columns: document_id, the documents' columns, and the shares topic_0, topic_1, ..., 0 where one was left out. A
        column of the documents that has the name of another gets "column_" before it.

        Raises
        ------
        MissingExtra
            When pyarrow is not installed.
        InputError
            When the store is damaged.
        """
        return require("pyarrow", "parquet").concat_tables(arrow_tables(self._to_write()))

    def to_pandas(self) -> Any:
        """As `to_arrow`, as a `pandas.DataFrame`.

        Raises
        ------
        MissingExtra
            When pandas is not installed.
        InputError
            When the store is damaged.
        """
        pandas, topics = require("pandas", "pandas"), self._to_write()
        columns = map(np.concatenate, zip(*tables(topics), strict=True))
        return pandas.DataFrame(dict(zip(topics.header, columns, strict=True)))

    def _to_write(self) -> TopicsToWrite:
        """The documents and the shares that are kept of them, as they are stored."""

        def batches() -> Iterator[Batch]:
            for start, rows in self._stored_rows():
                view = self.documents.run(start, start + len(rows.indptr) - 1, order="stored")
                documents = {"document_id": view.document_ids(order="stored")}
                documents |= {f"column {name}": v for name, v in view.read_columns(order="stored").items()}
                yield Batch(rows.indptr, rows.topics, rows.shares.astype(np.float32), documents)

        return TopicsToWrite(batches(), self.columns, self.n_components)

    @property
    def columns(self) -> list[str]:
        """Names of the documents' columns."""
        return list(self._column_arrays)

    @cached_property
    def _column_arrays(self) -> dict[str, str]:
        """{column: its array in obs}"""
        with intact(f"{self.url}/obs"):
            order = [str(name) for name in self._group["obs"].attrs["column-order"]]
        return {column_name(name): name for name in order if name != "source_row"}

    def _open(self, name: str, length: int | None) -> int:
        """Open an array of so many values, or of any number; returns the number."""
        with intact(f"{self.url}/{name}"):
            self._arrays[name] = self._group[name]
            shape = self._arrays[name].shape
        if len(shape) != 1 or (length is not None and shape != (length,)):
            raise InputError(f"{self.url}/{name} has shape {shape}, not ({length},); {_REMEDY}")
        return int(shape[0])

    def _read(self, name: str, start: int, stop: int) -> np.ndarray:
        with intact(f"{self.url}/{name}"):
            return np.asarray(self._arrays[name][start:stop])

    def batches(self, prior: np.ndarray | None = None) -> Iterator[tuple[int, TopicRows]]:
        """All documents in the store's order, see `TopicRows.normalised`, with the position of a batch's first."""
        return ((start, rows.normalised(prior)) for start, rows in self._stored_rows())

    def _stored_rows(self) -> Iterator[tuple[int, TopicRows]]:
        for start in range(0, self.n_docs, DOCUMENTS):
            indptr = self._offsets(start, min(start + DOCUMENTS, self.n_docs))
            inner = np.searchsorted(indptr, np.arange(indptr[0], indptr[-1], ENTRIES))
            for a, b in pairwise(np.unique([*inner.tolist(), len(indptr) - 1]).tolist()):
                yield start + a, self._rows(indptr[a : b + 1])

    def of_model(self, model: TopicModel) -> Self:
        """The store itself. Warns if the model has learned more since it was written.

        Raises
        ------
        SettingError
            When it was written with another model. Of a store without a record of its model, only the number of topics
            is compared.
        """
        if self.n_components != model.n_components:
            raise SettingError(
                f"{argument('theta')}: {self.url} has {self.n_components} topics, but the model has "
                f"{model.n_components}; write the "
                "store with this model"
            )
        if self.made_with is None:
            return self
        found = relation(self.made_with, model)
        if found == "other":
            raise SettingError(
                f"{argument('theta')}: {self.url} was written with another model, whose topics have other words; "
                "write the store with this model, or use the other one"
            )
        if found == "earlier":
            warn(
                f"{argument('theta')}: {self.url} was written before the model learned more; write the store again"
            )
        return self

    def matrices(self, prior: np.ndarray | None = None) -> Iterator[Any]:
        """As `batches`, as csr_matrix (n_docs, n_components) of each batch."""
        from scipy.sparse import csr_matrix

        for _, rows in self.batches(prior):
            shape = len(rows.indptr) - 1, self.n_components
            yield csr_matrix((rows.shares, rows.topics, rows.indptr), shape=shape)

    def row_of(self, document_id: str) -> np.ndarray:
        """As `row`, of the first document with this id.

        Raises
        ------
        SettingError
            When there is none.
        """
        position = self.position(document_id)
        if position is None:
            raise SettingError(f"{self.url} has no document {document_id!r}")
        return self.row(position)

    def row(self, position: int) -> np.ndarray:
        """Topics of one document, float64 (n_components,); they sum to 1."""
        rows = self._rows(self._offsets(position, position + 1)).normalised()
        dense = np.zeros(self.n_components)
        dense[rows.topics] = rows.shares
        return dense

    def position(self, document_id: str) -> int | None:
        """Where the first document with this id is; None if there is none."""
        for start in range(0, self.n_docs, DOCUMENTS):
            ids = self.read_documents("document_id", start, start + DOCUMENTS)
            found = np.flatnonzero(ids == document_id)
            if len(found):
                return start + int(found[0])
        return None

    @cached_property
    def documents(self) -> Corpus:
        """The documents' ids, source rows and columns, stored in the order of `batches`; they have no counts."""
        columns = self._column_arrays
        with intact(f"{self.url}/obs"):
            self._group = open_checked(self._place, ("obs",), self._whole)
        for name in ("source_row", *columns.values()):
            self._open(f"obs/{name}", self.n_docs)
        return Corpus([_StoredDocuments(self, columns)], Vocabulary([]), columns=list(columns), has_ids=True)

    def read_documents(self, name: str, start: int, stop: int) -> np.ndarray:
        """Values of an array of obs: strings, or numbers as they are stored."""
        values = self._read(f"obs/{name}", start, stop)
        return values.astype(object) if values.dtype.kind in ("O", "T", "U") else values

    def ids(self, positions: np.ndarray) -> list[str]:
        """Ids of the documents at these positions."""
        found = np.empty(len(positions), object)
        blocks = positions // DOCUMENTS
        for block in np.unique(blocks).tolist():
            start, here = block * DOCUMENTS, blocks == block
            found[here] = self.read_documents("document_id", start, start + DOCUMENTS)[
                positions[here] - start
            ]
        return [str(name) for name in found.tolist()]

    def _offsets(self, start: int, stop: int) -> np.ndarray:
        """Offsets of some documents, none of which is empty or longer than the topics are many."""
        indptr = self._read("X/indptr", start, stop + 1).astype(np.int64)
        steps, n = np.diff(indptr), self.n_entries
        if not (
            0 <= indptr.min() <= indptr.max() <= n and 1 <= steps.min() <= steps.max() <= self.n_components
        ):
            raise InputError(
                f"{self.url}/X/indptr does not rise by 1 to {self.n_components} for every document, up to "
                f"{self.n_entries}; {_REMEDY}"
            )
        return indptr

    def _rows(self, indptr: np.ndarray) -> TopicRows:
        first, last = indptr[[0, -1]].tolist()
        topics = self._read("X/indices", first, last).astype(np.int64)
        shares = self._read("X/data", first, last).astype(np.float64)
        rows = TopicRows(indptr - first, topics, shares)
        rises = np.diff(topics) > 0
        rises[rows.indptr[1:-1] - 1] = True  # from one document to the next it may fall
        if topics.min() < 0 or topics.max() >= self.n_components or not rises.all():
            raise InputError(
                f"{self.url}/X/indices are not topics from 0 to {self.n_components - 1} in ascending order; {_REMEDY}"
            )
        sums = rows.sums(shares)
        if not (shares.min() >= 0 and sums.min() > 0 and sums.max() < np.inf):
            raise InputError(f"{self.url}/X/data holds shares that are not probabilities; {_REMEDY}")
        return rows


class _StoredDocuments:
    """The documents of a store as a part of a corpus without words.

    arrays : {column: array of obs}
    """

    has_text = False
    nnz = n_bytes = 0
    n_tokens = 0.0

    def __init__(self, store: StoredTopics, arrays: Mapping[str, str]) -> None:
        self.store, self.arrays = store, arrays
        self.name = self.fingerprint = store.url
        self.n_docs = store.n_docs

    def rows(self, start: int, stop: int) -> np.ndarray:
        return self.store.read_documents("source_row", start, stop)

    def ids(self, start: int, stop: int) -> np.ndarray:
        return self.store.read_documents("document_id", start, stop)

    def columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        return {name: self.store.read_documents(self.arrays[name], start, stop) for name in names}

    def read(self, start: int, stop: int) -> Any:
        raise AssertionError("a store of topics has no words")

    entries = tokens = texts = read


def open_topics(theta: Any, storage_options: Mapping[str, Any] | None = None) -> StoredTopics:
    """Open the topics of documents that `transform_to`, or `bigtopic infer`, wrote to a store.

    Parameters
    ----------
    theta : path or URL; a store that is open is returned as it is
    storage_options : passed to fsspec when it is a URL

    Raises
    ------
    SettingError
        When there is no store of topics.
    InputError
        When the store is damaged.
    """
    return theta if isinstance(theta, StoredTopics) else StoredTopics(theta, storage_options)


_REMEDY = "the store is damaged: write it again with transform_to"
