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
from bigtopic.corpus.readers.beside.annotate import AnnotatedReader, Annotations
from bigtopic.corpus.readers.containers.files import File, expand, is_local_directory, walk, with_content
from bigtopic.corpus.readers.containers.lines import check_encoding
from bigtopic.corpus.readers.formats import FORMATS
from bigtopic.corpus.readers.signatures import refuse_foreign
from bigtopic.corpus.readers.support.vocabulary import read_vocabulary, vocabulary_names
from bigtopic.corpus.text.segmentation import PARAGRAPHS, checked_division
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.errors import InputError, SettingError, argument, did_you_mean
from bigtopic.wording import counted

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
    author_separator: str | None = None,
    split_documents: int | str | None = None,
    weights: bool = False,
    keep_text: bool = False,
    layer: str | None = None,
    use_raw: bool = False,
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
    author_separator : what stands between the names in a text that holds several authors; None divides it where that is
        certain, "" never
    split_documents : divide texts and lists of tokens into pieces of this many words, or "paragraphs"
    weights : accept fractional counts
    keep_text : hand on the text of the documents
    layer, use_raw : where an AnnData source has its counts, if not in X: the name of a layer, or `raw.X`
    storage_options : passed to fsspec for URLs

    Raises
    ------
    InputError
        When the source does not exist or is not valid.
    SettingError
        When `format` is unknown, or a setting is not for sources of this format.
    VocabularyMismatch
        When a matrix does not have one column per word.
    """
    added, kept = _split_columns(columns)
    division = checked_division(split_documents)
    annotations = Annotations(ids, authors, added, divided=division is not None)
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
        author_separator=author_separator,
        split_documents=division,
        layer=layer,
        use_raw=use_raw,
    )
    reader = _open(source, format, options)
    if division is not None:
        _check_divisible(reader, division)
    if (layer is not None or use_raw) and reader.name != "anndata":
        given = argument("layer", layer) if layer is not None else argument("use_raw", True)
        raise SettingError(f"{given} is for AnnData sources, but this one is {reader.name}; leave it out")
    if reader.vocabulary is None and reader.n_words is not None:
        reader.taken = {**reader.taken, "words": "their numbers, as there is no vocabulary"}
    if annotations:
        return cast(Reader, AnnotatedReader(reader, annotations.named(storage_options), author_separator))
    return reader


def _check_divisible(reader: Reader, division: int | str) -> None:
    kind = getattr(reader, "kind", None)
    if kind not in ("text", "tokens"):
        raise SettingError(
            f"{argument('split_documents', division)} needs texts or lists of tokens; {reader.name} holds counts"
        )
    if kind == "tokens" and division == PARAGRAPHS:
        raise SettingError(
            f"{argument('split_documents', PARAGRAPHS)} needs texts; lists of tokens divide by a number of words"
        )


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
            f"{argument('format', format)} is not known; allowed are "
            f"{', '.join(sorted(FORMATS))}{did_you_mean(name, FORMATS)}"
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
        files = _forced(module, list(paths), options)
        for file in files:
            if not getattr(module, "opens_folders", False):
                refuse_foreign(file.path, file.sample, forced=True)
        return module.open_reader(files, options)
    if hasattr(module, "accepts") and module.accepts(source):
        return module.open_reader(source, options)
    wanted = "the path of a file" if hasattr(module, "match") else "an object of that kind"
    raise InputError(f"{argument('format', format)} needs {wanted}, found {type(source).__name__}")


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
    """Folders of files of one format, or else of texts, a document per file.

    Texts that are about the others are left out: those named README, and beside files of another format files of words.
    """
    files = [file for path in paths for file in _files_of(path)]
    kinds = _by_format(files)
    texts = kinds.pop("text", [])
    if not kinds:
        about = [file for file in texts if _ABOUT.fullmatch(file.name)]
        left_out = about if len(about) < len(texts) else []
        reader = _module("files").open_reader([File(path) for path in paths], options, left_out)
        return _told(reader, left_out)
    data = next(iter(kinds.values()))
    words = {file.beside(name).path for file in data for some in vocabulary_names(file) for name in some}
    about = [file for file in texts if file.path in words or _ABOUT.fullmatch(file.name)]
    if len(kinds) > 1 or len(about) < len(texts):
        raise _mixed(paths[0], {**kinds, "text": [file for file in texts if file not in about]})
    return _told(_open_files([file for file in files if file not in about], options), about)


def _told(reader: Reader, left_out: list[File]) -> Reader:
    """The reader, which says which files were left out."""
    if left_out:
        names = [file.name for file in left_out]
        reader.taken = {**reader.taken, "left out": ", ".join(names[:3]) + ", ..." * (len(names) > 3)}
    return reader


_ABOUT = re.compile(
    r"(?:readme|licen[cs]e|copying|notice|changes|changelog|citation|authors|contributing)(?:\.(?:md|txt|rst))?",
    re.IGNORECASE,
)
_LOOKED_AT = 20  # files of each suffix


def _by_format(files: list[File]) -> dict[str, list[File]]:
    """Files by the name of their format. Those of one suffix are of one, if the first of them are."""
    suffixes: dict[str, list[File]] = {}
    for file in files:
        suffix = Path(file.name).suffix.lower()
        suffixes.setdefault("" if suffix[1:].isdigit() else suffix, []).append(file)
    kinds: dict[str, list[File]] = {}
    for some in suffixes.values():
        full = (file for file in some if not file.empty)
        first = {file.path: _short(_recognise(file)) for file in islice(full, _LOOKED_AT)}
        if len({*first.values()}) == 1:
            kinds.setdefault(next(iter(first.values())), []).extend(some)
            continue
        for path, format in first.items():
            kinds.setdefault(format, []).append(File(path))
        for file in full:
            kinds.setdefault(_short(_recognise(file)), []).append(file)
    return kinds


def _mixed(folder: str, kinds: Mapping[str, list[File]]) -> InputError:
    shown = [
        f"{counted(len(files), 'file')} of {name} ({files[0].name})" for name, files in kinds.items() if files
    ]
    suffix = Path(max(kinds.values(), key=len)[0].name).suffix
    return InputError(
        f"{folder} holds {', '.join(shown)}; give the files that are meant, such as '{folder}/*{suffix}', or "
        f"{argument('format', 'files')} for a document of text per file, whatever it is"
    )


def _files_of(path: str) -> list[File]:
    return [File(str(p)) for p in walk(path)]


def _open_files(files: list[File], options: Options) -> Reader:
    files = with_content(files)
    for file in files:
        check_encoding(file, options.text)
    module = _recognise(files[0])
    for file in files[1:]:
        other = _recognise(file)
        if other is not module:
            raise InputError(
                f"{files[0].path} looks like {_short(module)} but {file.path} like {_short(other)}; "
                f"give files of one format, or name it with {argument('format', ...)}"
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
        refuse_foreign(file.path, file.sample, text=sure <= 0.1)
    if sure <= 0.1 and b"\0" in file.sample:
        raise InputError(
            f"{file.path} is a binary file (it holds zero bytes) of unknown format; give text or a known format"
        )
    return best
