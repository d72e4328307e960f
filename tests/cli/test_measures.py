"""A measure put into the folder while the program runs is an option, a line of the table and a figure of the report."""

import json
import re
import sys

import pytest

from bigtopic.evaluation import measures

from .conftest import run

FILE = '''
"""Tokens of the longest document, and how many documents each topic leads."""

import numpy as np

from bigtopic.evaluation import Measure, Score, Setting


def prepare(subject, settings):
    return settings["factor"], subject.source.n_components


def of_block(state, documents):
    leads = np.bincount(documents.doc_topics.argmax(axis=1), minlength=state[1])
    return documents.tokens.max(initial=0), leads


def combine(total, piece):
    return max(total[0], piece[0]), total[1] + piece[1]


def finish(state, total):
    return Score(state[0] * total[0], total[1].astype(float))


MEASURE = Measure(
    name="longest-document",
    prepare=prepare,
    of_block=of_block,
    combine=combine,
    finish=finish,
    doc_topics=True,
    settings={"factor": Setting(1.0, "What the length is multiplied with."), "n_top": Setting(7, "Not used.")},
    default=True,
    title="longest <document>",
    unit="tokens",
    meaning="a measure of the tests",
)
'''


@pytest.fixture
def longest_document(tmp_path, monkeypatch):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "longest_document.py").write_text(FILE)
    monkeypatch.setattr(measures, "__path__", [*measures.__path__, str(folder)])
    from bigtopic.cli.evaluate import command as evaluate
    from bigtopic.cli.report import command as report

    for verb in (evaluate, report):  # what earlier tests found
        vars(verb).pop("_found", None)
    yield
    for verb in (evaluate, report):
        vars(verb).pop("_found", None)
    sys.modules.pop("bigtopic.evaluation.measures.longest_document", None)
    vars(measures).pop("longest_document", None)


def test_it_is_in_the_help_with_its_settings(longest_document):
    shown = " ".join(run("evaluate", "--help").output.split())
    assert "log-predictive|longest-document|npmi|" in shown
    assert "--factor FLOAT What the length is multiplied with. [default: 1.0]" in shown
    assert re.search(r"\[default: \([^\]]*longest-\s?document: 7[;)]", shown)
    assert "longest-document" in run("report", "--help").output


def test_it_is_in_the_table(longest_document, model, corpus):
    shown = run("evaluate", model, corpus).output
    assert "longest <document>  20.0000 tokens" in shown and "NPMI" in shown
    asked = ("--measure", "longest-document", "--factor", 0.5, "--json")
    found = json.loads(run("evaluate", model, corpus, *asked).output)
    assert found == {"longest-document": {"value": 10.0, "per_topic": [100.0, 100.0]}}


def test_it_is_in_the_report_escaped(longest_document, model, corpus, tmp_path):
    run("report", model, tmp_path / "page.html", "--corpus", corpus)
    page = (tmp_path / "page.html").read_text()
    assert "<dt>longest &lt;document&gt;, tokens</dt><dd>20.000</dd>" in page
    assert page.count("· <bdi>longest &lt;document&gt;</bdi> 100.00") == 2
    assert "Longest &lt;document&gt;: a measure of the tests." in page
    shown = run("topics", model, "--corpus", corpus).output
    assert "longest <document>" in shown.splitlines()[0]


@pytest.mark.parametrize("setting", ["json", "model", "scheduler", "n_threads", "measures", "help"])
def test_a_setting_of_the_name_of_an_option_is_refused(setting, longest_document, tmp_path, model, corpus):
    file = tmp_path / "mine" / "longest_document.py"
    file.write_text(FILE.replace('"factor": Setting', f'"{setting}": Setting'))
    shown = run("evaluate", model, corpus, code=2).output
    assert f"Error: setting '{setting}' of a measure or plot is also " in shown
    assert shown.endswith("; give the setting another name\n")


@pytest.mark.parametrize(
    "change, message",
    [
        (("MEASURE = ", "MINE = "), "must define MEASURE"),
        (('name="longest-document"', 'name="longest"'), "write name='longest-document', or rename the file"),
    ],
)
def test_a_file_that_is_no_measure_is_one_clear_message(
    change, message, longest_document, tmp_path, model, corpus
):
    file = tmp_path / "mine" / "longest_document.py"
    file.write_text(FILE.replace(*change))
    shown = run("evaluate", model, corpus, code=2).output
    assert message in shown and shown.count("Error: ") == 1


def test_it_is_gone_again():
    assert "longest-document" not in run("evaluate", "--help").output


def test_a_report_has_the_measures_asked_for(model, corpus, tmp_path):
    run("report", model, tmp_path / "page.html", "--corpus", corpus, "--measure", "umass")
    page = (tmp_path / "page.html").read_text()
    assert "UMass" in page and "NPMI" not in page
    asked = ("--corpus", corpus, "--measure", "log-predictive")
    shown = run("report", model, tmp_path / "other.html", *asked, code=2).output
    assert "'log-predictive' needs unseen documents; give --test" in shown
    assert not (tmp_path / "other.html").exists()


def test_a_setting_of_another_measure_is_refused(model, corpus):
    shown = run("evaluate", model, corpus, "--measure", "npmi", "--n-documents", 5, code=2).output
    assert "Error: --n-documents: is not a setting of these measures; their settings are: --n-top" in shown


def test_old_names_of_settings_are_second_spellings(model, corpus):
    asked = ("evaluate", model, corpus, "--measure", "npmi", "--measure", "log-predictive", "--json")
    new = run(*asked, "--n-top", 3, "--random-state", 5).output
    assert new == run(*asked, "--topn", 3, "--seed", 5).output != run(*asked).output


@pytest.mark.filterwarnings("default")
def test_an_old_name_that_another_setting_has_now_warns(model, corpus):
    asked = ("evaluate", model, corpus, "--measure", "prevalence", "--json")
    shown = run(*asked, "--n-top", 2)  # words where npmi is asked for, else documents as before
    assert shown.stdout == run(*asked, "--n-documents", 2).output
    assert "argument 'n_top' is now 'n_documents'" in shown.stderr


def test_prevalence_names_documents(model, corpus):
    asked = ("--measure", "prevalence", "--n-documents", 5)
    first, *topics = run("evaluate", model, corpus, *asked).output.splitlines()
    assert "topics in use" in first and len(topics) == 2
    found = json.loads(run("evaluate", model, corpus, *asked, "--json").output)["prevalence"]
    for line in topics:
        topic = int(line.split()[1])
        assert f"{found['share'][topic]:.1%} of the tokens; documents in rows " in line
        assert all(f" {row} (" in line for row in found["rows"][topic])
