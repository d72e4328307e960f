"""A file per document: `files`, texts, and `word_counts`, counts of words.

Texts are in a folder, searched through all its sub-folders in order of name, or a list of files. The document's id is
its path below the folder; with sub-folders, the column `folder` says which one it is in.

Counts are "word<TAB>n" per line, as JSTOR and others publish them. The name of the file, without its suffix, is the id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from bigtopic.corpus.readers.base import (
    CHUNK_BYTES,
    CHUNK_DOCS,
    DOCUMENT_BYTES,
    Chunk,
    Format,
    Options,
    Place,
)
from bigtopic.corpus.readers.containers.files import SAMPLE_BYTES, File, is_local_directory, walk
from bigtopic.corpus.readers.containers.lines import check_encoding, decode, sample_matches
from bigtopic.corpus.readers.signatures import refuse_foreign
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.corpus.readers.support.records import RecordReader
from bigtopic.errors import InputError

__all__ = ["FORMATS"]

_LONGEST = "one document (DOCUMENT_BYTES); divide it"
_SAMPLE = 200  # files that show what the others are like
_CHUNK_LIMIT = 16 * DOCUMENT_BYTES  # of characters: files are put together by their size as stored


def _open_files(files: Sequence[File], options: Options, left_out: Sequence[File] = ()) -> FilesReader:
    found: list[tuple[str, File]] = []
    for file in files:
        if is_local_directory(file.path):
            below = walk(file.path)
            found += [(path.relative_to(file.path).as_posix(), File(str(path))) for path in below]
        else:
            found.append((file.path.rsplit("/", 1)[-1], file))
    without = {file.path for file in left_out}
    found = [(name, file) for name, file in found if file.path not in without]
    size = sum(file.size for _, file in found)
    nested = any("/" in name for name, _ in found)
    return FilesReader("files", options, size=size, stream=FilesStream(tuple(found)), nested=nested)


@dataclass(frozen=True)
class FilesStream:
    """Chunks of files, with the name of each; readers need no others."""

    found: tuple[tuple[str, File], ...]

    def chunks(self) -> Iterator[Chunk]:
        start, size = 0, 0
        for i, (_, file) in enumerate(self.found):
            size += file.size
            if size >= CHUNK_BYTES or i + 1 - start == CHUNK_DOCS or i + 1 == len(self.found):
                some = self.found[start : i + 1]
                yield replace(Chunk.of_rows(some[0][1].path, start, i + 1, some), size=size)
                start, size = i + 1, 0


@dataclass
class FilesReader(DocumentReader):
    nested: bool = False

    def first_chunk(self) -> Chunk:
        return Chunk("", 0, data=self.stream.found[:_SAMPLE])

    def documents(self, chunk: Chunk) -> Documents:
        names = [name for name, _ in chunk.data]
        columns = {"folder": [name.rpartition("/")[0] for name in names]} if self.nested else {}
        texts, size = [], 0
        for _, file in chunk.data:
            texts.append(self._read(file))
            size += len(texts[-1])
            if size > _CHUNK_LIMIT:
                raise InputError(
                    f"{file.path} and the {len(texts) - 1} files before it decompress to more than "
                    f"{_CHUNK_LIMIT >> 20} MiB, many times their compressed size; decompress them first"
                )
        return Documents(texts, lambda i: chunk.data[i][1].path, names, columns=columns)

    def _read(self, file: File) -> str:
        check_encoding(file, self.options.text)
        data = file.content(DOCUMENT_BYTES, _LONGEST)
        refuse_foreign(file.path, data[:SAMPLE_BYTES], forced=self.options.forced)
        if b"\0" in data:
            raise InputError(
                f"{file.path} is a binary file (it holds zero bytes); leave it out of the source"
            )
        return decode(data, self.options.text, file.path).removeprefix("\ufeff")


_LINE = re.compile(rb"(\S+(?: \S+){0,4})\t(\d+)")


def _is_word_counts(file: File) -> float:
    """Every line is a word that occurs once and a number; of several words, in three lines or more that never rise."""
    matches = sample_matches(file, _LINE)
    words, counts = [line[1] for line in matches], [int(line[2]) for line in matches]
    if not matches or len(set(words)) < len(words):
        return 0.0
    single = not any(b" " in word for word in words)
    falling = len(counts) > 2 and all(n >= after for n, after in pairwise(counts))
    lettered = any(re.search(rb"[^\W\d]|[\x80-\xff]", word) for word in words)
    return 0.85 if lettered and (single or falling) else 0.0


def _open_word_counts(files: Sequence[File], options: Options) -> WordCountsReader:
    example = {"id": "-", "counts": [("-", 1.0)]}
    taken = {"documents": "one per file"}
    stream = FilesStream(tuple((file.name, file) for file in files))
    reader = WordCountsReader.open("word_counts", files, options, example, taken=taken, stream=stream)
    return replace(reader, files=())


class WordCountsReader(RecordReader):
    def records(self, chunk: Chunk) -> tuple[list[dict[str, Any]], Place]:
        records = [
            {"id": name.rpartition(".")[0] or name, "counts": self._counts(file)} for name, file in chunk.data
        ]
        return records, lambda i: chunk.data[i][1].path

    def _counts(self, file: File) -> list[tuple[str, float]]:
        data = file.content(DOCUMENT_BYTES, _LONGEST)
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


FORMATS = {
    # Never by itself: a folder whose files are of no other format comes here.
    "files": Format(_open_files, match=lambda file: 0.0, opens_folders=True),
    "word_counts": Format(_open_word_counts, match=_is_word_counts),
}
