"""Files on the pages pass the tests that these pages promise, and fail no list, in a copy of the package."""

import os
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
PROMISED = {
    "plot": ("tests/plots/test_plots.py", "tests/cli/test_plot.py"),
    "measure": ("tests/evaluation/test_measures.py",),
}
LISTS = (
    "docs/test_generated.py test_public_face.py methods",
    "kernels/test_expected_logs.py schemes/test_schedules.py state/test_schemes_that_fit.py",
    "inference/test_choice.py integration/test_whole_minibatches.py learning/test_choice.py",
    "conformance/test_kernels.py conformance/test_precision.py conformance/test_bits.py",
    "conformance/test_permutations.py conformance/test_schemes.py state/test_running_mean.py",
    "conformance/test_methods.py cli/test_verbs.py plots evaluation/test_measures.py",
    "corpus/test_reading_is_linear.py recognition/test_clean_files.py",
)
VERB = SimpleNamespace(
    title="bigtopic/cli/hello.py",
    code='''
"""`bigtopic hello`."""

import click


@click.command("hello", short_help="Greet.")
def command():
    """Greet.

    \\b
    Example:
        bigtopic hello
    """
    click.echo("hello")
'''.lstrip(),
)


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


def copy_with(blocks, folder):
    """A copy of the package, its tests and pages in a folder, with files of pages in the package."""
    link(ROOT / "bigtopic", folder / "bigtopic", {folder / block.title for block in blocks})
    for name in ("tests", "docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, copy_function=os.symlink)
    for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder)
    for block in blocks:
        (folder / block.title).write_text(block.code + "\n", encoding="utf-8")


def run_tests(folder, *chosen):
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "member",
    [pytest.param(name, marks=[pytest.mark.slow] if number else []) for number, name in enumerate(PROMISED)],
)
def test_the_files_of_a_page_pass_the_tests_that_it_names(member, tmp_path):
    page = ROOT / "docs" / "extend" / f"{member}.md"
    assert all(test in page.read_text(encoding="utf-8") for test in PROMISED[member])
    blocks = files_of(page)
    copy_with(blocks, tmp_path)
    of_these = " or ".join(Path(block.title).stem.replace("_", "-") for block in blocks)
    chosen = f"({of_these} or mistakes or help or names_and_settings or bits_of_each) and not dask"
    run_tests(tmp_path, "-k", chosen, *PROMISED[member])


@pytest.mark.slow
@pytest.mark.parametrize("tests", LISTS)
def test_new_files_fail_no_list_in_the_tests(tests, tmp_path):
    """A kernel, a scheme, a model, measures, a plot, a format, an executor and a verb that no list has heard of."""
    pages = sorted((ROOT / "docs" / "extend").glob("*.md"))
    blocks = [VERB, *(block for page in pages for block in files_of(page))]
    copy_with(blocks, tmp_path)
    run_tests(tmp_path, *(f"tests/{name}" for name in tests.split()))
