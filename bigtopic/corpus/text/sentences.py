"""Where sentences end, for what spans several words: n-grams and collocations.

A sentence ends at a full stop, a question or exclamation mark or an ellipsis, quotes and brackets that close after it
included, if white space follows; at the full stop of a script without spaces or with one of its own; and at an empty
line. A comma, a semicolon, a colon and the end of a line do not end it [1]_. The full stop of an abbreviation does:
text in lower case throughout has nothing that tells the two apart, and of the two errors this one loses a
pair of words and the other makes one up.

References
----------
.. [1] Unicode Standard Annex 29, section 5.1, whose class SContinue holds the comma, semicolon and colon.
"""

from __future__ import annotations

import re

__all__ = ["SENTENCE_END", "mark_sentences", "split_sentences"]

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
