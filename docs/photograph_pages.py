"""Photographs of the page, the explorer and the page of `bigtopic demo`, with Chromium, in docs/images/.

python docs/photograph_pages.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bigtopic as bt

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
MODULES = ["asyncio", "email", "http", "json", "logging", "unittest", "xml", "dask", "numpy", "scipy"]


def documentation(folder: Path) -> tuple[Any, Any]:
    """Docstrings with their texts, and a model of them."""
    corpus = bt.ingest(
        bt.datasets.docstrings(MODULES), folder / "docs.zarr", stop_words="english", min_df=3, keep_text=True
    )
    return corpus, bt.LDA(40, random_state=0).fit(corpus)


def choose_a_document(page: Any) -> None:
    page.locator("#documents button").first.click()


def search(page: Any) -> None:
    page.locator("#search").fill("newton")
    page.locator("#found-documents button").first.click()


def photograph(browser: Any, address: str, name: str, act: Callable[[Any], None] | None = None) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1100})
    page.goto(address)
    page.wait_for_selector("#words button")
    if act is not None:
        act(page)
    page.wait_for_timeout(1000)  # charts are drawn
    page.screenshot(path=IMAGES / f"{name}.png")


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    import browsing

    with tempfile.TemporaryDirectory() as name, browsing.started() as browser:
        folder = Path(name)
        corpus, model = documentation(folder)
        page = bt.report.write_html(
            bt.report.summarise(model, corpus),
            folder / "page.html",
            title="Documentation",
            author_noun="modules",
        )
        photograph(browser, page.as_uri(), "page", choose_a_document)
        with model.explore(corpus, index=folder / "index", title="Documentation") as exploration:
            photograph(browser, exploration.url, "explorer", search)
        kept = folder / "demo"
        subprocess.run([sys.executable, "-m", "bigtopic", "demo", "--folder", kept], check=True)
        (demo,) = kept.glob("*.html")
        photograph(browser, demo.as_uri(), "demo")


if __name__ == "__main__":
    main()
