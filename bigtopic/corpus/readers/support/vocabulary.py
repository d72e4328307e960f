"""A vocabulary in any of its usual forms, as a list of words by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.readers.containers.files import File
from bigtopic.errors import InputError, SettingError

__all__ = [
    "check_characters",
    "read_vocabulary",
    "unique_words",
    "vocabulary_beside",
    "vocabulary_names",
]

_LIMIT = 1 << 28  # bytes: some 30 million words


def read_vocabulary(vocabulary: Any, options: Mapping[str, Any] | None = None) -> list[str] | None:
    """Words by id.

    Parameters
    ----------
    vocabulary : None; a path or URL (a word per line, id = line); words; a mapping word -> id, or id -> word; an
        object with `token2id` (gensim's Dictionary), `words`, or `vocabulary_`, `id2word` or
        `get_feature_names_out()` (a fitted model, asked in this order: a topic model's features may be its topics)

    Raises
    ------
    SettingError
        When it is none of these, or ids are not 0 .. n - 1.
    InputError
        When the file cannot be read, is empty, or holds a word twice.
    """
    if vocabulary is None:
        return None
    if isinstance(vocabulary, (str, Path)):
        return words_of_file(File(str(vocabulary), options))
    return _some(_words(vocabulary), "vocabulary")


def _words(vocabulary: Any) -> list[str]:
    # gensim's Dictionary is a mapping too, but of ids to words.
    if isinstance(vocabulary, Mapping) and not hasattr(vocabulary, "token2id"):
        return _from_mapping(vocabulary)
    for name in ("token2id", "vocabulary_", "id2word", "get_feature_names_out", "words"):
        value = getattr(vocabulary, name, None)
        if value is not None:
            return _words(_called(value) if callable(value) else value)
    if isinstance(vocabulary, Iterable):
        words = list(vocabulary)
        if all(isinstance(word, (str, np.str_)) for word in words):
            return [str(word) for word in words]
    raise SettingError(
        f"vocabulary is of type {type(vocabulary).__name__}; give a file with a word per line, a list of words, a "
        "mapping of words to ids, a gensim Dictionary, or a fitted model"
    )


def _called(names: Callable[[], Any]) -> Any:
    try:
        return names()
    except (AttributeError, ValueError) as error:  # scikit-learn's NotFittedError is both
        raise SettingError(f"vocabulary cannot be asked for its words: {error}") from error


def _from_mapping(mapping: Mapping[Any, Any]) -> list[str]:
    by_id = all(isinstance(key, Integral) for key in mapping)  # as gensim's id2word may be
    words: list[Any] = [None] * len(mapping)
    for key, value in mapping.items():
        word, i = (value, key) if by_id else (key, value)
        if not isinstance(word, str) or not isinstance(i, Integral):
            raise SettingError(
                f"vocabulary maps {key!r} to {value!r}; words must be strings and ids whole numbers (JSON makes "
                "strings of ids: give {int(i): word for i, word in vocabulary.items()})"
            )
        if not 0 <= int(i) < len(words) or words[int(i)] is not None:
            raise SettingError(
                f"vocabulary maps {key!r} to {value!r}; ids must be 0 .. {len(words) - 1}, each used once "
                "(gensim: call Dictionary.compactify())"
            )
        words[int(i)] = str(word)
    return words


def words_of_file(file: File) -> list[str]:
    """A word per line; what follows a tab is not part of the word. A byte-order mark is passed over."""
    if not file.exists():
        raise InputError(
            f"vocabulary file {file.path} does not exist or is not a file; check the path (a model: load it first)"
        )
    data = file.content(_LIMIT, "a vocabulary; name its words in a separate file, one per line")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"vocabulary file {file.path}, line {line}: not UTF-8; convert it with iconv"
        ) from None
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return _some([line.split("\t")[0].strip() for line in lines], file.path)


def vocabulary_names(file: File) -> tuple[list[str], list[str]]:
    """File names of a vocabulary beside a file of counts: names specific to that file, and common names."""
    stem = file.name.rpartition(".")[0] or file.name
    own = [f"{name}.{ending}" for name in (file.name, stem) for ending in ("vocab", "vocab.txt", "tokens")]
    if file.name.startswith("docword."):
        own.insert(0, f"vocab.{file.name.removeprefix('docword.')}")
    return own, ["vocab.txt", "vocabulary.txt"]


def vocabulary_beside(
    given: list[str] | None, file: File, n_words: int | None = None
) -> tuple[list[str] | None, Mapping[str, str]]:
    """The given words, or else the words in a file beside the counts; and what was taken, see `Reader`.

    Parameters
    ----------
    n_words : words that the counts have, if known; a file that may belong to others must hold as many
    """
    if given is not None:
        return given, {}
    own, common = vocabulary_names(file)
    for name in own + common:
        if (beside := file.beside(name)).exists():
            words = words_of_file(beside)
            if name in own or n_words in (None, len(words)):
                return words, {"vocabulary": name}
    return None, {}


def _some(words: list[str], name: str) -> list[str]:
    if not any(words):
        raise InputError(f"{name} holds no words; give one word per id")
    return unique_words(words, name)


def check_characters(texts: Sequence[str], what: str) -> None:
    """Refuse texts that cannot be stored; begins with `what` they are.

    Raises
    ------
    InputError
    """
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        i = next(i for i, end in enumerate(accumulate(map(len, texts))) if error.start < end)
        raise InputError(
            f"{what} {texts[i]!r} at position {i + 1} holds half a character (a lone surrogate); correct it"
        ) from None


def unique_words(words: list[str], name: str) -> list[str]:
    """These words, which `name` holds.

    Raises
    ------
    InputError
        When a word is there twice, or cannot be stored; names it.
    """
    check_characters(words, f"{name}: word")
    if len(set(words)) != len(words):
        seen: set[str] = set()
        for i, word in enumerate(words):
            if word in seen:
                raise InputError(
                    f"{name}: word {word!r} at position {i + 1} is a duplicate; words must be unique"
                )
            seen.add(word)
    return words
