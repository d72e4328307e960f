"""Files on the pages on plots and measures pass the tests that these pages promise, in a copy of the package."""

import os
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMISED = {
    "plot": ("tests/plots/test_plots.py", "tests/cli/test_plot.py"),
    "measure": ("tests/evaluation/test_measures.py",),
}


def files_of(page):
    """The blocks of a page that are files of the package."""
    spec = spec_from_file_location("pages", Path(__file__).with_name("test_pages.py"))
    pages = module_from_spec(spec)
    spec.loader.exec_module(pages)
    return [block for block in pages.blocks_of(page, "python") if block.title]


@pytest.mark.parametrize("member", PROMISED)
def test_the_files_of_a_page_pass_the_tests_that_it_names(member, tmp_path):
    page = ROOT / "docs" / "extend" / f"{member}.md"
    assert all(test in page.read_text(encoding="utf-8") for test in PROMISED[member])
    for folder in ("bigtopic", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, copy_function=os.symlink)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    blocks = files_of(page)
    for block in blocks:
        (tmp_path / block.title).write_text(block.code + "\n", encoding="utf-8")
    of_these = " or ".join(Path(block.title).stem.replace("_", "-") for block in blocks)
    chosen = f"({of_these} or mistakes or help or names_and_settings or bits_of_each) and not dask"
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *PROMISED[member]]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
