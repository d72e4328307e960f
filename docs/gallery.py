"""The notebooks of examples/ as pages of the site, and the pictures of their gallery.

MkDocs calls `on_files` (mkdocs.yml, hooks). `python docs/gallery.py` executes the notebooks, in a minute, and writes
the first picture of each to docs/images/examples/.
"""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
PICTURES = ROOT / "docs" / "images" / "examples"


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the notebooks, which lie beside docs/, to the pages."""
    from mkdocs.structure.files import File

    for path in NOTEBOOKS:
        name = path.relative_to(ROOT).as_posix()
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


on_files.mkdocs_priority = 100  # before mkdocs-jupyter, which takes what is there


def picture(path: Path) -> bytes:
    """The first PNG that a notebook shows."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(book, timeout=300, resources={"metadata": {"path": folder}}).execute()
    outputs = (output.get("data", {}) for cell in book.cells for output in cell.get("outputs", ()))
    return base64.b64decode(next(data["image/png"] for data in outputs if "image/png" in data))


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for path in NOTEBOOKS:
        (PICTURES / f"{path.stem}.png").write_bytes(picture(path))
