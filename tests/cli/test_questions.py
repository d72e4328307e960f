"""`bigtopic topics --documents` and `--by`, `bigtopic find`, `bigtopic show`: what the Python methods return."""

import json

import pytest

import bigtopic as bt

from .conftest import run


@pytest.fixture(scope="module")
def kept(source, tmp_path_factory):
    """The corpus with its text, and columns."""
    records = [json.loads(line) for line in source.read_text().splitlines()]
    records = [
        {**record, "year": 2000 + i // 50, "open": i % 2 == 0, "kind": "\x1b[31mred" if i % 3 else "blue"}
        for i, record in enumerate(records)
    ]
    path = tmp_path_factory.mktemp("kept") / "documents.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    run("ingest", path, path.with_name("kept.zarr"), "--keep-text")
    return path.with_name("kept.zarr")


@pytest.fixture(scope="module")
def theta(model, kept):
    run("infer", model, kept, kept.with_name("theta.zarr"))
    return kept.with_name("theta.zarr")


def test_documents_about_a_topic(model, kept, theta):
    wanted = ("topics", model, "--topic", 1, "--documents", 5, "--corpus", kept)
    found = json.loads(run(*wanted, "--theta", theta, "--json").output)
    expected = bt.load_model(model).documents(1, bt.open_corpus(kept), 5, theta=theta)
    assert [one["document"] for one in found] == list(expected["document"])
    assert [one["text"] for one in found] == list(expected["text"])
    shown = run(*wanted, "--theta", theta).output
    assert all(
        f"{one['share']:.4f}  {one['document']}" in shown and one["text"][:40] in shown for one in found
    )
    inferred = json.loads(run(*wanted, "--json").output)
    assert len(inferred) == 5 and inferred[0]["share"] == pytest.approx(found[0]["share"], abs=0.05)
    some = json.loads(run(*wanted, "--theta", theta, "--where", "year=2001..2002", "--json").output)
    assert {bt.open_corpus(kept)[one["document"]].columns["year"] for one in some} <= {2001, 2002}


def test_topics_by_a_column(model, kept, theta):
    wanted = ("topics", model, "--topic", 0, "--theta", theta)
    found = json.loads(run(*wanted, "--by", "year", "--json").output)
    assert [one["year"] for one in found] == [2000, 2001, 2002, 2003]
    assert all(one["n_documents"] == 50 and 0 < one["standard_error"] < 0.1 for one in found)
    shown = run(*wanted, "--by", "kind", "--where", "kind=blue").output
    assert (
        len(shown.splitlines()) == 2
        and "blue" in shown
        and "\x1b[31m" not in run(*wanted, "--by", "kind").output
    )
    half = json.loads(run(*wanted, "--by", "open", "--where", "open=true", "--json").output)
    assert [(one["open"], one["n_documents"]) for one in half] == [(True, 100)]
    authors = run("topics", model, "--corpus", kept, "--by", "authors", "--json").output
    assert {one["authors"] for one in json.loads(authors)} == {"music-club", "rivers-club"}
    assert [one["topic"] for one in json.loads(run("topics", model, "--topic", 1, "--json").output)] == [1]


def test_find(model):
    (first, _) = json.loads(run("find", "violin", "choir", model, "--json").output)
    words = [word for word, _ in bt.load_model(model).topics(8)[first["topic"]]]
    assert {"violin", "choir"} <= set(words) and first["probability"] > 0.99
    assert "similar words: violin" in run("find", "violins", model, code=2).output
    assert "the words come first: bigtopic find violin" in run("find", model, "violin", code=2).output
    assert "probability" in run("find", "violin", model).output


def test_show(model, kept, theta):
    shown = run("show", "d7", kept).output
    document = bt.open_corpus(kept)["d7"]
    assert document.text in shown and "music-club" in shown and "2000" in shown and "\x1b" not in shown
    found = json.loads(run("show", "d7", kept, "--model", model, "--theta", theta, "--json").output)
    assert found["text"] == document.text and found["counts"] == document.counts
    assert found["topics"][0]["share"] > 0.5
    assert {one["topic"] for one in found["word_topics"]} == {found["topics"][0]["topic"]}
    assert "label" in run("show", "d7", kept, "--model", model).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--documents", 3), "--topic"),
        (("--topic", 9, "--documents", 3, "--theta", "THETA"), "0 .. 1"),
        (("--topic", 0, "--documents", 3), "need --corpus or --theta"),
        (("--where", "year=2000"), "--documents or --by"),
        (("--topic", 0, "--documents", 3, "--theta", "THETA", "--freq", "year"), "name it with --by"),
        (("--by", "yaer", "--theta", "THETA"), "no column 'yaer'"),
        (("--by", "year", "--theta", "THETA", "--where", "year"), "COLUMN=VALUE"),
        (("--by", "year", "--theta", "THETA", "--freq", "month"), "a year without a month"),
        (("--by", "year", "--where", "year=2000"), "need --corpus or --theta"),
        (("--by", "year", "--theta", "THETA", "--where", "open=ture"), "neither true nor false"),
        (("--by", "year", "--theta", "THETA", "--where", "year=..2000..1"), "year"),
        (("--by", "year", "--theta", "THETA", "--where", "year=soon"), "whole numbers"),
        (
            ("--by", "kind", "--theta", "THETA", "--where", "year=2000..", "--where", "year=..2005"),
            "year is given twice",
        ),
    ],
)
def test_mistakes(model, theta, arguments, message):
    arguments = [theta if argument == "THETA" else argument for argument in arguments]
    assert message in run("topics", model, *arguments, code=2).output
    assert "nearest is" in run("show", "D7", theta.with_name("kept.zarr"), code=2).output


def test_a_report_has_shares_by_date_and_column(model, theta, tmp_path):
    records = [
        {"text": "violin opera" if i % 2 else "boat bridge", "when": f"{1 + i % 28}.3.2005", "kind": "a"}
        for i in range(20)
    ]
    path = tmp_path / "documents.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    dated, page = tmp_path / "dated.zarr", tmp_path / "page.html"
    run("ingest", path, dated, "--max-df", 1.0)
    asked = ("report", model, page, "--corpus", dated, "--time", "when", "--freq", "day")
    assert "give --date-format %d.%m.%Y\n" in " ".join(run(*asked, code=2).output.split(" "))
    run(*asked, "--date-format", "%d.%m.%Y")
    assert "2005-03-07" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--freq", "month"), "--freq and --date-format are about dates: name their column with --time"),
        (("--date-format", "%Y"), "--freq and --date-format are about dates: name their column with --time"),
        (("--freq", "month", "--by", "year"), "name their column with --time"),
        (("--theta", "THETA"), "--theta has the topics of documents: name a column with --time or --by"),
    ],
)
def test_what_a_report_would_ignore_is_refused(model, theta, tmp_path, arguments, message):
    arguments = [str(theta) if own == "THETA" else own for own in arguments]
    shown = run("report", model, tmp_path / "page.html", *arguments, code=2).output
    assert message in " ".join(shown.split()) and not (tmp_path / "page.html").exists()
    assert "Needs --time or --by" in " ".join(run("report", "--help").output.split())
