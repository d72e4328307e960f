"""Each face words arguments itself, and leaves what users typed as it is."""

from __future__ import annotations

import ast
import inspect
import json
import logging
import pickle
import re
from pathlib import Path

import click
import pytest

import bigtopic as bt
from bigtopic import errors, plots
from bigtopic.cli import main
from bigtopic.cli.support.parameters import connected
from bigtopic.errors import (
    BigtopicWarning,
    ModelError,
    SettingError,
    StoreError,
    argument,
    either,
    setting,
    worded,
)
from bigtopic.parallel import cluster

from .conftest import run

PACKAGE = Path(bt.__file__).parent
OPTIONS = {"n_components": "--topics", "overwrite": "--overwrite"}.get


@pytest.mark.parametrize(
    ("message", "python", "shell"),
    [
        (argument("n_components", 0), "n_components=0", "--topics 0"),
        (argument("n_components", "a b"), "n_components='a b'", "--topics 'a b'"),
        (argument("overwrite", True), "overwrite=True", "--overwrite"),
        (argument("n_components", None), "n_components=None", "--topics none"),
        (argument("n_components", ...), "n_components=", "--topics"),
        (argument("n_components"), "n_components", "--topics"),
        (argument("y", 3), "y=3", "y=3"),
        (either("in Python", "in a shell"), "in Python", "in a shell"),
        (setting("decay", 0.9), "options={'decay': 0.9}", "--option decay=0.9"),
        ("my n_components=5 run.zarr", "my n_components=5 run.zarr", "my n_components=5 run.zarr"),
        (argument("y", "\x02n_components\x1fn\x1f\x03"), r"y='\x02n_components\x1fn\x1f\x03'", None),
    ],
)
def test_each_face_has_its_words(message, python, shell):
    assert worded(message) == str(SettingError(message)) == str(BigtopicWarning(message)) == python
    assert worded(message, OPTIONS) == (python if shell is None else shell)


@pytest.mark.parametrize("kind", [SettingError, ModelError, StoreError])
def test_the_words_survive_another_process(kind):
    error = pickle.loads(pickle.dumps(kind(f"{argument('n_components', 0)}: must be 1 or more")))
    assert (
        str(error) == "n_components=0: must be 1 or more"
        and repr(error) == f"{kind.__name__}({str(error)!r})"
    )
    assert worded(error.message, OPTIONS) == "--topics 0: must be 1 or more"


@pytest.mark.parametrize(
    "path",
    ["my n_components run.zarr", "overwrite=True.zarr", "method: x.zarr", "client=False.zarr", "a, or None"],
)
@pytest.mark.parametrize(
    "verb", [["train", "PATH", "m.zarr"], ["topics", "PATH"], ["info", "PATH"], ["verify", "PATH"]]
)
def test_a_path_is_shown_as_it_was_typed(path, verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run(*[path if word == "PATH" else word for word in verb], code=2).output
    assert path in shown


def test_what_a_file_holds_is_shown_as_it_is(tmp_path):
    (tmp_path / "a.csv").write_text("batch_size,min_df\nx,y\n")
    shown = run("ingest", tmp_path / "a.csv", tmp_path / "c.zarr", "--text-column", "max_df", code=2).output
    assert "max_df" in shown and "batch_size" in shown and "--min-df" not in shown


@pytest.mark.parametrize(
    "table", ["user,word,rating\n1,2,3\n1,3,4\n2,2,1\n2,4,1\n", "doc,word,x\na,b,3\na,c,4\n"]
)
def test_columns_of_a_table_are_asked_for_by_options(table, tmp_path):
    (tmp_path / "a.csv").write_text(table)
    shown = run("ingest", tmp_path / "a.csv", tmp_path / "c.zarr", code=2).output
    assert "--document-column, --word-column and --count-column" in shown and "=" not in shown


PYTHON_ONLY = {"dirichlet.py"}  # a scheme whose `max_iter` is not the passes


OF_DEVELOPERS = {"contract", "families", "kernels", "methods", "schemes"}  # declarations of methods
IN_PYTHON_ALONE = {"y", "column", "callbacks", "ids", "only_new", "order"}  # no verb gives these


def options_of_verbs():
    context = click.Context(main)
    verbs = [main.get_command(context, name) for name in main.list_commands(context)]
    params = [param for verb in verbs for param in verb.get_params(click.Context(verb))]
    return {str(param.name) for param in params if isinstance(param, click.Option)}


def test_no_message_names_an_option_without_its_mark():
    """Otherwise the shell shows Python's name. Found: `name=` and names with an underscore in raised messages."""
    names = {name for name in options_of_verbs() if "_" in name} - {"n_words"}  # a shape's name, too
    unmarked = re.compile(rf"(?<![\w./'(]){'(?:' + '|'.join(sorted(names)) + ')'}(?![\w'\"])")
    found = []
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name in ("cli", "foreign") or path.name in PYTHON_ONLY:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = getattr(node, "func", None)
            name = getattr(called, "id", getattr(called, "attr", ""))
            if not isinstance(node, ast.Call) or not (name == "warn" or re.match("[A-Z]", name)):
                continue
            texts = [each for each in node.args[:1] * hasattr(errors, name) for each in unmarked_texts(each)]
            found += [f"{path}:{node.lineno}: {text}" for text in texts if unmarked.search(text)]
    assert found == []


def arguments_of_python():
    """What a message may ask for as "name=" in Python, which the shell spells otherwise."""
    functions = [
        bt.ingest,
        bt.append,
        bt.LDA,
        bt.LDA.fit,
        bt.LDA.update,
        bt.LDA.topics_over,
        bt.AuthorTopicModel.update,
    ]
    return {name for one in functions for name in inspect.signature(one).parameters} - IN_PYTHON_ALONE


def test_no_text_of_a_message_asks_for_an_argument_of_python():
    """Texts that reach messages by another way: constants of modules, and arguments of helpers. Calls that a text
    quotes, such as pandas.read_sas(..., format='xport'), are left as they are."""
    asked = re.compile(rf"(?<![\w./'`{{-])(?:{'|'.join(sorted(arguments_of_python()))})=")
    quoted_call = re.compile(r"[\w.]+\([^()]*\)|`[^`]*`")
    found = []
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name in {"cli", "foreign", *OF_DEVELOPERS} or "kernels" in path.parts:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in [*texts_of_users(tree)]:
            found += [f"{path}:{node.lineno}: {node.value}"] * bool(
                asked.search(quoted_call.sub("", node.value))
            )
    assert found == []


def texts_of_users(node):
    """The texts of a module without docstrings, and without what calls that word them for each face are given."""
    for part in ast.iter_child_nodes(node):
        called = getattr(part, "func", None)
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
            continue
        if isinstance(called, ast.Name) and called.id in ("argument", "either", "setting"):
            continue
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part
        yield from texts_of_users(part)


def unmarked_texts(message):
    """The texts of a message outside of calls, such as those that mark."""
    if isinstance(message, ast.Constant) and isinstance(message.value, str):
        yield message.value
    elif not isinstance(message, ast.Call):
        for part in ast.iter_child_nodes(message):
            yield from unmarked_texts(part)


@pytest.mark.parametrize("verb", ["ingest", "train"])
def test_more_threads_than_help_are_refused(verb, source, corpus, tmp_path):
    n = cluster.default_threads()
    given = source if verb == "ingest" else corpus
    shown = run(verb, given, tmp_path / "new.zarr", "--threads", 9999, code=2).output
    assert (
        f"9999 threads for {n} processor" in " ".join(shown.split()) and not (tmp_path / "new.zarr").exists()
    )
    run("ingest", source, tmp_path / "new.zarr", "--threads", n + 1)


@pytest.mark.filterwarnings("default")
def test_standard_input_is_not_called_by_its_copy(tmp_path, model):
    broken = b'id,text\n1,"x'
    for verb in (
        ["ingest", "-", tmp_path / "c.zarr", "--format", "csv"],
        ["ingest", "-", tmp_path / "c.zarr"],
    ):
        shown = run(*verb, stdin=broken if "--format" in verb else b"cat \xff\n", code=2).output
        assert "standard input" in shown and "bigtopic-" not in shown
    shown = run("infer", model, "-", "-", stdin=b"cat \xff\n", code=2).output
    assert "standard input" in shown and "bigtopic-" not in shown
    shown = run("authors", tmp_path / "none.zarr", "-", stdin=b"cat \xff\n", code=2).output
    assert "bigtopic-" not in shown


def test_the_log_of_a_dead_scheduler_is_not_shown(monkeypatch, caplog):
    class Client:
        def close(self):
            logging.getLogger("distributed.client").error("Traceback of a connection")

    monkeypatch.setattr(cluster, "resolve_client", lambda address: Client())
    with connected("tcp://127.0.0.1:1", None):
        logging.getLogger("distributed.comm").critical("Traceback of another")
    assert caplog.records == []
    with click.Context(main) as context:
        context.params["debug"] = True
        with connected("tcp://127.0.0.1:1", None):
            pass
    assert [record.message for record in caplog.records] == ["Traceback of a connection"]


def test_help_says_what_an_option_means_to_each_plot():
    shown = " ".join(run("plot", "--help").output.split())
    known = {name: plots.load(name).settings.get("n_top") for name in plots.names()}
    given = {name: setting for name, setting in known.items() if setting is not None}
    for attribute in ("default", "meaning"):
        texts = {name: str(getattr(setting, attribute)).rstrip(".") for name, setting in given.items()}
        assert len(set(texts.values())) > 1
        for text in texts.values():
            same = [name for name, own in texts.items() if own == text]
            assert f"{', '.join(same)}: {text}" in shown


def test_a_damaged_state_of_documents_is_named(corpus, tmp_path):
    typed = ["train", corpus, tmp_path / "m.zarr", "--topics", 2, "--passes", 1, "--method", "cgs"]
    typed += ["--checkpoint", tmp_path / "run.ckpt"]
    run(*typed)
    file = tmp_path / "run.ckpt" / "documents" / "zarr.json"
    for damage in (lambda: file.write_text('{"broken'), lambda: file.unlink()):
        damage()
        shown = " ".join(run(*typed, "--resume", code=2).output.split())
        assert f"{file} is missing or damaged: restore it from a copy, or begin the run again" in shown
    assert json.loads(run("info", tmp_path / "run.ckpt", "--json").output)["passes"] == 1


def test_the_settings_of_another_run_are_named_as_options(corpus, tmp_path):
    typed = ["train", corpus, tmp_path / "m.zarr", "--passes", 1, "--checkpoint", tmp_path / "run.ckpt"]
    run(*typed, "--topics", 2)
    shown = run(*typed, "--topics", 3, "--resume", "--overwrite", code=2).output
    assert "cannot be resumed: --topics was 2, is 3" in shown and "partial_fit" not in shown
