"""Vowpal Wabbit: "label importance 'tag|namespace word:count word ...", a document per line.

A word without a number counts once, times the weight of its namespace. Words of all namespaces are counted together.
The tag is the id, where lines have tags; the label is a column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.support.pairs import sample_lines
from bigtopic.corpus.readers.support.record_files import LineRecordReader
from bigtopic.errors import InputError

__all__ = ["match", "open_reader"]

_NUMBER = r"[+-]?(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?"
_SAMPLED = re.compile(
    rf"(?![ \t]*\|.*\|\s*$)\s*(?:{_NUMBER}(?:\s+{_NUMBER}){{0,2}}\s+)?(?:'?[^\s|]+)?\|.*".encode()
)
_COUNTED = re.compile(rf"[^\s|:]:{_NUMBER}(?=\s|$)".encode())
_SIGNED = re.compile(rb"[+-]?1(?:\.0)?\s[^|]*\|")
_TITLED = re.compile(rb"[ \t]'?[^\s|]*\|[^\W\d]\w*(?:\s|$)")


def match(file: File) -> float:
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


def open_reader(files: Sequence[File], options: Options) -> VowpalWabbitReader:
    """Labels and tags are those that the first line has."""
    first = next((_record(line.decode("utf-8", "replace")) for line in sample_lines(files[0])), None)
    example = {**(first or {}), "counts": [("-", 1.0)]}
    return VowpalWabbitReader.open("vowpal_wabbit", files, options, example, words="of all namespaces")


class VowpalWabbitReader(LineRecordReader):
    def record(self, line: str, place: Callable[[], str]) -> dict[str, Any]:
        record = _record(line)
        if record is None:
            raise InputError(
                f"{place()} is not a label, a tag, and words with counts after a bar (1 'tag|name word:2); correct it"
            )
        return record


def _record(line: str) -> dict[str, Any] | None:
    """What a line holds; None for one of another format."""
    head, *namespaces = line.split("|")
    parts = head.split()
    tag = parts.pop() if parts and (parts[-1][0] == "'" or not head[-1].isspace()) else ""
    try:
        numbers = [float(part) for part in parts]
        counts = [pair for namespace in namespaces for pair in _counts(namespace)]
    except ValueError:
        return None
    if not namespaces or len(numbers) > 3:
        return None
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
