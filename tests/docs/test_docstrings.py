"""Examples in docstrings are executed."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import bigtopic

MODULES = sorted(module.name for module in pkgutil.walk_packages(bigtopic.__path__, "bigtopic."))


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_module(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    with_examples = [
        name for name in MODULES if any(test.examples for test in finder.find(import_module(name)))
    ]
    assert {"bigtopic.estimators.lda", "bigtopic.ingestion.ingest"} <= set(with_examples)
