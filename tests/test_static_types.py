"""What editors and type checkers see of the public interface: mypy on calls, and jedi's completions and signatures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jedi
import pytest

import bigtopic as bt

ROOT = Path(__file__).parents[1]
CALLS = Path(__file__).parent / "typed" / "calls.py"


def test_mypy_objects_to_wrong_calls_alone():
    wanted = dict(re.findall(r"^(\d+): .*  # (.+)$", _numbered(CALLS), re.MULTILINE))
    assert len(wanted) > 15
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(CALLS)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    found = dict(re.findall(r"^[^:]+:(\d+): error: (.+)$", done.stdout, re.MULTILINE))
    assert found.keys() == wanted.keys(), done.stdout + done.stderr
    assert {line: text for line, text in wanted.items() if text not in found[line]} == {}


def _numbered(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n".join(f"{number}: {line}" for number, line in enumerate(lines, 1))


def completed(code: str) -> set[str]:
    return {found.name for found in jedi.Script(f"import bigtopic as bt\n{code}").complete()}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("bt.LD", {"LDA"}),
        ("bt.LDA(3).fit('c.zarr').tr", {"transform", "transform_to"}),
        (
            "corpus = bt.ingest([], 'c.zarr')\ncorpus.n_",
            {"n_docs", "n_words", "n_tokens", "n_authors", "n_bytes"},
        ),
        ("bt.load_model('m.zarr').author_to", {"author_topics", "author_topic_prior", "author_topic_prior_"}),
        ("bt.evaluate.coherence(1, 2).per", {"per_topic"}),
    ],
)
def test_jedi_completes(code, names):
    assert completed(code) >= names


@pytest.mark.parametrize(
    ("call", "arguments"), [("bt.LDA(", ["n_components", "method"]), ("bt.ingest(", ["source", "store"])]
)
def test_jedi_shows_signatures(call, arguments):
    (signature,) = jedi.Script(f"import bigtopic as bt\n{call}").get_signatures()
    assert [each.name for each in signature.params][:2] == arguments and signature.docstring()


def test_a_tab_shows_public_names():
    found = {each.name for each in jedi.Interpreter("bt.", [{"bt": bt}]).complete()}
    assert (
        {name for name in found if not name.startswith("_")}
        == set(bt.__all__)
        == set(dir(bt)) - {"__version__"}
    )


def test_public_names_have_types():
    """Each is imported for type checkers, too."""
    assert {name for name in completed("bt.") if name[0] != "_"} >= set(bt.__all__)


def test_the_short_name_of_the_evaluation_is_a_module():
    from bigtopic import evaluation
    from bigtopic.evaluate import coherence

    assert coherence is evaluation.coherence and bt.evaluate.__all__ == evaluation.__all__
