"""Records (JSON objects, dicts, rows of a table): which field is the document, which its name, which its authors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bigtopic.corpus.columns import MISSING_TYPES, is_missing
from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.support.columns import id_texts
from bigtopic.corpus.readers.support.documents import Documents, kind_of, kind_of_all
from bigtopic.errors import InputError, argument, did_you_mean

__all__ = ["AUTHORS", "BODIES", "IDS", "Layout", "is_record", "record_documents", "record_layout"]

BODIES = ("text", "tokens", "counts", "abstract", "body", "content", "document", "description")
IDS = ("id", "_id", "doc_id", "docid", "document_id", "key")
AUTHORS = ("authors_parsed", "authors", "author", "tags")


@dataclass(frozen=True)
class Layout:
    """Names of the fields; body None: the whole record is the document."""

    body: Any = None
    id: Any = None
    authors: Any = None
    kept: tuple[str, ...] | None = None


def choose(wanted: Any, usual: Sequence[str], names: Sequence[str], what: str, where: str) -> Any:
    """The requested field, or else the first field with a usual name in any case."""
    if wanted is not None:
        if wanted not in names:
            raise InputError(
                f"{where} has no {what} named {wanted!r}; it has {', '.join(map(str, names))}"
                f"{did_you_mean(wanted, names)}{_moved_up(wanted) if _is_inner(wanted, names) else ''}"
            )
        return wanted
    folded = {str(name).lower(): name for name in reversed(names)}
    return next((folded[name] for name in usual if name in folded), None)


def _is_inner(name: Any, names: Sequence[str]) -> bool:
    """Whether a name says "outer.inner" of a field that there is."""
    outer, dot, _ = str(name).partition(".")
    return bool(dot) and outer in names


def _inner_body(records: Sequence[Any]) -> str:
    """The first field inside another field that has a usual name of documents, as "outer.inner"; "" for none."""
    inner = (
        f"{name}.{field}"
        for record in records
        for name, value in record.items()
        if isinstance(value, Mapping)
        for field in value
        if str(field).lower() in BODIES
    )
    return next(inner, "")


def _moved_up(path: str) -> str:
    """The end of a message about a field inside another; "" for none."""
    if not path:
        return ""
    plain = all(map(str.isidentifier, path.split(".")))  # else it needs quotes, in jq and in the shell
    return f"; {path} is inside another field: move it up" + (
        f", as jq -c '.text = .{path}' does" if plain else ""
    )


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
    records = [item for item in items if is_record(item)]
    layout = Layout(kept=options.keep_columns)
    bodies = _present(items)
    if records:
        # A field may be missing in some records; all fields seen are candidates.
        names = list(dict.fromkeys(name for record in records for name in record))
        body = choose(options.text_column, BODIES, names, "field", where)
        if body is None:
            raise InputError(
                f"{where}: none of the fields {', '.join(map(str, names))} is known to be the document; "
                f"name it with {argument('text_column', ...)}{_moved_up(_inner_body(records))}"
            )
        for name in options.keep_columns or ():
            choose(name, (), names, "field", where)
        layout = Layout(
            body,
            choose(options.id_column, IDS, names, "field", where),
            choose(options.author_column, AUTHORS, names, "field", where),
            options.keep_columns,
        )
        bodies = _present([record.get(body) for record in records])
    elif items and options.keep_columns:
        raise InputError(
            f"{where} has no columns, so {options.keep_columns[0]!r} cannot be kept; give columns as a mapping, "
            "{name: values}, with one value per document"
        )
    kind = kind_of_all(bodies, layout.body)
    if kind == "?":
        wrong = next(item for item in bodies if kind_of(item) == "?")
        raise InputError(
            f"{where} holds {type(wrong).__name__} {str(wrong)[:60]!r}; a document is a string, a list of tokens, "
            "a mapping of words to counts, a list of (id, count) pairs, or a record with one of these in a field"
        )
    return layout, kind


def record_documents(items: Sequence[Any], layout: Layout, place: Callable[[int], str]) -> Documents:
    """Split records into documents, ids, authors and columns."""
    if layout.body is None:
        return Documents(_present(items), place)
    for i, item in enumerate(items):
        if not isinstance(item, Mapping) or layout.body not in item:
            raise InputError(f"{place(i)} has no field {layout.body!r}; add it (null for an empty document)")
    used = (layout.body, layout.id, layout.authors)
    names = layout.kept
    if names is None:
        names = tuple(name for name in dict.fromkeys(n for item in items for n in item) if name not in used)
    return Documents(
        _present([item[layout.body] for item in items]),
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
