"""Files for the topics of documents: a row per document, with its id, its columns, and its topics.

CSV, TSV and JSON Lines are written as text, which may go into a pipe. Parquet is written by Arrow, and HDF5 (AnnData's
file) holds what a store of topics holds; they need an extra. `FORMATS` names them all by the ending of a file.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import isfinite
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

import numpy as np

from bigtopic.errors import SettingError, argument, did_you_mean, require
from bigtopic.estimators.topic_stores.contents import CHUNK, Batch, write_batches
from bigtopic.storage.place import Place, zarr_store

__all__ = ["FORMATS", "STORE", "Format", "TopicsToWrite", "arrow_tables", "tables", "target_format"]

STORE = "zarr"
_BLOCK = 1 << 22  # numbers of a table in memory at once
_FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # with which spreadsheets let a formula begin


class TopicsToWrite(NamedTuple):
    """Topics of documents, a batch at a time.

    columns : names of the documents' columns
    """

    batches: Iterator[Batch]
    columns: Sequence[str]
    n_components: int

    @property
    def header(self) -> list[str]:
        """Names of a table's columns: document_id, the documents' own, topic_0, topic_1, ... A column of the documents
        that has the name of another gets "column_" before it."""
        topics = [f"topic_{k}" for k in range(self.n_components)]
        return ["document_id", *_unique(self.columns, {"document_id", *topics}), *topics]


class Format(NamedTuple):
    """A format of files.

    write : writes a table to a binary file
    streams : whether it only appends, so that the file may be a pipe
    wide : whether it has a column for each topic
    """

    write: Callable[[IO[bytes], TopicsToWrite], None]
    streams: bool
    wide: bool


def target_format(path: Any, format: str | None) -> str:
    """The format of a path or URL: the one that is given, or the ending; without one of these endings, a store.

    Raises
    ------
    SettingError
        When there is no such format.
    """
    known = [STORE, *FORMATS]
    if format is None:
        ending = str(path).rstrip("/").rpartition(".")[2].lower()
        return ending if ending in known else STORE
    if format not in known:
        raise SettingError(
            f"{argument('format', format)}: must be one of {', '.join(known)}{did_you_mean(format, known)}"
        )
    return format


def tables(topics: TopicsToWrite) -> Iterator[list[np.ndarray]]:
    """The documents in small tables, each the columns of `topics.header`: topics are float32, 0 where one was left out.
    An empty table if there are no documents."""
    none = True
    for batch in _blocks(topics):
        none = False
        shares = np.zeros((batch.n_docs, topics.n_components), np.float32)
        shares[np.repeat(np.arange(batch.n_docs), np.diff(batch.indptr)), batch.topics] = batch.shares
        yield [*_labels(batch, topics), *shares.T]
    if none:
        empty = [np.empty(0, object)] * (1 + len(topics.columns))
        yield [*empty, *[np.empty(0, np.float32)] * topics.n_components]


def arrow_tables(topics: TopicsToWrite) -> Iterator[Any]:
    """The same as tables of Arrow.

    Raises
    ------
    MissingExtra
        Without pyarrow.
    """
    pyarrow = require("pyarrow", "parquet")
    for columns in tables(topics):
        arrays = [
            pyarrow.array(values.tolist(), pyarrow.string())
            if values.dtype.kind == "O"
            else pyarrow.array(np.ascontiguousarray(values))
            for values in columns
        ]
        yield pyarrow.Table.from_arrays(arrays, names=topics.header)


def _write_parquet(file: IO[bytes], topics: TopicsToWrite) -> None:
    """Raises MissingExtra without pyarrow."""
    parquet, writer = require("pyarrow.parquet", "parquet"), None
    for table in arrow_tables(topics):
        writer = writer or parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def _write_delimited(file: IO[bytes], topics: TopicsToWrite, delimiter: str) -> None:
    """Write a header, then a row per document, in UTF-8; shares have six digits.

    A text that a spreadsheet would take for a formula gets an apostrophe before it, unless it is a number.
    """
    writer = csv.writer(_Encoded(file), delimiter=delimiter, lineterminator="\n")
    writer.writerow([_safe(name) for name in topics.header])
    for values, kept in _rows(topics):
        shares = ["0"] * topics.n_components
        for topic, share in kept.items():
            shares[topic] = share
        writer.writerow([*map(_safe, values), *shares])


def _write_json_lines(file: IO[bytes], topics: TopicsToWrite) -> None:
    """Write an object per document, with its id, columns (null where a number is missing or infinite), and the topics
    that were kept, {"3": 0.9, ...}."""
    names = _unique(topics.header[: 1 + len(topics.columns)], {"topics"})
    for values, kept in _rows(topics):
        known = [None if isinstance(value, float) and not isfinite(value) else value for value in values]
        document = dict(zip(names, known, strict=True))
        document["topics"] = {str(topic): float(share) for topic, share in kept.items()}
        file.write(json.dumps(document, ensure_ascii=False).encode() + b"\n")


def _write_hdf5(file: IO[bytes], topics: TopicsToWrite) -> None:
    """Write what a store of topics holds, by way of a store in a temporary folder. Raises MissingExtra without h5py."""
    import zarr

    h5py = require("h5py", "anndata")
    with TemporaryDirectory(prefix="bigtopic-topics-") as folder:
        place = Place.of(f"{folder}/topics.zarr")
        write_batches(place, *topics)
        with h5py.File(file, "w") as target:
            _copy(zarr.open_group(zarr_store(place), mode="r"), target, h5py)


def _copy(source: Any, target: Any, h5py: Any) -> None:
    """A group of Zarr into one of HDF5, with all below it."""
    _describe(source, target, h5py)
    for name, group in source.groups():
        _copy(group, target.create_group(name), h5py)
    for name, array in source.arrays():
        size, text = array.shape[0], array.dtype.kind not in "biuf"
        copy = target.create_dataset(
            name,
            (size,),
            h5py.string_dtype() if text else array.dtype,
            maxshape=(None,),
            chunks=(max(1, min(CHUNK, size)),),
            compression="gzip",
        )
        _describe(array, copy, h5py)
        for start, stop in pairwise([*range(0, size, CHUNK), size]):
            values = np.asarray(array[start:stop])
            copy[start:stop] = values.astype(object) if text else values


def _describe(source: Any, target: Any, h5py: Any) -> None:
    for name, value in source.attrs.asdict().items():
        texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        target.attrs[name] = np.array(value, h5py.string_dtype()) if texts else value


FORMATS = {
    "csv": Format(partial(_write_delimited, delimiter=","), streams=True, wide=True),
    "h5ad": Format(_write_hdf5, streams=False, wide=False),
    "jsonl": Format(_write_json_lines, streams=True, wide=False),
    "parquet": Format(_write_parquet, streams=False, wide=True),
    "tsv": Format(partial(_write_delimited, delimiter="\t"), streams=True, wide=True),
}


def _unique(names: Iterable[str], taken: Collection[str]) -> list[str]:
    """The names, each with "column_" before it as often as it is among those taken or before it."""
    found: list[str] = []
    for name in names:
        while name in taken or name in found:
            name = f"column_{name}"
        found.append(name)
    return found


def _blocks(topics: TopicsToWrite) -> Iterator[Batch]:
    """The batches, in pieces whose tables are small."""
    size = max(1, min(1 << 16, _BLOCK // topics.n_components))
    for batch in topics.batches:
        for start in range(0, batch.n_docs, size):
            yield batch.take(np.arange(start, min(start + size, batch.n_docs)))


def _labels(batch: Batch, topics: TopicsToWrite) -> list[np.ndarray]:
    """The ids and columns of documents, each (n_docs,)."""
    return [batch.documents[name] for name in ("document_id", *(f"column {name}" for name in topics.columns))]


def _rows(topics: TopicsToWrite) -> Iterator[tuple[tuple[Any, ...], dict[int, str]]]:
    """For each document its id and columns, and the share of each topic that was kept, in six digits."""
    for batch in _blocks(topics):
        labels = zip(*(own.tolist() for own in _labels(batch, topics)), strict=True)
        found, shares = batch.topics.tolist(), batch.shares.tolist()
        for values, (start, stop) in zip(labels, pairwise(batch.indptr.tolist()), strict=True):
            kept = zip(found[start:stop], shares[start:stop], strict=True)
            yield values, {topic: f"{share:.6g}" for topic, share in kept}


class _Encoded:
    """Text for a binary file, which stays open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(text.encode())


def _safe(value: Any) -> Any:
    """A cell as a spreadsheet shows it; a missing number is an empty cell."""
    if not isinstance(value, str):
        return "" if value != value else value
    return f"'{value}" if value.startswith(_FORMULA) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
