r"""Text segmentation: characters of words, sentences, scripts without spaces, and pieces of long documents.

A word of the default pattern is a run of two or more characters, of which the first is one that Python's `\w` matches,
and the others are such characters, combining marks (categories Mn, Mc and Me), or joiners. So words end where
Unicode's rules for word boundaries [1]_ let runs of letters and digits end, but an apostrophe, a point or a comma also
ends them, and scripts without spaces are not cut. Marks belong to their letter, and equivalent spellings are one.

A sentence ends at a full stop, a question or exclamation mark or an ellipsis, quotes and brackets that close after it
included, if white space follows; at the full stop of a script without spaces or with one of its own; and at an empty
line. A comma, a semicolon, a colon and the end of a line do not end it [2]_. The full stop of an abbreviation does:
text in lower case throughout has nothing that tells the two apart, and of the two errors this one loses a pair of words
and the other makes one up. N-grams and collocations do not cross the end of a sentence.

References
----------
.. [1] Unicode Standard Annex 29, section 4.1.1, rules WB4 to WB13.
.. [2] Unicode Standard Annex 29, section 5.1, whose class SContinue holds the comma, semicolon and colon.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple
from unicodedata import category, normalize

from bigtopic.errors import SettingError, argument
from bigtopic.support.numbers import is_whole

__all__ = [
    "IGNORED",
    "JOINERS",
    "PARAGRAPHS",
    "SENTENCE_END",
    "UNSPACED",
    "Script",
    "canonical",
    "checked_division",
    "divider",
    "mark_sentences",
    "marks",
    "split_sentences",
    "unspaced_script",
    "word_pattern",
]

JOINERS = "\u200c\u200d"
"""Zero-width characters that are part of a word's spelling in Persian and in scripts of India, inside words only."""

IGNORED = (
    "\u00ad\u034f\u061c\u180b-\u180f\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff"
)
"""Characters that are invisible and no part of a word, as in a set of a regular expression: soft hyphens, directions,
variants of a glyph."""

_IGNORED = re.compile(f"[{IGNORED}]")
_MARKS_BELOW = 0x20000  # the marks from here on are among those that are ignored


@cache
def marks() -> str:
    """All characters that belong to the one before them."""
    return "".join(c for c in map(chr, range(_MARKS_BELOW)) if category(c).startswith("M"))


@cache
def word_pattern() -> re.Pattern[str]:
    r"""What `\b\w\w+\b` is to text without marks and joiners."""
    return re.compile(rf"\w[\w{marks()}{JOINERS}]+")


@cache
def _loose_joiners() -> re.Pattern[str]:
    return re.compile(rf"[{JOINERS}](?![\w{marks()}])")


def canonical(text: str, lowercase: bool) -> str:
    """The text with one spelling for each word: NFC, without invisible characters, and in lower case if so wanted.

    The dotted capital I becomes "i": its lower case in Turkish, and in Unicode's table of single characters.
    """
    if lowercase:
        text = text.lower()
    if text.isascii():
        return text
    text = _IGNORED.sub("", text)
    if lowercase:
        text = text.replace("i\u0307", "i")
    text = normalize("NFC", text)
    return _loose_joiners().sub("", text) if any(joiner in text for joiner in JOINERS) else text


SENTENCE_END = "\u2029"

_SPACED, _WHOLE = ".!?…", "。！？｡．।॥؟۔։።፧។៕\u2029"
_ENDS = re.compile(
    # A set goes first: the search then passes over everything else at once.
    rf"[{_SPACED}{_WHOLE}\n](?:(?<=[{_SPACED}])[\"')\]}}»”’]*(?=\s)|(?<=[{_WHOLE}])|(?<=\n)[^\S\n]*\n)"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, one at least; together they are the text."""
    ends = [match.end() for match in _ENDS.finditer(text)]
    return [text[begin:end] for begin, end in zip([0, *ends], [*ends, None], strict=True)]


def mark_sentences(text: str) -> str:
    """The text with `SENTENCE_END` for what ends each sentence but the last: for words without punctuation."""
    return _ENDS.sub(SENTENCE_END, text)


class Script(NamedTuple):
    """A script, or two that stand for a language.

    characters : a set of a regular expression
    longest : characters in the mean of its words, more of which is not cut into words
    remedy : a tokeniser of the language, and where it comes from
    """

    name: str
    characters: str
    longest: float
    remedy: str


_HAN = "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
_SCRIPTS = (
    Script("Thai", "\u0e01-\u0e4e", 10, "tokenizer=pythainlp.word_tokenize, of 'bigtopic[thai]'"),
    Script("Lao", "\u0e81-\u0ece", 10, "tokenizer=laonlp.word_tokenize (pip install laonlp)"),
    Script("Khmer", "\u1780-\u17d3", 10, "tokenizer=khmernltk.word_tokenize (pip install khmer-nltk)"),
    Script("Burmese", "\u1000-\u1049", 10, "tokenizer= with a function that uses PyICU's BreakIterator"),
    Script(
        "Japanese",
        f"\u3040-\u30ff{_HAN}々",
        4,
        "tokenizer= with a function that uses fugashi's Tagger (pip install 'fugashi[unidic-lite]')",
    ),
    Script("Chinese", _HAN, 4, "tokenizer=rjieba.cut, of 'bigtopic[chinese]'"),
)
UNSPACED = "".join(dict.fromkeys(script.characters for script in _SCRIPTS))
"""Characters of scripts without spaces between words, as in a set of a regular expression."""

_KANA = re.compile("[\u3041-\u309f]")
_LEAST = 0.25  # share of characters that are in the script: fewer are names in text of another language
_JAPANESE = 0.05  # share of the characters that are hiragana: Chinese has none


def unspaced_script(texts: Iterable[str]) -> Script | None:
    """The script of these texts, if it has no spaces between words and none were put in."""
    text = "\n".join(texts)
    if text.isascii():
        return None
    n_characters = sum(map(len, text.split()))
    for script in _SCRIPTS:
        runs = re.findall(f"[{script.characters}]+", text)
        length = sum(map(len, runs))
        if script.name == "Japanese" and len(_KANA.findall(text)) < _JAPANESE * length:
            continue
        if length > _LEAST * n_characters:
            return script if length > script.longest * len(runs) else None
    return None


PARAGRAPHS = "paragraphs"
_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")


def checked_division(how: Any) -> int | str | None:
    """The setting `split_documents`: None, a number of words, or "paragraphs".

    Raises
    ------
    SettingError
    """
    if how is None or how == PARAGRAPHS:
        return how
    if is_whole(how) and 1 <= int(how) < 1 << 31:
        return int(how)
    raise SettingError(
        f"{argument('split_documents', how)}: give a number of words, from 1 on, or {PARAGRAPHS!r}"
    )


def divider(how: int | str) -> Callable[[Any], Sequence[Any]]:
    """A function of a document, a text or a list of tokens, that returns its pieces; an empty one is one piece.

    Words of a text are what white space divides; paragraphs what blank lines divide. The last piece has the rest.
    """
    if how == PARAGRAPHS:
        return lambda text: _BLANK_LINES.split(text.strip()) if text else [text]
    size = int(how)
    words = re.compile(rf"\S++(?:\s++\S++){{0,{size - 1}}}+")

    def divide(body: Any) -> Sequence[Any]:
        if isinstance(body, str):
            return words.findall(body) or [body]
        tokens = list(body or ())
        return [tokens[at : at + size] for at in range(0, len(tokens), size)] or [tokens]

    return divide
