"""What the plots have in common: colours, and text from data that nothing interprets, cut to its width."""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any
from unicodedata import east_asian_width

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.source import TopicSource, top_words
from bigtopic.wording import printable

__all__ = [
    "ACCENT",
    "AS_IT_IS",
    "BAR",
    "bare",
    "fitter",
    "heading",
    "label",
    "largest",
    "leading_words",
    "resize",
]

BAR = "#56B4E9"  # both of Okabe, Ito 2008: told apart with any colour vision, and in grey
ACCENT = "#0072B2"

_MOST_WORDS = 1000  # of a topic
_HIGHEST = 200  # inches: the longest page of a PDF

AS_IT_IS = {"parse_math": False, "usetex": False}
"""Settings of every matplotlib text that has words, names or other data in it: `$` is a character like others."""


def label(text: str, longest: int = 24) -> str:
    """Text from data for a picture: control characters as escapes, cut to this many characters."""
    text = printable(str(text))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def heading(figure: Any, text: str) -> None:
    """A title at the top left of the figure."""
    figure.suptitle(text, x=0.01, ha="left", fontsize="medium", **AS_IT_IS)


def resize(figure: Any, width: float, height: float) -> None:
    """Set the size, in inches, of a figure that `bigtopic.plots.draw` made; others are left as they are.

    Raises
    ------
    SettingError
        When the height is above the limit, also of a figure that the caller made.
    """
    from bigtopic.plots._picture import Picture

    if height > _HIGHEST:
        raise SettingError(
            f"the picture would be {height:.0f} inches high, and at most {_HIGHEST} are drawn; show fewer topics "
            "(n_topics) or fewer words (n_top)"
        )
    if isinstance(figure, Picture):
        figure.set_size_inches(width, height)


def bare(axes: Any) -> None:
    """Leave out the lines above and right of the axes."""
    axes.spines[["top", "right"]].set_visible(False)


def leading_words(source: TopicSource, n: int) -> tuple[list[list[str]], np.ndarray]:
    """The most probable words of each topic, as labels, and their probabilities, (n_components, n); at most all words.

    Raises
    ------
    SettingError
        When `n` is not positive, or more than 1000.
    """
    if n < 1:
        raise SettingError(f"{argument('n_top')}: must be at least 1, found {n}")
    if n > _MOST_WORDS:
        raise SettingError(f"{argument('n_top')}: must be at most {_MOST_WORDS}, found {n}")
    ids, probabilities = top_words(source, min(n, source.n_words))
    return [[label(source.vocabulary[int(i)]) for i in own] for own in ids], probabilities


def largest(sizes: Sequence[float] | np.ndarray, n: int) -> np.ndarray:
    """Numbers of at most `n` topics, in descending order of their sizes; ties in the model's order.

    Raises
    ------
    SettingError
        When `n` is not positive.
    """
    if n < 1:
        raise SettingError(f"{argument('n_topics')}: must be at least 1, found {n}")
    return np.argsort(-np.asarray(sizes), kind="stable")[:n]


_HINTING = 1.06  # letters of a PNG are rounded to whole pixels, and then up to this much wider


def fitter(points: float, fontsize: str) -> Callable[[str], str]:
    """A function that cuts text to a width in points, for matplotlib's font at this size, such as "small"."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font, measure = FontProperties(size=fontsize), TextToPath().get_text_width_height_descent
    size = font.get_size_in_points()

    def width(text: str) -> float:
        with warnings.catch_warnings():
            # of characters that the font lacks; told when the picture is saved
            warnings.simplefilter("ignore")
            drawn = float(measure(text, font, ismath=False)[0])
        # Ideographs are as wide as the font is high, in the font of a reader who has them.
        return max(_HINTING * drawn, size * sum(east_asian_width(character) in "WF" for character in text))

    def fitted(text: str) -> str:
        if width(text) <= points:
            return text
        n = bisect_right(range(1, len(text)), points, key=lambda n: width(f"{text[:n]}…"))
        return f"{text[:n]}…"

    return fitted
