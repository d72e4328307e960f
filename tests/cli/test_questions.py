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
