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

__all__ = ["split_sentences"]

_CLOSING = "\"')\\]}»”’"
_ENDS = re.compile(
    rf"(?:(?<=[.!?…])|(?<=[.!?…][{_CLOSING}])|(?<=[.!?…][{_CLOSING}]{{2}}))\s+"
    r"|(?<=[。！？｡．।॥؟۔։።፧။៕])"
    r"|\n[^\S\n]*\n\s*|\u2029"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, one at least; nothing but white space is lost."""
    return _ENDS.split(text)
