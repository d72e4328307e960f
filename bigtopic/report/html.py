"""One self-contained HTML page: no network, no fonts to fetch, every text escaped.

Names come from data: control characters, and those that turn the direction of writing, are shown as on a terminal, and
each name is isolated, so that one in Arabic or Hebrew leaves the figures beside it in their places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bigtopic.errors import SettingError
from bigtopic.evaluation.measuring import free_label
from bigtopic.report.summary import Summary
from bigtopic.storage.output_file import check_outside_stores, check_replaceable, write_output
from bigtopic.storage.place import Place
from bigtopic.support import cards
from bigtopic.wording import printable

__all__ = ["Page", "check_page", "html_page", "write_html"]

_TEMPLATES = Path(__file__).parent / "templates"
_CURVE_WIDTH, _CURVE_HEIGHT, _MARGIN = 560.0, 150.0, 8.0


class Page(str):
    """A page of HTML as text, which notebooks show."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return cards.framed(self)


class Curve(NamedTuple):
    """A learning curve: points in pixels as SVG wants them, and the figures at its ends."""

    title: str
    points: str
    dots: Sequence[tuple[float, float, str]]
    first: str
    last: str
    tokens: str


def html_page(
    summary: Summary,
    title: str = "Topics",
    subtitle: str = "",
    figures: Mapping[str, str] | None = None,
    author_noun: str = "authors",
) -> Page:
    """The page as text; a notebook shows it.

    Parameters
    ----------
    title, subtitle : at the top of the page
    figures : further figures to show, {label: value}
    author_noun : what to call authors, in the plural
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.finalize = lambda value: printable(value) if isinstance(value, str) else value
    page = environment.get_template("page.html.j2").render(
        summary=summary,
        title=title,
        subtitle=subtitle,
        figures={**_figures(summary), **(figures or {})},
        author_noun=author_noun,
        curve=_curve(summary.history),
        has_labels=any(topic.label for topic in summary.topics),
        largest_share=max((topic.share or 0.0 for topic in summary.topics), default=0.0),
        width=_CURVE_WIDTH,
        height=_CURVE_HEIGHT,
    )
    return Page(page)


def write_html(
    summary: Summary, path: Any, *, storage_options: Mapping[str, Any] | None = None, **settings: Any
) -> Path | str:
    """Write the page; for `settings` see `html_page`. Returns the absolute path, or the URL.

    An existing page is replaced in one step.

    Parameters
    ----------
    path : or URL of the page
    storage_options : for fsspec, of a URL

    Raises
    ------
    SettingError
        When `summary` is something else, or the path cannot be one.
    StoreError
        When the path holds something else, is inside a store, or the system refuses to write.
    """
    if not isinstance(summary, Summary):
        raise SettingError(
            f"summary: {type(summary).__name__} is not one; make it with bigtopic.report.summarise(model, corpus)"
        )
    place = Place.of(path, storage_options)
    return write_output(place, html_page(summary, **settings).encode(), partial(_check, place))


def check_page(path: Any, storage_options: Mapping[str, Any] | None = None) -> None:
    """Check that a page may be written to a path or URL, as `write_html` does.

    Raises
    ------
    SettingError, StoreError
        As `write_html`.
    """
    place = Place.of(path, storage_options)
    _check(place)
    check_outside_stores(place)


def _check(place: Place) -> None:
    check_replaceable(place, (b"<!doctype html", b"<html"), "an HTML page")


def _figures(summary: Summary) -> dict[str, str]:
    """The figures every page begins with."""
    figures = {"topics": f"{len(summary.topics):,}"}
    about = (
        ("unused topics", summary.n_unused or None),
        ("documents", summary.n_docs),
        ("tokens", summary.n_tokens),
        ("words in the vocabulary", summary.n_words),
    )
    figures |= {name: f"{value:,.0f}" for name, value in about if value is not None}
    for name, measure in summary.results.measures.items():
        result, unit = summary.results[name], f", {measure.unit}" if measure.unit else ""
        for title, value in [(measure.title, result.value), *result.baselines.items()]:
            figures[free_label(title + unit, measure, figures)] = f"{value:.3f}"
    return figures


def _curve(history: Sequence[Mapping[str, Any]]) -> Curve | None:
    """The held-out score, or else the bound, against tokens seen; None with fewer than two values."""
    titles = {"score": "Held-out nats per token", "bound": "Variational bound, nats per token"}
    of_key = {key: [row for row in history if row.get(key) is not None] for key in titles}
    key = next((key for key, rows in of_key.items() if len(rows) >= 2), None)
    if key is None:
        return None
    tokens, values = ([float(row[name]) for row in of_key[key]] for name in ("n_tokens", key))
    low, span, last = min(values), (max(values) - min(values)) or 1.0, max(tokens) or 1.0
    dots = [
        (
            round(_MARGIN + (_CURVE_WIDTH - 2 * _MARGIN) * x / last, 1),
            round(_MARGIN + (_CURVE_HEIGHT - 2 * _MARGIN) * (1 - (y - low) / span), 1),
            f"{y:.3f} after {x:,.0f} tokens",
        )
        for x, y in zip(tokens, values, strict=True)
    ]
    points = " ".join(f"{x},{y}" for x, y, _ in dots)
    return Curve(titles[key], points, dots, f"{values[0]:.3f}", f"{values[-1]:.3f}", f"{last:,.0f}")
