"""JSON Lines: an object per line with the document as text, tokens or counts, and perhaps an id, authors and
further fields; or just a string, a list of tokens, or an object of counts per line. Blank lines are passed over.

An array of such values, and values written over several lines each, are read as well.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from bigtopic.corpus.readers.base import DOCUMENT_BYTES, Chunk, Options
from bigtopic.corpus.readers.containers.files import SAMPLE_BYTES, File
from bigtopic.corpus.readers.containers.json_values import (
    Layout,
    ValueStream,
    complete_lines,
    layout_of,
    values_of,
)
from bigtopic.corpus.readers.containers.lines import LineStream, decode, lines_of
from bigtopic.corpus.readers.containers.pieces import chunk_bytes, first_line, too_long
from bigtopic.corpus.readers.signatures import refuse_foreign
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.corpus.readers.support.records import BODIES, record_documents, record_layout
from bigtopic.corpus.readers.support.records import Layout as Fields
from bigtopic.errors import InputError, argument

__all__ = ["match", "open_reader"]

_BLANK = " \t\n\r\v\f"  # what bytes.strip() takes away, so that streams count the same lines
_SUFFIXES = (".jsonl", ".ndjson", ".json")
_PIECE = 1 << 16  # bytes counted at a time, which stay in the processor's cache
_LEAST_WORDS = 10  # of a vocabulary, rather than a document whose counts happen to be 1, 2, 3
_LOOK = 1000  # values that show what the documents are
_decode = (
    json.JSONDecoder().raw_decode
)  # faster than `json.loads`; white space around the value is not for it


def match(file: File) -> float:
    """The first line is a JSON object, or any JSON under a name that says so; or the file is an array of objects."""
    named = file.name.endswith(_SUFFIXES)
    begins = file.sample.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if not named and begins not in (b"{", b"["):
        return 0.0
    layout = layout_of(file)
    if layout is not None and (named or not layout.array or _is_object(file, layout)):
        return 0.9
    first = next((line for line in complete_lines(file) if line.strip()), b"")
    if not (named or begins == b"{"):
        return 0.0
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return 0.5 if named else 0.0
    return 0.9


def _is_object(file: File, layout: Layout) -> bool:
    return file.sample[layout.begin :].lstrip()[:1] == b"{"


def open_reader(files: Sequence[File], options: Options) -> JsonLinesReader:
    layouts = tuple(map(layout_of, files))
    path, items = _first_items(files, layouts, options)
    _refuse_wrapped(next(file for file in files if file.path == path), items, options)
    layout, kind = record_layout(items, options, path) if items else (Fields(), "text")
    size = sum(file.size for file in files)
    return JsonLinesReader(
        "json_lines",
        options,
        kind,
        size,
        files=tuple(files),
        taken=layout.taken,
        layouts=layouts,
        layout=layout,
    )


def _first_items(
    files: Sequence[File], layouts: Sequence[Layout | None], options: Options
) -> tuple[str, list[Any]]:
    """The first file that shows what the documents are, and its first items; without one, the first file."""
    first = None
    for file, layout in zip(files, layouts, strict=True):
        items = _items(file, options) if layout is None else _values(file, layout, options)
        if any(items):
            return file.path, items
        first = first or (file.path, items)
    assert first is not None
    return first


def _items(file: File, options: Options) -> list[Any]:
    """The values of the first lines of a file."""
    lines = [line for line in complete_lines(file) if line.strip()]
    if lines and len(lines[0]) > DOCUMENT_BYTES:
        raise too_long(file, 1)
    items: list[Any] = []
    for line in lines[:_LOOK]:
        try:
            items.append(
                json.loads(line.decode(options.text.encoding, options.text.encoding_errors).lstrip("\ufeff"))
            )
        except (ValueError, RecursionError):  # parse() says where, or the sample ended inside a line
            break
    return items


def _values(file: File, layout: Layout, options: Options) -> list[Any]:
    """The first values of a file, one at least."""
    for data in (
        (file.sample, file.first(DOCUMENT_BYTES)) if len(file.sample) == SAMPLE_BYTES else (file.sample,)
    ):
        text = data[layout.begin :].decode(options.text.encoding, "replace")
        items: list[Any] = []
        with suppress(ValueError, RecursionError):  # as for lines
            items.extend(value for _, value in islice(values_of(text, layout.array, True), _LOOK))
        if items:
            break
    return items


def _refuse_wrapped(file: File, items: Sequence[Any], options: Options) -> None:
    """Refuse one object that holds the documents in one of its fields, and a notebook."""
    if len(items) != 1 or not isinstance(items[0], Mapping) or options.text_column is not None:
        return
    if {str(name).lower() for name in items[0]} & {*BODIES}:
        return
    refuse_foreign(file.path, file.sample, text=True, forced=options.forced)
    if _is_vocabulary(items[0]):
        raise InputError(
            f"{file.path} maps {len(items[0])} words to their numbers, which is a vocabulary and holds no documents; "
            f"give it beside them: {argument('vocabulary', ...)}, as json.load reads it"
        )
    for name, value in items[0].items():
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            raise InputError(
                f"{file.path} is one JSON object whose field {name!r} holds a list of records; if they are the "
                f"documents, take them out: jq -c '.[{json.dumps(name)}][]' {file.path} > documents.jsonl"
            )


def _is_vocabulary(item: Mapping[str, Any]) -> bool:
    """Whether the values are the numbers from 0 or 1 on, each once, of more words than a short document has."""
    numbers = list(item.values())
    if len(numbers) < _LEAST_WORDS or not all(type(number) is int for number in numbers):
        return False
    least = min(numbers)
    return least in (0, 1) and sorted(numbers) == list(range(least, least + len(numbers)))


@dataclass
class JsonLinesReader(DocumentReader):
    """layouts : of the files, None where a line is a value"""

    files: tuple[File, ...] = field(default=())
    layouts: tuple[Layout | None, ...] = field(default=())
    layout: Fields = field(default_factory=Fields)

    def streams(self) -> list[Any]:
        whole = self.options.whole
        return [
            LineStream(file, whole, skip=()) if layout is None else ValueStream(file, layout, whole)
            for file, layout in zip(self.files, self.layouts, strict=True)
        ]

    def documents(self, chunk: Chunk) -> Documents:
        number = next(i for i, file in enumerate(self.files) if file.path == chunk.name)
        file, layout = self.files[number], self.layouts[number]
        if layout is not None:
            return self._documents_of_values(chunk, file, layout)
        chunk = replace(chunk, data=chunk_bytes(chunk, file))
        numbered = [
            (i, line) for i, line in enumerate(lines_of(chunk, file, self.options.text)) if line.strip(_BLANK)
        ]

        def place(i: int) -> str:
            return f"{chunk.name}, line {first_line(chunk, file) + numbered[i][0]}"

        items = []
        for i, (_, line) in enumerate(numbered):
            try:
                item, end = _decode(line)
            except (ValueError, RecursionError):
                end = -1
            items.append(item if end == len(line) else _load(line, i, place))
        # Few chunks show more keys than their objects have: only their lines are looked at.
        if _n_shown(chunk.data) != sum(len(item) for item in items if type(item) is dict):
            for i, item in enumerate(items):
                line = numbered[i][1]
                if type(item) is dict and line.count('":') != _n_keys(item):
                    json.loads(line, object_pairs_hook=partial(_once, place(i)))
        return record_documents(items, self.layout, place)

    def _documents_of_values(self, chunk: Chunk, file: File, layout: Layout) -> Documents:
        first = partial(first_line, chunk, file)
        text = decode(chunk_bytes(chunk, file), self.options.text, chunk.name, first)
        begins: list[int] = []
        items: list[Any] = []

        def line(position: int) -> str:
            return f"{chunk.name}, line {first() + text.count(chr(10), 0, position)}"

        try:
            for at, item in values_of(text, layout.array, chunk.begins):
                begins.append(at)
                items.append(item)
        except ValueError as error:
            at = getattr(error, "pos", begins[-1] if begins else 0)
            raise InputError(f"{line(at)} is not JSON ({getattr(error, 'msg', error)}); correct it") from None
        except RecursionError:
            raise InputError(f"{line(begins[-1] if begins else 0)} {_TOO_DEEP}") from None
        return record_documents(items, self.layout, lambda i: line(begins[i]))


_TOO_DEEP = "nests lists or objects too deeply to be read; a document has at most three levels"


def _n_shown(data: bytes) -> int:
    """Equivalent to `data.count(b'":')`, several times faster."""
    found = np.frombuffer(data, np.uint8)
    pieces = (found[start : start + _PIECE + 1] for start in range(0, len(found), _PIECE))
    return sum(int(np.count_nonzero((piece[:-1] == ord('"')) & (piece[1:] == ord(":")))) for piece in pieces)


def _n_keys(item: dict[str, Any]) -> int:
    """Fields of an object and of the objects in its fields: where a line shows more, one may be there twice."""
    return len(item) + sum(len(value) for value in item.values() if type(value) is dict)


def _once(where: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        again = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"{where} has the field {again!r} twice in one object, of which only the last would count; rename or "
            "remove one"
        )
    return found


def _load(line: str, i: int, place: Any) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise InputError(f"{place(i)} is not JSON ({error}); every line must hold one JSON value") from None
    except RecursionError:
        raise InputError(f"{place(i)} {_TOO_DEEP}") from None
