"""`-` is standard input or output, and `--json` is for other programs."""

import gzip
import json
import os
import subprocess
import sys
import time

import pytest

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import source_file
from bigtopic.corpus.store import open_corpus
from bigtopic.errors import InputError

from .conftest import run


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_ingest_reads_standard_input(pack, source, corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    made = json.loads(
        run("ingest", "-", tmp_path / "c.zarr", "--json", stdin=pack(source.read_bytes())).stdout
    )
    assert made["kind"] == "corpus" and made["documents"] == 200
    assert open_corpus(tmp_path / "c.zarr").fingerprint == open_corpus(corpus).fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["c.zarr"]


@pytest.mark.parametrize(
    "text, format", [("one line\nanother\n", ()), ("id,text\n1,one\n2,b\n", ("--format", "csv"))]
)
def test_standard_input_has_no_name_to_tell_its_format(text, format, tmp_path):
    made = run("ingest", "-", tmp_path / "c.zarr", *format, "--json", stdin=text).stdout
    assert json.loads(made)["documents"] == 2


def test_authors_and_queries_come_from_standard_input(source, model, corpus, tmp_path):
    run("ingest", source, tmp_path / "c.zarr")
    made = run("authors", tmp_path / "c.zarr", "-", "--json", stdin="d0,Ann\nd1,Bob\n").output
    assert json.loads(made)["authors"] == 2
    run("infer", model, corpus, tmp_path / "theta.zarr")
    asked = ("similar", model, tmp_path / "theta.zarr")
    assert run(*asked, "-", stdin="d5\n").output == run(*asked, "d5").output
    assert "standard input is not text" in run(*asked, "-", stdin=b"\xff\xfe", code=2).output


def test_a_report_goes_to_standard_output(model):
    assert run("report", model, "-").output.lower().startswith("<!doctype html")


def test_the_page_is_checked_before_the_report_is_made(model, tmp_path, monkeypatch):
    monkeypatch.setattr("bigtopic.report.summarise", None)
    (tmp_path / "notes.txt").write_text("mine")
    assert "is not an HTML page" in run("report", model, tmp_path / "notes.txt", code=2).output


def test_json_has_null_for_numbers_that_it_cannot_hold(capsys):
    terminal.to_json({"score": float("-inf"), "topics": [float("nan"), 1.5]})
    assert json.loads(capsys.readouterr().out) == {"score": None, "topics": [None, 1.5]}


def test_every_verb_prints_json(source, corpus, model, tmp_path):
    theta, picture = tmp_path / "theta.zarr", tmp_path / "p.svg"
    page = tmp_path / "page.html"
    assert json.loads(run("info", corpus, "--json").output)["words"] == 16
    assert json.loads(run("infer", model, corpus, theta, "--json").output)["wrote"] == str(theta)
    assert json.loads(run("plot", "topics", model, "--out", picture, "--json").output) == {
        "wrote": str(picture)
    }
    assert json.loads(run("report", model, page, "--json").output) == {"wrote": str(page)}
    made = run("train", corpus, tmp_path / "m.zarr", "--topics", 2, "--passes", 1, "--json").stdout
    assert json.loads(made)["command"].startswith(f"bigtopic train {corpus} MODEL --topics 2 ")
    shown = json.loads(run("info", theta, "--verify", "--json").output)
    assert shown["documents"] == 200 and shown["topics"] == 2 and 200 <= shown["entries"] <= 400
    assert "200" in run("info", theta).output
    known = json.loads(run("info", model, "--json").output)["fingerprint"]
    assert shown["model"]["topics"] == known and shown["model"]["method"] == "auto"
    assert f"fingerprint {known}" in run("info", theta).output and known in run("info", model).output


@pytest.mark.costly
@pytest.mark.parametrize(
    "verb", [["info", "CORPUS"], ["infer", "MODEL", "CORPUS", "-"]], ids=lambda verb: verb[0]
)
def test_a_broken_pipe_ends_quietly(verb, corpus, model):
    reader, writer = os.pipe()
    os.close(reader)
    paths = {"CORPUS": corpus, "MODEL": model}
    arguments = [paths.get(argument, argument) for argument in verb]
    command = [sys.executable, "-m", "bigtopic", *arguments]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.stderr == ""


def test_infer_is_a_filter(model, source, corpus, tmp_path):
    shown = run("infer", model, "-", "-", "--to", "jsonl", stdin=source.read_bytes()).stdout
    documents = [json.loads(line) for line in shown.splitlines()]
    assert [document["document_id"] for document in documents] == [f"d{number}" for number in range(200)]
    assert run("infer", model, corpus, "-").stdout.startswith("document_id,topic_0,topic_1\nd0,")
    run("infer", model, corpus, tmp_path / "theta.tsv", "--top-k", 1)
    assert (tmp_path / "theta.tsv").read_text().count("\t0\n") > 50
    shown = run("infer", model, corpus, "-", "--to", "parquet", code=2).output
    assert "--to parquet: must be written to a path" in shown
    assert "did you mean 'tsv'" in run("infer", model, corpus, "-", "--to", "tvs", code=2).output


def test_a_closed_standard_input_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="standard input is closed"), source_file("-"):
        pass


def test_a_command_that_is_ended_leaves_no_folders(tmp_path):
    command = [sys.executable, "-m", "bigtopic", "ingest", "-", str(tmp_path / "c.zarr")]
    there = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=there) as ended:
        while not list(tmp_path.glob("bigtopic-*/*")) and ended.poll() is None:
            time.sleep(0.01)
        ended.terminate()
        assert ended.wait(30) == 143 and ended.stderr.read() == b""
    assert not list(tmp_path.iterdir())
