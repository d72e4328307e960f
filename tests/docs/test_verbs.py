"""Every line of the tables of other libraries' verbs runs on both sides, and gives the same where nothing differs."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import bigtopic as bt

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"


def pieces() -> Iterator[tuple[str, list[str]]]:
    """The page in order: each block of code, under "", and each row of a table, under the head of its first column."""
    head, code = "", None
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line == "```python":
            code = []
        elif line == "```" and code is not None:
            yield "", ["\n".join(code)]
            code = None
        elif code is not None:
            code.append(line)
        elif not line.startswith("|"):
            head = ""
        elif not line.startswith("|-"):
            cells = [cell.strip() for cell in line[1:-1].split("|")]
            if head:
                yield head, cells
            head = head or cells[0]


def snippets(cell: str) -> list[str]:
    return re.findall("`([^`]+)`", cell)


@pytest.mark.slow  # the libraries learn too
def test_both_columns_of_each_row_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    n_rows = dict.fromkeys(("gensim", "scikit-learn", "`mallet`"), 0)
    for head, cells in pieces():
        if head in n_rows:
            n_rows[head] += 1
        if not head:
            exec(cells[0], names)
        elif head in ("gensim", "scikit-learn"):
            theirs, ours = ([eval(code, names) for code in snippets(cell)][-1] for cell in cells[:2])
            assert cells[2] or same(theirs, ours), cells
        elif head == "`mallet`":
            for command in snippets(cells[1]):
                run(command)
    assert min(n_rows.values()) > 10


def same(theirs: Any, ours: Any) -> bool:
    """Whether two results are equal; of pairs of words and numbers, the numbers, as ties have no order."""
    arrays = [np.asarray([n for _, n in r] if _are_pairs(r) else r) for r in (theirs, ours)]
    if arrays[0].dtype.kind in "biuf":
        return np.allclose(*arrays, rtol=1e-4)
    return np.array_equal(*arrays)


def _are_pairs(result: Any) -> bool:
    return isinstance(result, list) and isinstance(result[0], tuple)


def run(command: str) -> None:
    from bigtopic.cli import main

    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception!r}"


def parameters() -> list[tuple[str, ...]]:
    return [tuple(cells) for head, cells in pieces() if head.startswith("here: `bigtopic.LDA`")]


@pytest.mark.parametrize("column", [0, 1, 2])
def test_parameters_side_by_side_exist(column):
    from gensim.models import LdaModel, LdaMulticore
    from sklearn.decomposition import LatentDirichletAllocation

    makers = ([bt.LDA], [LatentDirichletAllocation], [LdaModel, LdaMulticore])[column]
    known = {name for maker in makers for name in inspect.signature(maker).parameters}
    found = [code.partition("=")[0] for row in parameters() for code in snippets(row[column])]
    assert len(found) > 10 and {*found} - {"SGDClassifier"} <= known


def test_authors_side_by_side_exist():
    from gensim.models import AuthorTopicModel

    found = [cells for head, cells in pieces() if head == "here: `bigtopic.AuthorTopicModel`"]
    for column, model in enumerate((bt.AuthorTopicModel, AuthorTopicModel)):
        for code in (code for cells in found for code in snippets(cells[column])):
            name = re.split(r"[=(]", code)[0]
            assert hasattr(model, name) or name in inspect.signature(model).parameters or name == "bt.ingest"
