"""The scripts that rerun papers: the verdict on planted tables, their data, and each script at toy size."""

import argparse
import csv
import runpy
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "papers"))

import _asynchronous
import _claims
from _claims import DID_NOT, HELD, UNDECIDED, Claim, verdict

PAPERS = Path(_claims.__file__).parent
SCRIPTS = sorted(path for path in PAPERS.glob("*.py") if not path.name.startswith("_"))


@pytest.mark.parametrize(
    ("differences", "margin", "expected"),
    [
        ([0.10, 0.12, 0.09, 0.11, 0.10], None, HELD),
        ([-0.10, -0.12, -0.09, -0.11, -0.10], None, DID_NOT),
        ([0.5, -0.4, 0.6, -0.5, 0.1], None, UNDECIDED),
        ([0.1, 0.1, 0.1, 0.1], None, UNDECIDED),  # four seeds
        ([0.1], None, UNDECIDED),
        ([0.1, 0.1, 0.1, 0.1, float("nan")], None, UNDECIDED),
        ([0.0] * 5, None, UNDECIDED),
        ([0.01, -0.02, 0.01, 0.0, 0.01], 0.1, HELD),
        ([-0.31, -0.29, -0.30, -0.32, -0.30], 0.1, DID_NOT),
        ([0.2, -0.1, 0.3, -0.2, 0.25], 0.1, UNDECIDED),
    ],
)
def test_a_verdict_follows_from_the_numbers(differences, margin, expected):
    assert verdict(differences, margin) == expected


def test_two_standard_errors_decide():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    error = values.std(ddof=1) / np.sqrt(5)
    assert verdict(values - 3 + 2.01 * error) == HELD
    assert verdict(values - 3 + 1.99 * error) == UNDECIDED
    assert verdict(values - 3 - 2.01 * error) == DID_NOT


def test_planted_claims_become_a_table(tmp_path, capsys):
    planted = {
        HELD: [2.0, 2.1, 1.9, 2.0, 2.0],
        DID_NOT: [-1.0, -1.1, -0.9, -1.0, -1.0],
        UNDECIDED: [1, -1, 1, -1, 0],
    }
    _claims.report(tmp_path, [Claim("Figure 1", f"a | {name}", own, "nats") for name, own in planted.items()])
    with (tmp_path / "claims.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == list(planted)
    assert rows[0]["difference"] == "+2.0000 ± 0.0316 nats" and rows[0]["seeds"] == "5"
    lines = (tmp_path / "claims.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 5 and lines[2].endswith("| held |") and "a \\| held" in lines[2]
    assert lines[2] in capsys.readouterr().out


def test_differences_by_the_common_inference_decide_nothing(tmp_path):
    own, common = [1.0, 1.1, 0.9, 1.0, 1.0], [-1.0, -1.1, -0.9, -1.0, -1.0]
    claims = [
        Claim("Figure 1", "better", own, "nats", common=common),
        Claim("Figure 4", "faster", own, "nats"),
    ]
    _claims.report(tmp_path, claims)
    with (tmp_path / "claims.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["by common inference"] for row in rows] == ["-1.0000 ± 0.0316", ""]
    assert [row["verdict"] for row in rows] == [HELD, HELD]


def test_the_page_of_claims_gets_the_columns_of_the_table(tmp_path):
    (tmp_path / "ope").mkdir()
    _claims.report(tmp_path / "ope", [Claim("Figure 1", "better", [1.0], "nats", common=[2.0])])
    script = runpy.run_path(str(PAPERS.parents[1] / "docs" / "claims_tables.py"))
    page = script["filled"]("<!-- ope -->\nold\n<!-- /ope -->\n<!-- sgs -->\nleft\n<!-- /sgs -->", tmp_path)
    assert page.splitlines()[1:4] == [
        "| where | claim | difference | by common inference | verdict |",
        "|---|---|---|---|---|",
        "| Figure 1 | better | +1.0000 ± nan nats | +2.0000 ± nan | undecided |",
    ]
    assert "old" not in page and "left" in page


KINDS = "boats", "bridges", "canals", "dams", "mills", "ponds"  # each in a sixth of the documents
TEXTS = [f"text {i} of {kind}" for i in range(5) for kind in KINDS]


def _of_kind(kind, folder):
    if kind == "corpus":
        return bt.ingest(TEXTS, folder / "stored.zarr", stop_words=None).url
    if kind == "folder":
        (folder / "texts").mkdir()
        for i, text in enumerate(TEXTS):
            (folder / "texts" / f"{i}.txt").write_text(text)
        return str(folder / "texts")
    separator = "\t" if kind == "tsv" else ","
    path = folder / f"texts.{kind}"
    path.write_text(
        "\n".join(["id" + separator + "text", *(f"{i}{separator}{text}" for i, text in enumerate(TEXTS))])
    )
    return str(path)


@pytest.mark.parametrize("kind", ["corpus", "folder", "tsv", "csv"])
def test_data_may_be_a_corpus_or_texts(kind, tmp_path):
    given = argparse.Namespace(data=_of_kind(kind, tmp_path), out=tmp_path, toy=False)
    corpus = _claims.corpus_of(given, "kos", lambda: pytest.fail("nothing is drawn"))
    assert corpus.n_docs == len(TEXTS) and "boats" in corpus.vocabulary.words


def test_the_larger_demo_has_the_libraries_that_every_installation_has():
    names = _claims.modules()
    assert {"asyncio", "numpy", "scipy", "xml"} <= {*names} and not {"test", "pytest"} & {*names}
    source_files = import_module("bigtopic.datasets.docstrings")._source_files  # refuses names without source
    assert {module.partition(".")[0] for module, _ in source_files(names)} == {*names}


def test_seconds_are_of_the_last_pass():
    passes = [{"seconds": 5.0, "n_tokens": 60.0}, {"seconds": 8.0, "n_tokens": 120.0}]
    fits = [_asynchronous.Measured(passes, n_pushes=6, driver=0.25)]
    assert _asynchronous.times(fits) == {
        "seconds": 3.0,
        "tokens a second": 20.0,
        "ms a push": 500.0,
        "driver, ms a push": 250.0,
    }
    assert _asynchronous.Measured(passes[:1], n_pushes=6, driver=0.25).seconds == 5.0


@pytest.mark.slow
@pytest.mark.distributed
def test_figure_4_on_processes(tmp_path):
    script = runpy.run_path(str(PAPERS / "sgs.py"), run_name="sgs")
    corpus = _claims.drawn(120, 60, 3, 20)
    with _asynchronous.processes() as place:
        script["figure_4"]([corpus.split(0.2, seed) for seed in range(2)], script["TOY"], tmp_path, place)
    with (tmp_path / "figure-4.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["workers"], row["as"]) for row in rows] == [(n, "processes") for n in "1122"]
    assert all(float(row["kB a push"]) > 0 for row in rows)
    with (tmp_path / "figure-4-seconds.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["workers"], row["method"]) for row in rows] == [
        (n, m) for n in "12" for m in ("DSGS", "SVB")
    ]
    assert all(float(row["driver, ms a push"]) > 0 for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_script_runs(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script.name, "--toy", "--out", str(tmp_path)])
    runpy.run_path(str(script), run_name="__main__")
    with (tmp_path / "claims.csv").open(encoding="utf-8") as file:
        claims = list(csv.DictReader(file))
    assert claims and {row["verdict"] for row in claims} == {UNDECIDED}  # two seeds
    assert {path.suffix for path in tmp_path.iterdir()} >= {".csv", ".md", ".png"}
    assert "claims" in capsys.readouterr().out
