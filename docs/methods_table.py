"""Write the table of methods into README.md and docs/learning.md, between the marks.

python docs/methods_table.py
"""

from __future__ import annotations

import re
from pathlib import Path

import bigtopic as bt

ROOT = Path(__file__).parents[1]
PAGES = {ROOT / "README.md": False, ROOT / "docs" / "learning.md": True}
MARKS = re.compile(r"(<!-- methods -->\n).*?(\n<!-- /methods -->)", re.DOTALL)
TITLES = {
    "method": "method",
    "kernel": "kernel",
    "scheme": "scheme",
    "batch_size": "documents per update",
    "max_iter": "passes",
    "summary": "what it does",
    "paper": "paper",
}


def table(details: bool) -> str:
    """`bigtopic.methods()` in Markdown, with or without the settings of the schemes and the papers."""
    columns = [column for column in TITLES if details or column != "paper"]
    rows = [[_cell(column, row[column], details) for column in columns] for row in bt.methods()]
    lines = [[TITLES[column] for column in columns], ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(column: str, value: object, details: bool) -> str:
    if column == "scheme":
        names = re.findall(r"\w+\([^)]*\)" if details else r"\w+(?=\()", str(value))
        return ", ".join(f"`{name}`" for name in names)
    text = str(value).replace("|", "\\|")
    return f"`{text}`" if column in ("method", "kernel") else text


def filled(page: str, details: bool) -> str:
    """The page with the table of now between its marks."""
    return MARKS.sub(lambda match: match[1] + table(details) + match[2], page)


if __name__ == "__main__":
    for path, details in PAGES.items():
        path.write_text(filled(path.read_text(encoding="utf-8"), details), encoding="utf-8")
