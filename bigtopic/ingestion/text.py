"""The tokeniser of an ingest: as requested, as recorded with the corpus, or as the language of the documents suggests.

Where collocations are requested, a first pass counts pairs before words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import fields, replace
from functools import partial
from typing import Any

from bigtopic.corpus.readers.support.documents import Documents
from bigtopic.corpus.stored.manifest import Manifest
from bigtopic.corpus.text.segmentation import unspaced_script
from bigtopic.corpus.text.stopwords import is_list_of_language, language_of, spellings
from bigtopic.corpus.text.text_settings import TextSettings, stored_pairs
from bigtopic.corpus.text.tokenizer import Tokenizer
from bigtopic.corpus.text.tokens import CollocationCounts
from bigtopic.errors import SettingError, argument, either, warn
from bigtopic.ingestion.parse import ParseTask, parse_tasks
from bigtopic.ingestion.settings import Workers
from bigtopic.parallel.progress import Progress
from bigtopic.support.aliases import of_argument
from bigtopic.wording import counted

__all__ = [
    "check_names",
    "is_open_text",
    "left_out",
    "recorded",
    "settings_for",
    "with_collocations",
    "with_language",
    "with_split_words",
]

_NAMES = {field.name for field in fields(TextSettings)}
_HTML = re.compile(
    r"</?(?:a|b|blockquote|body|br|div|em|h[1-6]|head|html|i|img|li|ol|p|pre|script|span|strong|style|table|td|tr|ul)"
    r"(?:\s[^<>]*)?/?>|&(?:amp|gt|lt|nbsp|quot|#\d+);",
    re.IGNORECASE,
)
_FIRST = 1000  # documents that are looked at
_BEGINNING = 10_000  # characters of each
_MUCH = 0.1  # share of documents with markup: fewer may write about it


def check_names(text: Mapping[str, Any], others: Iterable[str]) -> None:
    """Refuse names that are neither settings of the tokeniser nor other arguments of `ingest`."""
    unknown = sorted(set(text) - _NAMES)
    if unknown:
        raise TypeError(
            f"ingest() got an unexpected keyword argument {unknown[0]!r}; settings of the tokeniser are "
            f"{', '.join(sorted(_NAMES))}{of_argument(unknown[0], [*_NAMES, *others])}"
        )


def settings_for(
    text: Mapping[str, Any], min_doc_length: int, known: Manifest | None, url: str
) -> TextSettings:
    """The requested tokeniser; for an append, the tokeniser of the corpus at `url`."""
    given = TextSettings(**text, min_doc_length=min_doc_length)
    if known is None or known.text is None:
        return given
    functions = {name: text[name] for name in ("token_filter", "tokenizer") if name in text}
    try:
        settings = TextSettings.from_dict(known.text, **functions)
    except SettingError as error:
        raise SettingError(f"{url}: {error}") from error
    words = as_in_texts(replace(settings, stop_words=given.stop_words))
    same = (given, replace(given, stop_words=words))
    changed = [name for name in text if getattr(settings, name) not in [getattr(one, name) for one in same]]
    if min_doc_length not in (0, settings.min_doc_length):
        changed.append("min_doc_length")
    if changed:
        raise SettingError(
            f"an append uses the tokeniser settings of the corpus; leave out {', '.join(changed)}"
        )
    return settings


def is_text(reader: Any) -> bool:
    """Whether the documents are texts that are still to be tokenised."""
    return getattr(reader, "kind", None) == "text"


def is_open_text(reader: Any) -> bool:
    """Whether the documents are texts, and no vocabulary that was given says which of their words to keep."""
    return is_text(reader) and reader.vocabulary is None


def with_split_words(reader: Any, settings: TextSettings) -> tuple[Any, TextSettings]:
    """The reader and its settings with the stop words as they are in its texts, see `as_in_texts`; tokens stay."""
    words = as_in_texts(settings) if is_text(reader) else settings.stop_words
    if words == settings.stop_words:
        return reader, settings
    settings = replace(settings, stop_words=words)
    return reader.with_text(settings), settings


def as_in_texts(settings: TextSettings) -> Any:
    """The stop words as the texts will be split: "Don't" gives "don"; the words of a language are split already.

    Warns of several words, which no token is.
    """
    words = settings.stop_words
    if words is None or is_list_of_language(words):
        return words
    pieces = {word: [*filter(None, Tokenizer(settings).split(word))] for word in words}
    several = [word for word in words if _is_phrase(word) and not any(map(_is_phrase, pieces[word]))]
    if several:
        warn(
            f"{argument('stop_words')}: {several[0]!r} is several words, and a stop word is one, so "
            f"{counted(len(several), 'such entry is', 'such entries are')} not used; list the words that go"
            f"{either(', or drop terms of several words with corpus.filter_vocabulary(drop=[...])', '')}"
        )
    return tuple(sorted({piece for word in words if word not in several for piece in pieces[word]}))


def _is_phrase(word: str) -> bool:
    return len(word.split()) > 1


def with_language(reader: Any, settings: TextSettings, choose: bool) -> tuple[Any, TextSettings]:
    """The reader and its settings after a look at the first texts; `choose`: with the stop words of their language.

    Warns of HTML, and of scripts without spaces between words.
    """
    if not is_text(reader):
        return reader, settings
    sample = reader.sample()
    _warn_of_html(sample)
    if settings.tokenizer is None:
        _warn_of_script(sample)
    if not choose or not is_open_text(reader):
        return reader, settings
    settings = replace(settings, stop_words=language_of(text or "" for text in sample.bodies))
    return reader.with_text(settings), settings


def recorded(
    reader: Any, settings: TextSettings, pairs: frozenset[tuple[str, str]], known: Manifest | None = None
) -> Mapping[str, Any] | None:
    """The settings for a manifest: recorded with the corpus to extend, else used for texts, or recorded with the corpus
    that is the source; None for counts.
    """
    tokenised = getattr(reader, "kind", None) in ("text", "tokens")
    if known is not None and (known.text is not None or not tokenised):
        return known.text
    if not tokenised:
        return getattr(reader, "text_settings", None)
    return {**settings.to_dict(), "collocation_pairs": sorted(map(list, pairs))}


def left_out(text: Mapping[str, Any] | None) -> frozenset[str]:
    """The words that documents with these recorded settings are without: stop words, and those that were too common."""
    text = text or {}
    common, listed = frozenset(text.get("common_words", ())), text.get("stop_words") or ()
    if text.get("token_filter") is not None:  # which may make a stop word of another word
        return common
    return common | spellings(listed)


def _warn_of_html(sample: Documents) -> None:
    """Warn where texts have tags or entities, one in a thousand characters of their beginnings."""
    texts = [(text or "")[:_BEGINNING] for text in sample.bodies[:_FIRST]]
    found = [i for i, text in enumerate(texts) if len(_HTML.findall(text)) > len(text) / 1000]
    if len(found) > _MUCH * len(texts):
        warn(
            f"{sample.place(found[0])} holds HTML ({len(found)} of the first {len(texts)} documents do), and its "
            "tags become words; extract the text first, with pandoc -t plain or a parser such as BeautifulSoup",
        )


def _warn_of_script(sample: Documents) -> None:
    script = unspaced_script(text[:_BEGINNING] for text in sample.bodies[:_FIRST] if text)
    if script is not None:
        take = either(f"pass {script.remedy}", f"ingest them from Python with {script.remedy}")
        warn(
            f"the documents are in {script.name}, which has no spaces between words, so that whole clauses become "
            f"words; {take}, or put spaces between the words first"
        )


Pairs = frozenset[tuple[str, str]]


def with_collocations(
    reader: Any, text: TextSettings, known: Manifest | None, workers: Workers
) -> tuple[Any, Pairs]:
    """The reader, joining collocations: those given, else the source's (appending: the corpus's); and the pairs.

    Raises
    ------
    SettingError
        When the source can be read only once.
    """
    if text.collocations is None or getattr(reader, "kind", None) not in ("text", "tokens"):
        return reader, frozenset()
    if known is not None and known.text is not None:
        pairs = stored_pairs(known.text)
    elif isinstance(text.collocations, tuple):
        pairs = frozenset(text.collocations)
    elif all(getattr(stream, "repeatable", True) for stream in reader.streams()):
        assert isinstance(text.collocations, float)
        pairs = _counted(reader, workers).select(text.collocations)
    else:
        raise SettingError(
            "collocations need two passes, but the source is an iterator that can be read once; "
            "give a list, or files"
        )
    return reader.with_collocations(pairs), pairs


def _pairs(reader: Any, task: ParseTask) -> CollocationCounts:
    counts: CollocationCounts = reader.collocation_counts(task.chunk)
    return counts


def _counted(reader: Any, workers: Workers) -> CollocationCounts:
    total = CollocationCounts()
    with (
        Progress("collocations", None, "chunks", workers.progress) as bar,
        closing(workers.map(partial(_pairs, reader), parse_tasks(reader))) as results,
    ):
        for counts in results:
            total.merge(counts)
            bar.update(1)
    return total
