"""`bigtopic methods` lists every method, in the width of the terminal."""

import json

import pytest

from bigtopic import methods

from .conftest import run


@pytest.mark.parametrize("width", [60, 80, 200])
def test_every_method_is_under_its_family_with_its_use(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = run("methods").stdout
    assert max(map(len, shown.splitlines())) <= width
    place = 0
    for row in methods.methods():
        place = shown.index(f"\n  {row['method']} ", place)
        assert f"\n{row['family'].capitalize()}\n" in f"\n{shown[: place + 1]}"
        told = " ".join(shown[place:].split()).removeprefix(row["method"]).lstrip()
        assert told.startswith(row["use"].split("doc_topic_prior")[0].removesuffix("learn_"))


def test_options_are_named_as_they_are_typed(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    said = " ".join(run("methods").stdout.split())
    assert (
        "topics without a prior; with --learn-doc-topic-prior as in the paper" in said
        and "_topic" not in said
    )


def test_the_default_is_marked():
    (line,) = (line for line in run("methods").stdout.splitlines() if "(default)" in line)
    assert line.split()[0] == methods.DEFAULT


def test_json_has_everything():
    assert json.loads(run("methods", "--json").stdout) == methods.methods()


def test_an_unknown_method_refers_to_the_list(corpus, tmp_path):
    shown = run("train", corpus, tmp_path / "m.zarr", "--method", "magic", code=2).output
    assert "bigtopic methods" in shown
