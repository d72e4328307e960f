"""JSON Lines: an object per line with the document as text, tokens or counts, and perhaps an id, authors and
further fields; or just a string, a list of tokens, or an object of counts per line. Blank lines are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bigtopic.corpus.readers.base import DOCUMENT_BYTES, Chunk, Options
from bigtopic.corpus.readers.containers.files import SAMPLE_BYTES, File
from bigtopic.corpus.readers.containers.lines import LineStream, lines_of, split_lines
from bigtopic.corpus.readers.containers.pieces import first_line, too_long
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.corpus.readers.support.records import Layout, is_record, record_documents, record_layout
from bigtopic.errors import InputError

__all__ = ["match", "open_reader"]

_BLANK = " \t\n\r\v\f"  # what bytes.strip() takes away, so that streams count the same lines
_SUFFIXES = (".jsonl", ".ndjson", ".json")
_decode = (
    json.JSONDecoder().raw_decode
)  # faster than `json.loads`; white space around the value is not for it


def match(file: File) -> float:
    """The first line is a JSON object, or any JSON under a name that says so."""
    first = next((line for line in _complete_lines(file) if line.strip()), b"")
    named = file.name.endswith(_SUFFIXES)
    if not (named or first.lstrip(b"\xef\xbb\xbf").startswith(b"{")):
        return 0.0
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return 0.5 if named else 0.0
    return 0.9


def _complete_lines(file: File) -> list[bytes]:
    """The lines at the beginning of a file; a first line of JSON that is longer than the sample is read whole."""
    lines = split_lines(file.sample)
    if len(file.sample) < SAMPLE_BYTES:
        return lines
    if len(lines) > 1 or not lines[0].lstrip(b"\xef\xbb\xbf").startswith((b"{", b"[", b'"')):
        return lines[:-1] or lines
    return [file.first(DOCUMENT_BYTES + 1).partition(b"\n")[0]]


def open_reader(files: Sequence[File], options: Options) -> JsonLinesReader:
    first, items = _first_items(files, options)
    layout, kind = record_layout(items, options, first.path) if items else (Layout(), "text")
    size = sum(file.size for file in files)
    return JsonLinesReader(
        "json_lines", options, kind, size, files=tuple(files), taken=layout.taken, layout=layout
    )


def _first_items(files: Sequence[File], options: Options) -> tuple[File, list[Any]]:
    """The first file that shows what the documents are, and its first items; without one, the first file."""
    for file in files:
        if any(items := _items(file, options)):
            return file, items
    return files[0], _items(files[0], options)


def _items(file: File, options: Options) -> list[Any]:
    """The first items of a file."""
    lines = [line for line in _complete_lines(file) if line.strip()]
    if len(lines) > 1 and lines[0].strip() == b"[":
        raise _array(file)
    if lines and len(lines[0]) > DOCUMENT_BYTES:
        raise too_long(file, 1)
    items: list[Any] = []
    for line in lines[:1000]:
        try:
            items.append(
                json.loads(line.decode(options.text.encoding, options.text.encoding_errors).lstrip("\ufeff"))
            )
        except (ValueError, RecursionError):  # parse() says where, or the sample ended inside a line
            break
    if items and isinstance(items[0], list) and items[0] and is_record(items[0][0]):
        raise _array(file)
    return items


def _array(file: File) -> InputError:
    return InputError(
        f"{file.path} is one JSON array; write one document per line: jq -c '.[]' {file.name} > documents.jsonl, or in "
        "pandas to_json(..., orient='records', lines=True)"
    )


@dataclass
class JsonLinesReader(DocumentReader):
    files: tuple[File, ...] = field(default=())
    layout: Layout = field(default_factory=Layout)

    @property
    def body_name(self) -> str | None:
        return self.layout.body_name

    def streams(self) -> list[LineStream]:
        return [LineStream(file, self.options.whole, skip=()) for file in self.files]

    def documents(self, chunk: Chunk) -> Documents:
        file = next(file for file in self.files if file.path == chunk.name)
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
            item = item if end == len(line) else _load(line, i, place)
            if isinstance(item, dict) and line.count('":') != _n_keys(item):
                json.loads(line, object_pairs_hook=partial(_once, place(i)))
            items.append(item)
        return record_documents(items, self.layout, place)


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
        raise InputError(
            f"{place(i)} nests lists or objects too deeply to be read; a document has at most three levels"
        ) from None
