"""JSON Lines: an object per line with the document as text, tokens or counts, and perhaps an id, authors and
further fields; or just a string, a list of tokens, or an object of counts per line. Blank lines are passed over.

An array of such values, and values written over several lines each, are read as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from typing import Any

from bigtopic.corpus.readers.base import DOCUMENT_BYTES, Chunk, Options, Place
from bigtopic.corpus.readers.containers.files import SAMPLE_BYTES, File
from bigtopic.corpus.readers.containers.lines import count_documents, decode, filled_lines
from bigtopic.corpus.readers.containers.pieces import PieceStream, chunk_bytes, first_line, pieces, too_long
from bigtopic.corpus.readers.signatures import refuse_foreign
from bigtopic.corpus.readers.support.documents import TOO_DEEP
from bigtopic.corpus.readers.support.header import BODIES
from bigtopic.corpus.readers.support.records import RecordReader, record_layout
from bigtopic.corpus.readers.support.roles import TableLayout
from bigtopic.errors import InputError, argument

__all__ = ["Layout", "ValueStream", "layout_of", "match", "open_reader", "values_of"]

_BLANK = " \t\n\r\v\f"  # what bytes.strip() takes away, so that streams count the same lines
_SUFFIXES = (".jsonl", ".ndjson", ".json")
_LEAST_WORDS = 10  # of a vocabulary, rather than a document whose counts happen to be 1, 2, 3
_LOOK = 1000  # values that show what the documents are
_BEGIN = re.compile(rb"(?:\xef\xbb\xbf)?\s*+")
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:(")|\\?\Z)|([\[\]{}])', re.DOTALL)
_SPACE = re.compile(r"\s*+")
# Faster than `json.loads`; white space around the value is not for it.
_decode = json.JSONDecoder().raw_decode


def match(file: File) -> float:
    """The first line is a JSON object, or any JSON under a name that says so; or the file is an array of objects."""
    named = file.name.endswith(_SUFFIXES)
    begins = file.sample.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if not named and begins not in (b"{", b"["):
        return 0.0
    layout = layout_of(file)
    objects = layout is not None and file.sample[layout.begin :].lstrip()[:1] == b"{"
    if layout is not None and (named or objects):
        return 0.9
    first = next((line for line in complete_lines(file) if line.strip()), b"")
    if not (named or begins == b"{"):
        return 0.0
    return 0.9 if _is_value(first) else 0.5 if named else 0.0


def open_reader(files: Sequence[File], options: Options) -> JsonLinesReader:
    layouts = {file.path: layout_of(file) for file in files}
    file, items = _first_items(files, layouts, options)
    _refuse_wrapped(file, items, options)
    layout, kind = record_layout(items, options, file.path) if items else (TableLayout(), "text")
    return JsonLinesReader("json_lines", options, kind, files=tuple(files), layout=layout, layouts=layouts)


def _first_items(
    files: Sequence[File], layouts: Mapping[str, Layout | None], options: Options
) -> tuple[File, list[Any]]:
    """The first file that shows what the documents are, and its first items; without one, the first file."""
    read = ((file, _items(file, layouts[file.path], options)) for file in files)
    first = next(read)
    return next((found for found in chain([first], read) if any(found[1])), first)


def _items(file: File, layout: Layout | None, options: Options) -> list[Any]:
    """The first values of a file, one at least."""
    if layout is None:
        return _items_of_lines(file, options)
    items: list[Any] = []
    for data in _beginnings(file):
        text = data[layout.begin :].decode(options.text.encoding, "replace")
        with suppress(ValueError, RecursionError):  # as for lines
            items.extend(value for _, value in islice(values_of(text, layout.array, True), _LOOK))
        if items:
            break
    return items


def _items_of_lines(file: File, options: Options) -> list[Any]:
    """The values of the first lines of a file."""
    lines = [line for line in complete_lines(file) if line.strip()]
    if lines and len(lines[0]) > DOCUMENT_BYTES:
        raise too_long(file, 1)
    items: list[Any] = []
    text = options.text
    with suppress(ValueError, RecursionError):  # parse() says where, or the sample ended inside a line
        decoded = (line.decode(text.encoding, text.encoding_errors) for line in lines[:_LOOK])
        items.extend(json.loads(line.lstrip("\ufeff")) for line in decoded)
    return items


def _beginnings(file: File) -> Iterator[bytes]:
    """The sample, and, of a longer file, as many bytes as a document may have."""
    yield file.sample
    if len(file.sample) == SAMPLE_BYTES:
        yield file.first(DOCUMENT_BYTES)


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
class JsonLinesReader(RecordReader):
    """layouts : of the files, by path; None where a line is a value"""

    layouts: Mapping[str, Layout | None] = field(default_factory=dict)

    def streams(self) -> list[Any]:
        whole, count = self.options.whole, partial(count_documents, skip=())
        return [
            PieceStream(file, whole, count) if layout is None else ValueStream(file, layout, whole)
            for file in self.files
            for layout in [self.layouts[file.path]]
        ]

    def records(self, chunk: Chunk) -> tuple[list[Any], Place]:
        file, layout = self.file_of(chunk), self.layouts[chunk.name]
        if layout is not None:
            return self._values(chunk, file, layout)
        chunk = replace(chunk, data=chunk_bytes(chunk, file))
        lines, place = filled_lines(chunk, file, self.options.text, _BLANK)
        items = []
        for i, line in enumerate(lines):
            try:
                item, end = _decode(line)
            except (ValueError, RecursionError):
                end = -1
            items.append(item if end == len(line) else _load(line, i, place))
        # Few chunks show more keys than their objects have: only their lines are looked at.
        if chunk.data.count(b'":') != sum(len(item) for item in items if type(item) is dict):
            for i, (item, line) in enumerate(zip(items, lines, strict=True)):
                if type(item) is not dict:
                    continue
                # Of an object and of the objects in its fields: where a line shows more, one may be there twice.
                inner = sum(len(value) for value in item.values() if type(value) is dict)
                if line.count('":') != len(item) + inner:
                    json.loads(line, object_pairs_hook=partial(_once, place(i)))
        return items, place

    def _values(self, chunk: Chunk, file: File, layout: Layout) -> tuple[list[Any], Place]:
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
            raise InputError(f"{line(begins[-1] if begins else 0)} {TOO_DEEP}") from None
        return items, lambda i: line(begins[i])


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
        raise InputError(f"{place(i)} {TOO_DEEP}") from None


@dataclass(frozen=True)
class Layout:
    """Where the values of a file begin, in bytes; `array`: they are the elements of one."""

    begin: int
    array: bool


def complete_lines(file: File) -> list[bytes]:
    """The lines at the beginning of a file; a first line of JSON that is longer than the sample is read whole."""
    lines = file.sample.removesuffix(b"\n").split(b"\n")
    if len(file.sample) < SAMPLE_BYTES:
        return lines
    if len(lines) > 1 or not lines[0].lstrip(b"\xef\xbb\xbf").startswith((b"{", b"[", b'"')):
        return lines[:-1] or lines
    return [file.first(DOCUMENT_BYTES + 1).partition(b"\n")[0]]


def layout_of(file: File) -> Layout | None:
    """The layout of a file that is an array, or values over several lines; None where a line is a value, or no JSON."""
    at = _BEGIN.match(file.sample).end()  # type: ignore[union-attr]
    opening = file.sample[at : at + 1]
    if opening == b"[":
        first = _value(file, at + 1)
        if isinstance(first, Mapping) or (first is not None and _is_array(file, first)):
            return Layout(at + 1, array=True)
    elif opening == b"{" and not _is_value(complete_lines(file)[0]) and _value(file, at) is not None:
        return Layout(at, array=False)
    return None


def _is_array(file: File, first: Any) -> bool:
    """Whether a list that begins with a text or a list is one of documents, rather than the first document."""
    lines = [line for line in complete_lines(file) if line.strip()]
    if not _is_value(lines[0]):
        return isinstance(first, str | list)
    elements = json.loads(lines[0])
    if len(lines) > 1:
        return False
    if isinstance(first, str):
        return any(isinstance(text, str) and len(text.split()) > 1 for text in elements)
    return isinstance(first, list) and all(isinstance(word, str) for word in first)


def _is_value(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _value(file: File, at: int) -> Any:
    """The value that begins after some bytes of a file; None where there is none."""
    for data in _beginnings(file):
        text = data[at:].decode("utf-8", "replace").lstrip()
        try:
            return _decode(text)[0]
        except json.JSONDecodeError as error:
            cut = error.pos + 16 > len(text) or error.msg.startswith("Unterminated string")
            if not cut:
                return None
        except (ValueError, RecursionError):  # an integer of thousands of digits
            return None
    return None


def _after_value(data: bytes, start: int = 0) -> tuple[int, int]:
    """The first end of a text, list or object after `start`, or -1; and how many are open there.

    `data` begins outside of all values; where an array is closed, the depth is -1.
    """
    depth = 0
    for token in _TOKEN.finditer(data):
        closed, bracket = token.groups()
        if bracket is not None:
            depth += 1 if bracket in b"[{" else -1
        if depth < 0:
            break
        if depth == 0 and token.end() > start and (closed or bracket):
            return token.end(), depth
    return -1, depth


@dataclass(frozen=True)
class ValueStream:
    """Chunks of whole values. An array must be closed, and nothing may follow it.

    whole : count the documents
    """

    file: File
    layout: Layout
    whole: bool = False

    def chunks(self) -> Iterator[Chunk]:
        last = b""
        for chunk in pieces(
            self.file, lambda data, start: _after_value(data, start)[0], begin=self.layout.begin, whole=True
        ):
            last = chunk.data
            n_docs = None
            if self.whole:
                text = chunk.data.decode("utf-8", "replace")
                n_docs = sum(1 for _ in values_of(text, self.layout.array, chunk.begins))
            yield replace(chunk, data=None if self.file.plain else chunk.data, n_docs=n_docs)
        if self.layout.array and _after_value(last, len(last))[1] >= 0:
            raise InputError(f"{self.file.path} ends inside its JSON array: it was cut short; get it again")


def values_of(text: str, array: bool, begins: bool) -> Iterator[tuple[int, Any]]:
    """The values in a chunk, and where each begins.

    Parameters
    ----------
    array : they are elements of an array, with a comma before each but the first
    begins : the chunk is the first of its file

    Raises
    ------
    ValueError, RecursionError
        As `json`.
    """
    at = _skip(text)
    while at < len(text):
        if array and text[at] == "]":
            if (at := _skip(text, at + 1)) < len(text):
                raise json.JSONDecodeError("something follows the array", text, at)
            return
        if array and not begins:
            if text[at] != ",":
                raise json.JSONDecodeError("a comma is missing before an element", text, at)
            at = _skip(text, at + 1)
        value, end = _decode(text, at)
        yield at, value
        at, begins = _skip(text, end), False


def _skip(text: str, at: int = 0) -> int:
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]
