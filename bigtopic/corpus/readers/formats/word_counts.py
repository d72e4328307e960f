"""Counts of words, "word<TAB>n" per line, as JSTOR and others publish them: a file is a document.

The name of the file, without its suffix, is the id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from bigtopic.corpus.readers.base import DOCUMENT_BYTES, Chunk, Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.lines import decode
from bigtopic.corpus.readers.formats.files import FilesStream
from bigtopic.corpus.readers.support.pairs import sample_lines
from bigtopic.corpus.readers.support.record_files import RecordReader
from bigtopic.errors import InputError

__all__ = ["match", "open_reader"]

_LINE = re.compile(rb"(\S+(?: \S+){0,4})\t(\d+)")


def match(file: File) -> float:
    """Every line is a word that occurs once and a number; of several words, in three lines or more that never rise."""
    found = [_LINE.fullmatch(line.rstrip()) for line in sample_lines(file)]
    matches = [line for line in found if line is not None]
    words, counts = [line[1] for line in matches], [int(line[2]) for line in matches]
    if not matches or len(matches) < len(found) or len(set(words)) < len(words):
        return 0.0
    single = not any(b" " in word for word in words)
    falling = len(counts) > 2 and all(n >= after for n, after in pairwise(counts))
    lettered = any(re.search(rb"[^\W\d]|[\x80-\xff]", word) for word in words)
    return 0.85 if lettered and (single or falling) else 0.0


def open_reader(files: Sequence[File], options: Options) -> WordCountsReader:
    example = {"id": "-", "counts": [("-", 1.0)]}
    return WordCountsReader.open("word_counts", files, options, example, documents="one per file")


class WordCountsReader(RecordReader):
    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "files": ()}  # chunks carry their own files

    def streams(self) -> list[FilesStream]:
        return [FilesStream(tuple((file.name, file) for file in self.files))]

    def records(self, chunk: Chunk) -> tuple[list[dict[str, Any]], Callable[[int], str]]:
        records = [
            {"id": name.rpartition(".")[0] or name, "counts": self._counts(file)} for name, file in chunk.data
        ]
        return records, lambda i: chunk.data[i][1].path

    def _counts(self, file: File) -> list[tuple[str, float]]:
        data = file.content(DOCUMENT_BYTES, "one document (DOCUMENT_BYTES); divide it")
        text = decode(data, self.options.text, file.path).removeprefix("\ufeff")
        counts = []
        for number, line in enumerate(text.split("\n"), 1):
            word, _, count = line.rstrip("\r").rpartition("\t")
            if word and count.isdecimal():
                counts.append((word, float(count)))
            elif line.strip():
                raise InputError(
                    f"{file.path}, line {number} is not a word, a tab and a whole number; correct the line"
                )
        return counts
