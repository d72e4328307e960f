"""The demonstration: complete, kept, and made again when packages change."""

import json

import pytest

from bigtopic.datasets import docstrings

from .conftest import run

SETTINGS = ("--topics", 5, "--passes", 2)


@pytest.fixture
def some_packages(monkeypatch):
    """Documentation of a few packages only, and a record of how often it was read."""
    reads = []

    def few():
        reads.append(1)
        return docstrings(["asyncio", "email", "logging", "unittest", "xml", "http"])

    monkeypatch.setattr("bigtopic.datasets.docstrings", few)
    monkeypatch.setattr("bigtopic.datasets.installed_packages", lambda: {"python": "3"})
    return reads


def test_the_demo_shows_everything_and_keeps_its_corpus(some_packages, monkeypatch, tmp_path):
    first = run("demo", "--folder", tmp_path, *SETTINGS).output
    for expected in ("share", "NPMI", "most in", "xml", "held-out score", "unigram", "tokens per second"):
        assert expected in first
    page = (tmp_path / "topics.html").read_text()
    assert (tmp_path / "topics.html").as_uri() in first
    assert page.count("<article") == 5
    second = run("demo", "--folder", tmp_path, *SETTINGS).output
    assert "from the cache" in second
    assert len(some_packages) == 1
    topics = [output[output.index("topic ") : output.index("held-out")] for output in (first, second)]
    assert topics[0] == topics[1]
    monkeypatch.setattr("bigtopic.datasets.installed_packages", lambda: {"python": "3", "new": "1"})
    run("demo", "--folder", tmp_path, *SETTINGS)
    assert len(some_packages) == 2


@pytest.mark.slow
def test_it_makes_the_passes_that_it_is_told(some_packages, monkeypatch, tmp_path):
    history = []
    monkeypatch.setattr("bigtopic.cli.demo._tokens_per_second", lambda rows: history.extend(rows) or "")
    run("demo", "--folder", tmp_path, *SETTINGS)
    assert [row["pass"] for row in history if "score" not in row] == [1, 2]


def test_a_corpus_that_was_not_finished_is_made_again(some_packages, tmp_path):
    run("demo", "--folder", tmp_path, *SETTINGS)
    (tmp_path / ".bigtopic-demo").write_text("")
    shown = json.loads(run("demo", "--folder", tmp_path, *SETTINGS, "--json").stdout)
    assert shown["page"] == str(tmp_path / "topics.html") and shown["log-predictive"]["value"] < 0
    assert len(some_packages) == 2


@pytest.mark.parametrize("name", ["corpus.zarr", "topics.html"])
def test_a_folder_with_files_of_somebody_else_is_refused(some_packages, tmp_path, name):
    (tmp_path / name).write_text("mine")
    (tmp_path / "packages.txt").write_text("mine")
    result = run("demo", "--folder", tmp_path, *SETTINGS, code=2)
    assert f"{name} exists and was not written by `bigtopic demo`" in result.output
    assert not some_packages
    assert {(path.name, path.read_text()) for path in tmp_path.iterdir()} == {
        (name, "mine"),
        ("packages.txt", "mine"),
    }


@pytest.mark.slow
def test_files_of_other_names_stay(some_packages, tmp_path):
    (tmp_path / "packages.txt").write_text("mine")
    run("demo", "--folder", tmp_path, *SETTINGS)
    assert (tmp_path / "packages.txt").read_text() == "mine"
