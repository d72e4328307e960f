"""The examples run."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = [EXAMPLES / "compare_methods.py"]
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def test_there_are_examples():
    assert NOTEBOOKS
    assert {path.name for path in EXAMPLES.glob("*.py")} == {path.name for path in SCRIPTS} | {
        "label_topics.py"
    }


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script_runs(script, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [script.name, "logging", "json"])
    runpy.run_path(str(script), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("online-cvb0") for line in lines)
    (places,) = {
        (line.index("±"), len(line)) for line in lines if "±" in line
    }  # columns begin and end in one place
    assert [len(line) for line in lines if line.endswith("seconds")] == [places[1]]


@pytest.mark.filterwarnings("default")  # those of Jupyter; the notebook's own go to its kernel
@pytest.mark.parametrize(
    "notebook",
    [
        pytest.param(path, marks=[pytest.mark.slow] if path.name != "topics.ipynb" else [])
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.name,
)
def test_notebook_runs(notebook, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.read(notebook, as_version=4)
    assert not any(cell.get("outputs") for cell in book.cells), "commit notebooks without their outputs"
    NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    assert any(output.get("data", {}).get("image/png") for output in outputs)
    assert not [output for output in outputs if "tqdm" in output.get("text", "")]  # it misses widgets


def test_the_notebook_ends_with_the_page():
    import nbformat

    book = nbformat.read(EXAMPLES / "topics.ipynb", as_version=4)
    assert "html_page(" in book.cells[-1].source.splitlines()[-1]
