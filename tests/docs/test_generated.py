"""What scripts in docs/ generate is what is committed."""

import re
import runpy
from pathlib import Path

import pytest

from bigtopic import methods

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("script", "picture"), [("draw_round", "round"), ("draw_flow", "data-flow")])
def test_picture_is_that_of_the_script(script, picture):
    drawn = runpy.run_path(str(ROOT / "docs" / f"{script}.py"))["svg"]()
    assert (ROOT / "docs" / "images" / f"{picture}.svg").read_text(encoding="utf-8") == drawn


def test_tables_of_methods_are_those_of_the_code():
    script = runpy.run_path(str(ROOT / "docs" / "methods_table.py"))
    for page in script["PAGES"]:
        text = page.read_text(encoding="utf-8")
        assert script["filled"](text) == text, f"{page.name} is old; run python docs/methods_table.py"
        assert all(f"| `{row['method']}` |" in text for row in methods())


def test_every_benchmark_has_a_section():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    names = runpy.run_path(str(ROOT / "tests" / "benchmarks" / "__main__.py"))["names"]()
    assert sorted(re.findall(r"^## `(.*)`$", page, re.MULTILINE)) == names
