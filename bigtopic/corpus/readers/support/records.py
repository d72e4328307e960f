"""Records (JSON objects, dicts, rows of a table): which field is the document, which its name, which its authors.

Files whose documents are made into records have readers whose base is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

from bigtopic.corpus.columns import MISSING_TYPES, is_missing
from bigtopic.corpus.readers.base import Chunk, Options, Place
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.lines import count_documents, filled_lines
from bigtopic.corpus.readers.containers.pieces import PieceStream
from bigtopic.corpus.readers.support.columns import id_texts
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents, kind_of, kind_of_all
from bigtopic.corpus.readers.support.header import BODIES, PLAINEST, SAMPLE_ROWS, fold, kind_of_cells
from bigtopic.corpus.readers.support.roles import Sample, TableLayout, table_layout
from bigtopic.corpus.readers.support.tables import joined
from bigtopic.errors import InputError, argument

__all__ = ["LineRecordReader", "RecordReader", "is_record", "record_documents", "record_layout"]

_INVERTED = "abstractinvertedindex"  # of OpenAlex


def _inner_body(records: Sequence[Any]) -> str:
    """The first field inside another field that has a usual name of documents, as "outer.inner"; "" for none."""
    inner = (
        f"{name}.{field}"
        for record in records
        for name, value in record.items()
        if isinstance(value, Mapping)
        for field in value
        if fold(field) in BODIES
    )
    return next(inner, "")


def is_record(item: Any) -> bool:
    """Whether a mapping is a record rather than a counter: a counter holds nothing but numbers."""
    return isinstance(item, Mapping) and any(
        isinstance(value, (str, list, tuple, Mapping)) for value in item.values()
    )


def record_layout(items: Sequence[Any], options: Options, where: str) -> tuple[TableLayout, str]:
    """Layout and kind of a source, from its first items.

    Raises
    ------
    InputError
        When no field can be the document, or a requested field is missing.
    """
    records = [item for item in items if is_record(item)] or _alike(items)
    layout = _layout(records, options, where) if records else None
    bodies = _present(items)
    if layout is not None:
        bodies = record_documents(records, layout, str, complete=False).bodies
    elif items and options.keep_columns:
        raise InputError(
            f"{where} has no columns, so {options.keep_columns[0]!r} cannot be kept; give columns as a mapping, "
            "{name: values}, with one value per document"
        )
    kind = kind_of_all(bodies, None if layout is None else layout.body_name)
    if kind == "?":
        wrong = next(item for item in bodies if kind_of(item) == "?")
        raise InputError(
            f"{where} holds {type(wrong).__name__} {str(wrong)[:60]!r}; a document is a string, a list of tokens, "
            "a mapping of words to counts, a list of (id, count) pairs, or a record with one of these in a field"
        )
    return layout or TableLayout(), kind


def _alike(items: Sequence[Any]) -> list[Any]:
    """Mappings of numbers that may be rows of a table: several with the same names, or one with one."""
    if not items or not all(isinstance(item, Mapping) and item for item in items):
        return []
    names = items[0].keys()
    return (
        list(items)
        if all(item.keys() == names for item in items) and (len(items) > 1 or len(names) == 1)
        else []
    )


def _refuse_inverted(names: Sequence[str], where: str) -> None:
    """Refuse abstracts that are stored as the places of their words, where no field is a text."""
    folded = [fold(name) for name in names]
    if _INVERTED in folded and not {*folded} & {*PLAINEST}:
        name = names[folded.index(_INVERTED)]
        raise InputError(
            f"{where}: {name!r} holds where each word of the abstract is; make counts of it, as jq does with "
            f"'.counts = (.{name} // {{}} | map_values(length))', or name another field with "
            f"{argument('text_column', ...)}"
        )


def _layout(records: Sequence[Any], options: Options, where: str) -> TableLayout | None:
    """Which field is what; None where each is a word, and its value a count."""
    # A field may be missing in some records; all fields seen are candidates.
    fields = tuple(dict.fromkeys(name for record in records for name in record))
    names = tuple(map(str, fields))

    def first(i: int) -> list[Any]:
        return [record.get(fields[i]) for record in records[:SAMPLE_ROWS]]

    if options.text_column is None:
        _refuse_inverted(names, where)
    texts = any(fold(name) in PLAINEST for name in names)
    numbers = not texts and all(kind_of_cells(first(i)) == "number" for i in range(len(names)))
    table = Sample(names, first, (numbers,) * len(names), where, "field", _inner_body(records))
    layout = table_layout(table, options)
    if layout.matrix:
        return None
    if layout.triple:
        raise InputError(
            f"{where} holds rows of document, word and count, one per record; write them as a table, as pandas "
            f"read_json(..., lines=True) reads them, or name the field of the text with {argument('text_column', ...)}"
        )
    return replace(layout, names=fields, kept=None if options.keep_columns is None else layout.kept)


def record_documents(
    items: Sequence[Any], layout: TableLayout, place: Place, complete: bool = True
) -> Documents:
    """Split records into documents, ids, authors and columns; `complete` refuses a record without a document."""
    if not layout.bodies:
        return Documents(_present(items), place)
    bodies = [layout.names[i] for i in layout.bodies]
    for i, item in enumerate(items) if complete else ():
        if not isinstance(item, Mapping) or not (bodies[0] in item or any(map(item.__contains__, bodies))):
            shown = " or ".join(map(repr, bodies))
            raise InputError(f"{place(i)} has no field {shown}; add it (null for an empty document)")
    used = [layout.names[i] for i in layout.positions]
    if layout.kept is None:
        kept = [name for name in dict.fromkeys(n for item in items for n in item) if name not in used]
    else:
        kept = [layout.names[i] for i in layout.kept]

    def values(name: Any) -> list[Any]:
        return [item.get(name) for item in items]

    ids, authors = (None if i is None else values(layout.names[i]) for i in (layout.id, layout.authors))
    return Documents(
        _present(joined(list(map(values, bodies)))),
        place,
        None if ids is None else id_texts(ids),
        authors,
        {str(name): values(name) for name in kept},
    )


def _present(bodies: Sequence[Any]) -> Sequence[Any]:
    """The documents, with None for what pandas has for a text that is missing."""
    if not any(issubclass(kind, float) or kind.__name__ in MISSING_TYPES for kind in set(map(type, bodies))):
        return bodies
    return [None if is_missing(body) else body for body in bodies]


@dataclass
class RecordReader(DocumentReader):
    """A subclass says what a chunk holds: `records(chunk)` returns the records and a function that names each."""

    @classmethod
    def open(
        cls, name: str, files: Sequence[File], options: Options, example: Mapping[str, Any], **fields: Any
    ) -> Self:
        """The reader; `example` is a record with the fields that the format has.

        Raises
        ------
        InputError
            When a requested field is not one of them.
        """
        layout, kind = record_layout([example], options, files[0].path)
        return cls(name, options, kind, files=tuple(files), layout=layout, **fields)

    def records(self, chunk: Chunk) -> tuple[list[dict[str, Any]], Place]:
        raise NotImplementedError

    def documents(self, chunk: Chunk) -> Documents:
        records, place = self.records(chunk)
        return record_documents(records, self.layout, place)


@dataclass
class LineRecordReader(RecordReader):
    """A record per line; blank lines are passed over.

    record : makes a record of a line; a ValueError if it cannot
    wrong : what such a line is, and what to do, for messages
    """

    _: KW_ONLY
    record: Callable[[str], dict[str, Any]]
    wrong: str

    def streams(self) -> list[PieceStream]:
        count = partial(count_documents, skip=())
        return [PieceStream(file, self.options.whole, count) for file in self.files]

    def records(self, chunk: Chunk) -> tuple[list[dict[str, Any]], Place]:
        lines, place = filled_lines(chunk, self.file_of(chunk), self.options.text)
        records: list[dict[str, Any]] = []
        try:
            records.extend(map(self.record, lines))
        except ValueError:
            raise InputError(f"{place(len(records))} {self.wrong}") from None
        return records, place
