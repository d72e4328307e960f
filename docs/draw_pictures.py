"""Draw the pictures of docs/pictures.md: run its blocks, and save the `figure` of each that a picture follows.

`python docs/draw_pictures.py` writes them to docs/images, in a minute.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(
    r"^```python\n(.*?)^```$(?:\n\n!\[[^\]]*\]\((images/[\w.-]+)\))?", re.MULTILINE | re.DOTALL
)


def draw(page: Path) -> None:
    from bigtopic import plots

    namespace: dict[str, Any] = {"__name__": "__page__"}
    for code, picture in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(code, namespace)
        if picture:
            plots.save(namespace["figure"], DOCS / picture)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        draw(DOCS / "pictures.md")
