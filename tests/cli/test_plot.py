"""`bigtopic plot`: pictures of a model, by name."""

import json
import re
from itertools import cycle

import pytest

from bigtopic import plots

from .conftest import SUBJECTS, run

# What plots need besides a model and documents.
GIVEN = {
    "over-time": ("--column", "date", "--freq", "month"),
    "groups": ("--column", "kind"),
    "document": ("--document", "d7"),
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A corpus with texts, dates and groups."""
    folder, records = tmp_path_factory.mktemp("kept"), []
    for number in range(60):
        subject = ("rivers", "music")[number % 2]
        text = " ".join(SUBJECTS[subject][: 3 + number % 5])
        date = f"2001-{number % 12 + 1:02}-01"
        records.append(
            {"id": f"d{number}", "text": text, "authors": [subject], "date": date, "kind": subject[0]}
        )
    (folder / "kept.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    run("ingest", folder / "kept.jsonl", folder / "kept.zarr", "--keep-text")
    return folder / "kept.zarr"


@pytest.fixture(scope="module")
def learnt(kept, model):
    """The model to draw a plot of."""
    path = kept.with_name("writers.zarr")
    run("train", kept, path, "--method", "online-author-cvb0", "--topics", 2, "--passes", 2)
    return lambda name: path if "authors" in plots.load(name).needs else model


def test_the_help_lists_every_plot_and_its_settings():
    shown = " ".join(run("plot", "--help").output.split())
    for plot in map(plots.load, plots.names()):
        assert f" {plot.name} {plot.summary}" in shown
        for name in plot.settings:
            assert re.search(rf" --{name.replace('_', '-')}[, ]", shown)
    assert "prevalence share of each topic in a corpus, largest first; needs CORPUS" in shown
    assert "over-time share of each topic over time, with error bands; needs CORPUS or --theta (" in shown
    assert "by the likeness of their topics; needs an author-topic model (" in shown
    numbers = [plot.settings.get("n_topics") for plot in map(plots.load, plots.names())]
    assert len({one.default for one in numbers if one}) > 1
    for plot in map(plots.load, plots.names()):
        if one := plot.settings.get("n_topics"):
            own = plot.name.replace("-", "- ?")  # where a line may end
            assert re.search(rf"\[default: \([^\]]*\b{own}(, [\w -]+)*: {one.default}[;)]", shown)


OF_TOPICS = [name for name in plots.names() if not {"pairs", "candidates"} & {*plots.load(name).needs}]


@pytest.mark.parametrize(("name", "ending"), [*zip(OF_TOPICS, cycle(["svg", "png", "pdf"]), strict=False)])
def test_every_plot_is_drawn(name, ending, learnt, kept, tmp_path):
    path = tmp_path / f"picture.{ending}"
    shown = run("plot", name, learnt(name), kept, *GIVEN.get(name, ()), "--out", path)
    assert shown.output == f"Wrote {path}\n"
    assert path.stat().st_size > 4000 and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_picture_goes_to_standard_output(ending, model, tmp_path):
    path = tmp_path / f"picture.{ending}"
    run("plot", "topics", model, "--out", path)
    chosen = () if ending == "svg" else ("--to", ending)
    assert run("plot", "topics", model, "--out", "-", *chosen).stdout_bytes == path.read_bytes()


@pytest.mark.parametrize("name", [name for name in plots.names() if plots.load(name).needs == ["shares"]])
def test_topics_of_documents_are_those_of_theta(name, model, kept, tmp_path):
    theta, inferred, stored = tmp_path / "theta.zarr", tmp_path / "inferred.svg", tmp_path / "stored.svg"
    run("infer", model, kept, theta, "--min-probability", 0)
    run("plot", name, model, "--theta", theta, *GIVEN.get(name, ()), "--out", stored)
    run("plot", name, model, kept, *GIVEN.get(name, ()), "--out", inferred)
    texts = [re.findall(r">([^<]*\w[^<]*)</text>", path.read_text()) for path in (stored, inferred)]
    assert texts[0] == texts[1] != []
    assert "needs topics of documents" in run("plot", name, model, "--out", stored, code=2).output


def test_a_terminal_gets_no_bytes_of_a_picture(model, monkeypatch):
    monkeypatch.setattr("bigtopic.cli.support.terminal.is_terminal", lambda: True)
    shown = run("plot", "topics", model, "--out", "-", "--to", "png", code=2).output
    assert "terminal" in shown and "> topics.png" in shown


def test_settings_are_those_of_the_plot(model, corpus, tmp_path):
    path = tmp_path / "topics.svg"
    run("plot", "topics", model, "--n-top", 1, "--n-topics", 1, "--out", path)
    assert "The 1 largest of 2 topics" in path.read_text()
    if not any(
        "n_words" in plots.load(name).settings for name in plots.names()
    ):  # else the old name is that one's
        run("plot", "topics", model, "--n-words", 1, "--out", tmp_path / "same.svg")
    shown = run("plot", "history", model, "--n-top", 1, "--out", path, code=2).output
    assert "Error: --n-top: is not a setting of plot 'history'; its settings are: --against" in shown


def test_what_a_plot_needs_is_said_in_options_of_the_shell(corpus, tmp_path):
    run("train", corpus, tmp_path / "plain.zarr", "--topics", 2, "--passes", 1)
    shown = run("plot", "history", tmp_path / "plain.zarr", "--out", tmp_path / "a.svg", code=2).output
    assert "'bigtopic train --held-out'" in shown and "validation" not in shown


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["pie", "MODEL", "--out", "a.svg"],
            f"there is no plot 'pie'; there are: {', '.join(plots.names())}",
        ),
        (["prevalence", "MODEL", "--out", "a.svg"], "needs documents; give a corpus"),
        (["topics", "MODEL", "--out", "a.jpg"], "--out: must end in one of .pdf, .png, .svg"),
        (["topics", "MODEL"], "Missing option '--out'"),
        (["topics", "MODEL", "--out", "a.svg", "--to", "png"], "--to needs --out -"),
        (["topics", "MODEL", "--out", "-", "--json"], "--json has no effect"),
        (["topics", "nothing.zarr", "--out", "a.svg"], "nothing.zarr"),
        (["topics", "MODEL", "--n-top", "0", "--out", "a.svg"], "--n-top: must be at least 1, found 0"),
        (
            ["groups", "MODEL", "--column", "kind", "--out", "a.svg"],
            "a corpus or a store of topics (--theta)",
        ),
        (["document", "MODEL", "--out", "a.svg"], "give a corpus that keeps them (--keep-text)"),
        (["author-map", "MODEL", "--out", "a.svg"], "give a model of 'bigtopic train --method author-vb'"),
        (["words", "MODEL", "--topic", "9", "--out", "a.svg"], "--topic: must be from 0 to 1, found 9"),
        (["words", "MODEL", "--relevance", "2", "--out", "a.svg"], "--relevance 2.0: must be from 0"),
    ],
)
def test_mistakes_are_one_clear_message(arguments, message, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run(
        "plot", *(model if argument == "MODEL" else argument for argument in arguments), code=2
    ).output
    assert message in shown and "Traceback" not in shown
    assert not list(tmp_path.iterdir())
