"""`bigtopic train --follow`: every document of a source that grows is learned from once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.cli.support.sources import Folder
from bigtopic.errors import BigtopicWarning, InputError

from .conftest import run

KINDS = (
    "water bank bridge flow boat mill flood delta",
    "violin chord concert melody choir tempo organ opera",
)
QUICK = ["--topics", 2, "--window", 40, "--save-every", "0.1s", "--until-idle", "0.3s"]


def lines(first, last, more=""):
    """Records of documents of two subjects, on a line each."""
    texts = (" ".join(random.Random(i).choices(KINDS[i % 2].split(), k=12)) for i in range(first, last))
    found = [json.dumps({"id": f"d{i}", "text": f"{text}{more}"}) for i, text in enumerate(texts, first)]
    return "".join(f"{line}\n" for line in found)


def follow(source, model, *options, code=0, stdin=None):
    return run("train", source, model, "--follow", *options, code=code, stdin=stdin)


@pytest.fixture
def incoming(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def taken(folder, most=100):
    """Ids of the documents that are complete and new."""
    if not folder.look(most):
        return []
    corpus, _ = folder.take(most)
    return [] if corpus is None else corpus.document_ids(order="stored").tolist()


def test_a_folder_of_lines_is_learned_from_once_by_any_number_of_runs(incoming, tmp_path):
    (incoming / "a.jsonl").write_text(lines(0, 50))
    first = follow(incoming, tmp_path / "m.zarr", *QUICK)
    assert "40 documents, 480 words" in first.stdout and "10 documents, 120 words; score -" in first.stdout
    assert "learned from 50 documents and is saved; ended by --until-idle" in first.stderr
    (incoming / "a.jsonl").write_text(lines(0, 60))  # it grew
    (incoming / "b.jsonl").write_text(lines(60, 70, " fiddle"))
    again = follow(incoming, tmp_path / "m.zarr", *QUICK, "--json")
    (window,) = map(json.loads, again.stdout.splitlines())
    assert (window["documents"], window["documents_seen"], window["words"]) == (20, 70, 250)
    model = bt.load_model(tmp_path / "m.zarr")
    assert model.n_docs_seen_ == 70 and "fiddle" in model.vocabulary_ and model.progress is None
    assert "nothing was new" in follow(incoming, tmp_path / "m.zarr", *QUICK).stderr
    assert "  70 documents; the last call: 250 tokens in " in run("info", tmp_path / "m.zarr").stdout
    assert "neither a corpus nor a folder" in follow(tmp_path / "m.zarr", tmp_path / "n.zarr", code=2).stderr


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_a_run_does_not_end_before_a_file_that_came_is_complete(name, incoming, tmp_path):
    whole = lines(0, 20) if name == "a.jsonl" else "text\n" + "the river and its bank\n" * 20
    (incoming / name).write_text(whole)
    ended = follow(
        incoming, tmp_path / "m.zarr", "--topics", 2, "--save-every", "0.6s", "--until-idle", "0.1s"
    )
    assert "learned from 20 documents" in ended.stderr


def test_a_run_says_which_words_it_leaves_out(tmp_path):
    texts = lines(0, 120, " everywhere")
    said = follow("-", tmp_path / "m.zarr", "--topics", 2, stdin=2 * texts).stderr
    assert said.count("left out from now on: ") == 1 and "everywhere" in said


def test_a_run_without_documents_writes_no_model(incoming, tmp_path):
    said = follow(incoming, tmp_path / "m.zarr", *QUICK).stderr
    assert f"no documents came, so {tmp_path / 'm.zarr'} was not written; ended by --until-idle" in said


def test_windows_of_one_run_are_compared(incoming, tmp_path):
    (incoming / "a.jsonl").write_text(lines(0, 40) + lines(40, 80, 4 * " fiddle"))  # a quarter
    said = follow(incoming, tmp_path / "t.zarr", *QUICK)
    assert "; 1 new word: fiddle" in said.stdout
    found = follow(incoming, tmp_path / "m.zarr", *QUICK, "--json").stdout.splitlines()
    assert [one["word"] for one in json.loads(found[1])["new_words"]] == ["fiddle"]


def test_a_corpus_is_learned_from_once(incoming, tmp_path):
    corpus, model = tmp_path / "c.zarr", tmp_path / "m.zarr"
    (incoming / "a.jsonl").write_text(lines(0, 50))
    (incoming / "b.jsonl").write_text(lines(50, 90))
    run("ingest", incoming / "a.jsonl", corpus)
    follow(corpus, model, *QUICK)
    run("ingest", incoming / "b.jsonl", corpus, "--append")
    assert "learned from 40 documents" in follow(corpus, model, *QUICK).stderr
    assert bt.load_model(model).run_["corpus"]["documents"] == bt.load_model(model).n_docs_seen_ == 90
    run("ingest", incoming / "a.jsonl", corpus, "--overwrite")
    assert "was replaced by a corpus that lacks documents" in follow(corpus, model, code=2).stderr
    assert "has not learned from" in follow(incoming, model, code=2).stderr


def test_standard_input_ends_the_run(tmp_path):
    model = tmp_path / "m.zarr"
    said = follow("-", model, *QUICK[:4], stdin=lines(0, 50).rstrip("\n")).stderr
    assert "learned from 50 documents and is saved; ended by the end of standard input" in said
    wrong = lines(0, 45) + '{"id": "e", "text": "river\n'
    refused = follow("-", model, *QUICK[:4], code=2, stdin=wrong).stderr
    assert "standard input, line 46 is not JSON" in refused
    assert bt.load_model(model).n_docs_seen_ == 90  # the window before
    kept = follow("-", model, "--topics", 3, code=2, stdin="").stderr
    assert "--topics 3: " in kept and "has 2 and keeps it" in kept
    array = json.dumps([{"text": "river"}, {"text": "bank"}], indent=1)
    assert "standard input: a line is not a document" in follow("-", model, code=2, stdin=array).stderr


def test_half_a_line_waits_for_its_end_and_half_a_file_for_its_writer(incoming):
    whole = lines(0, 3)
    (incoming / "a.jsonl").write_text(whole[:-20])
    folder = Folder(str(incoming), {}, dict, settled=60.0)
    assert folder.look(10) == 0  # not even its format is certain
    folder = Folder(str(incoming), {"format": "json_lines"}, dict, settled=60.0)
    assert taken(folder) == ["d0", "d1"]
    (incoming / "a.jsonl").write_text(whole)
    assert taken(folder) == ["d2"]
    (incoming / "b.jsonl").write_text(lines(3, 4).rstrip("\n"))
    (incoming / ".c.jsonl").write_text(lines(4, 5))
    assert taken(folder) == []
    os.utime(incoming / "b.jsonl", (1.0, 1.0))
    assert taken(folder) == ["d3"] and taken(folder) == []
    (incoming / ".c.jsonl").rename(incoming / "c.jsonl")
    assert taken(folder) == ["d4"]


def test_what_cannot_be_read_is_told_and_left_out_until_it_changes(incoming):
    (incoming / "a.jsonl").write_text(lines(0, 2))
    (incoming / "b.jsonl").write_text(lines(2, 4) + '{"id": \n' + lines(4, 5))
    folder = Folder(str(incoming), {"format": "json_lines"}, dict, settled=60.0)
    with pytest.warns(
        BigtopicWarning, match=r"b\.jsonl, line 3 is not JSON.*b\.jsonl is left out until it changes"
    ):
        assert taken(folder) == []
    assert taken(folder) == ["d0", "d1"] and taken(folder) == []
    (incoming / "b.jsonl").write_text(lines(2, 5))
    assert taken(folder) == ["d2", "d3", "d4"]
    (incoming / "b.jsonl").write_text(lines(2, 3))
    with pytest.warns(BigtopicWarning, match="has changed since the model learned from it"):
        assert taken(folder) == []
    (incoming / "b.jsonl").write_bytes(lines(2, 5).encode() + b'{"id": "x", "text": "\xff"}\n')
    with pytest.warns(BigtopicWarning, match=r"b\.jsonl, line 4"):
        assert taken(folder) == []
    incoming.rename(incoming.parent / "gone")
    with pytest.raises(InputError, match="in is no longer a folder; make it again"):
        folder.look(1)


@pytest.mark.parametrize("names", [("a.csv", "b.csv"), ("a.txt", "b.txt")])
def test_other_files_are_read_as_a_whole(names, incoming):
    for number, name in enumerate(names):
        rows = "".join(f"{i},the river and its bank\n" for i in range(3 * number, 3 * number + 3))
        (incoming / name).write_text(f"id,text\n{rows}" if name.endswith("csv") else "the river and its bank")
        os.utime(incoming / name, (1.0, 1.0))
    folder = Folder(str(incoming), {}, dict, settled=60.0)
    if names[0].endswith("txt"):  # a document each
        assert taken(folder) == [*names]
    else:
        assert (taken(folder), taken(folder)) == (["0", "1", "2"], ["3", "4", "5"])
    assert taken(folder) == []
    with (incoming / names[0]).open("a") as file:
        file.write("6,more\n")
    with pytest.warns(BigtopicWarning, match="put new documents into a new file"):
        assert taken(folder) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--follow", "--checkpoint", "k"],
            "--checkpoint has no effect with --follow: MODEL itself is saved",
        ),
        (
            ["--follow", "--held-out", 0.1],
            "--held-out has no effect with --follow: documents are scored before",
        ),
        (
            ["--follow", "--passes", 3],
            "--passes has no effect with --follow: documents are learned from once",
        ),
        (["--follow", "--method", "vb"], "--method vb: does not learn from documents as they come"),
        (["--follow", "--method", "cgs"], "--method cgs: does not learn from documents as they come"),
        (["--follow", "--method", "dual-mf"], "--method dual-mf"),
        (["--follow", "--half-life", "7"], "nothing.zarr is neither a corpus nor a folder"),
        (["--follow", "--half-life", "soon"], "--half-life soon: must be a number of documents above 0"),
        (["--follow", "--half-life", "0"], "--half-life 0: must be a number of documents above 0"),
        (["--half-life", "7d"], "--half-life needs --follow"),
    ],
)
def test_what_has_no_meaning_is_refused(options, said, tmp_path):
    refused = run("train", tmp_path / "nothing.zarr", tmp_path / "m.zarr", *options, code=2)
    assert said in " ".join(refused.stderr.split())


def test_sigterm_saves(incoming, tmp_path):
    (incoming / "a.jsonl").write_text(lines(0, 45))
    command = [sys.executable, "-m", "bigtopic", "train", str(incoming), str(tmp_path / "m.zarr"), "--follow"]
    options = ["--topics", "2", "--window", "40", "--json", "--half-life", "1h", "--save-every", "9s"]
    os.utime(incoming / "a.jsonl", (1.0, 1.0))
    with subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert json.loads(process.stdout.readline())["documents"] == 40
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert (
        process.returncode == 143
        and "m.zarr learned from 40 documents and is saved; ended by SIGTERM" in said
    )
    assert bt.load_model(tmp_path / "m.zarr").n_docs_seen_ == 40


@pytest.mark.slow
def test_the_page_of_the_news(tmp_path):
    """The example shows the changes that its news have, and runs again."""
    script = Path(__file__).parents[2] / "examples" / "news" / "run.sh"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for _ in range(2):
        subprocess.run(["sh", script, tmp_path / "news"], check=True, env={**os.environ, "PATH": path})
    page = (tmp_path / "news" / "news.html").read_text()
    windows = [json.loads(line) for line in (tmp_path / "news" / "windows.jsonl").read_text().splitlines()]
    assert len(windows) == 14 and windows[-1]["documents_seen"] == 3130
    changed = [{what for one in window["changed"] for what in one["what"]} for window in windows]
    assert (
        {"died"} <= changed[5] and "grew" in changed[6] and "grew" in changed[8] and "shrank" in changed[11]
    )
    assert "merger" in [one["word"] for one in windows[10]["new_words"]]
    hostile = windows[-1] | {"new_words": [{"word": "<script>alert(1)</script>", "topic": 0}]}
    (tmp_path / "news" / "w.jsonl").write_text(json.dumps(hostile))
    command = [sys.executable, script.parent / "page.py", "live.zarr", "w.jsonl", "w.html"]
    subprocess.run(command, check=True, cwd=tmp_path / "news")
    assert "http" not in page and "<script" not in page + (tmp_path / "news" / "w.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["corpus", "folder"])
def test_ten_kills_lose_and_repeat_nothing(kind, incoming, tmp_path):
    """The windows of what is there from the beginning do not depend on time, so the topics have the same bits."""
    for number in range(4):
        (incoming / f"{number}.jsonl").write_text(lines(1000 * number, 1000 * number + 1000))
    source = incoming
    if kind == "corpus":
        source = tmp_path / "c.zarr"
        run("ingest", incoming, source)
    options = ["--topics", "2", "--window", "20", "--save-every", "0.05s", "--until-idle", "0.5s"]
    follow(source, tmp_path / "whole.zarr", *options)
    command = [
        sys.executable,
        "-m",
        "bigtopic",
        "train",
        str(source),
        str(tmp_path / "m.zarr"),
        "--follow",
        *options,
    ]
    draw, seen = random.Random(0), []
    while len(seen) < 10:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            process.stdout.readline()
            time.sleep(draw.uniform(0.0, 1.0))
            process.kill()
        seen.append(bt.load_model(tmp_path / "m.zarr").n_docs_seen_ if (tmp_path / "m.zarr").exists() else 0)
    assert seen == sorted(seen) and len({*seen}) > 3 and all(n % 20 == 0 for n in seen)
    follow(source, tmp_path / "m.zarr", *options)
    whole, killed = (bt.load_model(tmp_path / name) for name in ("whole.zarr", "m.zarr"))
    assert killed.n_docs_seen_ == whole.n_docs_seen_ == 4000
    np.testing.assert_array_equal(killed.components_, whole.components_)
