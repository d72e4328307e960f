"""Mutated files, objects and stores of every kind: accepted right, or refused by an error that says what and where.

`pytest -m fuzz tests/fuzz` runs 10 000 and prints their counts. `python tests/fuzz/child.py NUMBER` repeats one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.cases import FORMATS, format_of
from fuzz.server import Reply, Server, failures, run_cases, table

pytest.importorskip("anndata")
pytest.importorskip("openpyxl")
pytest.importorskip("pyarrow")
pytest.importorskip("zstandard")

FIXED = (*range(72), 288)  # every format once, stores more often; 288 is the first line bomb
ALL = range(10_000)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_fixed_inputs(server: Server, name: str) -> None:
    replies = [server.run(number) for number in FIXED if format_of(number) == name]
    assert replies and {reply["format"] for reply in replies} == {name}
    if found := failures(replies):
        pytest.fail(found, pytrace=False)


@pytest.mark.fuzz
def test_many_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    replies = list(run_cases(ALL, 2))
    with capsys.disabled():
        print("\n" + table(replies))
    if found := failures(replies):
        pytest.fail(found, pytrace=False)


# ------------------------------------------------------------------ objects and settings

_WORD = st.text(max_size=8) | st.sampled_from(["a", "b", "\ud800", "a\0b", "\x1b[31m", "İ", "ﬁ"])
_COUNT = st.integers(-1, 9) | st.floats() | st.sampled_from([2**63, 10**400, True, None])
# An array of all words up to the largest id is made: of 16 million, more than the harness allows a process.
_ID = st.integers(-1, 2**20) | st.sampled_from([2**31 - 1, 2**31, 2**63])
_SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | _WORD | st.dates() | st.binary(max_size=3)
_VALUE = st.recursive(
    _SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORD, inner, max_size=3)
)
_NAME = (
    st.sampled_from(["text", "id", "authors", "year", "zarr.json", "../x", "", "source_row", "tokens"])
    | _WORD
)
_RECORD = st.builds(
    lambda text, rest: {"text": text, **rest}, _WORD, st.dictionaries(_NAME, _VALUE, max_size=4)
)
_DOCUMENTS = st.one_of(
    st.lists(_WORD | st.none(), max_size=8),
    st.lists(st.lists(_WORD, max_size=5), max_size=8),
    st.lists(st.dictionaries(_WORD, _COUNT, max_size=4), max_size=6),
    st.lists(st.lists(st.tuples(_ID, _COUNT), max_size=4), max_size=6),
    st.lists(_RECORD, max_size=4),
    st.lists(_VALUE, max_size=5),
    st.integers(0, 5).map(np.ones),
)  # fmt: skip
_TEXTS = ["a cat sat on a mat", "the dog ran", "", "a dog and a cat"]
_FOUR = st.lists(_VALUE, min_size=3, max_size=5)
_SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "min_df": st.integers(-2, 5) | st.floats(),
        "max_df": st.integers(-2, 5) | st.floats(),
        "max_features": st.none() | st.integers(-2, 2**70),
        "min_doc_length": st.integers(-2, 2**70) | st.floats(),
        "random_state": st.integers(-(2**70), 2**70),
        "shuffle": st.booleans(),
        "weights": st.booleans(),
        "lowercase": st.booleans(),
        "token_pattern": st.sampled_from([r"\S+", "(", "", "a|", "(a)(b)", r"\w{1000}", r"(?P<x>\w)", "\0"]),
        "stop_words": st.sampled_from([None, "english", "klingon", ["a"], [""], ["\ud800"]]),
        "ngram_range": st.tuples(st.integers(-1, 5), st.integers(-1, 5)) | st.just((1, 10**9)),
        "collocations": st.none() | st.floats() | st.just([("a", "cat")]),
        "encoding": st.sampled_from(["utf-8", "latin-1", "utf-16", "nothing", ""]),
        "vocabulary": st.lists(_WORD, max_size=6),
        "ids": _FOUR,
        "authors": _FOUR,
        "columns": st.dictionaries(_NAME, _FOUR, max_size=3),
    },
)


def _checked(reply: Reply) -> None:
    assert reply["outcome"] != "failed", f"{reply['cause']}\n{reply.get('message', '')}"


def _examples(number: int) -> Callable[[Any], Any]:
    return settings(
        max_examples=number,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@_examples(10)
@given(documents=_DOCUMENTS)
def test_any_documents(server: Server, documents: Any) -> None:
    _checked(server.run_object(documents, {}))


@_examples(10)
@given(chosen=_SETTINGS)
def test_any_settings(server: Server, chosen: dict[str, Any]) -> None:
    _checked(server.run_object(_TEXTS, chosen))


@pytest.mark.fuzz
@_examples(1000)
@given(documents=_DOCUMENTS, chosen=_SETTINGS)
def test_many_documents_and_settings(server: Server, documents: Any, chosen: dict[str, Any]) -> None:
    _checked(server.run_object(documents, chosen))
