"""Documents in another order, with other word ids: SciPy against a plain loop."""

from itertools import pairwise

import numpy as np
import pytest

from bigtopic.corpus.blocks import offsets, take
from bigtopic.ingestion.parse import word_counts
from bigtopic.ingestion.sort import with_final_ids
from bigtopic.types import Block


def random_block(rng, n_docs, n_words, longest, authors=False):
    lengths = np.minimum(rng.integers(0, longest + 1, n_docs), n_words)
    words = [np.sort(rng.choice(n_words, n, replace=False)) for n in lengths]
    block = Block(
        offsets(lengths),
        np.concatenate([np.zeros(0, np.int32), *words]).astype(np.int32),
        rng.random(lengths.sum()).astype(np.float32),
        rng.permutation(n_docs),
    )
    if not authors:
        return block
    n_authors = rng.integers(0, 3, n_docs)
    pairs = rng.integers(0, 9, n_authors.sum()).astype(np.int32)
    return Block(block.indptr, block.words, block.counts, block.rows, offsets(n_authors), pairs)


def documents(block, new_ids=None):
    """For each document {word: count} with its row, ids of kept words only, in the order they are in."""
    found = []
    for d in range(block.n_docs):
        own = slice(block.indptr[d], block.indptr[d + 1])
        entries = list(zip(block.words[own].tolist(), block.counts[own].tolist(), strict=True))
        if new_ids is not None:
            entries = sorted((int(new_ids[w]), n) for w, n in entries if new_ids[w] >= 0)
        found.append((int(block.rows[d]), entries))
    return found


@pytest.mark.parametrize("longest", [0, 3, 25, 400])
@pytest.mark.parametrize("n_words", [500, 70_000, 2**31 - 1])
def test_new_ids_and_order(longest, n_words):
    rng = np.random.default_rng(longest)
    used = min(n_words, 1000)  # words of the source; those of the corpus go up to n_words
    block = random_block(rng, 40, used, longest)
    new_ids = np.full(used, -1, np.int32)
    kept = rng.permutation(used)[: used // 2]
    new_ids[kept] = (
        rng.choice(n_words, len(kept), replace=False) if n_words < 10**6 else n_words - 1 - kept * 7
    )
    positions = rng.permutation(block.n_docs)[:30]
    before = block.counts.copy()
    result = with_final_ids(block, positions, new_ids)
    assert (block.counts == before).all()
    assert documents(result) == documents(take(block, positions), new_ids)
    assert result.words.dtype == np.int32 and result.counts.dtype == np.float32


def test_authors_ascend_within_documents():
    rng = np.random.default_rng(0)
    block = random_block(rng, 50, 300, 40, authors=True)
    positions = rng.permutation(50)
    result, expected = (
        with_final_ids(block, positions, np.arange(300, dtype=np.int32)),
        take(block, positions),
    )
    for name in ("indptr", "words", "counts", "rows", "author_indptr"):
        assert getattr(result, name).tolist() == getattr(expected, name).tolist()
    for a, b in pairwise(expected.author_indptr):
        assert result.authors[a:b].tolist() == sorted(expected.authors[a:b].tolist())


def test_counts_of_words():
    rng = np.random.default_rng(1)
    words, counts = rng.integers(0, 50, 1000).astype(np.int32) * 2, rng.random(1000).astype(np.float32)
    found = word_counts(words, counts, None)
    assert found.words.tolist() == np.unique(words).tolist()
    assert found.documents.tolist() == np.bincount(words)[found.words].tolist()
    assert found.tokens.tolist() == np.bincount(words, counts)[found.words].tolist()
    named = word_counts(words, None, [f"w{i}" for i in range(110)])
    assert named.words.tolist() == [f"w{i}" for i in found.words]
    assert named.tokens.tolist() == named.documents.tolist() == found.documents.tolist()
