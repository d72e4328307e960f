"""What a user mistyped is named as the user typed it, with the nearest name that exists."""

import errno
import re
import shutil
from contextlib import ExitStack

import pytest

import bigtopic as bt
from bigtopic.parallel import cluster
from bigtopic.storage.lock import WriterLock
from bigtopic.storage.place import Place

from .conftest import run


@pytest.fixture(scope="session")
def three(tmp_path_factory):
    """A corpus of three documents without authors."""
    folder = tmp_path_factory.mktemp("three")
    (folder / "a.txt").write_text("cats dogs\ncats\ndogs\n")
    run("ingest", folder / "a.txt", folder / "c.zarr")
    return folder / "c.zarr"


@pytest.mark.parametrize(
    "arguments, meant",
    [
        (["trian", "x"], "there is no verb 'trian'; did you mean 'train'?"),
        (["train", "CORPUS", "m.zarr", "--tpics", "3"], "--topics"),
        (["train", "CORPUS", "m.zarr", "--max-iter", "3"], "Did you mean '--passes'?"),
        (["train", "CORPUS", "m.zarr", "--n-components", "3"], "Did you mean '--topics'?"),
        (["info", "nothing.zarr"], "there is nothing at nothing.zarr; give the path of a"),
        (["ingest", "SOURCE"], "Missing argument 'CORPUS'"),
        (["train", "CORPUS", "m.zarr", "--method", "online-cbv0"], "did you mean 'online-cvb0'"),
        (["ingest", "SOURCE", "c.zarr", "--format", "jsonlines"], "did you mean 'json_lines'"),
        (["ingest", "SOURCE", "c.zarr", "--text-column", "txt"], "did you mean 'text'?"),
        (["plot", "histroy", "MODEL", "--out", "a.svg"], "did you mean 'history'?"),
    ],
)
def test_the_nearest_name_is_given(arguments, meant, source, corpus, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = {"CORPUS": corpus, "MODEL": model, "SOURCE": source}
    assert meant in run(*(paths.get(argument, argument) for argument in arguments), code=2).output


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["train", "CORPUS", "m.zarr", "--method", "vb", "--learning-decay", "2"], "--learning-decay"),
        (
            ["ingest", "SOURCE", "c.zarr", "--token-pattern", "(a)(b)"],
            "--token-pattern '(a)(b)' has 2 groups",
        ),
        (["ingest", "SOURCE", "c.zarr", "--ngrams", "3-2"], "--ngrams must be"),
        (["train", "CORPUS", "m.zarr", "--doc-topic-prior", "-1"], "--doc-topic-prior"),
        (
            ["train", "CORPUS", "m.zarr", "--held-out", "1.5"],
            "--held-out 1.5 of 200 documents: give a share between 0 and 1, or a number of documents from 1 to 199",
        ),
        (["train", "CORPUS", "m.zarr", "--held-out", "200"], "--held-out 200 of 200 documents: give a share"),
        (
            ["train", "THREE", "m.zarr", "--held-out", ".1"],
            "--held-out 0.1 of 3 documents is none: give a larger share, or a number of documents from 1 to 2",
        ),
        (
            ["train", "THREE", "m.zarr", "--held-out", ".9"],
            "--held-out 0.9 of 3 documents is all: give a smaller share,",
        ),
        (["train", "CORPUS", "m.zarr", "--patience", "2"], "--patience 2: scores need --held-out: held-out "),
        (
            ["train", "THREE", "m.zarr", "--method", "author-vb"],
            "pass --author-column to 'bigtopic ingest', or attach them with 'bigtopic authors'",
        ),
        (
            ["train", "CORPUS", "m.zarr", "--learning-decay", "3"],
            "--learning-decay 3.0: must be above 0 and at most 1 (above 0.5 to converge)\n",
        ),
        (["similar", "MODEL", "CORPUS", "d1"], "write one with 'bigtopic infer MODEL DOCUMENTS THETA'\n"),
        (["infer", "MODEL", "CORPUS", "t.zarr", "--top-k", "0"], "--top-k 0: must be 1 or more\n"),
        (
            ["ingest", "SOURCE", "c.zarr", "--stop-words", "elvish"],
            "a file with one word per line, or 'none'\n",
        ),
        (
            ["ingest", "SOURCE", "c.zarr", "--collocations", "3"],
            "Error: --collocations must be a threshold in [-1, 1]",
        ),
        (["train", "CORPUS", "m.zarr", "--checkpoint-every", "5m"], "--checkpoint-every needs --checkpoint,"),
        (["train", "CORPUS", "m.zarr", "--replica-updates", "4"], "--replica-updates needs --replicas,"),
    ],
)
def test_messages_name_the_options(arguments, said, source, corpus, model, three, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    paths = {"CORPUS": corpus, "SOURCE": source, "MODEL": model, "THREE": three}
    shown = run(*(paths.get(argument, argument) for argument in arguments), code=2).output
    assert said in shown and "_" not in shown.replace(str(tmp_path), "").replace(str(source), "")


def test_a_corpus_is_not_a_source(corpus, tmp_path):
    shown = run("ingest", corpus, tmp_path / "c.zarr", code=2).output
    assert (
        f"{corpus} is already a corpus; give it to the other verbs as it is. In Python, to store some"
        in shown
    )


@pytest.mark.filterwarnings("default")
def test_warnings_name_the_options(corpus, tmp_path):
    (tmp_path / "a.txt").write_text("the cat is on a mat and the dog is in the garden\n" * 20)
    run("ingest", tmp_path / "a.txt", tmp_path / "c.zarr", "--stop-words", "none")
    asked = ("--topics", 2, "--passes", 1, "--learning-decay", 0.4)
    said = run("train", tmp_path / "c.zarr", tmp_path / "m.zarr", *asked).stderr
    assert "Warning: --learning-decay 0.4: convergence is not guaranteed" in said
    assert "dominate the topics; pass --stop-words english to 'bigtopic ingest'\n" in said


def test_an_interrupted_verb_ends_with_130(monkeypatch, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("bigtopic.corpus.store.open_corpus", interrupted)
    assert run("info", tmp_path, code=130).output == "Interrupted\n"


def test_a_value_in_a_file_of_options_is_named_with_the_file(corpus, tmp_path):
    file = tmp_path / "options.toml"
    file.write_text('topics = "many"\n')
    shown = run("train", corpus, tmp_path / "m.zarr", "--config", file, code=2).output
    assert f"Invalid value for '--topics' in {file}: 'many' is not" in " ".join(shown.split())
    shown = run("train", corpus, tmp_path / "m.zarr", "--config", file, "--topics", "few", code=2).output
    assert "Invalid value for '--topics': 'few' is not" in " ".join(shown.split())
    file.write_text('method = "online-cbv0"\n')
    shown = run("train", corpus, tmp_path / "m.zarr", "--config", file, code=2).output
    assert f"Error: {file}: --method online-cbv0" in " ".join(shown.split())
    shown = run("train", corpus, tmp_path / "m.zarr", "--config", file, "--method", "x", code=2).output
    assert "Error: --method x" in " ".join(shown.split())


def test_a_scheduler_that_does_not_answer_is_named_as_typed(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    address = "tcp://127.0.0.2:1"
    shown = run("train", corpus, tmp_path / "m.zarr", "--scheduler", address, code=2).output
    assert f"--scheduler {address}: no Dask scheduler answers there" in shown
    assert "or leave out --scheduler to run on threads" in shown and "client" not in shown


@pytest.mark.parametrize("value", ["x", "x..2", "2000.5"])
def test_a_condition_that_no_value_meets_is_named_as_typed(value, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "river bank boat", "year": 2000}\n' * 3)
    run("ingest", tmp_path / "a.jsonl", tmp_path / "c.zarr")
    run("train", tmp_path / "c.zarr", tmp_path / "m.zarr", "--topics", 2)
    options = ["--corpus", tmp_path / "c.zarr", "--by", "year", "--where", f"year={value}"]
    shown = run("topics", tmp_path / "m.zarr", *options, code=2).output
    assert f"--where year={value.partition('..')[0]}: column 'year' holds" in shown and "select" not in shown


@pytest.mark.parametrize(
    "damage, problem",
    [
        ("locked", "topics.zarr is being written by process"),
        ("denied", ".bigtopic.lock cannot be locked: permission denied; .* or give another path"),
    ],
)
def test_a_model_that_cannot_be_replaced_is_named_before_training(
    tmp_path, corpus, model, monkeypatch, damage, problem
):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    def learn(*_, **__):
        raise AssertionError("it learns")

    path = shutil.copytree(model, tmp_path / "topics.zarr")
    before = sorted(path.rglob("*"))
    monkeypatch.setattr(bt.LDA, "fit", learn)
    with ExitStack() as held:
        if damage == "locked":
            held.enter_context(WriterLock(Place.of(path)))
        else:
            monkeypatch.setattr(WriterLock, "_opened", refuse)
        shown = run("train", corpus, path, "--overwrite", code=2).output
    assert re.search(problem, " ".join(shown.split()))
    assert sorted(path.rglob("*")) == before
