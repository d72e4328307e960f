"""Adding one is adding one file: in a copy of the package with one more file in each folder, every face shows them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "bigtopic"

FILES = {
    "kernels/one_kernel.py": '''
"""Each word belongs to its most probable topic."""

import numpy as np

from bigtopic.types import Kernel, KernelResult


def run(docs, view, hyper, seed, state):
    words = view.arrays["topic_words"]
    stats, in_all = np.zeros_like(words), np.zeros((1, words.shape[1]))
    doc_topics = np.full((docs.n_docs, hyper.n_components), 0.1, words.dtype)
    topics = words[docs.words, : hyper.n_components].argmax(axis=1)
    np.add.at(stats, (docs.words, topics), docs.counts)
    np.add.at(in_all[0], topics, docs.counts)
    np.add.at(doc_topics, (np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr)), topics), docs.counts)
    doc_topics /= doc_topics.sum(axis=1, keepdims=True)
    return KernelResult({"topic_words": stats, "in_all": in_all}, doc_topics, None, {})


KERNEL = Kernel(
    "one_kernel", run, views={"topic_words": "mean"}, statistics={"topic_words": "word", "in_all": "none"}
)
''',
    "schemes/one_scheme.py": '''
"""The statistics become twice those of the round."""

from dataclasses import dataclass


@dataclass(frozen=True)
class OneScheme:
    def step(self, array, stats, info):
        array.add(stats, weight=2.0, decay=0.0)


SCHEME = OneScheme
''',
    "models/one_model.py": '''
"""LDA, and how many tokens each topic has."""

from bigtopic.models.base import ArraySpec, Model

ONE_MODEL = Model(
    "one-model",
    {
        "topic_words": ArraySpec("word", prior="topic_word_prior", start=("uniform", 1.0)),
        "in_all": ArraySpec("none", normalised_over=None, dtype="float64"),
    },
)
''',
    "methods/families/one_family.py": '''
"""The kernel, the scheme and the model of one file each."""

from bigtopic.methods.method import Method
from bigtopic.models.one_model import ONE_MODEL
from bigtopic.schemes.one_scheme import OneScheme

SCHEMES = {"topic_words": OneScheme(), "in_all": OneScheme()}
METHODS = (Method("one-method", "one_kernel", SCHEMES, ONE_MODEL, summary="three files in one row"),)
''',
    "corpus/readers/formats/one_format.py": '''
"""A table of numbers: a document per line, and a column for each of three words."""

from dataclasses import replace

import numpy as np

from bigtopic.corpus.readers.formats import matrix


def match(file):
    return 0.95 if file.name.endswith(".one") else 0.0


def open_reader(files, options):
    numbers = np.loadtxt(files[0].path, dtype=np.int64, ndmin=2)
    return matrix.open_reader(numbers, replace(options, vocabulary=["red", "green", "blue"]))
''',
    "evaluation/measures/one_measure.py": '''
"""The number of topics."""

from bigtopic.evaluation import Measure, Score

MEASURE = Measure(
    "one-measure",
    prepare=lambda subject, settings: subject.source.n_components,
    of_block=None,
    combine=None,
    finish=lambda number, _: Score(float(number)),
    default=True,
    meaning="a number that everybody knows",
)
''',
    "plots/one_plot.py": '''
"""The number of topics."""

from bigtopic.plots import Plot


def draw(figure, subject, results, settings):
    figure.text(0.5, 0.5, f"{subject.source.n_components} topics")


PLOT = Plot("one-plot", draw, summary="a number in the middle")
''',
    "cli/one_verb.py": '''
"""`bigtopic one_verb`."""

import click


@click.command("one_verb", short_help="A verb of one file.")
def command():
    """Say so."""
    click.echo("said so")
''',
}

SCRIPT = """
import json

import bigtopic as bt
from bigtopic import kernels, schemes
from bigtopic.cli import main
from click.testing import CliRunner


def run(*arguments):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


found = {"package": bt.__file__, "kernels": kernels.names(), "schemes": schemes.names()}
found |= {"help": run("--help"), "verb": run("one_verb"), "plot help": run("plot", "--help")}
found |= {"ingest help": run("ingest", "--help"), "evaluate help": run("evaluate", "--help")}
found |= {"measures": bt.evaluate.measures.names(), "plots": bt.plots.names()}

with open("table.one", "w") as file:
    file.write("9 1 0\\n1 8 0\\n0 0 5\\n" * 10)
run("ingest", "table.one", "corpus.zarr")
corpus = bt.open_corpus("corpus.zarr")
found["words"] = dict(zip(corpus.vocabulary, corpus.to_scipy().sum(axis=0).tolist()[0]))

run("train", "corpus.zarr", "model.zarr", "--topics", "2", "--method", "one-method")
model = bt.load_model("model.zarr")
found["methods"] = repr(bt.methods())
found["in all"] = model.array("in_all").values.tolist()

model.plot("one-plot").savefig("one.svg")
found["measured"] = repr(bt.evaluate.measure(model, measures="one-measure"))
page = bt.report.write_html(bt.report.summarise(model), "page.html")
found["report"] = page.read_text()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the copy says. Its files are links, so that compiled code is found; what it writes stays in it."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(PACKAGE, folder / "bigtopic", copy_function=os.symlink)
    for name, text in FILES.items():
        (folder / "bigtopic" / name).write_text(text.lstrip(), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    run = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["package"]) == folder / "bigtopic" / "__init__.py"
    return found


def test_a_kernel_a_scheme_and_a_model_learn(found):
    assert "one_kernel" in found["kernels"] and "one_scheme" in found["schemes"]
    assert sum(found["in all"][0]) == 2 * 10 * (10 + 9 + 5)


def test_a_method_is_in_the_table_and_known_by_its_name(found):
    (row,) = [line for line in found["methods"].splitlines() if line.startswith("one-method ")]
    assert "three files in one row" in row


def test_a_format_is_recognised_and_an_option(found):
    assert found["words"] == {"red": 100, "green": 90, "blue": 50}
    assert "one_format" in found["ingest help"]


def test_a_measure_is_an_option_and_in_the_tables(found):
    assert "one-measure" in found["measures"] and "one-measure" in found["evaluate help"]
    assert found["measured"].split() == ["one-measure", "2.0000"]
    assert "<dt>one-measure</dt><dd>2.000</dd>" in found["report"]


def test_a_plot_is_in_the_help(found):
    assert "one-plot" in found["plots"] and "one-plot a number in the middle" in found["plot help"]


def test_a_verb_is_in_the_help(found):
    assert "one_verb A verb of one file." in found["help"] and found["verb"] == "said so"


def test_the_package_itself_has_none_of_them():
    assert not [name for name in FILES if (PACKAGE / name).exists()]
