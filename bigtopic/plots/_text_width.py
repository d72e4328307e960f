"""The width of text in matplotlib's font, and text cut or wrapped to a width."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import Any
from unicodedata import east_asian_width

__all__ = ["fitter", "points_across", "width_in", "wrapped"]

_HINTING = 1.06  # letters of a PNG are rounded to whole pixels, and then up to this much wider


def points_across(figure: Any) -> float:
    """The width of a figure, or of a part of one, in points."""
    return float(72 * figure.bbox.width / figure.dpi)


def fitter(points: float, fontsize: str) -> Callable[[str], str]:
    """A function that cuts text to a width in points, for matplotlib's font at this size, such as "small"."""
    width = width_in(fontsize)

    def fitted(text: str) -> str:
        if width(text) <= points:
            return text
        n = bisect_right(range(1, len(text)), points, key=lambda n: width(f"{text[:n]}…"))
        return f"{text[:n]}…"

    return fitted


def wrapped(text: str, points: float, fontsize: str) -> str:
    """The text in lines of at most this width, cut between words; longer words are shortened."""
    width, fitted, lines = width_in(fontsize), fitter(points, fontsize), list[str]()
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            longer = f"{line} {word}" if line else word
            if line and width(longer) > points:
                lines.append(line)
                longer = word
            line = fitted(longer)
        lines.append(line)
    return "\n".join(lines)


def width_in(fontsize: str, wider: float = _HINTING) -> Callable[[str], float]:
    """A function that gives the width of text in points, in matplotlib's font at this size, such as "small".

    Parameters
    ----------
    wider : factor; the default is the widest that text may become, where it must not be wider
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font, measure = FontProperties(size=fontsize), TextToPath().get_text_width_height_descent
    size = font.get_size_in_points()

    @cache
    def width(text: str) -> float:
        with warnings.catch_warnings():
            # of characters that the font lacks; told when the picture is saved
            warnings.simplefilter("ignore")
            drawn = float(measure(text, font, ismath=False)[0])
        # Ideographs are as wide as the font is high, in the font of a reader who has them.
        return max(wider * drawn, size * sum(east_asian_width(character) in "WF" for character in text))

    return width
