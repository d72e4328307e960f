"""Words that say nothing about a topic: function words of a language, or the user's own list."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from bigtopic.errors import SettingError, argument, either
from bigtopic.support import discovery

__all__ = [
    "ENGLISH",
    "is_list_of_language",
    "language_of",
    "languages",
    "list_name",
    "resolve_stop_words",
    "spellings",
    "stop_words",
    "words_of",
]

_PACKAGE = "bigtopic.corpus.text.languages"
_LIMIT = 1 << 24  # bytes of a file
_LOOKED_AT = 1 << 16  # characters that tell a language
_LEAST = 0.1  # share of function words in text of a language: a half in prose, a fifth in titles
_TOKEN = re.compile(r"\w\w+")
_NONE = "or 'none'"  # of --stop-words


def languages() -> list[str]:
    """The languages with a list of stop words: one file each in `languages/`."""
    return list(discovery.modules(_PACKAGE))


def stop_words(language: str) -> list[str]:
    """The stop words of a language, sorted: to be extended, or for `Corpus.filter_vocabulary(drop=...)`.

    Raises
    ------
    SettingError
        When there is no list for it.

    Examples
    --------
    >>> stop_words("english")[-3:]
    ['yours', 'yourself', 'yourselves']
    """
    return sorted(words_of(language))


@cache
def words_of(language: str) -> frozenset[str]:
    """The stop words of a language.

    Raises
    ------
    SettingError
        When there is no list for it.
    """
    return frozenset(discovery.load(_PACKAGE, language, "WORDS", "list of stop words").split())


ENGLISH = words_of("english")


def language_of(texts: Iterable[str]) -> str | None:
    """The language whose stop words are most frequent at the beginning of these texts.

    None if they are less than a tenth of the tokens, or of the ten most frequent words less than four: the texts are in
    another language, or not prose. A related language has the same share, from few words.
    """
    counts = Counter(_beginning(texts))
    shares = {name: sum(counts[word] for word in words_of(name)) for name in languages()}
    best = max(shares, key=lambda name: shares[name])
    frequent = [word for word, _ in counts.most_common(10) if word in words_of(best)]
    return best if shares[best] >= _LEAST * counts.total() and len(frequent) >= 4 else None


def _beginning(texts: Iterable[str]) -> Iterator[str]:
    left = _LOOKED_AT
    for text in texts:
        yield from _TOKEN.findall(text[:left].lower())
        left -= len(text)
        if left <= 0:
            break


def list_name(stop_words: Any) -> str:
    """How a list is shown: the name of its language, or its length."""
    if isinstance(stop_words, str):
        return stop_words
    words = frozenset(stop_words)
    return next((name for name in languages() if words_of(name) == words), f"{len(words):,}")


def is_list_of_language(stop_words: Any) -> bool:
    """Whether these are the words of a language, which are compared without case; words that were listed are not."""
    return bool(stop_words) and list_name(stop_words) in languages()


def spellings(stop_words: Any) -> frozenset[str]:
    """The words of a setting as they may be written: those of a language in lower case, capitals, or with a capital."""
    words = words_of(stop_words) if isinstance(stop_words, str) else frozenset(stop_words or ())
    if not is_list_of_language(stop_words):
        return words
    return words.union(*([word.capitalize(), word.upper()] for word in words))


def resolve_stop_words(stop_words: str | Iterable[str] | None) -> tuple[str, ...] | str | None:
    """The setting in the form that is stored: None, "english", or the sorted words themselves.

    Parameters
    ----------
    stop_words : None, a language, a path of a text file (a word per line; `#` begins a comment), or words

    Raises
    ------
    SettingError
        When a string is neither a language nor the path of a file.
    """
    if stop_words is None or stop_words == "english":
        return stop_words
    if isinstance(stop_words, str) and stop_words in languages():
        return tuple(sorted(words_of(stop_words)))
    if isinstance(stop_words, (str, Path)):
        stop_words = _read(Path(stop_words))
    words = tuple(sorted(set(stop_words)))
    if not all(isinstance(word, str) for word in words):
        raise SettingError(
            f"{argument('stop_words')} must be strings; allowed are None, {_named()}, a file, or a list of words"
        )
    return words


def _named() -> str:
    return ", ".join(map(repr, languages()))


def _read(path: Path) -> list[str]:
    try:
        if not path.is_file():
            raise FileNotFoundError
        if path.stat().st_size > _LIMIT:
            raise SettingError(
                f"{argument('stop_words')} file {path} is longer than {_LIMIT >> 20} MiB; give a word per line"
            )
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise SettingError(
            f"{argument('stop_words', str(path))} is neither a language nor a file; give 'auto', {_named()}, a file "
            f"with one word per line, {either('a list of words, or None', _NONE)}"
        ) from None
    except UnicodeDecodeError as error:
        raise SettingError(f"{argument('stop_words')} file {path} is not UTF-8 text: {error}") from None
    except OSError as error:
        raise SettingError(
            f"{argument('stop_words')} file {path} cannot be read: {error.strerror}; check its permissions"
        ) from error
    return [word for line in lines if (word := line.split("#")[0].strip())]
