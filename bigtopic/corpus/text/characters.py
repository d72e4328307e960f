r"""Characters of words, as Unicode groups them: marks belong to their letter, and equivalent spellings are one.

A word of the default pattern is a run of two or more characters, of which the first is one that Python's `\w` matches,
and the others are such characters, combining marks (categories Mn, Mc and Me), or joiners. So words end where
Unicode's rules for word boundaries [1]_ let runs of letters and digits end, but an apostrophe, a point or a comma also
ends them, and scripts without spaces are not cut.

References
----------
.. [1] Unicode Standard Annex 29, section 4.1.1, rules WB4 to WB13.
"""

from __future__ import annotations

import re
from functools import cache
from unicodedata import category, normalize

__all__ = ["IGNORED", "JOINERS", "canonical", "marks", "word_pattern"]

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
