"""Text with a document per line: plain text, MALLET's lines, Vowpal Wabbit.

`text`: a blank line is an empty document.

`mallet`: the lines that MALLET imports, "id label text", divided by tabs or spaces. The label becomes a column. Only
lines with tabs are recognised; with spaces they cannot be told from prose, so `format="mallet"` must say so.

`vowpal_wabbit`: "label importance 'tag|namespace word:count word ...". A word without a number counts once, times the
weight of its namespace. Words of all namespaces are counted together. The tag is the id, where lines have tags; the
label is a column.
"""

from __future__ import annotations

import re
from codecs import lookup
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from bigtopic.corpus.readers.base import Chunk, Format, Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.lines import count_documents, lines_of, sample_lines, sample_matches
from bigtopic.corpus.readers.containers.pieces import PieceStream, chunk_bytes, first_line
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.corpus.readers.support.header import BODIES
from bigtopic.corpus.readers.support.records import LineRecordReader
from bigtopic.corpus.text.utf8 import Utf8Lines

__all__ = ["FORMATS"]


def _open_text(files: Sequence[File], options: Options) -> TextReader:
    return TextReader("text", options, files=tuple(files))


class TextReader(DocumentReader):
    def streams(self) -> list[PieceStream]:
        return [PieceStream(file, self.options.whole, count_documents) for file in self.files]

    def documents(self, chunk: Chunk) -> Documents:
        file, settings = self.file_of(chunk), self.options.text

        def place(i: int) -> str:
            return f"{chunk.name}, line {first_line(chunk, file) + i}"

        data = chunk_bytes(chunk, file)
        lines = partial(lines_of, replace(chunk, data=data), file, settings)
        utf8 = lookup(settings.encoding).name == "utf-8" and settings.encoding_errors == "strict"
        return Documents(Utf8Lines(data, lines) if utf8 else lines(), place)


_LINE = re.compile(rb"(\S+)\t(\S+)\t(?=[^\t]* )[^\t]+")
_LABEL_NUMBER = re.compile(rb"[\d.]+(?:[eE]-?\d+)?")


def _is_mallet(file: File) -> float:
    """Three lines or more of an id, a label that others share and a text, divided by tabs alone; not a table. By name,
    divided by blanks.
    """
    if file.name.lower().endswith((".csv", ".tsv", ".tab")):
        return 0.0
    if file.name.lower().endswith(".mallet"):
        return 0.85 if all(len(line.split(maxsplit=2)) > 2 for line in sample_lines(file)) else 0.0
    matches = sample_matches(file, _LINE)
    header = matches[0][0].decode(errors="replace").lower().split("\t") if matches else ()
    if len(matches) < 3 or any(name.strip() in BODIES for name in header):
        return 0.0
    ids, labels = {line[1] for line in matches}, {line[2] for line in matches}
    names = not all(_LABEL_NUMBER.fullmatch(label) and b"." in label for label in labels)
    return 0.85 if len(ids) == len(matches) and len(labels) < len(matches) and names else 0.0


def _open_mallet(files: Sequence[File], options: Options) -> LineRecordReader:
    example = {"id": "-", "label": "-", "text": "-"}
    taken = {"fields": "id, label and text of each line"}
    wrong = "holds no label; a line is an id, a label and a text: correct it"
    return LineRecordReader.open(
        "mallet", files, options, example, taken=taken, record=_mallet_record, wrong=wrong
    )


def _mallet_record(line: str) -> dict[str, Any]:
    identity, label, *text = line.split(maxsplit=2)
    return {"id": identity, "label": label, "text": "".join(text)}


_NUMBER = r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?"
_SAMPLED = re.compile(
    rf"(?![ \t]*\|.*\|\s*$)\s*(?:{_NUMBER}(?:\s+{_NUMBER}){{0,2}}\s+)?(?:'?[^\s|]+)?\|.*".encode()
)
_COUNTED = re.compile(rf"[^\s|:]:{_NUMBER}(?=\s|$)".encode())
_SIGNED = re.compile(rb"[+-]?1(?:\.0)?\s[^|]*\|")
_TITLED = re.compile(rb"[ \t]'?[^\s|]*\|[^\W\d]\w*(?:\s|$)")


def _is_vowpal_wabbit(file: File) -> float:
    """Every line has numbers and a tag, if anything, and a bar; a word has a count, a bar touches a name, or labels are
    +1 and -1.
    """
    lines = sample_lines(file)
    if not lines or not all(map(_SAMPLED.fullmatch, lines)):
        return 0.0
    features = [line.partition(b"|")[2] for line in lines]
    counted = any(map(_COUNTED.search, features))
    titled = len(lines) > 1 and all(map(_TITLED.search, lines))
    signed = len(lines) > 1 and all(map(_SIGNED.match, lines)) and any(line[:1] in b"+-" for line in lines)
    return 0.85 if counted or titled or signed else 0.0


def _open_vowpal_wabbit(files: Sequence[File], options: Options) -> LineRecordReader:
    """Labels and tags are those that the first line has."""
    example: dict[str, Any] = {}
    with suppress(ValueError):
        for line in sample_lines(files[0], 1):
            example = _record(line.decode("utf-8", "replace"))
    example["counts"] = [("-", 1.0)]
    taken = {"words": "of all namespaces"}
    wrong = "is not a label, a tag, and words with counts after a bar (1 'tag|name word:2); correct it"
    return LineRecordReader.open(
        "vowpal_wabbit", files, options, example, taken=taken, record=_record, wrong=wrong
    )


def _record(line: str) -> dict[str, Any]:
    """What a line holds; a ValueError for one of another format."""
    head, *namespaces = line.split("|")
    parts = head.split()
    tag = parts.pop() if parts and (parts[-1][0] == "'" or not head[-1].isspace()) else ""
    numbers = [float(part) for part in parts]
    counts = [pair for namespace in namespaces for pair in _counts(namespace)]
    if not namespaces or len(numbers) > 3:
        raise ValueError(line)
    record: dict[str, Any] = {"counts": counts}
    if numbers:
        record["label"] = numbers[0]
    if tag:
        record["id"] = tag.removeprefix("'")
    return record


def _counts(namespace: str) -> list[tuple[str, float]]:
    """Words and counts of a namespace, whose name touches the bar."""
    weight, parts = 1.0, namespace.split()
    if parts and not namespace[0].isspace():
        weight = _value(parts.pop(0))[1]
    return [(word, value * weight) for word, value in map(_value, parts)]


def _value(part: str) -> tuple[str, float]:
    word, colon, number = part.rpartition(":")
    if colon and not word:
        raise ValueError("a count without a word")
    return (word, float(number)) if colon else (part, 1.0)


FORMATS = {
    "text": Format(_open_text, match=lambda file: 0.1),  # any text is that, if it is nothing else
    "mallet": Format(_open_mallet, match=_is_mallet),
    "vowpal_wabbit": Format(_open_vowpal_wabbit, match=_is_vowpal_wabbit),
}
