"""Readers of sources. `open_source` detects the format of a source and opens it.

A module in `formats/` for files has `match(file) -> float` (how sure it is, 0 to 1) and `open_reader(files, options)`;
one for Python objects has `accepts(source) -> bool` and `open_reader(source, options)`. Its name is the format's. To
add a format, add a module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

from bigtopic.corpus.readers.annotate import AnnotatedReader, values_beside
from bigtopic.corpus.readers.base import Chunk, Options, RawBlock, Reader
from bigtopic.corpus.readers.containers.files import File, expand, is_local_directory, walk, with_content
from bigtopic.corpus.readers.containers.lines import check_encoding
from bigtopic.corpus.readers.formats import known_formats
from bigtopic.corpus.readers.signatures import refuse_foreign
from bigtopic.corpus.readers.support.vocabulary import read_vocabulary, vocabulary_names
from bigtopic.corpus.text.segmentation import PARAGRAPHS, checked_division
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.errors import InputError, SettingError, argument, did_you_mean
from bigtopic.wording import counted

__all__ = ["Chunk", "Options", "RawBlock", "Reader", "format_of", "known_formats", "open_source"]

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
    split_documents: int | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Reader:
    """Open any source of documents.

    Parameters
    ----------
    source : path, URL or glob of files, a folder, a list of these; a matrix; an iterable of documents.
        A list of strings is a list of files when the first is a path or looks like one, else of texts
        (`format="iterable"` forces that).
    format : one of `known_formats()`; None detects it from content and name
    text : settings of the tokeniser
    vocabulary : names of the word ids of a bag-of-words source; for text, the words to keep, others are dropped.
        A file, list, mapping, gensim Dictionary or fitted model
    ids, authors : one per document; authors are names or lists of names. They replace the source's
    columns : {name: one value per document}, or a table of these, to add; or names of the source's columns to keep
        (default all)
    split_documents : divide texts and lists of tokens into pieces of this many words, or "paragraphs"
    storage_options : passed to fsspec for URLs
    settings : further fields of `Options`

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
    beside = any(given is not None for given in (ids, authors, division)) or bool(added)
    options = Options(
        text or TextSettings(),
        read_vocabulary(vocabulary, storage_options),
        keep_columns=kept,
        whole=beside,
        storage_options=storage_options,
        forced=format is not None,
        split_documents=division,
        **settings,
    )
    reader = _open(source, format, options)
    _check_settings(reader, options)
    if reader.vocabulary is None and reader.n_words is not None:
        _tell(reader, words="their numbers, as there is no vocabulary")
    if not beside:
        return reader
    values = values_beside(ids, authors, added, division is not None, storage_options)
    return cast(Reader, AnnotatedReader(reader, values, options.author_separator))


def _split_columns(columns: Any) -> tuple[Mapping[str, Any] | None, tuple[str, ...] | None]:
    """Columns to add, and names of those to keep."""
    if isinstance(columns, Mapping) or hasattr(columns, "iterrows"):
        return dict(columns.items()), None
    return None, (columns,) if isinstance(columns, str) else None if columns is None else tuple(columns)


def _check_settings(reader: Reader, options: Options) -> None:
    """Refuse settings that are not for sources of this format."""
    kind, division = getattr(reader, "kind", None), options.split_documents
    if division is not None and kind not in ("text", "tokens"):
        raise SettingError(
            f"{argument('split_documents', division)} needs texts or lists of tokens; {reader.name} holds counts"
        )
    if kind == "tokens" and division == PARAGRAPHS:
        raise SettingError(
            f"{argument('split_documents', PARAGRAPHS)} needs texts; lists of tokens divide by a number of words"
        )
    if (options.layer is not None or options.use_raw) and reader.name != "anndata":
        given = argument("use_raw", True) if options.layer is None else argument("layer", options.layer)
        raise SettingError(f"{given} is for AnnData sources, but this one is {reader.name}; leave it out")


def _tell(reader: Reader, **taken: str) -> Reader:
    """The reader, which says what else was guessed."""
    reader.taken = {**reader.taken, **taken}
    return reader


def _open(source: Any, format: str | None, options: Options) -> Reader:
    if format is not None:
        return _open_forced(source, format, options)
    paths = _paths(source)
    if paths is None:
        return _open_object(source, options)
    names = [str(path).rstrip("/") or "/" for path in paths]
    if all(map(is_local_directory, names)) or (len(names) == 1 and names[0].endswith(".zarr")):
        return _open_folders(names, options)
    return _open_files(expand(paths, options.storage_options), options)


def _open_forced(source: Any, name: str, options: Options) -> Reader:
    known = known_formats()
    format = known.get(name.replace("-", "_").lower())
    if format is None:
        raise SettingError(
            f"{argument('format', name)} is not known; allowed are "
            f"{', '.join(known)}{did_you_mean(name.replace('-', '_').lower(), known)}"
        )
    paths = _paths(source, forced=True)
    if paths is not None and format.match is not None:
        files: list[File] = []
        for path in paths:  # a folder stands for all the files in it, unless it is the format itself
            if not is_local_directory(str(path)):
                files += expand([path], options.storage_options)
            else:
                files += [File(str(path))] if format.opens_folders else _files_of(str(path))
        if not format.opens_folders:
            files = with_content(files)
            for file in files:
                refuse_foreign(file.path, file.sample, forced=True)
        return format.open_reader(files, options)
    if format.accepts is not None and format.accepts(source):
        return format.open_reader(source, options)
    wanted = "an object of that kind" if format.match is None else "the path of a file"
    raise InputError(f"{argument('format', name)} needs {wanted}, found {type(source).__name__}")


def _paths(source: Any, forced: bool = False) -> list[Any] | None:
    """The source as paths, or None when it is an object; `forced`: strings in a list are paths."""
    if isinstance(source, (str, Path)):
        return [source]
    listed = (
        isinstance(source, (list, tuple)) and source and all(isinstance(one, (str, Path)) for one in source)
    )
    named = listed and (forced or isinstance(source[0], Path) or _names_file(source[0]))
    return list(source) if named else None


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
    of_objects = {name: format.accepts for name, format in known_formats().items() if format.accepts}
    for name in sorted(of_objects, key=lambda name: (name == "iterable", name)):
        if of_objects[name](source):
            return name
    return None


def _open_object(source: Any, options: Options) -> Reader:
    name = format_of(source)
    if name is not None:
        return known_formats()[name].open_reader(source, options)
    remedy = (
        "if it maps ids to documents, give source.values(), and ids=list(source)"
        if isinstance(source, Mapping)
        else "give files, a folder, a sparse matrix, an array, a table, an AnnData object, or an iterable of texts, "
        "token lists, counters or (id, count) pairs"
    )
    raise InputError(f"the source is of type {type(source).__name__}; {remedy}")


def _open_folders(paths: list[str], options: Options) -> Reader:
    """Folders that are of a format themselves, or else hold files of one format, or of texts, a document per file.

    Texts that are about the others are left out: those named README, and beside files of another format files of words.
    """
    folders = [File(path, options.storage_options) for path in paths]
    for format in known_formats().values():
        if format.match and format.opens_folders and all(map(format.match, folders)):
            return format.open_reader(folders, options)
    if not is_local_directory(paths[0]):
        raise InputError(f"{paths[0]} does not exist; check the path")
    files = [file for path in paths for file in _files_of(path)]
    kinds = _by_format(files)
    texts = kinds.pop("text", [])
    data = next(iter(kinds.values()), [])
    words = {file.beside(name).path for file in data for some in vocabulary_names(file) for name in some}
    about = [file for file in texts if file.path in words or _ABOUT.fullmatch(file.name)]
    if not kinds:
        about = about if len(about) < len(texts) else []
        reader = known_formats()["files"].open_reader([File(path) for path in paths], options, about)
    elif len(kinds) > 1 or len(about) < len(texts):
        raise _mixed(paths[0], {**kinds, "text": [file for file in texts if file not in about]})
    else:
        reader = _open_files([file for file in files if file not in about], options)
    if not about:
        return reader
    return _tell(
        reader, **{"left out": ", ".join(file.name for file in about[:3]) + ", ..." * (len(about) > 3)}
    )


_ABOUT = re.compile(
    r"(?:readme|licen[cs]e|copying|notice|changes|changelog|citation|authors|contributing)(?:\.(?:md|txt|rst))?",
    re.IGNORECASE,
)
_LOOKED_AT = 20  # files of each suffix


def _by_format(files: list[File]) -> dict[str, list[File]]:
    """Files by the name of their format. Files with the same suffix share a format if the first of them do."""
    suffixes: dict[str, list[File]] = {}
    for file in files:
        suffix = Path(file.name).suffix.lower()
        suffixes.setdefault("" if suffix[1:].isdigit() else suffix, []).append(file)
    kinds: dict[str, list[File]] = {}
    for some in suffixes.values():
        full = (file for file in some if not file.empty)
        found = [(file, _recognise(file)) for file in islice(full, _LOOKED_AT)]
        names = {name for _, name in found}
        if len(names) == 1:
            kinds.setdefault(names.pop(), []).extend(some)
            continue
        for file, name in chain(found, ((file, _recognise(file)) for file in full)):
            kinds.setdefault(name, []).append(file)
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
    name = _recognise(files[0])
    for file in files[1:]:
        other = _recognise(file)
        if other != name:
            raise InputError(
                f"{files[0].path} looks like {name} but {file.path} like {other}; "
                f"give files of one format, or name it with {argument('format', ...)}"
            )
    return known_formats()[name].open_reader(files, options)


def _recognise(file: File) -> str:
    """The name of the format that is most sure of the file."""
    sure = {name: format.match(file) for name, format in known_formats().items() if format.match}
    best = max(sure, key=lambda name: sure[name])
    if sure[best] < _SURE:
        refuse_foreign(file.path, file.sample, text=sure[best] <= 0.1)
    if sure[best] <= 0.1 and b"\0" in file.sample:
        raise InputError(
            f"{file.path} is a binary file (it holds zero bytes) of unknown format; give text or a known format"
        )
    return best
