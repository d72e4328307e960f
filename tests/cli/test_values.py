"""Functions named on the command line, and what a shell completes."""

import json
import sys

import pytest
from click.shell_completion import ShellComplete

from bigtopic.cli import main
from bigtopic.corpus.store import open_corpus

from .conftest import run

FILTERS = """
def stem(word):
    return None if word == "bird" else word.rstrip("s")

class Of:
    stem = staticmethod(stem)

number = 3
"""


@pytest.fixture
def stems(tmp_path, monkeypatch):
    """A folder to work in, with a module of filters."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "filters_of_this_test.py").write_text(FILTERS)
    (tmp_path / "pets.txt").write_text("cats dogs\ncat bird\n" * 10)
    return "filters_of_this_test:stem"


def test_a_filter_of_tokens_is_imported_where_the_user_says(stems):
    run("ingest", "pets.txt", "c.zarr", "--token-filter", stems)
    assert sorted(open_corpus("c.zarr").vocabulary) == ["cat", "dog"]
    run("train", "c.zarr", "m.zarr", "--topics", 2, "--passes", 1)
    refused = run("infer", "m.zarr", "pets.txt", "-", code=2).output
    assert f"tokenised with --token-filter {stems}" in refused and "functions are not stored" in refused
    run("infer", "m.zarr", "pets.txt", "same.zarr", "--token-filter", stems.replace(":", ":Of."))
    other = run("infer", "m.zarr", "pets.txt", "-", "--token-filter", "builtins:str", code=2).output
    assert f"--token-filter builtins:str: the texts of the model were tokenised with {stems}" in other
    counted = run("infer", "m.zarr", "c.zarr", "-", "--token-filter", stems, code=2).output
    assert "--token-filter: c.zarr is a corpus, whose words are counted already" in counted
    run("infer", "m.zarr", "c.zarr", "theta.zarr")
    for name in ("same.zarr", "theta.zarr"):
        assert json.loads(run("info", name, "--json").output)["documents"] == 20


def test_a_filter_that_the_model_does_not_have_is_refused(stems):
    run("ingest", "pets.txt", "c.zarr")
    run("train", "c.zarr", "m.zarr", "--topics", 2, "--passes", 1)
    shown = run("infer", "m.zarr", "pets.txt", "-", "--token-filter", stems, code=2).output
    assert "--token-filter: the texts of the model were tokenised without one" in shown


@pytest.mark.parametrize(
    "value, said",
    [
        ("stem", "write it as package.module:function"),
        ("no_such_module_here:stem", "cannot be imported: No module named 'no_such_module_here'"),
        (
            "filters_of_this_test:trunk",
            "cannot be imported: module 'filters_of_this_test' has no attribute 'trunk'",
        ),
        ("filters_of_this_test:number", "is a int, not a function"),
        (".filters_of_this_test:stem", "cannot be imported: "),
        ("fails_in_this_test:stem", "cannot be imported: division by zero"),
    ],
)
def test_what_is_no_function_is_refused(value, said, stems, tmp_path):
    (tmp_path / "fails_in_this_test.py").write_text("1 / 0")
    assert said in run("ingest", "pets.txt", "c.zarr", "--token-filter", value, code=2).output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell):
    assert "_BIGTOPIC_COMPLETE" in run("completion", shell).output


@pytest.mark.parametrize(
    "words, typed, offered",
    [
        ([], "tr", "train"),
        (["train"], "--held", "--held-out"),
        (["train", "--method"], "online-cv", "online-cvb0"),
        (["ingest", "--format"], "json", "json_lines"),
        (["plot"], "hist", "history"),
        (["sweep"], "--topi", "--topics"),
        (["evaluate", "--measure"], "left", "left-to-right"),
        (["task"], "it", "items"),
        (["intrusion"], "w", "write"),
        (["nonsense"], "", None),
    ],
)
def test_a_shell_completes(words, typed, offered):
    found = ShellComplete(main, {}, "bigtopic", "_BIGTOPIC_COMPLETE").get_completions(words, typed)
    assert offered in [item.value for item in found] or offered is None


def test_a_shell_completes_paths():
    (found,) = ShellComplete(main, {}, "bigtopic", "_BIGTOPIC_COMPLETE").get_completions(["info"], "art")
    assert found.type == "file"
