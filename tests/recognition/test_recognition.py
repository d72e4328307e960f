"""What each source is taken for: read with these counts, read with a warning, or refused with the remedy."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import BigtopicError, BigtopicWarning

sys.path.insert(0, str(Path(__file__).parents[1]))

from recognition.case import Case, Files, Read, Refused, Warned

SUBJECTS = sorted(path.stem for path in Path(__file__).parent.glob("rows_*.py"))
FOUND = [
    (f"{subject.removeprefix('rows_')}: {case.name}", case)
    for subject in SUBJECTS
    for case in import_module(f"recognition.{subject}").CASES
]
KEEP_ALL = {"stop_words": None, "max_df": 1.0}


def test_each_case_has_a_name_of_its_own():
    names = [name for name, _ in FOUND]
    assert names and len(set(names)) == len(names)


@pytest.mark.costly(160)
@pytest.mark.parametrize("case", [case for _, case in FOUND], ids=[name for name, _ in FOUND])
def test_a_source_is_taken_for_what_it_is(case: Case, tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    source = case.source
    if isinstance(source, Files):
        source = source.write(folder)
    elif callable(source):
        source = source(folder)
    store = tmp_path / "corpus.zarr"
    options = {**KEEP_ALL, **case.options, "n_threads": 1, "client": False, "progress": False}
    if isinstance(case.right, Refused):
        with pytest.raises(BigtopicError) as caught:
            bt.ingest(source, store, **options)
        messages = [case.right.message] if isinstance(case.right.message, str) else case.right.message
        for message in messages:
            assert message in str(caught.value)
        assert not store.exists()
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", BigtopicWarning)
        corpus = bt.ingest(source, store, **options)
    told = [str(warning.message) for warning in said if issubclass(warning.category, BigtopicWarning)]
    if isinstance(case.right, Warned):
        assert any(case.right.message in text for text in told), told
        _compare(corpus, case.right.read)
    else:
        assert told == []
        _compare(corpus, case.right)


def _compare(corpus: bt.Corpus, right: Read) -> None:
    assert corpus.n_docs == right.documents
    if right.words is not None:
        totals = np.asarray(corpus.to_scipy().sum(axis=0)).ravel()
        assert dict(zip(corpus.vocabulary[:], totals.tolist(), strict=True)) == dict(right.words)
    if right.ids is not None:
        assert corpus.document_ids().tolist() == list(right.ids)
    if right.columns is not None:
        assert sorted(corpus.columns) == sorted(right.columns)
        assert {name: corpus.read_column(name).tolist() for name in right.columns} == {
            name: list(values) for name, values in right.columns.items()
        }
    if right.authors is not None:
        assert [sorted(document.authors or ()) for document in corpus] == [*map(sorted, right.authors)]


def test_the_command_of_a_refusal_runs_as_it_stands(tmp_path):
    (tmp_path / "my file.pdf").write_bytes(b"%PDF-1.4\nx")
    with pytest.raises(bt.errors.InputError, match=f"pdftotext '{tmp_path}/my file.pdf'"):
        bt.ingest(str(tmp_path / "my file.pdf"), str(tmp_path / "c.zarr"))
    (tmp_path / "a.feather").write_bytes(b"ARROW1\x00\x00")
    with pytest.raises(bt.errors.InputError, match=rf"read_feather\('{tmp_path}/a.feather'\)"):
        bt.ingest(str(tmp_path / "a.feather"), str(tmp_path / "c.zarr"))


def test_the_closing_line_of_an_append_tells_what_was_replaced(tmp_path):
    corpus = bt.ingest(["cat dog", "dog fish", "fish cat"], str(tmp_path / "c.zarr"), ids=["a", "b", "c"])
    corpus = bt.append(corpus, ["cat bird"], ids=["a"], on_duplicate="replace")
    assert "0 documents added to 3 and 1 replaced, 2 tokens" in str(corpus.ingestion_)
    corpus = bt.append(corpus, ["cat", "dog"], ids=["b", "d"], on_duplicate="replace")
    assert "1 document added to 3 and 1 replaced, 2 tokens" in str(corpus.ingestion_)
