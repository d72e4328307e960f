"""Document completion of one block: documents are divided, one part is folded in, the other scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bigtopic.errors import InputError, argument, either
from bigtopic.evaluation.fold_in import fold_in, local_docs, topic_rows
from bigtopic.evaluation.source import TopicSource
from bigtopic.types import Block, Docs

__all__ = ["Completion", "Scores"]

_SLICE_ENTRIES = 1 << 16


class Scores(NamedTuple):
    """Per document, (n_docs,): source row, log probability, held-out tokens, log probability of the unigram baseline,
    all tokens, and those that the model does not know."""

    rows: np.ndarray
    log_likelihood: np.ndarray
    tokens: np.ndarray
    unigram: np.ndarray
    all_tokens: np.ndarray
    unknown_tokens: np.ndarray


@dataclass(frozen=True, eq=False)
class Completion:
    """The completion of one block of documents: pure, and picklable for workers.

    unknown : bool (n_words,), the words of the corpus that the model does not know, see `inference.known`
    """

    source: TopicSource
    id_map: np.ndarray | None
    unknown: np.ndarray
    n_words: int
    unigram_log: np.ndarray | None
    split: str
    ratio: float
    repeats: int
    random_state: int

    def __call__(self, block: Block) -> Scores:
        step = max(1, _SLICE_ENTRIES * block.n_docs // max(1, len(block.words)))
        pieces = [self._slice(block[start : start + step]) for start in range(0, block.n_docs, step)]
        return Scores(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))

    def _slice(self, block: Block) -> Scores:
        docs, ids = local_docs(block, self.n_words, self.id_map)
        topic_words = topic_rows(self.source, ids)
        base = np.zeros((docs.n_words, 1)) if self.unigram_log is None else self.unigram_log[ids, None]
        total, held, unigram_total = (np.zeros(docs.n_docs) for _ in range(3))
        for repeat in range(self.repeats):
            observed = self._observed(docs, repeat)
            held_out = docs.counts - observed
            held_out[np.repeat(_sums(docs.indptr, observed) == 0, np.diff(docs.indptr))] = 0
            theta = fold_in(_kept(docs, observed), topic_words, self.source)
            _held_out_log(docs, held_out, theta, topic_words, total)
            unigram_total += _sums(docs.indptr, held_out * base[docs.words, 0])
            held += _sums(docs.indptr, held_out)
        everything = _sums(block.indptr, block.counts)
        unknown = _sums(block.indptr, block.counts * self.unknown[block.words])
        return Scores(docs.rows, total, held, unigram_total, everything, unknown)

    def _observed(self, docs: Docs, repeat: int) -> np.ndarray:
        """Observed count of each entry, float32 (nnz,)."""
        from bigtopic.evaluation import _kernels

        if self.split == "token" and (docs.counts != np.floor(docs.counts)).any():
            raise InputError(
                "the corpus has fractional counts, which are not tokens; "
                f"{either('use bigtopic.evaluate.log_predictive with', 'pass')} {argument('split', 'type')}"
            )
        divide = _kernels.observed_tokens if self.split == "token" else _kernels.observed_types
        observed = np.empty(len(docs.counts), np.float32)
        seed = self.random_state * 1_000_003 + repeat
        divide(docs.indptr, docs.counts, docs.rows, seed, self.ratio, observed)
        return observed


def _held_out_log(
    docs: Docs, held_out: np.ndarray, theta: np.ndarray, topic_words: np.ndarray, total: np.ndarray
) -> None:
    from bigtopic.evaluation import _kernels

    _kernels.held_out_log(docs.indptr, docs.words, held_out, theta, topic_words, total)


def _kept(docs: Docs, counts: np.ndarray) -> Docs:
    """The documents with these counts, without the entries that are zero."""
    kept = counts > 0
    indptr = np.concatenate([[0], np.cumsum(kept)])[docs.indptr]
    return Docs(indptr, docs.words[kept], counts[kept], docs.rows, docs.n_words)


def _sums(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of the entries of each document, float64 (n_docs,); independent of the other documents."""
    lengths = np.diff(indptr)
    sums = np.zeros(len(lengths))
    if len(values):
        sums[lengths > 0] = np.add.reduceat(values.astype(np.float64), indptr[:-1][lengths > 0])
    return sums
