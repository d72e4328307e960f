"""One self-contained HTML page: no network, no fonts to fetch, every text escaped.

Names come from data: control characters, and those that turn the direction of writing, are shown as on a terminal, and
each name is isolated, so that one in Arabic or Hebrew leaves the figures beside it in their places.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

from markupsafe import Markup

from bigtopic.errors import MissingExtra, SettingError, require, warn
from bigtopic.evaluation.measuring import free_label
from bigtopic.report.contents import contents
from bigtopic.report.curve import curve_of
from bigtopic.report.summary import Summary
from bigtopic.storage.output_file import check_outside_stores, check_replaceable, write_output
from bigtopic.storage.place import Place
from bigtopic.support import cards
from bigtopic.wording import printable

__all__ = ["Page", "check_page", "explorer_page", "html_page", "write_html"]

MOST_TOPICS = 2000  # of a page
_TEMPLATES = Path(__file__).parent / "templates"


class Page(str):
    """A page of HTML as text, which notebooks show."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return cards.framed(self)


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
    summary : of more than 2000 topics, the page shows the largest
    title, subtitle : at the top of the page
    figures : further figures to show, {label: value}
    author_noun : what to call authors, in the plural
    """
    all_figures = {**_figures(summary), **(figures or {})}
    if len(summary.topics) > MOST_TOPICS:
        all_figures["topics"] += f", the {MOST_TOPICS:,} largest on this page"
        summary = summary.largest(MOST_TOPICS)
    try:
        bokeh = bokeh_scripts()
    except MissingExtra:
        bokeh = []
        warn("the page has no map and no chart, as Bokeh is not installed: pip install 'bigtopic[report]'")
    data, curve = in_script(contents(summary)), curve_of(summary.history)
    page = rendered(
        "page.html.j2",
        bokeh,
        ["topics.js", "page.js"],
        data=data,
        summary=summary,
        title=title,
        subtitle=subtitle,
        figures=all_figures,
        author_noun=author_noun,
        curve=curve,
        drawing=Inert("" if curve is None else curve.svg),
        orders={"share": "share", "number": "number", **dict(enumerate(summary.score_titles.values()))},
        columns=[own.column for own in summary.groups],
        editable=False,
        largest_share=max((topic.share or 0.0 for topic in summary.topics), default=0.0),
    )
    return Page(page)


def explorer_page() -> str:
    """The page of the explorer, which asks its server for everything it shows.

    Raises
    ------
    MissingExtra
        When Bokeh is not installed.
    """
    orders = {"share": "share", "number": "number"}
    own = {"orders": orders, "columns": [], "editable": True, "author_noun": "authors"}
    return rendered("explorer.html.j2", bokeh_scripts(), ["topics.js", "explorer.js"], **own)


class Inert(Markup):
    """Text that goes into a page as it is: a script, a style sheet or a drawing, never from data."""


def in_script(values: Any) -> Inert:
    """Values as JSON for a script element, which no text in them can end, nor turn the direction of writing."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return Inert(_UNSAFE.sub(lambda found: "".join(_escaped(c) for c in found[0]), text))


_UNSAFE = re.compile("[^\x20-\x3b\x3d-\x7e]+")  # "<", and what may not be printable


def _escaped(character: str) -> str:
    return (
        character
        if character.isprintable() and character != "<"
        else json.dumps(character)[1:-1].replace("<", r"\u003c")
    )


def rendered(template: str, bokeh: Sequence[str], scripts: Sequence[str], **values: Any) -> str:
    """A page from a template, with BokehJS and these scripts in it.

    The page's content security policy allows these scripts alone, by their hashes.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.finalize = lambda value: (
        value if isinstance(value, Inert) else printable(value) if isinstance(value, str) else value
    )
    texts = [*bokeh, "\n".join((_TEMPLATES / name).read_text(encoding="utf-8") for name in scripts)]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    return environment.get_template(template).render(
        scripts=[Inert(text) for text in texts],
        with_bokeh=bool(bokeh),
        allowed_scripts=" ".join(f"'sha256-{digest}'" for digest in hashes),
        style=Inert((_TEMPLATES / "page.css").read_text(encoding="utf-8")),
        **values,
    )


def bokeh_scripts() -> list[str]:
    """BokehJS and its interface for scripts, as they go into a page.

    Raises
    ------
    MissingExtra
        When Bokeh is not installed.
    """
    folder = Path(require("bokeh", "report").__file__).parent / "server" / "static" / "js"
    texts = [(folder / f"{name}.min.js").read_text(encoding="utf-8") for name in ("bokeh", "bokeh-api")]
    return [text.replace("</script", r"<\/script") for text in texts]


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
        When `summary` is something else, there is no such setting, or the path cannot be one.
    StoreError
        When the path holds something else, is inside a store, or the system refuses to write.
    """
    if not isinstance(summary, Summary):
        raise SettingError(
            f"summary: {type(summary).__name__} is not one; make it with bigtopic.report.summarise(model, corpus)"
        )
    known = list(signature(html_page).parameters)[1:]
    if foreign := [name for name in settings if name not in known]:
        raise SettingError(
            f"{foreign[0]}: is not a setting of the page; its settings are: {', '.join(known)}"
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
