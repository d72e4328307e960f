"""A text in lines: wrapped to a width, each of its words at its place.

Lines break at white space; a word that is longer than a line, and text in ideographs, anywhere. A paragraph has the
direction of its first letter that has one. In a line, words of the other direction have their own order, as the
levels of Unicode's bidirectional algorithm say: level 0 is text from the left, 1 text from the right, 2 text from the
left within that.

References
----------
Unicode Standard Annex 9, rules P2, N1, N2 and L2, for words instead of characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import NamedTuple
from unicodedata import bidirectional, category, east_asian_width

from bigtopic.wording import printable

__all__ = ["Word", "lines_of"]

_PARTS = re.compile(r"\s+|\S+")
_RIGHT, _LEFT = ("R", "AL", "AN"), ("L", "EN")
_SPACE = " "
_LONG = 60  # characters, from which on a width is that of the characters one by one

Width = Callable[[str], float]


class Word(NamedTuple):
    """A word of a line, its topic, and how far from the left it begins, in points."""

    text: str
    topic: int | None
    x: float


class _Part(NamedTuple):
    """A word, a part of one, or a space, with its width in points."""

    text: str
    topic: int | None
    width: float


def lines_of(pieces: Iterable[tuple[str, int | None]], points: float, width: Width) -> Iterator[list[Word]]:
    """The lines of a text, each at most this wide. Of several empty lines in a row there is one.

    Parameters
    ----------
    pieces : of the text, with their topics
    width : gives the width of a text in points
    """
    empty = True
    for paragraph in _paragraphs(pieces):
        from_right = next((one for text, _ in paragraph if (one := _from_right(text)) is not None), False)
        for line in _wrapped(paragraph, points, width):
            if line or not empty:
                yield _placed(line, from_right, points)
            empty = not line


def _paragraphs(pieces: Iterable[tuple[str, int | None]]) -> Iterator[list[tuple[str, int | None]]]:
    paragraph: list[tuple[str, int | None]] = []
    for text, topic in pieces:
        first, *others = text.split("\n")
        paragraph.append((first, topic))
        for other in others:
            yield paragraph
            paragraph = [(other, topic)]
    yield paragraph


def _wrapped(
    paragraph: Iterable[tuple[str, int | None]], points: float, width: Width
) -> Iterator[list[_Part]]:
    """The lines of a paragraph, one at least; none begins with a space."""
    space = width("n n") - width("nn")
    line, used = list[_Part](), 0.0
    parts = [(part, topic) for text, topic in paragraph for part in _PARTS.findall(text)]
    for is_space, run in groupby(parts, key=lambda part: part[0].isspace()):
        if is_space:
            if line:
                line.append(_Part(_SPACE, None, space))
                used += space
            continue
        word = [_part(printable(text), topic, width) for text, topic in run]
        total = sum(part.width for part in word)
        if line and used + total > points >= total and not any(map(_breaks_anywhere, word)):
            yield line
            line, used = [], 0.0
        for part in word:
            rest = part
            while used + rest.width > points:
                n = _fitting(rest.text, points - used, width, at_least=0 if line else 1)
                if n:
                    line.append(_part(rest.text[:n], rest.topic, width))
                yield line
                line, used = [], 0.0
                rest = _part(rest.text[n:], rest.topic, width)
            if rest.text:
                line.append(rest)
                used += rest.width
    yield line


def _part(text: str, topic: int | None, width: Width) -> _Part:
    return _Part(text, topic, width(text) if len(text) <= _LONG else sum(map(width, text)))


def _breaks_anywhere(part: _Part) -> bool:
    return any(east_asian_width(character) in "WF" for character in part.text)


def _fitting(text: str, points: float, width: Width, at_least: int) -> int:
    """How many characters fit, by the sum of their widths; a mark stays with what is before it."""
    sums = accumulate(map(width, text))
    n = next((i for i, total in enumerate(sums) if total > points), len(text))
    while 0 < n < len(text) and category(text[n]).startswith("M"):
        n -= 1
    return max(n, at_least)


def _placed(line: Sequence[_Part], from_right: bool, points: float) -> list[Word]:
    """The words of a line where they are seen."""
    line = line[:-1] if line and line[-1].text == _SPACE else line
    parts = [line[i] for i in _visual_order([part.text for part in line], from_right)]
    starts = accumulate((part.width for part in parts), initial=0.0)
    shift = max(0.0, points - sum(part.width for part in parts)) if from_right else 0.0
    return [
        Word(part.text, part.topic, x + shift)
        for part, x in zip(parts, starts, strict=False)
        if part.text != _SPACE
    ]


def _visual_order(words: Sequence[str], from_right: bool) -> list[int]:
    """Numbers of the words from left to right."""
    base = int(from_right)
    own = [None if (one := _from_right(word)) is None else 1 if one else 2 * base for word in words]
    before = [*accumulate(own, lambda last, level: last if level is None else level, initial=base)]
    after = [*accumulate(reversed(own), lambda last, level: last if level is None else level, initial=base)]
    around = zip(own, before, reversed(after[:-1]), strict=False)
    levels = [a if level is None and a == b else base if level is None else level for level, a, b in around]
    order = list(range(len(words)))
    for least in (2, 1):
        runs = groupby(order, key=lambda i: levels[i] >= least)
        order = [i for inside, run in runs for i in (reversed([*run]) if inside else run)]
    return order


def _from_right(text: str) -> bool | None:
    """Whether the first letter or number is of a script that is written from the right; None without any."""
    for character in text:
        direction = bidirectional(character)
        if direction in _RIGHT or direction in _LEFT:
            return direction in _RIGHT
    return None
