"""The lines that MALLET imports: "id label text", divided by tabs or spaces. The label becomes a column.

Only lines with tabs are recognised; with spaces they cannot be told from prose, so `format="mallet"` must say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.support.pairs import sample_lines
from bigtopic.corpus.readers.support.record_files import LineRecordReader
from bigtopic.corpus.readers.support.records import BODIES
from bigtopic.errors import InputError

__all__ = ["match", "open_reader"]

_LINE = re.compile(rb"(\S+)\t(\S+)\t(?=[^\t]* )[^\t]+")
_NUMBER = re.compile(rb"[\d.]+(?:[eE]-?\d+)?")


def match(file: File) -> float:
    """Three lines or more of an id, a label that others share and a text, divided by tabs alone; not a table. By name,
    divided by blanks.
    """
    if file.name.lower().endswith((".csv", ".tsv", ".tab")):
        return 0.0
    if file.name.lower().endswith(".mallet"):
        return 0.85 if all(len(line.split(maxsplit=2)) > 2 for line in sample_lines(file)) else 0.0
    found = [_LINE.fullmatch(line.rstrip()) for line in sample_lines(file)]
    matches = [line for line in found if line is not None]
    if len(matches) < 3 or len(matches) < len(found) or _is_header(matches[0][0]):
        return 0.0
    ids, labels = {line[1] for line in matches}, {line[2] for line in matches}
    names = not all(_NUMBER.fullmatch(label) and b"." in label for label in labels)
    return 0.85 if len(ids) == len(matches) and len(labels) < len(matches) and names else 0.0


def _is_header(line: bytes) -> bool:
    return any(name.strip().lower().decode(errors="replace") in BODIES for name in line.split(b"\t"))


def open_reader(files: Sequence[File], options: Options) -> MalletReader:
    example = {"id": "-", "label": "-", "text": "-"}
    return MalletReader.open("mallet", files, options, example, fields="id, label and text of each line")


class MalletReader(LineRecordReader):
    def record(self, line: str, place: Callable[[], str]) -> dict[str, Any]:
        parts = line.split(maxsplit=2)
        if len(parts) < 2:
            raise InputError(f"{place()} holds no label; a line is an id, a label and a text: correct it")
        return {"id": parts[0], "label": parts[1], "text": parts[2] if len(parts) > 2 else ""}
