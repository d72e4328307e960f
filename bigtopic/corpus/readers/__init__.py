"""Readers: one file per format. `open_source` detects the format of a source.

A format module for files has `match(file) -> float` (how sure it is, 0 to 1) and `open_reader(files, options)`; one
for Python objects has `accepts(source) -> bool` and `open_reader(source, options)`. Its name is the format's. To add a
format, add a module to `formats/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from bigtopic.corpus.readers.base import Chunk, Options, RawBlock, Reader, Stream
from bigtopic.corpus.readers.containers.files import File, expand, is_local_directory, walk, with_content
from bigtopic.corpus.readers.formats import FORMATS
from bigtopic.corpus.readers.support.annotate import AnnotatedReader, Annotations
from bigtopic.corpus.readers.support.foreign import refuse_foreign
from bigtopic.corpus.readers.support.vocabulary import read_vocabulary
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.errors import InputError, SettingError, did_you_mean

__all__ = ["FORMATS", "Chunk", "Options", "RawBlock", "Reader", "Stream", "format_of", "open_source"]

_SURE = 0.8  # less than that is only the file's name, or that it may be text


def open_source(
    source: Any,
    *,
    format: str | None = None,
    text: TextSettings | None = None,
    vocabulary: Any = None,
    ids: Iterable[str] | str | None = None,
    authors: Iterable[Any] | None = None,
    columns: Mapping[str, Iterable[Any]] | Iterable[str] | None = None,
    text_column: str | int | Sequence[str | int] | None = None,
    id_column: str | int | None = None,
    author_column: str | int | None = None,
    header: bool | None = None,
    document_column: str | int | None = None,
    word_column: str | int | None = None,
    count_column: str | int | None = None,
    weights: bool = False,
    keep_text: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> Reader:
    """Open any source of documents.

    Parameters
    ----------
    source : path, URL or glob of files, a folder, a list of these; a matrix; an iterable of documents.
        A list of strings is a list of files when the first is a path or looks like one, else of texts
        (`format="iterable"` forces that).
    format : one of `FORMATS`; None detects it from content and name
    text : settings of the tokeniser
    vocabulary : names of the word ids of a bag-of-words source; for text, the words to keep, others are dropped.
        A file, list, mapping, gensim Dictionary or fitted model
    ids, authors : one per document; authors are names or lists of names. They replace those of the source
    columns : {name: one value per document}, or a table of these, to add; or names of the source's columns to keep
        (default all)
    text_column, id_column, author_column : fields of records and tables; numbers if there is no header. Several text
        columns are joined, with a blank line between their texts
    header : whether the first row of CSV and Excel names the columns; None judges it by the rows below
    document_column, word_column, count_column : columns of a table with a row per document and word
    weights : accept fractional counts
    keep_text : hand on the text of the documents
    storage_options : passed to fsspec for URLs

    Raises
    ------
    InputError
        When the source does not exist or is not valid.
    SettingError
        When `format` is unknown.
    VocabularyMismatch
        When a matrix does not have one column per word.
    """
    added, kept = _split_columns(columns)
    annotations = Annotations(ids, authors, added)
    options = Options(
        text or TextSettings(),
        read_vocabulary(vocabulary, storage_options),
        text_column,
        id_column,
        author_column,
        kept,
        weights,
        bool(annotations),
        keep_text,
        storage_options,
        forced=format is not None,
        header=header,
        document_column=document_column,
        word_column=word_column,
        count_column=count_column,
    )
    reader = _open(source, format, options)
    if annotations:
        return cast(Reader, AnnotatedReader(reader, annotations.named(storage_options)))
    return reader


def _split_columns(columns: Any) -> tuple[Mapping[str, Any] | None, tuple[str, ...] | None]:
    if columns is None:
        return None, None
    if isinstance(columns, Mapping) or hasattr(columns, "iterrows"):
        return dict(columns.items()), None
    if isinstance(columns, str):
        return None, (columns,)
    return None, tuple(columns)


def _module(format: str) -> ModuleType:
    name = format.replace("-", "_").lower()
    if name not in FORMATS:
        raise SettingError(
            f"format={format!r} is not known; allowed are {', '.join(sorted(FORMATS))}{did_you_mean(name, FORMATS)}"
        )
    return import_module(FORMATS[name])


def _open(source: Any, format: str | None, options: Options) -> Reader:
    if format is not None:
        return _open_forced(_module(format), source, format, options)
    paths = _paths(source)
    if paths is None:
        return _open_object(source, options)
    names = [str(path).rstrip("/") or "/" for path in paths]
    if all(map(is_local_directory, names)) or (len(names) == 1 and names[0].endswith(".zarr")):
        return _open_stores(names, options)
    return _open_files(expand(paths, options.storage_options), options)


def _open_forced(module: ModuleType, source: Any, format: str, options: Options) -> Reader:
    paths = [source] if isinstance(source, (str, Path)) else source
    named = (
        isinstance(paths, (list, tuple)) and paths and all(isinstance(path, (str, Path)) for path in paths)
    )
    if named and hasattr(module, "match"):
        return module.open_reader(_forced(module, list(paths), options), options)
    if hasattr(module, "accepts") and module.accepts(source):
        return module.open_reader(source, options)
    wanted = "the path of a file" if hasattr(module, "match") else "an object of that kind"
    raise InputError(f"format={format!r} needs {wanted}, found {type(source).__name__}")


def _forced(module: ModuleType, paths: list[Any], options: Options) -> list[File]:
    """The files of a forced format; a folder stands for all the files in it, unless it is the format itself."""
    folders = getattr(module, "opens_folders", False)
    files: list[File] = []
    for path in paths:
        if not is_local_directory(str(path)):
            files += expand([path], options.storage_options)
        elif folders:
            files.append(File(str(path)))
        else:
            files += _files_of(str(path))
    return files if folders else with_content(files)


def _paths(source: Any) -> list[Any] | None:
    """The source as paths, or None when it is an object."""
    if isinstance(source, (str, Path)):
        return [source]
    if isinstance(source, (list, tuple)) and source and all(isinstance(item, (str, Path)) for item in source):
        first = source[0]
        if isinstance(first, Path) or _names_file(first):
            return list(source)
    return None


def _names_file(text: str) -> bool:
    """Whether a string is a path that exists, or looks like a path, URL or glob, rather than a text."""
    try:
        if text and Path(text).exists():
            return True
    except (OSError, ValueError):  # too long for a name, or a zero byte in it
        return False
    return re.fullmatch(r"\S*(://|[*?]|[\w*]/[\w*]|\w\.\w{1,7}$)\S*", text) is not None


def format_of(source: Any) -> str | None:
    """The format of an object, or None; an iterable is one that no other format knows."""
    for name in sorted(FORMATS, key=lambda name: (name == "iterable", name)):
        module = _module(name)
        if hasattr(module, "accepts") and module.accepts(source):
            return name
    return None


def _open_object(source: Any, options: Options) -> Reader:
    name = format_of(source)
    if name is not None:
        return _module(name).open_reader(source, options)
    if isinstance(source, Mapping):
        raise InputError(
            f"the source is of type {type(source).__name__}; if it maps ids to documents, give source.values(), and "
            "ids=list(source)"
        )
    raise InputError(
        f"the source is of type {type(source).__name__}; give files, a folder, a sparse matrix, an array, a table, an "
        "AnnData object, or an iterable of texts, token lists, counters or (id, count) pairs"
    )


def _open_stores(paths: list[str], options: Options) -> Reader:
    """Folders that are of a format themselves, or else hold files."""
    folders = [File(path, options.storage_options) for path in paths]
    for name in FORMATS:
        module = _module(name)
        if getattr(module, "opens_folders", False) and all(module.match(folder) > 0 for folder in folders):
            return module.open_reader(folders, options)
    if not is_local_directory(paths[0]):
        raise InputError(f"{paths[0]} does not exist; check the path")
    return _open_folders(paths, options)


def _open_folders(paths: list[str], options: Options) -> Reader:
    """Folders of files of one format, or else of texts, a document per file."""
    files = [_files_of(path) for path in paths]
    formats = {_recognise(file).__name__ for some in files for file in _first_with_content(some)}
    if len(formats) == 1 and not formats & {FORMATS["text"]}:
        return _open_files([file for some in files for file in some], options)
    return _module("files").open_reader([File(path) for path in paths], options)


def _first_with_content(files: list[File]) -> Iterable[File]:
    return islice((file for file in files if not file.empty), 20)


def _files_of(path: str) -> list[File]:
    return [File(str(p)) for p in walk(path)]


def _open_files(files: list[File], options: Options) -> Reader:
    files = with_content(files)
    module = _recognise(files[0])
    for file in files[1:]:
        other = _recognise(file)
        if other is not module:
            raise InputError(
                f"{files[0].path} looks like {_short(module)} but {file.path} like {_short(other)}; "
                "give files of one format, or name it with format="
            )
    return module.open_reader(files, options)


def _short(module: ModuleType) -> str:
    return module.__name__.rsplit(".", 1)[-1]


def _recognise(file: File) -> ModuleType:
    """The module most sure of the file."""
    modules = [module for name in sorted(FORMATS) if hasattr(module := _module(name), "match")]
    best = max(modules, key=lambda module: module.match(file))
    sure = best.match(file)
    if sure < _SURE:
        refuse_foreign(file.path, file.sample)
    if sure <= 0.1 and b"\0" in file.sample:
        utf16 = file.sample[:2] in (b"\xff\xfe", b"\xfe\xff")
        remedy = (
            "it looks like UTF-16: convert it to UTF-8 with iconv" if utf16 else "give text or a known format"
        )
        raise InputError(f"{file.path} is a binary file (it holds zero bytes) of unknown format; {remedy}")
    return best
