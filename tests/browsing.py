"""A real browser for the tests of pages: what a page asks of the network and says on its console is kept and judged."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LEVEL_AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@contextmanager
def started() -> Iterator[Any]:
    """Chromium, without a window. Without it a test is skipped; with CI=true it fails."""
    if CHROMIUM is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no Chromium: install the distribution's package")
        pytest.skip("needs Chromium, such as of the distribution's package chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A tab of the browser.

    Attributes
    ----------
    page : of Playwright
    faults : errors on the console, exceptions, and requests that left the machine
    """

    def __init__(self, page: Any, own: str = "") -> None:
        self.page, self.faults = page, list[str]()
        self._own = own
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("request", lambda request: self._asked(request.url))

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.faults.append(f"{kind}: {text}")

    def _asked(self, url: str) -> None:
        if not url.startswith(("file:", "data:", "blob:", "about:", self._own or "file:")):
            self.faults.append(f"request: {url}")

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements, as they are seen."""
        return [text.strip() for text in self.page.locator(selector).all_inner_texts()]

    def violations(self) -> list[str]:
        """What breaks level AA of the accessibility guidelines."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page, options={"runOnly": LEVEL_AA}).response["violations"]
        return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]
