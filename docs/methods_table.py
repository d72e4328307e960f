"""Write the tables of methods into README.md and docs/learning.md, between the marks.

python docs/methods_table.py
"""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any

import bigtopic as bt

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "learning.md")
MARKS = re.compile(r"(<!-- (few|methods|settings) -->\n).*?(\n<!-- /\2 -->)", re.DOTALL)
FEW = ("online-cvb0", "vb", "online-vb", "online-ope", "cgs", "sgs", "lds")
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
    """`bigtopic.methods()` in Markdown: the few of the README, or by family what there is, or all settings."""
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


def filled(page: str) -> str:
    """The page with the tables of now between their marks."""
    return MARKS.sub(lambda match: match[1] + table(match[2]) + match[3], page)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
