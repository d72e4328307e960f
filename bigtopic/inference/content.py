"""Documents by their content: the order that a kernel visits them in, and the keys of the draws that it makes.

What a document holds in the model's ids determines both. Rows in a source, ids of a corpus and other documents do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bigtopic.corpus.order import mix
from bigtopic.plan.slices import ascending
from bigtopic.types import Block, Docs

__all__ = ["in_order", "keyed_by_content"]

_AUTHOR = np.uint64(1 << 63)  # distinguishes an author from a word
_S1, _S32 = np.uint64(1), np.uint64(32)


def in_order(block: Block, id_maps: Mapping[str, np.ndarray | None]) -> Block:
    """The documents with words and authors in ascending order of the model's ids; sums depend on their order.

    Parameters
    ----------
    id_maps : {axis: the model's id of each id of the corpus, or None when they agree}
    """
    order = ascending(block.indptr, block.words, id_maps.get("word"))
    if order is not None:
        block = replace(block, words=block.words[order], counts=block.counts[order])
    if block.authors is None or block.author_indptr is None:
        return block
    order = ascending(block.author_indptr, block.authors, id_maps.get("author"))
    return block if order is None else replace(block, authors=block.authors[order])


def keyed_by_content(docs: Docs, axes: Mapping[str, np.ndarray | None]) -> Docs:
    """The documents with hashes of their content, int64 from 0, in place of source rows as keys of randomness.

    A hash is `mix` of the sum over the document of `mix(id, count)`, of 64 bits, so that no order matters; two of a
    million different documents share one with a probability of 5e-8.

    Parameters
    ----------
    axes : {axis: the model's id of each local id}
    """
    words = axes["word"]
    assert words is not None
    pairs = (words[docs.words].astype(np.uint64) << _S32) | docs.counts.view(np.uint32)
    sums = _sums(docs.indptr, mix(pairs))
    authors = axes["author"]
    if docs.authors is not None and docs.author_indptr is not None and authors is not None:
        sums += _sums(docs.author_indptr, mix(authors[docs.authors].astype(np.uint64) | _AUTHOR))
    return replace(docs, rows=(mix(sums) >> _S1).astype(np.int64), source_rows=docs.rows)


def _sums(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sums of the values of each document modulo 2^64."""
    below = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    return below[indptr[1:]] - below[indptr[:-1]]
