"""Write the table of methods into README.md and docs/learning.md, between the marks.

    python docs/methods_table.py
"""

from __future__ import annotations

import re
from pathlib import Path

import bigtopic as bt

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "learning.md")
MARKS = re.compile(r"(<!-- methods -->\n).*?(\n<!-- /methods -->)", re.DOTALL)


def table() -> str:
    """`bigtopic.methods()` in Markdown."""
    columns = ("method", "kernel", "scheme", "batch_size", "max_iter", "summary", "paper")
    titles = ("method", "kernel", "scheme", "documents per update", "passes", "what it does", "paper")
    rows = [[_cell(column, row[column]) for column in columns] for row in bt.methods()]
    lines = [titles, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(column: str, value: object) -> str:
    if column == "scheme":
        return ", ".join(f"`{part}`" for part in re.findall(r"\w+\([^)]*\)", str(value)))
    text = str(value).replace("|", "\\|")
    return f"`{text}`" if column in ("method", "kernel") else text


def filled(page: str) -> str:
    """The page with the table of now between its marks."""
    return MARKS.sub(lambda match: match[1] + table() + match[2], page)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
