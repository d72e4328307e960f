"""Settings of the tokeniser as data: validated, stored in a corpus, and carried by the models trained on it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from bigtopic.corpus.text.stopwords import resolve_stop_words
from bigtopic.errors import SettingError, argument, either

__all__ = ["TextSettings", "stored_pairs"]

_CALLABLES = ("token_filter", "tokenizer")
_LONGEST_NGRAM = 20


@dataclass(frozen=True)
class TextSettings:
    r"""Settings of the tokeniser. Stages, in order: decode, lower-case, split, stop words, token filter,
    collocations, n-grams.

    Parameters
    ----------
    token_pattern : regular expression of a token; as in scikit-learn two or more word characters.
        With one group, the group is the token.
    lowercase : lower-case the text first (not applied to the input of a custom `tokenizer`)
    stop_words : None, a language (see `bigtopic.stop_words`), whose words are compared without case, a list of words,
        or a file with a word per line. `ingest` chooses the language itself by default
    ngram_range : (shortest, longest) run of tokens that counts as a term; joined with a space
    collocations : None, or a threshold in [-1, 1] for the normalised pointwise mutual information above which
        two adjacent tokens that are seen at least five times become one, joined with "_" [1]_; 0.5 is a usual
        choice. Or the pairs themselves: [("new", "york"), ...]
    token_filter : pure function str -> str, or None to drop the token: a stemmer, a lemmatiser.
        Called once per distinct token of a chunk.
    tokenizer : function str -> iterable of str instead of the pattern
    min_doc_length : drop documents with fewer tokens left
    encoding : encoding of text files; any in which a newline is the byte 10
    encoding_errors : "strict" (an error that names the line), "replace" or "ignore"
    rules : version of the rules for words and neighbours: 2; 1 in corpora of earlier versions, where it also applies to
        documents that are added (marks part words, equivalent spellings differ, n-grams cross sentences and stop words)

    References
    ----------
    .. [1] G. Bouma, Normalized (pointwise) mutual information in collocation extraction, GSCL 2009, eq. 7.
    """

    token_pattern: str = r"(?u)\b\w\w+\b"
    lowercase: bool = True
    stop_words: str | Iterable[str] | None = None
    ngram_range: tuple[int, int] = (1, 1)
    collocations: float | Iterable[tuple[str, str]] | None = None
    token_filter: Callable[[str], str | None] | None = None
    tokenizer: Callable[[str], Iterable[str]] | None = None
    min_doc_length: int = 0
    encoding: str = "utf-8"
    encoding_errors: str = "strict"
    rules: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop_words", resolve_stop_words(self.stop_words))
        object.__setattr__(self, "ngram_range", _ngram_range(self.ngram_range))
        _check_pattern(self.token_pattern)
        _GIVEN.add(self.token_pattern)
        _check_encoding(self.encoding, self.encoding_errors)
        object.__setattr__(self, "collocations", _collocations(self.collocations))
        if self.min_doc_length < 0 or int(self.min_doc_length) != self.min_doc_length:
            raise SettingError(
                f"{argument('min_doc_length')} must be a whole number, at least 0, found {self.min_doc_length!r}"
            )
        object.__setattr__(self, "min_doc_length", int(self.min_doc_length))
        if isinstance(self.rules, bool) or self.rules not in (1, 2):
            raise SettingError(f"rules must be 1 or 2, found {self.rules!r}")
        for name in _CALLABLES:
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise SettingError(
                    f"{argument(name)} must be a function or None, found {getattr(self, name)!r}"
                )

    def to_dict(self) -> dict[str, Any]:
        """The settings for a manifest, as JSON. A function is recorded by name only, never as code."""
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        values["ngram_range"] = list(self.ngram_range)
        if isinstance(self.stop_words, tuple):
            values["stop_words"] = list(self.stop_words)
        if isinstance(self.collocations, tuple):
            values["collocations"] = list(map(list, self.collocations))
        for name in _CALLABLES:
            values[name] = _name_of(values[name])
        return values

    @classmethod
    def from_dict(
        cls,
        values: Mapping[str, Any],
        *,
        token_filter: Callable[[str], str | None] | None = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
    ) -> TextSettings:
        """The settings of a manifest, with the functions it names given again.

        A malicious pattern can run forever, so the pattern of a manifest, unless it is the default, is used only if
        the user gave this process the same one.

        Raises
        ------
        SettingError
            When the settings name a function or a pattern that was not given, or are damaged.
        """
        known = {field.name for field in fields(cls)}
        values = {"rules": 1, **{name: value for name, value in values.items() if name in known}}
        for name, function in (("token_filter", token_filter), ("tokenizer", tokenizer)):
            if values.get(name) is not None and function is None:
                raise SettingError(
                    f"this text was tokenised with {argument(name, values[name])}, and functions are not stored; "
                    f"pass the same function again as {argument(name, ...)}"
                )
            values[name] = function
        pattern, words = values.get("token_pattern", cls.token_pattern), values.get("stop_words")
        damaged = "the stored settings of the tokeniser are damaged:"
        if not isinstance(pattern, str) or (isinstance(words, str) and words != "english"):
            raise SettingError(f"{damaged} {argument('token_pattern')} or {argument('stop_words')}")
        if pattern not in _GIVEN:
            raise SettingError(
                f"this text was tokenised with {argument('token_pattern', pattern)}; stored patterns are not trusted, "
                "because a malicious one could run forever: pass the same pattern again as "
                f"{argument('token_pattern', ...)}"
            )
        try:
            return cls(**values)
        except (TypeError, ValueError) as error:
            raise SettingError(f"{damaged} {error}") from error

    @classmethod
    def like(cls, values: Mapping[str, Any], **functions: Any) -> TextSettings:
        """The settings of a manifest for further documents: the collocations it found, and no document is dropped.

        `functions` : see `from_dict`.

        Raises
        ------
        SettingError
            As `from_dict`.
        """
        joined = values.get("collocations") is not None
        pairs = [*map(list, stored_pairs(values))] if joined else None
        return cls.from_dict({**values, "collocations": pairs, "min_doc_length": 0}, **functions)


def stored_pairs(values: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """The collocations recorded with the settings of a manifest.

    Raises
    ------
    SettingError
        When they are not pairs of words.
    """
    pairs = values.get("collocation_pairs") or []
    found = _collocations(pairs) if isinstance(pairs, list) else None
    if not isinstance(found, tuple):
        raise SettingError("the stored settings of the tokeniser are damaged: collocation_pairs")
    return frozenset(found)


def _ngram_range(value: Any) -> tuple[int, int]:
    try:
        shortest, longest = (int(n) for n in value)
    except (TypeError, ValueError):
        shortest = longest = 0
    if not 1 <= shortest <= longest <= _LONGEST_NGRAM:
        raise SettingError(
            f"{argument('ngram_range')} must be (shortest, longest), 1 <= shortest <= longest <= {_LONGEST_NGRAM}, "
            f"found {value!r}"
        )
    return shortest, longest


def _collocations(value: Any) -> float | tuple[tuple[str, str], ...] | None:
    """None, a threshold, or pairs of words in alphabetical order."""
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool) and -1 <= value <= 1:
        return float(value)
    pairs = list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(pair, list | tuple) and [*map(type, pair)] == [str, str] for pair in pairs):
        raise SettingError(
            f"{argument('collocations')} must be {either('None, ', '')}a threshold in [-1, 1]"
            f"{either(', or pairs of words', '')}, found {value!r}"
        )
    return tuple(sorted({(first, second) for first, second in pairs}))


def _check_pattern(pattern: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        raise SettingError(
            f"{argument('token_pattern')} {pattern!r} is not a regular expression: {error}"
        ) from None
    if groups > 1:
        raise SettingError(
            f"{argument('token_pattern')} {pattern!r} has {groups} groups; at most one, the token, is allowed"
        )


def _check_encoding(encoding: str, errors: str) -> None:
    try:
        newline = "\n".encode(encoding)
    except (LookupError, ValueError):
        raise SettingError(f"encoding {encoding!r} is not known to Python as a text encoding") from None
    if newline != b"\n":
        raise SettingError(
            f"encoding {encoding!r} is not supported; convert the files to UTF-8 first, with iconv"
        )
    if errors not in ("strict", "replace", "ignore"):
        raise SettingError(
            f"{argument('encoding_errors')} must be 'strict', 'replace' or 'ignore', found {errors!r}"
        )


def _name_of(function: Any) -> str | None:
    if function is None:
        return None
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{getattr(function, '__module__', None) or type(function).__module__}:{name}"


_GIVEN = {TextSettings.token_pattern}
"""Patterns that the user gave this process."""
