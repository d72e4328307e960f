"""One method in full: what its row of the table says, all its settings, notes on its papers, and these as BibTeX."""

from __future__ import annotations

from html import escape
from textwrap import wrap
from typing import Any

from bigtopic.methods.method import Method
from bigtopic.methods.notes import NOTES, bibtex_of
from bigtopic.methods.settings import settings_of

__all__ = ["WIDTH", "MethodDetails", "details_of", "wrapped"]

WIDTH = 100  # characters of text
_SETTINGS = ("option", "default", "read", "symbol", "meaning")
_APART = ("settings", "notes", "bibtex")


class MethodDetails(dict[str, Any]):
    """A method by what there is to know of it; displayed as text, and as tables in notebooks.

    Beside the columns of `methods()` it has "slice_size", "inner" and "tol", see `Method`, where they are not the usual
    ones; "settings", see `bigtopic.methods.settings.settings_of`; "notes", a list of
    {"paper", "kind", "text"}; and "bibtex".
    """

    def __repr__(self) -> str:
        lines = [*wrapped(f"{self['method']}: {self['summary']}", WIDTH), ""]
        for name, value in self.items():
            if name not in (*_APART, "method", "summary") and value != "":
                lines += wrapped(f"{name}: {value}", WIDTH)
        lines += ["", "settings, as options={name: value}"]
        for row in self["settings"]:
            symbol = f"; in the paper {row['symbol']}" if row["symbol"] else ""
            lines += wrapped(f"  {row['option']} = {row['default']!r} ({row['read']}{symbol})", WIDTH)
            lines += [f"      {line}" for line in wrap(row["meaning"], WIDTH - 6, break_on_hyphens=False)]
        lines += ["", "choices and errata"] if self["notes"] else []
        for note in self["notes"]:
            lines += wrapped(f"  {note['kind']}, {note['paper']}: {note['text']}", WIDTH)
        return "\n".join([*lines, *(["", self["bibtex"]] if self["bibtex"] else [])])

    def _repr_html_(self) -> str:
        facts = [
            f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
            for name, value in self.items()
            if name not in _APART and value != ""
        ]
        head = "".join(f"<th>{name}</th>" for name in _SETTINGS)
        rows = [
            "<tr>" + "".join(f"<td>{escape(str(row[name]))}</td>" for name in _SETTINGS) + "</tr>"
            for row in self["settings"]
        ]
        notes = [
            f"<li>{note['kind']}, {escape(note['paper'])}: {escape(note['text'])}</li>"
            for note in self["notes"]
        ]
        return (
            f"<table>{''.join(facts)}</table><table><tr>{head}</tr>{''.join(rows)}</table><ul>{''.join(notes)}</ul>"
            f"<pre>{escape(self['bibtex'])}</pre>"
        )


def details_of(method: Method, row: dict[str, Any]) -> MethodDetails:
    """The method in full; `row` is its row of the table."""
    notes = [
        {"paper": note.paper, "kind": note.kind, "text": note.text}
        for note in NOTES
        if method.name in note.methods
    ]
    inner = "" if method.inner == 1 else str(method.inner)
    more = {"slice_size": method.slice_size or "", "inner": inner, "tol": method.tol or ""}
    return MethodDetails({**row, **more}, settings=settings_of(method), notes=notes, bibtex=bibtex_of(method))


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most this width, all but the first indented, as deep as the text and two more."""
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
