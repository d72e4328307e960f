"""Files as readers see them: local or remote, plain or compressed, one name or a glob of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np

from bigtopic.corpus.readers.containers.streams import (
    BEGIN_BYTES,
    as_utf8,
    compression_of,
    damaged,
    decompressed,
    read_up_to,
    wide_encoding,
)
from bigtopic.errors import BigtopicError, InputError, either, warn
from bigtopic.storage.place import file_system
from bigtopic.wording import printable

__all__ = ["File", "Unreadable", "expand", "intact", "is_local_directory", "readable", "walk", "with_content"]

_SUFFIXES = (".gz", ".bz2", ".zst", ".zstd", ".xz")
SAMPLE_BYTES = 1 << 17


class Unreadable(InputError):
    """A source cannot be opened or read by this process.

    Parameters
    ----------
    message : the whole message
    filename : path or URL of the source
    """

    def __init__(self, message: str, filename: str) -> None:
        super().__init__(message)
        self.filename = filename

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.filename)


@dataclass(frozen=True)
class File:
    """One file. Light and picklable: it is opened where it is read.

    path : local path or URL; options : fsspec's, for URLs
    """

    path: str
    options: Mapping[str, Any] | None = None

    @property
    def remote(self) -> bool:
        return "://" in self.path

    @property
    def name(self) -> str:
        """The last part of the path, without the suffix of a compression."""
        name = self.path.rstrip("/").rsplit("/", 1)[-1]
        for suffix in _SUFFIXES:
            name = name.removesuffix(suffix)
        return name

    def beside(self, name: str) -> File:
        """A file of this name in the same folder."""
        folder, slash, _ = self.path.rpartition("/")
        return File(f"{folder}{slash}{name}", self.options)

    def exists(self) -> bool:
        with readable(self.path):
            if not self.remote:
                return Path(self.path).is_file()
            system, path = file_system(self.path, self.options)
            with contextlib.suppress(FileNotFoundError):  # `isfile` hides every error
                return system.info(path)["type"] == "file"
        return False

    @cached_property
    def size(self) -> int:
        """Bytes as stored."""
        with readable(self.path):
            if not self.remote:
                return Path(self.path).stat().st_size
            system, path = file_system(self.path, self.options)
            return int(system.size(path) or 0)

    @cached_property
    def _begin(self) -> bytes:
        with self.open_raw() as stream:
            return stream.read(BEGIN_BYTES)

    @property
    def compression(self) -> str | None:
        return compression_of(self._begin)

    @property
    def wide(self) -> str | None:
        """The encoding of uncompressed text whose characters have several bytes each; it is read as UTF-8."""
        return wide_encoding(self._begin)

    @property
    def empty(self) -> bool:
        """Whether it holds nothing, once it is decompressed."""
        return self.size == 0 or (self.compression is not None and not self.first(1))

    @property
    def plain(self) -> bool:
        """Whether workers can read a byte range of it themselves."""
        return not self.remote and self.compression is None and self.wide is None

    def open_raw(self) -> IO[bytes]:
        with readable(self.path):
            if not self.remote:
                return Path(self.path).open("rb")
            system, path = file_system(self.path, self.options)
            return system.open(path, "rb")

    @contextlib.contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The decompressed bytes, text in UTF-8; damage found while reading is an `InputError`."""
        with self.open_with_raw() as (stream, _):
            yield stream

    @contextlib.contextmanager
    def open_with_raw(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """The decompressed bytes, and the stored ones, whose position tells how far one has come."""
        compression = self.compression  # first: some file systems hand out one shared file object
        with (
            self.open_raw() as raw,
            readable(self.path),
            damaged(self.path),
            decompressed(raw, compression) as stream,
        ):
            encoding = self.wide if compression is None else wide_encoding(stream.peek()[:BEGIN_BYTES])
            yield stream if encoding is None else as_utf8(stream, encoding, self.path), raw

    @cached_property
    def sample(self) -> bytes:
        """The first bytes, decompressed. Damage further on is reported when it is read."""
        return self.first(SAMPLE_BYTES)

    def first(self, limit: int) -> bytes:
        """Decompressed bytes from the beginning, at most `limit`."""
        with self.open() as stream:
            return read_up_to(stream, limit)

    def content(self, limit: int, what: str) -> bytes:
        """All decompressed bytes.

        Raises
        ------
        InputError
            When there are more than `limit` of them.
        """
        data = self.first(limit + 1)
        if len(data) > limit:
            raise InputError(f"{self.path} holds more than {limit >> 20} MiB, the limit of {what}")
        return data

    def read(self, start: int, stop: int) -> bytes:
        """Bytes `start:stop` of a plain file."""
        with self.open_raw() as stream:
            stream.seek(start)
            return stream.read(stop - start)

    def fill(self, start: int, out: np.ndarray) -> int:
        """Bytes from `start` on of a plain file, into uint8; returns how many there were."""
        done = 0
        with readable(self.path), Path(self.path).open("rb", buffering=0) as stream:
            stream.seek(start)
            while n_read := stream.readinto(out.data[done:]):
                done += n_read
        return done

    def line_at(self, position: int, ends: Callable[[bytes], int]) -> int:
        """Number of the line, from 1, that holds a byte of a plain file; `ends` counts the line ends in some bytes."""
        line, left = 1, position
        with self.open_raw() as stream:
            while left and (part := stream.read(min(left, 1 << 20))):
                if part.endswith(b"\r"):  # which a line feed may follow
                    part += stream.read(min(1, left - len(part)))
                line += ends(part)
                left -= len(part)
        return line


@contextlib.contextmanager
def readable(path: str) -> Iterator[None]:
    """Name the file when it cannot be opened or read, here or on a server."""
    remote = "://" in path
    if remote:
        from bigtopic.storage.remote import reaching
    try:
        with reaching(path) if remote else contextlib.nullcontext():
            yield
    except BigtopicError:
        raise
    except OSError as error:
        raise Unreadable(
            f"{path} cannot be read ({error.strerror or error}); check that it exists and "
            "that this process, and every worker, may read it",
            path,
        ) from error
    except Exception as error:  # every remote file system has its own way of saying that it cannot be reached
        if not remote:
            raise
        raise InputError(
            f"{path} cannot be reached ({type(error).__name__}: {error}); check the "
            f"URL{either(' and storage_options=', '')}"
        ) from error


@contextlib.contextmanager
def intact(path: str) -> Iterator[None]:
    """Turn a library's errors about the contents of a file into errors that name it.

    Raises
    ------
    InputError
        Names the file and the library's error.
    """
    try:
        yield
    except BigtopicError:
        raise
    except Exception as error:
        raise InputError(
            f"{path} is damaged or cut short ({type(error).__name__}: {printable(str(error))[:300]}); get it again"
        ) from error


def is_local_directory(path: str) -> bool:
    with readable(path):
        return "://" not in path and Path(path).is_dir()


def walk(folder: str) -> list[Path]:
    """The files below a folder, sorted, without hidden ones.

    Raises
    ------
    InputError
        When there are none, or a folder below cannot be read.
    """
    found: list[Path] = []
    with readable(folder):
        for below, _, names in os.walk(folder, onerror=_reraise):
            found += [Path(below, name) for name in names if not name.startswith(".")]
        files = sorted(path for path in found if path.is_file())
    if not files:
        raise InputError(f"{folder} holds no files; check the folder")
    return files


def _reraise(error: OSError) -> None:
    with readable(str(error.filename)):
        raise error


def expand(sources: Iterable[Any], options: Mapping[str, Any] | None = None) -> list[File]:
    """Paths, URLs and globs as files, in the order given; the files of a glob sorted by name.

    Raises
    ------
    InputError
        When a path does not exist, or a glob matches nothing.
    """
    files: list[File] = []
    for source in sources:
        path = str(source).removeprefix("file://")
        with readable(path):
            if "://" in path:  # fsspec keeps names and sizes; files may have come or grown since
                file_system(path, options)[0].invalidate_cache()
            found = [path]
            if any(c in path for c in "*?[") and not Path(path).exists():
                system, pattern = file_system(path, options)
                found = sorted(name for name in system.glob(pattern) if system.isfile(name))
                found = [system.unstrip_protocol(name) for name in found] if "://" in path else found
        if not found:
            raise InputError(f"no file matches {path}; check the pattern and the folder")
        files += [File(name, options) for name in found]
    for file in files:
        _check(file)
    return files


def with_content(files: Sequence[File]) -> list[File]:
    """The files that hold anything. A warning names those that do not.

    Raises
    ------
    InputError
        When none holds anything.
    """
    kept = [file for file in files if not file.empty]
    if not kept:
        raise InputError(f"{files[0].path} is empty; there is nothing to read")
    if len(kept) < len(files):
        empty = [file.path for file in files if file.empty]
        several = f" and {len(empty) - 1:,} more are" if len(empty) > 1 else " is"
        warn(f"{empty[0]}{several} empty and left out")
    return kept


def _check(file: File) -> None:
    if is_local_directory(file.path):
        raise InputError(f"{file.path} is a folder; give folders alone, or a glob of the files in it")
    exists = file.path != "-" and file.exists()
    with readable(file.path):
        special = file.path == "-" or (not exists and not file.remote and Path(file.path).exists())
    if special:
        raise InputError(
            f"{file.path} is a pipe or device, not a file; a source is read more than once: save it to a file"
        )
    if not exists:
        raise InputError(f"{file.path} does not exist; check the path")
