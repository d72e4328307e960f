"""Models are scored, alone and side by side; a score on the documents that one learned from is not called held-out."""

import json

import pytest
from click.testing import CliRunner

from bigtopic import evaluate
from bigtopic.cli import main
from bigtopic.cli.support import terminal
from bigtopic.corpus.store import open_corpus
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model

from .conftest import run

FEW = ("--topics", 2, "--passes", 1, "--batch-size", 20)


@pytest.mark.parametrize(
    "held_out, said",
    [
        ((), "learned from these 200 documents: "),
        (("--held-out", 0.1), "learned from these 200 documents, without the 20 that it held out: "),
        (("--held-out", 5), "learned from these 200 documents, without the 5 that it held out: "),
    ],
)
def test_the_documents_that_a_model_learned_from_are_recognised(held_out, said, corpus, tmp_path):
    run("train", corpus, tmp_path / "m.zarr", *FEW, *held_out)
    found = run("evaluate", tmp_path / "m.zarr", corpus)
    assert f"m.zarr {said}its score is not a held-out one; give" in found.stderr
    assert "  training score  " in found.stdout and "held" not in found.stdout
    found = run("evaluate", tmp_path / "m.zarr", corpus, "--json", "--measure", "log-predictive")
    assert said in found.stderr and list(json.loads(found.stdout)) == ["log-predictive"]
    assert not run("evaluate", tmp_path / "m.zarr", corpus, "--measure", "npmi").stderr


def test_other_documents_have_a_held_out_score(corpus, tmp_path):
    LDA(2, max_iter=1).fit(open_corpus(corpus)[:150]).save(tmp_path / "m.zarr")
    found = run("evaluate", tmp_path / "m.zarr", corpus)
    assert "  held-out score  " in found.stdout and not found.stderr


def test_a_model_without_a_record_is_scored(model, corpus, tmp_path):
    from bigtopic.estimators.persistence import load_model

    bare = load_model(model)
    bare.run_ = None
    bare.save(tmp_path / "m.zarr")
    assert "held-out score" in run("evaluate", tmp_path / "m.zarr", corpus).stdout


def test_several_models_are_compared(model, corpus, tmp_path):
    LDA(3, max_iter=1).fit(open_corpus(corpus)[:150]).save(tmp_path / "k3.zarr")
    asked = ("evaluate", model, tmp_path / "k3.zarr", corpus)
    shown = run(*asked)
    heading, first, second, *notes = shown.stdout.splitlines()
    assert heading.split()[:3] == ["model", "training", "score"] and "NPMI" in heading
    assert "topics.zarr" in first and "k3.zarr" in second and "reference" in first + second
    assert "paired" in notes[0] and "learned from these 200 documents" in shown.stderr
    found = json.loads(run(*asked, "--json", "--measure", "log-predictive").stdout)
    scores = found["models"][str(tmp_path / "k3.zarr")]["log-predictive"]
    assert {"value", "standard_error", "difference", "difference_standard_error"} <= scores.keys()
    shown = run("evaluate", model, model, corpus, code=2).output
    assert "is given twice; give each model once, and then the corpus" in shown


@pytest.fixture(scope="module")
def seeds(corpus):
    """Three models that differ in their seeds."""
    paths = [corpus.parent / f"seed-{seed}.zarr" for seed in range(3)]
    for seed, path in enumerate(paths):
        run("train", corpus, path, *FEW, "--seed", seed)
    return paths


def test_topics_alone_need_no_corpus(seeds):
    asked = ("--measure", "diversity", "--measure", "entropy", "--n-top", 3)
    found = evaluate.measure(load_model(seeds[0]), measures=["diversity", "entropy"], n_top=3)
    assert json.loads(run("evaluate", seeds[0], *asked, "--json").stdout) == found.to_dict()
    assert "diversity" in run("evaluate", *seeds, *asked).stdout.splitlines()[0]


def test_the_stability_of_topics(seeds, corpus):
    found = evaluate.stability([load_model(path) for path in seeds])
    assert run("evaluate", *seeds, "--stability").stdout == f"  stability  {found.text()}\n"
    assert "--n-top: is not a setting" in run("evaluate", *seeds, "--stability", "--n-top", 3, code=2).stderr
    told = json.loads(run("evaluate", *seeds, corpus, "--measure", "npmi", "--stability", "--json").stdout)
    assert told["stability"]["value"] == found.value and "npmi" in told["models"][str(seeds[0])]


def test_models_are_compared_with_the_reference(seeds, corpus):
    asked = ("evaluate", *seeds, corpus, "--measure", "log-predictive", "--reference", seeds[1])
    assert "reference" in run(*asked).stdout.splitlines()[2]
    assert json.loads(run(*asked, "--json").stdout)["reference"] == {"log-predictive": str(seeds[1])}


@pytest.mark.parametrize(
    "typed, said",
    [
        ([], "give a model, or several, and then the corpus: bigtopic evaluate MODEL... CORPUS"),
        (["CORPUS"], "give a model, or several, and then the corpus"),
        (["MODEL"], "a measure of documents needs one; give a corpus, or its path"),
        (["MODEL", "SEED"], "a measure of documents needs one; give a corpus, or its path"),
        (["CORPUS", "MODEL"], "but a corpus: train one with"),
        (["MODEL", "no.zarr"], "no.zarr"),
        (["MODEL", "CORPUS", "--stability"], "--stability needs several models"),
        (["MODEL", "CORPUS", "--reference", "MODEL"], "--reference needs several models"),
        (["MODEL", "SEED", "CORPUS", "--reference", "x"], "--reference x: choose one of the models "),
        (["MODEL", "OTHER"], "words"),
        (["MODEL", "CORPUS", "--measure", "c-npmi"], "pass --keep-text to 'bigtopic ingest'"),
        (
            ["MODEL", "CORPUS", "--measure", "bound"],
            "method 'auto' has no variational bound; ask for 'log-predictive'",
        ),
    ],
)
def test_mistakes_are_one_clear_message(typed, said, model, seeds, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [f"{letter}{number}" for letter in "abcdefgh" for number in range(10)]
    (tmp_path / "other.txt").write_text("\n".join([" ".join(words)] * 5))
    run("ingest", "other.txt", "other.zarr")
    paths = {"MODEL": model, "SEED": seeds[0], "CORPUS": corpus, "OTHER": "other.zarr"}
    shown = run("evaluate", *(paths.get(word, word) for word in typed), code=2).output
    assert said in " ".join(shown.split()) and "Traceback" not in shown


def test_a_narrow_terminal_has_a_line_for_each_score(seeds, corpus, monkeypatch):
    asked = ("evaluate", *seeds[:2], corpus)
    table = run(*asked).stdout.splitlines()
    monkeypatch.setenv("COLUMNS", "60")
    assert run(*asked).stdout.splitlines() == table  # of another program
    monkeypatch.setattr("bigtopic.cli.support.terminal.is_terminal", lambda: True)
    lines = run(*asked).stdout.splitlines()
    assert [line.split()[-1] for line in lines if line.startswith("  model ")] == list(map(str, seeds[:2]))
    assert sum(line.startswith("  NPMI ") for line in lines) == 2 and lines[-1] == table[-1]


def test_a_locale_that_lacks_characters_is_no_error(seeds, corpus):
    asked = ["evaluate", *map(str, seeds[:2]), str(corpus)]
    shown = CliRunner(charset="koi8-r").invoke(main, asked)
    assert shown.exit_code == 0 and r" \xb1 " in shown.stdout
    found = CliRunner(charset="koi8-r").invoke(main, ["evaluate", *asked[1:], "--json"])
    assert json.loads(found.stdout) == json.loads(run(*asked, "--json").stdout)
    page = CliRunner(charset="koi8-r").invoke(main, ["report", str(seeds[0]), "-"])
    assert page.stdout_bytes.decode("utf-8").startswith("<!")


def test_a_closed_standard_output_is_not_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    assert not terminal.is_terminal() and terminal.in_unicode()


@pytest.mark.parametrize(("value", "coloured"), [("", True), ("1", False)])
def test_no_color_is_heeded(value, coloured, seeds, monkeypatch):
    monkeypatch.setenv("NO_COLOR", value)
    for typed in (["evaluate", *seeds, "--stability"], ["evaluate"], ["info", "nothing.zarr"]):
        shown = CliRunner().invoke(main, list(map(str, typed)), color=True).output
        assert ("\x1b[" in shown) == (coloured and typed != ["evaluate"])
