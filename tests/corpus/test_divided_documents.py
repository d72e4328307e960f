"""Documents divided into pieces: nothing is lost, and each piece belongs to its document, however a source is cut."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import SettingError

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.sources import (
    N_DOCS,
    PLAIN,
    cut_small,
    dask_frame_text,
    iterable_records,
    iterable_texts,
    iterable_tokens,
    json_lines_text,
    json_lines_tokens,
    make_counts,
    pandas_text,
    text_files,
    text_lines,
    tsv_without_header,
)

SOURCES = [
    dask_frame_text,
    iterable_records,
    iterable_texts,
    iterable_tokens,
    json_lines_text,
    json_lines_tokens,
    pandas_text,
    text_files,
    text_lines,
    tsv_without_header,
]
HERE = {"stop_words": None, "max_df": 1.0, "n_threads": 2, "client": False, "progress": False}


def sources_and_sizes():
    """Every source with each size; by default, sizes other than 3 of the two sources that are a file or an iterator."""
    for make in SOURCES:
        for size in (1, 3, 10_000):
            others = size != 3 and make not in (text_lines, iterable_records)
            marks = pytest.mark.slow if others else ()
            yield pytest.param(make, size, id=f"{make.__name__}-{size}", marks=marks)


@pytest.mark.parametrize(("make", "size"), [*sources_and_sizes()])
def test_pieces_add_up_to_their_document(make, size, tmp_path, monkeypatch):
    cut_small(monkeypatch)
    source, keywords = make(tmp_path, make_counts())
    keywords.pop("text", None)
    given = {**HERE, **keywords, "token_pattern": PLAIN.token_pattern, "columns": {"row": range(N_DOCS)}}
    if make is iterable_tokens:  # which can be read only once
        source = list(source)
    whole = bt.ingest(list(source) if make is iterable_records else source, tmp_path / "whole.zarr", **given)
    source = make(tmp_path, make_counts())[0]
    pieces = bt.ingest(source, tmp_path / "pieces.zarr", **given, split_documents=size)
    counts, expected = pieces.to_scipy().toarray(), whole.to_scipy().toarray()
    assert pieces.vocabulary[:] == whole.vocabulary[:]
    assert counts.sum(axis=1).max() == min(size, expected.sum(axis=1).max())
    rows = pieces.read_column("row")
    sums = np.zeros_like(expected)
    np.add.at(sums, rows, counts)
    np.testing.assert_array_equal(sums, expected)
    parents = pieces.read_column("parent").tolist()
    assert sorted({*rows.tolist()}) == list(range(N_DOCS)) and (np.diff(rows) >= 0).all()
    first = np.searchsorted(rows, rows)
    assert pieces.document_ids().tolist() == [
        f"{parent}#{i - start + 1}" for i, (parent, start) in enumerate(zip(parents, first, strict=True))
    ]
    ids = whole.document_ids().tolist()
    assert parents == [ids[row] for row in rows.tolist()]


def test_texts_are_kept_by_piece(tmp_path):
    corpus = bt.ingest(
        ["a cat.  It sat"], tmp_path / "c.zarr", **HERE, split_documents=2, keep_text=True, ids=["x"]
    )
    assert [corpus[i].text for i in range(2)] == ["a cat.", "It sat"]
    with pytest.raises(SettingError, match="split_documents"):
        bt.ingest(corpus, tmp_path / "again.zarr", split_documents=2)
