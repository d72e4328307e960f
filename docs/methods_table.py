"""Write the tables of methods, of their settings, of notes on papers and of signatures into the pages, between marks.

python docs/methods_table.py
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any

import bigtopic as bt
from bigtopic import kernels, schemes
from bigtopic.methods.notes import NOTES
from bigtopic.methods.settings import symbol_in, without_symbol

ROOT = Path(__file__).parents[1]
PAGES = tuple(
    ROOT / page
    for page in (
        "README.md",
        "docs/formats.md",
        "docs/papers.md",
        "docs/reference/settings.md",
        "docs/learning.md",
    )
)
MARKS = re.compile(r"(<!-- ([\w-]+) -->\n).*?(\n<!-- /\2 -->)", re.DOTALL)
FEW = ("auto", "online-cvb0", "vb", "online-vb", "online-ope", "cgs", "sgs", "lds")
TABLES = {
    "few": {"method": "method", "summary": "what it does", "use": "when to use it"},
    "methods": {
        "method": "method",
        "kernel": "kernel",
        "summary": "what it does",
        "use": "when to use it",
        "complexity": "cost of a document",
    },
    "settings": {
        "method": "method",
        "scheme": "scheme",
        "settings": "its settings",
        "batch_size": "documents per update",
        "max_iter": "passes",
        "doc_topic_prior": "document-topic prior",
        "topic_word_prior": "topic-word prior",
        "paper": "paper",
        "aliases": "names in papers",
    },
}


def table(name: str) -> str:
    """`bigtopic.methods()` in Markdown: the few of the README, or by family what there is, or all settings; or one of
    `OTHERS`."""
    if name in OTHERS:
        return OTHERS[name]()
    rows = bt.methods()
    if name == "few":
        return _lines(TABLES[name], [row for few in FEW for row in rows if row["method"] == few])
    families = groupby(rows, key=lambda row: row["family"])
    return "\n\n".join(
        f"**{family.capitalize()}**\n\n{_lines(TABLES[name], list(own))}" for family, own in families
    )


def _lines(titles: dict[str, str], rows: list[dict[str, Any]]) -> str:
    cells = [[_cell(column, row) for column in titles] for row in rows]
    return "\n".join(
        "| " + " | ".join(line) + " |" for line in [titles.values(), ["---"] * len(titles), *cells]
    )


def _cell(column: str, row: dict[str, Any]) -> str:
    scheme = str(row["scheme"])
    if column == "scheme":
        return ", ".join(f"`{name}`" for name in re.findall(r"\w+(?=\()", scheme))
    if column == "settings":
        return ", ".join(f"`{setting}`" for setting in re.findall(r"\w+=[^,)]+", scheme))
    text = str(row[column]).replace("|", "\\|")
    return f"`{text}`" if column in ("method", "kernel") else text


def of_kernels() -> str:
    """The options of all kernels."""
    rows = []
    for kernel in map(kernels.load, kernels.names()):
        rows += [_described(kernel.name, *pair, kernel.meanings[pair[0]]) for pair in kernel.options.items()]
    return _grid(("kernel", "option", "default", "symbol", "meaning"), rows)


def of_schemes() -> str:
    """The settings of all schemes."""
    rows = []
    for scheme in map(schemes.load, schemes.names()):
        meanings = schemes.meanings(scheme)
        rows += [
            _described(scheme.__name__, *pair, meanings[pair[0]])
            for pair in schemes.options(scheme()).items()
        ]
    return _grid(("scheme", "setting", "default", "symbol", "meaning"), rows)


def of_methods() -> str:
    """What reads the settings of each method, and which values it has of its own."""
    rows = []
    for name in bt.methods.names():
        method = bt.methods.get(name)
        rows.append(_phase(f"`{name}`", method))
        rows += [
            _phase(f"`{name}`, phase `{phase.phase}`", phase, f"{phase.phase}.") for phase in method.then
        ]
    titles = ("method", "kernel that learns", "kernel that infers documents", "schemes", "values of its own")
    return _grid(titles, rows)


def _phase(title: str, method: bt.Method, start: str = "") -> tuple[str, ...]:
    """A row of `of_methods`; names of its own values begin with `start`."""
    learns, infers = method.load_kernel(), method.load_inference()
    moves = [f"`{array}`: `{type(scheme).__name__}`" for array, scheme in method.schemes.items()]
    own = dict(method.options)
    for array, scheme in method.schemes.items():
        usual = schemes.options(type(scheme)())
        changed = {name: value for name, value in schemes.options(scheme).items() if value != usual[name]}
        own |= {f"{array}.{name}": value for name, value in changed.items()}
    if start:  # the page has those of the first phase in columns of another table
        own |= {
            name: getattr(method, name) for name in ("max_iter", "average", "enough_tokens", "enough_length")
        }
    values = ", ".join(f"`{start}{name}={value!r}`" for name, value in own.items())
    return title, f"`{learns.name}`", f"`{infers.name}`", ", ".join(moves), values


def of_papers() -> str:
    """The notes by paper."""
    lines = []
    for paper in sorted({note.paper for note in NOTES}):
        lines.append(f"## {paper}\n")
        for note in (note for note in NOTES if note.paper == paper):
            methods = ", ".join(f"`{name}`" for name in note.methods)
            lines.append(f"* *{note.kind.capitalize()}*, {methods}: {note.text}")
        lines.append("")
    return "\n".join(lines).rstrip()


def of_signatures() -> str:
    """The formats that are refused, and what to do."""
    from bigtopic.corpus.readers.signatures import SIGNATURES
    from bigtopic.errors import worded

    rows = [
        (row.what, worded(row.remedy), f"`{row.command}`" if row.command else "", "" if row.always else "yes")
        for row in SIGNATURES
    ]
    return _grid(("a file that begins like", "what to do", "with", "`format=` reads it as it is"), rows)


OTHERS = {
    "kernels": of_kernels,
    "schemes": of_schemes,
    "of-methods": of_methods,
    "papers": of_papers,
    "signatures": of_signatures,
}


def _described(owner: str, name: str, default: Any, meaning: str) -> tuple[str, ...]:
    return f"`{owner}`", f"`{name}`", f"`{default!r}`", symbol_in(meaning), without_symbol(meaning)


def _grid(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [titles, ("---",) * len(titles), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def filled(page: str) -> str:
    """The page with the tables of now between their marks."""
    return MARKS.sub(lambda match: match[1] + table(match[2]) + match[3], page)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
