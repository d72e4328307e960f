"""Text cut to the width that it is drawn with."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Callable
from unicodedata import east_asian_width

__all__ = ["fitter"]

_HINTING = 1.06  # letters of a PNG are rounded to whole pixels, and then up to this much wider


def fitter(points: float, fontsize: str) -> Callable[[str], str]:
    """A function that cuts text to a width in points, for matplotlib's font at this size, such as "small"."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font, measure = FontProperties(size=fontsize), TextToPath().get_text_width_height_descent
    size = font.get_size_in_points()

    def width(text: str) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of characters that the font lacks; told when the picture is saved
            drawn = float(measure(text, font, ismath=False)[0])
        return max(_HINTING * drawn, size * _ideographs(text))

    def fitted(text: str) -> str:
        if width(text) <= points:
            return text
        cuts = range(1, len(text))
        n = bisect_right(cuts, points, key=lambda n: width(f"{text[:n]}…"))
        return f"{text[:n]}…"

    return fitted


def _ideographs(text: str) -> int:
    """Characters that are as wide as the font is high, in the font of a reader who has them."""
    return sum(east_asian_width(character) in "WF" for character in text)
