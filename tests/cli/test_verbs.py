"""Every verb as a user types it."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from bigtopic import methods
from bigtopic.cli import main
from bigtopic.cli.support.parameters import duration
from bigtopic.corpus.store import open_corpus
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model

from .conftest import SUBJECTS, run

VERBS = [
    "demo",
    "ingest",
    "authors",
    "compact",
    "select",
    "split",
    "info",
    "verify",
    "methods",
    "train",
    "sweep",
    "topics",
    "evaluate",
    "task",
    "intrusion",
    "infer",
    "similar",
    "report",
    "plot",
]


def test_help_lists_every_verb_and_imports_nothing_heavy():
    code = (
        "import sys, bigtopic.cli\n"
        "try: bigtopic.cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "print('heavy:', sorted({'numpy', 'numba', 'zarr', 'dask'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "heavy: []" in shown
    positions = [shown.index(f"\n  {verb} ") for verb in VERBS]
    assert positions == sorted(positions)


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_has_an_example_and_what_all_have(verb):
    shown = run(verb, "--help").output
    assert f"bigtopic {verb} " in shown.split("Example")[1]
    assert "--json" in shown and "--config FILE" in shown


def test_ingest_says_what_it_made(source, tmp_path):
    shown = run(
        "ingest", source, tmp_path / "c.zarr", "--min-df", "0.1", "--keep-order", "--ngrams", "1-2"
    ).output
    assert "documents" in shown and "200" in shown and "as in the source" in shown
    assert "water" in run("info", tmp_path / "c.zarr", "--verify").output


def test_info_of_a_model(model):
    shown = run("info", model).output
    assert "method          auto: " in shown and "--method auto --passes 10" in shown
    assert "50 passes" in shown  # 10 online, and 40 of sampling
    assert "held-out score" in shown


def test_one_is_singular(corpus, tmp_path):
    run("train", corpus, tmp_path / "m.zarr", "--method", "vb", "--topics", 2, "--passes", 1)
    assert " 1 pass, 1 update\n" in run("info", tmp_path / "m.zarr").output


def test_topics_are_the_subjects(model, corpus):
    printed = run("topics", model, "--corpus", corpus, "--n-top", 8, "--json").output
    assert printed == run("topics", model, "--corpus", corpus, "--words", 8, "--json").output
    topics = json.loads(printed)
    found = {frozenset(word["word"] for word in topic["words"]) for topic in topics}
    assert found == {frozenset(words) for words in SUBJECTS.values()}
    for topic in topics:
        subject = next(name for name, words in SUBJECTS.items() if topic["words"][0]["word"] in words)
        assert topic["authors"][0]["author"] == f"{subject}-club"
        assert topic["share"] == pytest.approx(0.5, abs=0.02)
    table = run("topics", model, "--corpus", corpus).output
    assert "rivers-club" in table and "NPMI" in table


def test_evaluate_prints_and_counts(model, corpus):
    shown = run("evaluate", model, corpus).output
    assert "unigram model" in shown and "NPMI" in shown
    figures = json.loads(run("evaluate", model, corpus, "--json", "--measure", "log-predictive").stdout)
    assert list(figures) == ["log-predictive"]
    assert figures["log-predictive"]["value"] > figures["log-predictive"]["unigram"] + 0.3


def test_ingest_keeps_the_words_of_a_model(model, tmp_path):
    (tmp_path / "new.txt").write_text("a boat, a bridge and a barge\nopera buffa\n")
    run("ingest", tmp_path / "new.txt", tmp_path / "new.zarr", "--vocabulary", model)
    kept = open_corpus(tmp_path / "new.zarr")
    assert kept.n_words == 16 and kept.n_tokens == 3
    run("evaluate", model, tmp_path / "new.zarr", "--measure", "npmi")


def test_report_writes_a_page(model, corpus, tmp_path):
    shown = run("report", model, tmp_path / "page.html", "--corpus", corpus, "--title", "Two subjects").output
    assert str(tmp_path / "page.html") in shown
    page = (tmp_path / "page.html").read_text()
    assert "<title>Two subjects</title>" in page and "violin" in page


def test_training_does_not_replace_a_model_unless_asked(model, corpus, tmp_path):
    shown = run("train", corpus, model, code=2).output
    assert "--overwrite" in shown
    run("train", corpus, tmp_path / "m.zarr", "--topics", 2, "--max-time", "1m")
    run("train", corpus, tmp_path / "m.zarr", "--topics", 3, "--overwrite")
    assert "n_components=3" in run("info", tmp_path / "m.zarr").output


def test_training_prints_the_largest_of_many_topics(corpus, tmp_path):
    path = tmp_path / "my model.zarr"
    shown = run("train", corpus, path, "--topics", 103, "--method", "online-cvb0", "--passes", 1).stdout
    assert len(re.findall(r"^ *\d+  ", shown, re.M)) == 100
    assert f"\nand 3 more topics; bigtopic topics '{path}' prints all\n" in shown
    assert "more topics" not in run("topics", path).stdout


def test_training_averages(corpus, tmp_path):
    run("train", corpus, tmp_path / "m.zarr", "--method", "g-oem", "--topics", 3, "--average", 0.5)
    model = load_model(tmp_path / "m.zarr")
    assert model.average == model._model.method.average == 0.5


def test_training_learns_priors(corpus, tmp_path):
    given = ("--method", "vb", "--topics", 3, "--passes", 5, "--learn-doc-topic-prior", "asymmetric")
    run("train", corpus, tmp_path / "m.zarr", *given, "--learn-topic-word-prior", "symmetric")
    model = load_model(tmp_path / "m.zarr")
    assert len(set(model.doc_topic_prior_)) == 3 and model.topic_word_prior_ != 1 / 3


def test_training_with_a_method_of_authors_learns_their_topics(corpus, tmp_path):
    given = ("--method", "author-vb", "--topics", 2, "--passes", 30, "--doc-topic-prior", 0.1)
    run("train", corpus, tmp_path / "m.zarr", *given, "--learn-doc-topic-prior", "symmetric")
    model = load_model(tmp_path / "m.zarr")
    assert model.author_topics("rivers-club").argmax() != model.author_topics("music-club").argmax()
    assert model.author_topic_prior == 0.1 != model.author_topic_prior_[0]
    assert " 2" in re.search("authors(.*)", run("info", tmp_path / "m.zarr").output)[1]


def test_training_of_dual_topics_has_their_default_numbers(corpus, tmp_path):
    run("train", corpus, tmp_path / "m.zarr", "--method", "dual-online", "--passes", 1)
    model = load_model(tmp_path / "m.zarr")
    assert model.n_row_topics == model.n_column_topics == 10


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["info", "nothing.zarr"], "give the path of a corpus, a model, a checkpoint"),
        (["info", "PAGE"], "page.html is a file, not a corpus; make a corpus of it with 'bigtopic ingest "),
        (
            ["evaluate", "CORPUS", "MODEL"],
            "but a corpus: train one with 'bigtopic train CORPUS MODEL'",
        ),
        (["topics", "nothing.zarr"], "train one with 'bigtopic train CORPUS MODEL'"),
        (["train", "MODEL", "m.zarr"], "a model, not a corpus: give the path of a corpus"),
        (["train", "CORPUS", "CORPUS"], "exists but is not a model"),
        (["train", "CORPUS", "PAGE", "--overwrite"], "exists but is not a model"),
        (["train", "CORPUS", "/dev/null/m.zarr"], "/dev/null is not a folder"),
        (["ingest", "SOURCE", "CORPUS"], "pass --overwrite to replace it, --append to add"),
        (["ingest", "SOURCE", "c.zarr", "--format", "word"], "--format word is not known"),
        (["ingest", "SOURCE", "c.zarr", "--text-column", "body"], "body"),
        (["ingest", "SOURCE", "c.zarr", "--min-doc-length", "500"], "--min-doc-length 500"),
        (["ingest", "LATIN", "c.zarr"], "pass --encoding-errors replace"),
        (["ingest", "-", "c.zarr"], "standard input is empty"),
        (["topics", "nothing.zarr"], "nothing.zarr"),
        (["ingest", "no-file.txt", "c.zarr"], "no-file.txt"),
        (["train", "CORPUS", "m.zarr", "--topics", "0"], "'--topics'"),
        (["train", "CORPUS", "m.zarr", "--method", "magic"], "magic"),
        (["train", "CORPUS", "m.zarr", "--patience", "3"], "need --held-out"),
        (["train", "CORPUS", "m.zarr", "--held-out", "1.0"], "--held-out 1.0 of 200 documents: give a share"),
        (["train", "CORPUS", "m.zarr", "--held-out", "tenth"], "'--held-out': 'tenth' is neither a number"),
        (["evaluate", "MODEL", "CORPUS", "--ratio", "2"], "ratio"),
        (["ingest", "x", "c.zarr", "--min-df", "some"], "neither a number"),
        (["train", "x", "m.zarr", "--max-time", "10q"], "10q"),
        (["train", "CORPUS", "m.zarr", "--scheduler", "nonsense"], "not the address of a scheduler"),
        (["ingest", "foo://x", "c.zarr"], "foo://x: Protocol not known"),
        (["ingest", "SOURCE", "foo://c.zarr"], "foo://c.zarr: Protocol not known"),
    ],
)
def test_mistakes_are_one_clear_message(arguments, message, source, corpus, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (folder := tmp_path / "given").mkdir()
    (folder / "page.html").write_text("<html>")
    (folder / "latin.txt").write_bytes(b"caf\xe9 noir\n")
    paths = {"CORPUS": corpus, "MODEL": model, "SOURCE": source}
    paths |= {"PAGE": folder / "page.html", "LATIN": folder / "latin.txt"}
    result = run(*(paths.get(argument, argument) for argument in arguments), code=2)
    assert message in result.output
    assert result.output.count("Error: ") == 1
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == [folder]


def test_the_method_of_a_model_must_be_in_the_table(corpus, tmp_path):
    mine = replace(methods.get("vb"), name="mine")
    LDA(2, method=mine, max_iter=1).fit(open_corpus(corpus)).save(tmp_path / "m.zarr")
    shown = run("topics", tmp_path / "m.zarr", code=2).output
    assert "the custom method 'mine'; commands need a row for it in bigtopic/methods/families" in shown


def test_debug_shows_where_an_error_came_from():
    result = CliRunner().invoke(main, ["--debug", "info", "nothing.zarr"])
    assert type(result.exception).__name__ == "InputError"


@pytest.mark.parametrize(
    "text, seconds", [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), ("1.5h", 5400), ("2d", 172800)]
)
def test_durations(text, seconds):
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10q", "10m5", "-3", "0", "nan", "inf"])
def test_what_is_not_a_duration(text):
    with pytest.raises(Exception, match=r"not a time|positive time"):
        duration(text)


@pytest.mark.distributed
def test_verbs_work_on_a_scheduler(corpus, model, tmp_path):
    from dask.distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster:
        address = cluster.scheduler_address
        run("train", corpus, tmp_path / "m.zarr", "--topics", 2, "--scheduler", address)
        run("train", corpus, tmp_path / "a.zarr", "--topics", 2, "--passes", 1, "--method", "author-vb")
        asked = [
            ("evaluate", model, corpus),
            ("sweep", corpus, "--topics", "2,3", "--passes", 1),
            ("task", "authors", tmp_path / "a.zarr", corpus, "--k", 1),
        ]
        shown = [run(*one, "--json", "--scheduler", address).stdout for one in asked]
    assert [json.loads(one) for one in shown] == [json.loads(run(*one, "--json").stdout) for one in asked]


@pytest.mark.parametrize("content", ["[1]", '{"attributes": 5}', "[" * 100_000, "\x00"])
def test_a_folder_with_something_else_in_place_of_metadata_is_no_model(content, source, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "zarr.json").write_text(content)
    assert "is not a model" in run("train", source, tmp_path / "mine", code=2).output


def test_metadata_that_cannot_be_read_is_not_taken_for_a_source(source, tmp_path):
    (tmp_path / "c.zarr" / "zarr.json").mkdir(parents=True)
    for arguments in (["info", tmp_path / "c.zarr"], ["train", source, tmp_path / "c.zarr"]):
        assert "zarr.json cannot be read: it is not a regular file" in run(*arguments, code=2).output
