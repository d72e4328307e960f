"""What the plots have in common: colours, sizes, titles, and text from data that nothing interprets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.source import TopicSource, names_of, top_words
from bigtopic.plots._text_width import points_across, wrapped
from bigtopic.questions.words import shares_of
from bigtopic.wording import counted, printable

__all__ = [
    "ACCENT",
    "AS_IT_IS",
    "BAR",
    "OTHER",
    "PALETTE",
    "bare",
    "check_n_top",
    "colour_bar",
    "heading",
    "label",
    "largest",
    "leading_words",
    "percent",
    "resize",
    "shown_of",
    "sizes_of",
]

BAR = "#56B4E9"  # of Okabe, Ito 2008, as all colours here: told apart with any colour vision; these two also in grey
ACCENT = "#0072B2"
PALETTE = (ACCENT, "#E69F00", "#009E73", "#CC79A7", BAR, "#D55E00", "#F0E442")
OTHER = "#B0B0B0"  # what has no colour of its own

_MOST_WORDS = 1000  # of a topic
_LARGEST = 200  # inches: the longest page of a PDF
_MARGIN = 12  # points beside a title

AS_IT_IS = {"parse_math": False, "usetex": False}
"""Settings of every matplotlib text that has words, names or other data in it: `$` is a character like others."""


def label(text: str, longest: int = 24) -> str:
    """Text from data for a picture: control characters as escapes, cut to this many characters."""
    text = printable(str(text))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def heading(figure: Any, text: str) -> None:
    """A title at the top left of the figure, in as many lines as its width needs."""
    lines = wrapped(text, points_across(figure) - _MARGIN, "medium")
    figure.suptitle(lines, x=0.01, ha="left", fontsize="medium", **AS_IT_IS)


def resize(figure: Any, width: float, height: float) -> None:
    """Set the size, in inches, of a figure that `bigtopic.plots.draw` made; others are left as they are.

    Raises
    ------
    SettingError
        When the width or height is above the limit, also of a figure that the caller made.
    """
    from bigtopic.plots._picture import Picture

    if max(width, height) > _LARGEST:
        raise SettingError(
            f"the picture would be {max(width, height):.0f} inches {'high' if height > width else 'wide'}, and at most "
            f"{_LARGEST} are drawn; show fewer topics (n_topics), fewer words (n_top) or fewer groups (n_groups)"
        )
    if isinstance(figure, Picture):
        figure.set_size_inches(width, height)


def bare(axes: Any) -> None:
    """Leave out the lines above and right of the axes."""
    axes.spines[["top", "right"]].set_visible(False)


def colour_bar(figure: Any, image: Any) -> Any:
    """A scale of the colours of an image, which is all of a figure; returns its axes."""
    inches = points_across(figure) / 72
    bar = figure.colorbar(image, ax=image.axes, fraction=min(0.15, 0.8 / inches), pad=0.02, aspect=25)
    bar.ax.tick_params(labelsize="small")
    return bar.ax


def percent(value: float, _: Any = None) -> str:
    """A share as text, also for the ticks of an axis."""
    return f"{100 * value:.3g}%"


def shown_of(n_shown: int, n: int, noun: str) -> str:
    """How much of something a picture shows, for its title.

    Examples
    --------
    >>> shown_of(3, 3, "topic"), shown_of(20, 3000, "group")
    ('3 topics', 'the 20 largest of 3,000 groups')
    """
    return counted(n, noun) if n_shown == n else f"the {n_shown:,} largest of {counted(n, noun)}"


def leading_words(source: TopicSource, n: int) -> tuple[list[list[str]], np.ndarray]:
    """The most probable words of each topic, as labels, and their probabilities, (n_components, n); at most all words.

    Raises
    ------
    SettingError
        When `n` is not positive, or more than 1000.
    """
    check_n_top(n)
    ids, probabilities = top_words(source, min(n, source.n_words))
    return [list(map(label, own)) for own in names_of(source, ids)], probabilities


def check_n_top(n: int) -> None:
    """Refuse a number of words that is not positive, or more than 1000.

    Raises
    ------
    SettingError
    """
    if n < 1:
        raise SettingError(f"{argument('n_top')}: must be at least 1, found {n}")
    if n > _MOST_WORDS:
        raise SettingError(f"{argument('n_top')}: must be at most {_MOST_WORDS}, found {n}")


def sizes_of(source: TopicSource, results: Mapping[str, Any]) -> tuple[np.ndarray, bool]:
    """The topics' shares of the tokens, and whether any are known: a model without counts has equal ones.

    Returns
    -------
    float64 (n_components,), of the corpus where it was measured, else of what the model has counted
    """
    if "prevalence" in results:
        return results["prevalence"].share, True
    shares = shares_of(source)
    return shares, not np.allclose(shares, shares[0], rtol=1e-4)


def largest(sizes: Sequence[float] | np.ndarray, n: int, setting: str = "n_topics") -> np.ndarray:
    """Numbers of at most `n` topics, in descending order of their sizes; ties in the model's order.

    Parameters
    ----------
    setting : what says `n`, for the error

    Raises
    ------
    SettingError
        When `n` is not positive.
    """
    if n < 1:
        raise SettingError(f"{argument(setting)}: must be at least 1, found {n}")
    return np.argsort(-np.asarray(sizes), kind="stable")[:n]
