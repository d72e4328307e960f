"""What every benchmark does with its figures: a table on the screen, a line of JSON in a file, a table on the page.

python tests/benchmarks/results.py FILE      write the tables in FILE into the pages of docs/, between their marks
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

PAGES = Path(__file__).parents[2] / "docs"
MARKS = re.compile(r"(<!-- figures: (\S+) -->\n).*?(<!-- /figures -->)", re.DOTALL)


def add_option(parser: argparse.ArgumentParser) -> None:
    """The option --json."""
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="append the figures to FILE, one object a line"
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells as Markdown, the first of them the head; columns that hold figures are aligned to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    right = [i > 0 for i in range(len(widths))]
    lines = [_line(row, widths, right) for row in rows]
    rule = [("-" * (w + 1) + ":" if r else "-" * (w + 2)) for w, r in zip(widths, right, strict=True)]
    return "\n".join([lines[0], "|" + "|".join(rule) + "|", *lines[1:]])


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells = [cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right, strict=True)]
    return "| " + " | ".join(cells) + " |"


def report(
    given: argparse.Namespace, name: str, caption: str, rows: Any, figures: Any, picture: str | None = None
) -> None:
    """Print a table, and append it with all its figures to the file of --json.

    Parameters
    ----------
    given : the parsed arguments
    name : of the table's marks on the page
    caption : one line: what was measured, under which settings
    rows : see `table`
    figures : everything that was measured, as JSON can hold it
    picture : a file below docs/ that shows them
    """
    text = table(rows)
    print(f"\n{caption}\n\n{text}", flush=True)
    if given.json:
        settings = {key: str(value) for key, value in vars(given).items() if key != "json"}
        record = {
            "name": name, "caption": caption, "table": text, "picture": picture, "figures": figures,
            "settings": settings,
            "command": " ".join(sys.argv), "measured": now(), "machine": machine(),
        }  # fmt: skip
        with given.json.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def now() -> str:
    """Local date and time, to the minute."""
    return datetime.now().isoformat(" ", "minutes")


def machine() -> dict[str, Any]:
    """What a figure depends on."""
    packages = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {
        "processor": _processor(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        **packages,
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*: (.*)", path.read_text()) if path.exists() else None
    return found[1] if found else platform.processor()


def figure(value: float, digits: int = 2) -> str:
    """A number with so many significant digits, thousands separated: 0.035, 1.3, 4,600."""
    if not np.isfinite(value):
        return "–"
    decimals = digits - 1 - int(np.floor(np.log10(abs(value)))) if value else 0
    return f"{round(value, decimals):,.{max(0, decimals)}f}"


def with_spread(values: Sequence[float], digits: int = 2) -> str:
    """Median (lower quartile – upper quartile)."""
    low, middle, high = np.quantile(np.asarray(values, float), [0.25, 0.5, 0.75])
    return f"{figure(middle, digits)} ({figure(low, digits)} – {figure(high, digits)})"


def fill(page: str, records: Sequence[dict[str, Any]], up: str = "") -> str:
    """The page with the last record of each name between its marks; what has no record stays as it is.

    `up` leads from the folder of the page to docs/, as "../" does.
    """
    last = {record["name"]: record for record in records}
    return MARKS.sub(
        lambda match: match[1] + _shown(last[match[2]], up) + match[3] if match[2] in last else match[0], page
    )


def _shown(record: dict[str, Any], up: str) -> str:
    picture = f"![{record['caption']}]({up}{record['picture']})\n\n" if record["picture"] else ""
    return f"{record['caption']}\n\n{picture}{record['table']}\n"


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    for page in PAGES.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        if MARKS.search(text):
            up = "../" * (len(page.relative_to(PAGES).parts) - 1)
            page.write_text(fill(text, records, up), encoding="utf-8")
