"""Records (JSON objects, dicts, rows of a table): which field is the document, which its name, which its authors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bigtopic.corpus.columns import MISSING_TYPES, is_missing
from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.support.columns import id_texts
from bigtopic.corpus.readers.support.documents import Documents, kind_of, kind_of_all
from bigtopic.corpus.readers.support.tables import joined
from bigtopic.corpus.readers.tables.roles import table_layout
from bigtopic.corpus.readers.tables.sample import (
    BODIES,
    PLAINEST,
    SAMPLE_ROWS,
    Sample,
    fold,
    kind_of_cells,
)
from bigtopic.errors import InputError, argument

__all__ = ["Layout", "is_record", "record_documents", "record_layout"]

_INVERTED = "abstractinvertedindex"  # of OpenAlex


@dataclass(frozen=True)
class Layout:
    """Names of the fields; no bodies: the whole record is the document; `taken` says what was guessed."""

    bodies: tuple[Any, ...] = ()
    id: Any = None
    authors: Any = None
    kept: tuple[str, ...] | None = None
    taken: Mapping[str, str] = field(default_factory=dict)

    @property
    def body_name(self) -> str | None:
        """Names of the fields with the document."""
        return ", ".join(map(str, self.bodies)) or None


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


def record_layout(items: Sequence[Any], options: Options, where: str) -> tuple[Layout, str]:
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
    return layout or Layout(kept=options.keep_columns), kind


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


def _layout(records: Sequence[Any], options: Options, where: str) -> Layout | None:
    """Which field is what; None where each is a word, and its value a count."""
    # A field may be missing in some records; all fields seen are candidates.
    fields = list(dict.fromkeys(name for record in records for name in record))
    names = tuple(map(str, fields))

    def first(i: int) -> list[Any]:
        return [record.get(fields[i]) for record in records[:SAMPLE_ROWS]]

    if options.text_column is None:
        _refuse_inverted(names, where)
    texts = any(fold(name) in PLAINEST for name in names)
    numbers = not texts and all(kind_of_cells(first(i)) == "number" for i in range(len(names)))
    table = Sample(names, first, (numbers,) * len(names))
    found = table_layout(table, options, where, _inner_body(records), "field")
    if found.matrix:
        return None
    if found.triple:
        raise InputError(
            f"{where} holds rows of document, word and count, one per record; write them as a table, as pandas "
            f"read_json(..., lines=True) reads them, or name the field of the text with {argument('text_column', ...)}"
        )
    identity, authors = (None if i is None else fields[i] for i in (found.id, found.authors))
    bodies = tuple(fields[i] for i in found.bodies)
    return Layout(bodies, identity, authors, options.keep_columns, found.taken)


def record_documents(
    items: Sequence[Any], layout: Layout, place: Callable[[int], str], complete: bool = True
) -> Documents:
    """Split records into documents, ids, authors and columns; `complete` refuses a record without a document."""
    if not layout.bodies:
        return Documents(_present(items), place)
    body = layout.bodies[0]
    for i, item in enumerate(items) if complete else ():
        if not isinstance(item, Mapping) or (
            body not in item and not any(map(item.__contains__, layout.bodies))
        ):
            shown = " or ".join(map(repr, layout.bodies))
            raise InputError(f"{place(i)} has no field {shown}; add it (null for an empty document)")
    used = (*layout.bodies, layout.id, layout.authors)
    names = layout.kept
    if names is None:
        names = tuple(name for name in dict.fromkeys(n for item in items for n in item) if name not in used)
    return Documents(
        _present(joined([[item.get(name) for item in items] for name in layout.bodies])),
        place,
        None if layout.id is None else id_texts(item.get(layout.id) for item in items),
        None if layout.authors is None else [item.get(layout.authors) for item in items],
        {str(name): [item.get(name) for item in items] for name in names},
    )


def _present(bodies: Sequence[Any]) -> Sequence[Any]:
    """The documents, with None for what pandas has for a text that is missing."""
    if not any(issubclass(kind, float) or kind.__name__ in MISSING_TYPES for kind in set(map(type, bodies))):
        return bodies
    return [None if is_missing(body) else body for body in bodies]
