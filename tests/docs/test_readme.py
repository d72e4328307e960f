"""The README's shape: two commands for a fresh machine, and links that lead somewhere."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_there_are_two_commands_the_demonstration_and_the_tests():
    first, second = re.findall(r"^```sh\n(.*?)\n```$", TEXT, re.MULTILINE | re.DOTALL)
    assert first.endswith("bigtopic demo") and second.endswith(
        " -m pytest -n logical --maxprocesses 4 --dist worksteal"
    )
    assert "\n" not in first + second


def test_links_and_pictures_are_there():
    targets = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert len(targets) > 10
    missing = [target for target in targets if "://" not in target and not (ROOT / target).exists()]
    assert not missing


def test_every_page_on_adding_a_part_is_linked():
    pages = [f"extend/{page.name}" for page in (ROOT / "docs" / "extend").glob("*.md")]
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert not [page for page in pages if f"](docs/{page})" not in TEXT or f"]({page})" not in index]


def test_what_ci_runs_is_executable():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
