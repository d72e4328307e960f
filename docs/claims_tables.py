"""Write the tables of claims into docs/claims.md, between marks.

    python docs/claims_tables.py RESULTS

RESULTS has a folder for each script of examples/papers/, with the `claims.csv` that the script wrote.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

PAGE = Path(__file__).with_name("claims.md")


def table(path: Path) -> str:
    """The claims of one script, as Markdown."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    heads = [name for name in rows[0] if name != "seeds"]
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for row in rows:
        cells = (row[name].replace("|", "\\|") for name in heads)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def filled(page: str, results: Path) -> str:
    """The page with the tables of the scripts that have results."""
    for path in sorted(results.glob("*/claims.csv")):
        name = path.parent.name
        marks = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        page = re.sub(marks, lambda found, own=path: f"{found[1]}{table(own)}\n{found[2]}", page, flags=re.S)
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), Path(sys.argv[1])), encoding="utf-8")
