"""What scripts in docs/ generate is what is committed."""

import runpy
from pathlib import Path

import pytest

from bigtopic import methods

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("script", "picture"), [("draw_round", "round"), ("draw_flow", "data-flow")])
def test_picture_is_that_of_the_script(script, picture):
    drawn = runpy.run_path(str(ROOT / "docs" / f"{script}.py"))["svg"]()
    assert (ROOT / "docs" / "images" / f"{picture}.svg").read_text(encoding="utf-8") == drawn


@pytest.mark.parametrize("page", ["README.md", "docs/learning.md"])
def test_table_of_methods_is_that_of_the_code(page):
    script = runpy.run_path(str(ROOT / "docs" / "methods_table.py"))
    text = (ROOT / page).read_text(encoding="utf-8")
    assert script["filled"](text) == text
    for row in methods():
        assert f"| `{row['method']}` |" in text
