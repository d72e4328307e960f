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


def link(folder, copy, new):
    """A copy of a folder with room for new files; the folders that get none are links, with what is compiled there."""
    copy.mkdir()
    for child in folder.iterdir():
        if child.is_dir() and any(copy / child.name in file.parents for file in new):
            link(child, copy / child.name, new)
        elif child.name != "__pycache__":
            (copy / child.name).symlink_to(child)


@pytest.mark.parametrize("member", PROMISED)
def test_the_files_of_a_page_pass_the_tests_that_it_names(member, tmp_path):
    page = ROOT / "docs" / "extend" / f"{member}.md"
    assert all(test in page.read_text(encoding="utf-8") for test in PROMISED[member])
    blocks = files_of(page)
    link(ROOT / "bigtopic", tmp_path / "bigtopic", {tmp_path / block.title for block in blocks})
    shutil.copytree(ROOT / "tests", tmp_path / "tests", copy_function=os.symlink)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for block in blocks:
        (tmp_path / block.title).write_text(block.code + "\n", encoding="utf-8")
    of_these = " or ".join(Path(block.title).stem.replace("_", "-") for block in blocks)
    chosen = f"({of_these} or mistakes or help or names_and_settings or bits_of_each) and not dask"
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *PROMISED[member]]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
