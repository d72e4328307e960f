"""`compact`, `select`, `split` and `verify`: in the shell what corpora do in Python."""

from __future__ import annotations

import json

import pytest

import bigtopic as bt

from .conftest import run


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """A folder with a corpus of 60 documents in two appends, of the years 2000 to 2005."""
    folder = tmp_path_factory.mktemp("grown")
    for number in range(2):
        rows = [
            {"id": f"{number}-{i}", "text": f"river bank boat w{i % 9}", "year": 2000 + i % 6}
            for i in range(30)
        ]
        (folder / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        run("ingest", folder / f"{number}.jsonl", folder / "c.zarr", *["--append"] * number)
    return folder


def test_documents_are_selected_by_columns(grown, tmp_path):
    wanted = ["--where", "year=2001..2003", "--where", "year=2002"]
    shown = run("select", grown / "c.zarr", tmp_path / "s.zarr", *wanted, code=2).output
    assert "year is given twice" in shown
    shown = run("select", grown / "c.zarr", tmp_path / "s.zarr", "--where", "year=2001..2003").stdout
    assert shown == f"Wrote 30 documents to {tmp_path}/s.zarr\n"
    made, python = (
        bt.open_corpus(tmp_path / "s.zarr"),
        bt.open_corpus(grown / "c.zarr").select(year=slice(2001, 2003)),
    )
    assert made.document_ids().tolist() == python.document_ids().tolist()
    assert made.rows().tolist() == python.rows().tolist() and made.n_tokens == python.n_tokens


@pytest.mark.parametrize("verb", ["select", "topics"])
def test_a_condition_that_no_document_meets_is_said(grown, tmp_path, verb):
    if verb == "topics":
        run("train", grown / "c.zarr", tmp_path / "m.zarr", "--topics", 2, "--passes", 1, "--method", "vb")
        typed = ["topics", tmp_path / "m.zarr", "--corpus", grown / "c.zarr", "--by", "year"]
    else:
        typed = ["select", grown / "c.zarr", tmp_path / "s.zarr"]
    shown = " ".join(run(*typed, "--where", "year=1999", code=2).output.split())
    assert "--where year=1999: none of the 60 documents meets this condition" in shown
    assert not (tmp_path / "s.zarr").exists()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("year=9..1", "--where year=9..1: column 'year' holds whole numbers"),
        ("year=9..1", "give COLUMN=LOW..HIGH"),
        ("year=2000.5", "or a range: COLUMN=LOW..HIGH"),
        ("year=", "--where year=: column 'year'"),
        ("year=", "none of its values is missing; give a value"),
    ],
)
def test_conditions_that_cannot_be_met_are_answered_as_they_were_typed(grown, tmp_path, typed, said):
    shown = " ".join(run("select", grown / "c.zarr", tmp_path / "s", "--where", typed, code=2).output.split())
    assert said in shown


def test_split_is_that_of_python(grown, tmp_path):
    paths = [tmp_path / "train.zarr", tmp_path / "test.zarr"]
    options = ["--test-size", 12, "--random-state", 3, "--json"]
    shown = json.loads(run("split", grown / "c.zarr", *paths, *options).stdout)
    assert [row["documents"] for row in shown] == [48, 12]
    for path, view in zip(paths, bt.open_corpus(grown / "c.zarr").split(12, 3), strict=True):
        made = bt.open_corpus(path)
        assert made.document_ids().tolist() == view.document_ids().tolist()
        counts = [
            dict(zip(one.vocabulary[:], one.to_scipy().toarray().sum(0), strict=True)) for one in (made, view)
        ]
        assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["train.zarr", "train.zarr"], "train.zarr is given twice"),
        (["train.zarr", "CORPUS"], "c.zarr is given twice"),
        (["train.zarr", "there.txt"], "there.txt exists but is not a corpus"),
        (["train.zarr", "other.zarr"], "other.zarr is already a corpus; pass --overwrite"),
        (["train.zarr", "test.zarr", "--test-size", "60"], "--test-size 60 of 60 documents: give a share"),
        (["train.zarr", "test.zarr", "--test-size", "0.001"], "--test-size 0.001 of 60 documents is none"),
    ],
)
def test_nothing_is_written_where_one_path_is_wrong(grown, tmp_path, monkeypatch, paths, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.txt").write_text("mine")
    run("select", grown / "c.zarr", "other.zarr", "--where", "year=2001")
    before = sorted(tmp_path.rglob("*"))
    shown = run(
        "split", grown / "c.zarr", *[grown / "c.zarr" if p == "CORPUS" else p for p in paths], code=2
    ).output
    assert said in " ".join(shown.split()) and sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
@pytest.mark.parametrize(
    ("corpus", "paths", "said"),
    [
        ("c.zarr", ["link.zarr", "t.zarr"], "link.zarr is given twice, as "),
        ("link.zarr", ["t.zarr", "c.zarr"], "c.zarr is given twice, as "),
        ("c.zarr", ["none/../c.zarr", "t.zarr"], "c.zarr is given twice, as "),
        ("c.zarr", ["t.zarr", "c.zarr/t.zarr"], "c.zarr/t.zarr is inside "),
        ("c.zarr", ["t.zarr", "t.zarr/u.zarr"], "t.zarr/u.zarr is inside t.zarr"),
        ("c.zarr", ["t.zarr/u.zarr", "t.zarr"], "t.zarr/u.zarr is inside t.zarr"),
        ("c.zarr", ["t.zarr", "dangling"], "dangling is a symbolic link to nowhere"),
    ],
)
def test_a_corpus_is_not_replaced_by_its_documents_under_another_name(
    grown, tmp_path, monkeypatch, corpus, paths, said, overwrite
):
    monkeypatch.chdir(tmp_path)
    run("select", grown / "c.zarr", "c.zarr", "--where", "year=2001..")
    (tmp_path / "link.zarr").symlink_to("c.zarr")
    (tmp_path / "dangling").symlink_to("nowhere")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    shown = run("split", corpus, *paths, *overwrite, code=2).output
    assert said in " ".join(shown.split())
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_compacted_corpus_has_the_same_documents(grown, tmp_path):
    run("select", grown / "c.zarr", tmp_path / "c.zarr", "--where", "year=2000..")
    again = (grown / "1.jsonl").read_text().replace('"id": "1-', '"id": "2-')
    (tmp_path / "2.jsonl").write_text(again)
    run("ingest", tmp_path / "2.jsonl", tmp_path / "c.zarr", "--append")
    before = bt.open_corpus(tmp_path / "c.zarr")
    ids, tokens = before.document_ids().tolist(), before.n_tokens
    assert len(before.parts) > 1
    shown = json.loads(run("compact", tmp_path / "c.zarr", "--json").stdout)
    assert (shown["parts"], shown["documents"]) == (1, 90)
    made = bt.open_corpus(tmp_path / "c.zarr")
    assert made.document_ids().tolist() == ids and made.n_tokens == tokens
    assert "there is no corpus at" in run("compact", tmp_path / "none.zarr", code=2).output


def test_damage_is_found(grown, tmp_path):
    run("select", grown / "c.zarr", tmp_path / "s.zarr", "--where", "year=2000..")
    run("train", tmp_path / "s.zarr", tmp_path / "m.zarr", "--topics", 2, "--passes", 1, "--method", "vb")
    run("infer", tmp_path / "m.zarr", tmp_path / "s.zarr", tmp_path / "t.zarr")
    stores = [tmp_path / f"{name}.zarr" for name in "smt"]
    lines = run("verify", *stores).stdout.splitlines()
    assert [line.partition(".zarr: ")[2] for line in lines] == [
        f"every array of the {kind} is as it was written"
        for kind in ("corpus", "model", "topics of documents")
    ]
    assert [row["verified"] for row in json.loads(run("verify", *stores, "--json").stdout)] == [True] * 3
    chunk = max(
        (path for path in (tmp_path / "s.zarr").rglob("*") if path.is_file()), key=lambda p: p.stat().st_size
    )
    chunk.write_bytes(chunk.read_bytes()[:-3] + b"\0\1\2")
    assert "s.zarr" in run("verify", *stores[::-1], code=2).stderr
