"""A text file per document: a folder, searched through all its sub-folders in order of name, or a list of files.

The document's id is its path below the folder; with sub-folders, the column `folder` says which one it is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bigtopic.corpus.readers.base import CHUNK_BYTES, CHUNK_DOCS, DOCUMENT_BYTES, Chunk, Options
from bigtopic.corpus.readers.containers.files import SAMPLE_BYTES, File, is_local_directory, walk
from bigtopic.corpus.readers.containers.lines import check_encoding, decode
from bigtopic.corpus.readers.signatures import refuse_foreign
from bigtopic.corpus.readers.support.documents import DocumentReader, Documents
from bigtopic.errors import InputError

__all__ = ["match", "open_reader", "opens_folders"]

opens_folders = True
_SAMPLE = 200  # files that show what the others are like
_CHUNK_LIMIT = 16 * DOCUMENT_BYTES  # of characters: files are put together by their size as stored


def match(file: File) -> float:
    """Never by itself: a folder whose files are of no other format comes here."""
    return 0.0


def open_reader(files: Sequence[File], options: Options, left_out: Sequence[File] = ()) -> FilesReader:
    found: list[tuple[str, File]] = []
    for file in files:
        if is_local_directory(file.path):
            found += _below(file.path)
        else:
            found.append((file.path.rsplit("/", 1)[-1], file))
    without = {file.path for file in left_out}
    found = [(name, file) for name, file in found if file.path not in without]
    size = sum(file.size for _, file in found)
    nested = any("/" in name for name, _ in found)
    return FilesReader("files", options, size=size, found=tuple(found), nested=nested)


def _below(folder: str) -> list[tuple[str, File]]:
    return [(path.relative_to(folder).as_posix(), File(str(path))) for path in walk(folder)]


@dataclass(frozen=True)
class FilesStream:
    found: tuple[tuple[str, File], ...]

    def chunks(self) -> Iterator[Chunk]:
        start, size = 0, 0
        for i, (_, file) in enumerate(self.found):
            size += file.size
            if size >= CHUNK_BYTES or i + 1 - start == CHUNK_DOCS or i + 1 == len(self.found):
                yield self._chunk(start, i + 1, size)
                start, size = i + 1, 0

    def _chunk(self, start: int, stop: int, size: int) -> Chunk:
        found = self.found[start:stop]
        return Chunk(found[0][1].path, size, start, stop, found, first_row=start, n_docs=stop - start)


@dataclass
class FilesReader(DocumentReader):
    found: tuple[tuple[str, File], ...] = field(default=())
    nested: bool = False

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "found": ()}  # chunks carry their own files

    def streams(self) -> list[FilesStream]:
        return [FilesStream(self.found)]

    def first_chunk(self) -> Chunk:
        return Chunk("", 0, data=self.found[:_SAMPLE])

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
        data = file.content(DOCUMENT_BYTES, "one document (DOCUMENT_BYTES); divide it")
        refuse_foreign(file.path, data[:SAMPLE_BYTES], forced=self.options.forced)
        if b"\0" in data:
            raise InputError(
                f"{file.path} is a binary file (it holds zero bytes); leave it out of the source"
            )
        return decode(data, self.options.text, file.path).removeprefix("\ufeff")
