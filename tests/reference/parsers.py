"""Bag-of-words formats read line by line in plain Python, written from their definitions: what a reader must give.

Each parser takes the bytes of a file and returns a document per entry: {word: count}. It raises `Invalid` for what no
reader may accept, and `Unsure` for what the definition leaves open: other white space, signs, characters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

Document = dict[str, float]


class Invalid(Exception):
    """No reader may accept this file. `line` is where, or None when it is not in one line."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


class Unsure(Exception):
    """The format does not say what this file means."""


_PLAIN = re.compile(rb"[0-9eE+\-.: \n]*")
_PAIRS = re.compile(rb"[0-9A-Za-z_+\-.: \n]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def _lines(data: bytes, allowed: re.Pattern[bytes] = _PLAIN) -> list[tuple[int, str]]:
    """Numbered lines that are not blank."""
    if allowed.fullmatch(data) is None:
        raise Unsure("characters the format does not speak about")
    return [(i, line) for i, line in enumerate(data.decode("ascii").split("\n"), 1) if line.strip()]


def _count(text: str, line: int) -> float:
    if _NUMBER.fullmatch(text) is None:
        raise Unsure(f"{text!r} as a number") if re.search(r"\d", text) else Invalid("no number", line)
    value = float(text)
    if value < 0 or value > 3e38:
        raise Invalid("count out of range", line)
    if value != int(value):
        raise Invalid("fraction", line)
    if value > 2.9e38 or text.startswith("-"):
        raise Unsure("rounding at the limit, or minus zero")
    return value


def _add(document: Document, word: str, count: float) -> None:
    if count:
        document[word] = document.get(word, 0.0) + count


def _some(documents: list[Document]) -> list[Document]:
    if not any(documents):
        raise Unsure("no word at all")
    return documents


def lda_c(data: bytes, words: Sequence[str]) -> list[Document]:
    """Lines "n id:count id:count ...", ids from 0."""
    documents = []
    for number, line in _lines(data, _PAIRS):
        head, *pairs = line.split()
        document = _pairs(pairs, number, words, 0)
        if not head.isdigit():
            raise (
                Unsure("the number of pairs is no plain number")
                if _NUMBER.fullmatch(head)
                else Invalid("no number of pairs", number)
            )
        if int(head) != len(pairs):
            raise Invalid("wrong number of pairs", number)
        documents.append(document)
    return _some(documents)


def svmlight(data: bytes, words: Sequence[str]) -> list[Document]:
    """Lines "label [qid:number] id:count id:count ...", ids from 1, or from 0 where one is 0."""
    lines = _lines(data, _PAIRS)
    base = 0 if any(re.search(r"(?<= )0+:", line) for _, line in lines) else 1
    documents = []
    for number, line in lines:
        label, *pairs = line.split()
        if _NUMBER.fullmatch(label) is None:
            raise Unsure("a label that is no plain number")
        if pairs and re.fullmatch(r"qid:\d+", pairs[0]):
            del pairs[0]
        documents.append(_pairs(pairs, number, words, base))
    return _some(documents)


def _pairs(pairs: Sequence[str], line: int, words: Sequence[str], base: int) -> Document:
    document: Document = {}
    for pair in pairs:
        match = re.fullmatch(r"(\d+):([^:]*)", pair)
        if match is None:
            raise Invalid("no pair", line)
        count = _count(match[2], line)
        if not 0 <= int(match[1]) - base < len(words):
            raise Invalid("id out of range", line)
        _add(document, words[int(match[1]) - base], count)
    return document


def bag_of_words(data: bytes, words: Sequence[str]) -> list[Document]:
    """Three lines of one number each, then lines "document word count", documents ascending."""
    header = re.match(rb"(\d+)\n(\d+)\n(\d+)\n", data)
    if header is None:
        raise Unsure("another header")
    n_docs, n_words, n_entries = map(int, header.groups())
    body = b"\n\n\n" + data[header.end() :]
    return _triples(body, n_docs, n_words, n_entries, words, ascending=True)


def matrix_market(data: bytes, words: Sequence[str]) -> list[Document]:
    """A banner, comments, a line of sizes, then lines "document word count" in any order."""
    header = re.match(
        rb"%%MatrixMarket matrix coordinate (integer|real) general\n(?:%[^\n]*\n)*(\d+) (\d+) (\d+)\n", data
    )
    if header is None:
        raise Unsure("another header")
    n_docs, n_words, n_entries = map(int, header.groups()[1:])
    body = b"\n" * data[: header.end()].count(b"\n") + data[header.end() :]
    documents = _triples(body, n_docs, n_words, n_entries, words, ascending=False)
    if header[1] == b"integer" and any(n >= 2**63 for document in documents for n in document.values()):
        raise Unsure("an integer of more than 64 bits")
    return documents


def _triples(
    body: bytes, n_docs: int, n_words: int, n_entries: int, words: Sequence[str], ascending: bool
) -> list[Document]:
    if n_docs > 10**6:
        raise Unsure("a header that claims much")
    if n_words != len(words):
        raise Invalid("another number of words than the vocabulary")
    lines = _lines(body)
    if len(lines) != n_entries:
        raise Invalid("another number of entries than the header says")
    documents: list[Document] = [{} for _ in range(n_docs)]
    last = 0
    for number, line in lines:
        cells = line.split()
        if len(cells) != 3 or not (cells[0].isdigit() and cells[1].isdigit()):
            raise Invalid("not three numbers", None if cells[0][0] in "+-." else number)
        document, word = int(cells[0]), int(cells[1])
        if not 1 <= document <= n_docs or not 1 <= word <= n_words:
            raise Invalid("id out of range")
        if document < last and ascending:
            raise Invalid("out of order")
        last = document
        _add(documents[document - 1], words[word - 1], _count(cells[2], number))
    return _some(documents)


_CELLS = re.compile(rb"[0-9A-Za-z_.,\- \n]*")


def csv_triples(data: bytes, words: Sequence[str]) -> list[Document]:
    """A header, then rows "document,word,count", the rows of a document together."""
    lines = _lines(data, _CELLS)
    if not lines or lines[0] != (1, "document,word,count"):
        raise Unsure("another header")
    documents: list[Document] = []
    seen: list[str] = []
    for number, line in lines[1:]:
        cells = line.split(",")
        if len(cells) != 3:
            raise Invalid("not three cells", number)
        name, word, text = cells
        if line != line.strip() or "" in cells or any(cell != cell.strip() for cell in cells):
            raise Unsure("blanks and empty cells")
        count = _count(text, number)
        if not seen or name != seen[-1]:
            if name in seen:
                raise Invalid("a document twice", number)
            seen.append(name)
            documents.append({})
        _add(documents[-1], word, count)
    return _some(documents)


def csv_text(data: bytes, words: Sequence[str]) -> list[Document]:
    """A header "id,text,year,authors", then rows whose cells may be in quotes, a quote in them doubled."""
    if re.fullmatch(rb"[\x20-\x7e\n]*", data) is None:
        raise Unsure("other characters")
    rows = _quoted_rows(data.decode("ascii"))
    if not rows or rows[0] != ["id", "text", "year", "authors"]:
        raise Unsure("another header")
    if any(len(row) != 4 for row in rows):
        raise Invalid("another number of cells")
    return _some([_words(row[1].replace("\n", " ")) for row in rows[1:]])


_QUOTED = re.compile(r'"((?:[^"]|"")*)"(?=[,\n]|\Z)|([^",\n]*)(?=[,\n]|\Z)')


def _quoted_rows(text: str) -> list[list[str]]:
    """Cells of RFC 4180; blank lines are passed over."""
    rows, row, at = [], [], 0
    while at < len(text):
        match = _QUOTED.match(text, at)
        if match is None:
            if re.compile(r'"(?:[^"]|"")*\Z').match(text, at):
                raise Invalid("a quote without end")
            raise Unsure("quotes inside a cell")
        row.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        at = match.end()
        if text[at : at + 1] != ",":
            rows.append(row)
            row = []
        elif at + 1 == len(text):
            rows.append([*row, ""])
        at += 1
    return [row for row in rows if row != [""]]


def json_counts(data: bytes, words: Sequence[str]) -> list[Document]:
    """Lines {"id": ..., "counts": {word: count}}."""
    documents = []
    for number, line in _json_lines(data):
        if not isinstance(line, dict) or not isinstance(line.get("counts"), dict) or not line["counts"]:
            raise Unsure("another layout")
        document: Document = {}
        for word, value in line["counts"].items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise Unsure("a count of another type")
            _add(document, word, _count(str(value), number))
        documents.append(document)
    return _some(documents)


def json_text(data: bytes, words: Sequence[str]) -> list[Document]:
    """Lines {"id": ..., "text": words between blanks}."""
    documents = []
    for _, line in _json_lines(data):
        if not isinstance(line, dict) or not isinstance(line.get("text"), str):
            raise Unsure("another layout")
        documents.append(_words(line["text"]))
    return _some(documents)


def _json_lines(data: bytes) -> list[tuple[int, object]]:
    if re.search(rb"NaN|Infinity|[^\x20-\x7e\n]|\\|\d{17}", data):
        raise Unsure("what JSON does not know, or other white space")
    items = []
    for number, line in _lines(data, re.compile(rb"[^\x80-\xff]*")):
        try:
            items.append((number, json.loads(line)))
        except (ValueError, RecursionError):
            # Before the first record, another line may decide what the file is.
            raise (Invalid("not JSON", number) if items else Unsure("no JSON at the beginning")) from None
    if len({frozenset(item) for _, item in items if isinstance(item, dict)}) > 1:
        raise Unsure("fields that come and go")
    return items


def text_lines(data: bytes, words: Sequence[str]) -> list[Document]:
    """A document per line, words between blanks, case folded."""
    if re.search(rb"[^\x20-\x7e\n]", data) or not data.strip() or re.search(rb"<html|[{]", data):
        raise Unsure("other characters")
    lines = data.decode("ascii").removesuffix("\n").split("\n")
    return _some([_words(line) for line in lines])


def _words(text: str) -> Document:
    if re.search(r"[^\x20-\x7e]", text):
        raise Unsure("other characters")
    document: Document = {}
    for word in text.lower().split():
        _add(document, word, 1.0)
    return document


PARSERS: dict[str, Callable[[bytes, Sequence[str]], list[Document]]] = {
    "lda_c": lda_c,
    "svmlight": svmlight,
    "bag_of_words": bag_of_words,
    "matrix_market": matrix_market,
    "csv_text": csv_text,
    "csv_triples": csv_triples,
    "json_counts": json_counts,
    "json_text": json_text,
    "text": text_lines,
}
