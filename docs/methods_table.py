"""Write the tables of methods into README.md and docs/learning.md, between the marks.

python docs/methods_table.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import bigtopic as bt

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "learning.md")
MARKS = re.compile(r"(<!-- (methods|settings) -->\n).*?(\n<!-- /\2 -->)", re.DOTALL)
TABLES = {
    "methods": {
        "method": "method",
        "kernel": "kernel",
        "scheme": "scheme",
        "batch_size": "documents per update",
        "max_iter": "passes",
        "summary": "what it does",
    },
    "settings": {"method": "method", "settings": "settings of its scheme", "paper": "paper"},
}


def table(name: str) -> str:
    """`bigtopic.methods()` in Markdown: what there is ("methods"), or the schemes' settings and papers ("settings")."""
    titles = TABLES[name]
    rows = [[_cell(column, row) for column in titles] for row in bt.methods()]
    return "\n".join(
        "| " + " | ".join(line) + " |" for line in [titles.values(), ["---"] * len(titles), *rows]
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
