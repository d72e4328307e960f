"""Figures of blocks of documents, whatever their size."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from bigtopic.corpus.blocks import document_tokens
from bigtopic.types import Block


def block(n_docs: int, length: int) -> Block:
    """Every other document is empty."""
    indptr = np.repeat(np.arange(0, n_docs // 2 * length + 1, length), 2)[:-1]
    n_entries = indptr[-1]
    counts = np.arange(n_entries, dtype=np.float32) % 7
    return Block(np.append(indptr, n_entries), np.zeros(n_entries, np.int32), counts, np.arange(n_docs))


@pytest.mark.parametrize("n_docs", [0, 2, 16_382, 16_384, 16_386, 50_000])
def test_tokens_of_documents(n_docs):
    found = block(n_docs, 3)
    expected = [found.counts[a:b].sum() for a, b in zip(found.indptr[:-1], found.indptr[1:], strict=True)]
    np.testing.assert_array_equal(document_tokens(found), expected)


def test_tokens_take_no_memory_for_all_counts():
    many = block(100_000, 60)
    tracemalloc.start()
    document_tokens(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * len(many.counts) / 2
