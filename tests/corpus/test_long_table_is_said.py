"""The closing line of ingest names the columns that were taken for document, word and count."""

from __future__ import annotations

import pytest

import bigtopic as bt


@pytest.mark.parametrize("rows", ["d,cat,2", "1,7,2"], ids=["names", "numbers"])
def test_the_columns_of_a_long_table_are_said(tmp_path, rows):
    (tmp_path / "long.csv").write_text(f"doc,term,n\n{rows}\n")
    corpus = bt.ingest(tmp_path / "long.csv", tmp_path / "corpus.zarr", client=False, stop_words=None)
    assert "columns of document, word and count: doc, term, n" in str(corpus.ingestion_)
