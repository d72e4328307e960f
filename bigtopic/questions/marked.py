"""A text with the topics of its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bigtopic.corpus.text.tokenizer import Tokenizer
from bigtopic.errors import SettingError

__all__ = ["Piece", "marked"]


class Piece(NamedTuple):
    """A piece of a text: a word with its topic, or what is between such words, with None.

    All pieces together are the text.
    """

    text: str
    topic: int | None


def marked(text: str, settings: Mapping[str, Any], topics: Mapping[str, int | None]) -> list[Piece] | None:
    """The text in pieces.

    Parameters
    ----------
    settings : of the corpus' tokeniser
    topics : of words; None, as of words that are not there, for none

    Returns
    -------
    None when the tokeniser has a function or a pattern, which are not stored
    """
    try:
        tokenizer = Tokenizer.from_dict(settings)
    except SettingError:
        return None
    pieces, end = list[Piece](), 0
    for start, stop, term in tokenizer.spans(text):
        topic = topics.get(term)
        if topic is not None and start < stop:
            if end < start:
                pieces.append(Piece(text[end:start], None))
            pieces.append(Piece(text[start:stop], topic))
            end = stop
    return [*pieces, Piece(text[end:], None)] if end < len(text) else pieces
