"""Scripts that have no spaces between words: text in them needs a tokeniser of its language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Script", "unspaced_script"]


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
